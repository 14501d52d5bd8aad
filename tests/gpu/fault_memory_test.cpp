// Memory runs out on the way: in the middle of mapping, and because another process has it. Every
// policy refuses as it would refuse anywhere, stays whole, goes on when there is memory again, and
// leaves none behind.
#include <cstdlib>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/gpu/fault_child.h"
#include "tests/gpu/fault_run.h"

namespace tidemark::faults {
namespace {

constexpr Bytes kRoom = 200_MiB;  // what is left on the device

bool within_tolerance(Bytes before, Bytes after) {
    return before <= after + kTolerance && after <= before + kTolerance;
}

// Asks for memory of several sizes until it is refused.
void allocate_until_refused(FaultRun& run) {
    constexpr Bytes kSizes[] = {24_MiB, 4_KiB, 70_MiB, 3_MiB + 4, 1_MiB};
    for (std::size_t i = 0; i < 400; ++i) {
        const StreamId stream{static_cast<std::uint32_t>(i % 2)};
        if (!run.allocate(kSizes[i % std::size(kSizes)], stream))
            return;
        if (i % 4 == 3)
            run.give_back(run.live() / 2);
    }
    FAIL("nothing was refused");
}

void check_refusal(const OutOfMemory& refusal) {
    CHECK(to_text(refusal.cause) == to_text(OutOfMemory::Cause::device_full));
    CHECK(to_text(refusal.status) == to_text(DeviceStatus::out_of_memory));
}

// The whole story of a policy on a device that is full.
void run_out(CudaDevice& device, const std::string& policy, Bytes large) {
    INFO(policy);
    const Bytes before = settle(device);
    {
        FaultRun run(device, policy);
        INFO(run.why());
        REQUIRE(run.why().empty());
        REQUIRE(run.allocate(3_MiB));
        REQUIRE(run.allocate(20_MiB, StreamId{1}));
        {
            Filler filler(device, kRoom);
            CHECK_FALSE(run.allocate(large));  // does not fit: mapping stops on the way
            check_refusal(run.refusal());
            CHECK(run.complaint() == "");
            allocate_until_refused(run);
            check_refusal(run.refusal());
            CHECK(run.complaint() == "");
        }
        CHECK(run.allocate(large));
        CHECK(run.complaint() == "");
        run.finish();
        CHECK(run.complaint() == "");
    }
    const Bytes after = settle(device);
    INFO("free before " << before << ", after " << after);
    CHECK(within_tolerance(before, after));
}

}  // namespace

TEST_CASE("on a GPU that is full every policy refuses, stays whole and leaves nothing behind",
          "[gpu]") {
    const Machine machine = open_machine();
    if (!machine.device) {
        WARN("skipped: " << machine.why);
        return;
    }
    for (const std::string& policy : all_policies_to_break())
        run_out(*machine.device, policy, 1_GiB);
}

TEST_CASE("on a fake GPU that is full every policy refuses and leaves nothing behind", "[fault]") {
    fake::Control control(TIDEMARK_FAKE_CUDA);
    for (const std::string& policy : all_policies_to_break()) {
        {
            const Machine machine = open_fake(control, {.memory = 1_GiB});
            INFO(machine.why);
            REQUIRE(machine.device);
            run_out(*machine.device, policy, 300_MiB);
        }
        CHECK(control.leaks_text() == "");
    }
}

// The second process: takes the device's memory, and holds it until it is told to go.
TEST_CASE("fault child: hold memory", "[.child]") {
    const Machine machine = open_machine();
    REQUIRE(machine.device);
    {
        Filler filler(*machine.device, kRoom);
        emit("holding");
        wait_for_parent();
    }
    emit("gone");
}

TEST_CASE("while another process holds the GPU's memory every policy refuses and stays whole",
          "[gpu]") {
    const Machine machine = open_machine();
    if (!machine.device) {
        WARN("skipped: " << machine.why);
        return;
    }
    CudaDevice& device = *machine.device;
    const Bytes alone = settle(device);
    Child other("fault child: hold memory", {});
    REQUIRE(other.wait_for("holding", std::chrono::seconds(60)));
    const Bytes crowded = settle(device);
    REQUIRE(crowded < alone / 2);
    for (const std::string& policy : all_policies_to_break()) {
        INFO(policy);
        {
            FaultRun run(device, policy);
            REQUIRE(run.why() == "");
            allocate_until_refused(run);
            check_refusal(run.refusal());
            CHECK(run.complaint() == "");
            run.finish();
            CHECK(run.complaint() == "");
        }
        CHECK(within_tolerance(crowded, settle(device)));
    }
    FaultRun waiting(device, "vpmm");
    REQUIRE(waiting.why() == "");
    CHECK_FALSE(waiting.allocate(1_GiB));
    CHECK(other.finish(std::chrono::seconds(60)) == 0);
    CHECK(waiting.allocate(1_GiB));  // as soon as the other one has gone
    waiting.finish();
    CHECK(waiting.complaint() == "");
    CHECK(within_tolerance(alone, settle(device) + waiting.allocator().usage().reserved));
}

}  // namespace tidemark::faults
