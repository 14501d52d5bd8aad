// Every driver call that a policy's work leads to is made to fail once, on the fake driver: the
// policy stays whole, content stays as it was written, and at the end nothing is left but, at most,
// what the driver itself would not take back.
#include <array>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/gpu/fault_run.h"

namespace tidemark::faults {
namespace {

using fake::Failure;

struct Trouble {
    int code;
    Failure how;
};

// A little of everything: sizes of each kind, two streams, reuse, growth and a trim.
void work(FaultRun& run) {
    run.allocate(4_KiB);
    run.allocate(3_MiB, StreamId{1});
    run.allocate(30_MiB);
    run.allocate(5_MiB + 4, StreamId{1});
    if (run.live() > 2)
        run.give_back(2);
    run.allocate(50_MiB);
    if (run.live() > 1)
        run.give_back(1);
    run.allocate(2_MiB);
    run.allocate(3_MiB, StreamId{1});
    run.allocator().trim(TrimLevel::unused);
    run.allocate(80_MiB);
    while (run.live() > 2)
        run.give_back(0);
    run.allocator().trim(TrimLevel::all);
    run.allocate(30_MiB);
}

// What happened with the `nth` call failing: a complaint, or "". `struck` says whether there was
// such a call.
std::string with_failure(fake::Control& control, const std::string& policy, Trouble trouble,
                         std::uint64_t nth, bool& struck) {
    std::string complaint;
    {
        const Machine machine = open_fake(control, {.memory = 1_GiB});
        REQUIRE(machine.device);
        FaultRun run(*machine.device, policy);
        REQUIRE(run.why() == "");
        run.stop_checking_content();  // its own calls would be the ones to fail
        control.fail("", nth, trouble.code, trouble.how);
        work(run);
        struck = control.failures() != 0;
        complaint = run.complaint();
        if (trouble.how == Failure::one)
            control.fail("", 0, 0);
        run.finish();
        if (complaint.empty())
            complaint = run.complaint();
    }
    const std::string left = control.leaks_text();
    if (complaint.empty() && trouble.how == Failure::one && !left.empty())
        complaint = "left behind: " + left;
    return complaint;
}

void fail_every_call(Trouble trouble) {
    fake::Control control(TIDEMARK_FAKE_CUDA);
    for (const std::string& policy : all_policies_to_break()) {
        for (std::uint64_t nth = 1;; ++nth) {
            bool struck = false;
            const std::string complaint = with_failure(control, policy, trouble, nth, struck);
            INFO(policy << " with driver call " << nth << " giving " << trouble.code);
            CHECK(complaint == "");
            if (!struck)
                break;
        }
    }
}

}  // namespace

TEST_CASE("every policy survives every driver call being out of memory once", "[fault]") {
    fail_every_call({2, Failure::one});
}

TEST_CASE("every policy survives every driver call failing for an unknown reason once", "[fault]") {
    fail_every_call({999, Failure::one});
}

TEST_CASE("every policy stays whole when the context is lost at any driver call", "[fault]") {
    fail_every_call({700, Failure::lost});
}

}  // namespace tidemark::faults
