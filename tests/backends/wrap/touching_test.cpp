// TouchingAllocator: sees every byte that two live allocations share, changes no answer, and knows
// where the first of them lies.
#include "backends/wrap/touching.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "core/base/random.h"

using namespace tidemark;

namespace {

// Hands out what it is told to, right or wrong.
class Scripted final : public Allocator {
  public:
    explicit Scripted(std::vector<Allocation> grants) : grants_(std::move(grants)) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request&) override {
        const Allocation granted = grants_[next_++];
        count_allocated(granted.size);
        return granted;
    }

    void deallocate(const Allocation& allocation, StreamId) override {
        count_deallocated(allocation);
    }

    void record_use(const Allocation&, StreamId) override {}

    void trim(TrimLevel) override {}

    Bytes largest_free() const override { return 0; }

    void for_each_region(const std::function<void(const Region&)>&) const override {}

  private:
    std::vector<Allocation> grants_;
    std::size_t next_ = 0;
};

SimDevice backed_device() {
    return SimDevice({.capacity = 1_GiB, .backed = true, .await_events = true});
}

TouchingAllocator touching(Device& device, std::vector<Allocation> grants) {
    return {std::make_unique<Scripted>(std::move(grants)), device};
}

}  // namespace

TEST_CASE("an overlap of two live allocations is seen when the earlier one is given back") {
    SimDevice device = backed_device();
    const Address base = *device.malloc(1_MiB);
    // The second begins 1000 bytes before the first one's end.
    const Allocation first{.address = base, .size = 64_KiB};
    const Allocation second{.address = base + (64_KiB - 1000), .size = 64_KiB};
    TouchingAllocator allocator = touching(device, {first, second});

    allocator.set_event(10);
    const auto a = allocator.allocate({.size = 64_KiB});
    allocator.set_event(11);
    const auto b = allocator.allocate({.size = 64_KiB});
    REQUIRE(a);
    REQUIRE(b);
    allocator.set_event(12);
    allocator.deallocate(*a, {});
    const TouchReport& report = allocator.report();
    CHECK_FALSE(report.clean());
    CHECK(report.allocations == 2);
    CHECK(report.bytes == 128_KiB);
    CHECK(report.damaged == 1);
    CHECK(report.differing > 0);
    CHECK(report.differing <= 1000);
    REQUIRE(report.first_difference);
    CHECK(report.first_difference->event == 12);
    CHECK(report.first_difference->granted == 10);
    CHECK(report.first_difference->address == second.address);
    CHECK(report.first_difference->expected == 0x9e3779b1);

    allocator.set_event(13);
    allocator.deallocate(*b, {});
    CHECK(report.damaged == 1);  // the later one is whole
}

TEST_CASE("memory that somebody else has written is seen at the end if it still lives") {
    SimDevice device = backed_device();
    const Address base = *device.malloc(1_MiB);
    TouchingAllocator allocator = touching(device, {{.address = base, .size = 1_MiB}});
    allocator.set_event(3);
    REQUIRE(allocator.allocate({.size = 999'999}));
    REQUIRE(device.fill(base + 500'001, 0, 1, {}));
    allocator.set_event(90);
    allocator.check_live();
    const TouchReport& report = allocator.report();
    CHECK(report.damaged == 1);
    CHECK(report.differing == 1);
    REQUIRE(report.first_difference);
    CHECK(report.first_difference->address == base + 500'000);
    CHECK(report.first_difference->event == 90);
}

TEST_CASE("an address that is granted twice is seen at once") {
    SimDevice device = backed_device();
    const Address base = *device.malloc(1_MiB);
    TouchingAllocator allocator =
        touching(device, {{.address = base, .size = 512}, {.address = base, .size = 1024}});
    REQUIRE(allocator.allocate({.size = 512}));
    REQUIRE(allocator.allocate({.size = 1000}));
    CHECK(allocator.report().damaged == 1);
    CHECK(allocator.report().differing == 512);
}

TEST_CASE("memory that the device will not write is a failure, not a crash") {
    SimDevice device = backed_device();
    TouchingAllocator allocator = touching(device, {{.address = Address{0x1000}, .size = 512}});
    const auto granted = allocator.allocate({.size = 512});
    REQUIRE(granted);
    allocator.deallocate(*granted, {});
    CHECK(allocator.report().failures == 1);
    CHECK(allocator.report().damaged == 0);
    REQUIRE(allocator.report().first_failure);
    CHECK(allocator.report().first_failure->call == DeviceCall::write_pattern);
    CHECK_FALSE(allocator.report().clean());
}

TEST_CASE("what was asked for is written to the byte, and no more") {
    SimDevice device = backed_device();
    const Address base = *device.malloc(1_MiB);
    REQUIRE(device.fill(base, 0x77, 1_MiB, StreamId{0}));
    TouchingAllocator allocator = touching(device, {{.address = base, .size = 512},
                                                    {.address = base + 512, .size = 3},
                                                    {.address = base + 1024, .size = 2048}});
    REQUIRE(allocator.allocate({.size = 0}));
    CHECK(allocator.report().bytes == 1);
    REQUIRE(allocator.allocate({.size = 3}));
    CHECK(allocator.report().bytes == 1 + 3);
    const Result<Allocation> last = *allocator.allocate({.size = 1023});
    CHECK(allocator.report().bytes == 1 + 3 + 1023);
    std::array<std::byte, 2> end{};
    REQUIRE(device.read(base + 1024 + 1022, end));
    CHECK(end[0] != std::byte{0x77});
    CHECK(end[1] == std::byte{0x77});

    REQUIRE(device.fill(base + 1024 + 1022, 0x77, 1, StreamId{0}));
    allocator.deallocate(*last, StreamId{0});
    CHECK(allocator.report().differing == 1);  // the last byte is checked too
}

TEST_CASE("every policy passes when its memory is touched, and decides the same") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        const PolicySpec spec = *parse_policy(policy.name);
        SimDevice plain({.capacity = 1_GiB});
        SimDevice device = backed_device();
        auto expected = spec.make(plain);
        auto inner = spec.make(device);
        REQUIRE(expected);
        REQUIRE(inner);
        TouchingAllocator allocator(std::move(*inner), device);
        Random random(3);
        std::vector<std::pair<Allocation, Allocation>> live;
        for (int i = 0; i < 3000; ++i) {
            if (live.empty() || random.below(5) < 3) {
                const Request request{
                    .size = 1 + random.below(random.below(20) == 0 ? 8_MiB : 9000),
                    .stream = StreamId(static_cast<std::uint32_t>(random.below(3)))};
                const auto want = (*expected)->allocate(request);
                const auto have = allocator.allocate(request);
                REQUIRE(want.has_value() == have.has_value());
                if (!want)
                    continue;
                REQUIRE(want->address == have->address);
                REQUIRE(want->size == have->size);
                live.emplace_back(*want, *have);
                if (random.below(4) == 0) {
                    (*expected)->record_use(*want, StreamId{5});
                    allocator.record_use(*have, StreamId{5});
                }
                continue;
            }
            const std::size_t chosen = random.below(live.size());
            if (random.below(8) == 0) {
                (*expected)->retire(live[chosen].first);
                allocator.retire(live[chosen].second);
            }
            (*expected)->deallocate(live[chosen].first, {});
            allocator.deallocate(live[chosen].second, {});
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
            REQUIRE((*expected)->usage().allocated == allocator.usage().allocated);
            REQUIRE((*expected)->usage().reserved == allocator.usage().reserved);
        }
        allocator.check_live();
        CHECK(allocator.report().clean());
        CHECK(allocator.report().allocations > 1000);
    }
}
