// The first steps of every test of a policy.
#include "tests/support/policy.h"

#include <algorithm>
#include <iterator>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"

namespace tidemark::support {
namespace {

CostProfile make_slow_work() {
    CostProfile profile;
    profile.name = "slow-work";
    const CostPoint points[] = {{0, 0}, {1_MiB, 1_MiB}};
    profile.transfers.fill(CostCurve(points));
    return profile;
}

}  // namespace

const CostProfile& slow_work() {
    static const CostProfile kProfile = make_slow_work();
    return kProfile;
}

SimConfig small_device(Bytes capacity) {
    return {.capacity = capacity, .profile = &slow_work()};
}

std::vector<PolicyInfo> general_policies() {
    std::vector<PolicyInfo> general;
    std::ranges::copy_if(all_policies(), std::back_inserter(general), [](const PolicyInfo& policy) {
        return policy.name != "rmm-fixed" && policy.name != "rmm-binning" &&
               policy.name != "quick-pool";
    });
    return general;
}

std::unique_ptr<Allocator> make_policy(std::string_view text, Device& device) {
    const Result<PolicySpec> spec = parse_policy(text);
    INFO(text);
    REQUIRE(spec);
    Result<std::unique_ptr<Allocator>> allocator = spec->make(device);
    REQUIRE(allocator);
    return std::move(*allocator);
}

Allocation must_allocate(Allocator& allocator, Bytes size, StreamId stream) {
    const auto allocation = allocator.allocate({.size = size, .stream = stream});
    REQUIRE(allocation);
    return *allocation;
}

OutOfMemory must_refuse(Allocator& allocator, Bytes size) {
    const auto allocation = allocator.allocate({.size = size});
    REQUIRE_FALSE(allocation);
    return allocation.error();
}

std::vector<Region> regions_of(const Allocator& allocator) {
    std::vector<Region> regions;
    allocator.for_each_region([&regions](const Region& region) { regions.push_back(region); });
    return regions;
}

std::uint64_t calls(const Device& device, DeviceCall call) {
    return device.counters().calls[static_cast<std::size_t>(call)];
}

}  // namespace tidemark::support
