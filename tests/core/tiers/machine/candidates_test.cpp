// Candidates by strategy.
#include "core/tiers/machine/candidates.h"

#include <catch2/catch.hpp>

#include "tests/core/tiers/small_machine.h"
#include "tests/support/spaces.h"

namespace {

using namespace tidemark;
using support::kDisk;
using support::kGpu;
using support::kGpu1;
using support::kHost;

constexpr SpaceId kHost1{Tier::host, 1};

MachineSpec whole() {
    return {"whole",
            {small_space(kGpu, 100), small_space(kGpu1, 100), small_space(kHost, 400),
             small_space(kHost1, 400), small_space(kDisk, 1000)},
            {small_link(kGpu1, kHost, 20e9), small_link(kGpu1, kHost1, 50e9),
             small_link(kHost1, kGpu1, 50e9)},
            {}};
}

std::vector<SpaceId> found(const RequestStrategy& strategy) {
    return candidates(strategy, whole()).value();
}

TEST_CASE("Strategies give their candidates in order", "[tiers][request]") {
    using Ids = std::vector<SpaceId>;
    CHECK(found(specific(kHost1)) == Ids{kHost1});
    CHECK(found(any_in(Tier::gpu)) == Ids{kGpu, kGpu1});
    CHECK(found(prefer(kGpu1)) == Ids{kGpu1, kGpu});
    CHECK(found(in_order({Tier::host, Tier::gpu})) == Ids{kHost, kHost1, kGpu, kGpu1});
    CHECK(found(in_order({Tier::disk, Tier::disk})) == Ids{kDisk});
}

TEST_CASE("Down and up go to the nearest by link first", "[tiers][request]") {
    using Ids = std::vector<SpaceId>;
    CHECK(found(downgrade(kGpu)) == Ids{kHost, kHost1, kDisk});
    CHECK(found(downgrade(kGpu1)) == Ids{kHost1, kHost, kDisk});
    CHECK(found(downgrade(kGpu1, {Tier::disk, Tier::host})) == Ids{kDisk, kHost1, kHost});
    CHECK(found(downgrade(kHost)) == Ids{kDisk});
    CHECK(found(upgrade(kHost1, Tier::gpu)) == Ids{kGpu1, kGpu});
    CHECK(found(upgrade(kDisk, Tier::host)) == Ids{kHost, kHost1});
}

TEST_CASE("What can never be is an error at once (defect 9)", "[tiers][request]") {
    const auto code = [](const RequestStrategy& strategy) {
        return candidates(strategy, whole()).error().code;
    };
    CHECK(code(specific({Tier::gpu, 7})) == ErrorCode::not_found);
    CHECK(code(prefer({Tier::gpu, 7})) == ErrorCode::not_found);
    CHECK(code(in_order({})) == ErrorCode::not_found);
    CHECK(code(downgrade(kDisk)) == ErrorCode::not_found);
    CHECK(code(downgrade(kHost, {Tier::gpu})) == ErrorCode::bad_option);
    CHECK(code(downgrade({Tier::host, 9})) == ErrorCode::not_found);
    CHECK(code(upgrade(kGpu, Tier::gpu)) == ErrorCode::bad_option);
    CHECK(code(upgrade(kHost, Tier::disk)) == ErrorCode::bad_option);
}

}  // namespace
