// Bandwidth and latency out of measured copies.
#include "replay/analysis/calibrate/link_figures.h"

#include <catch2/catch.hpp>

#include "backends/machines/machine_json.h"

using namespace tidemark;

namespace {

CostCurve curve_of(const std::vector<CostPoint>& points) {
    return CostCurve(points);
}

}  // namespace

TEST_CASE("A link has the slope of its large copies and the rest of its smallest",
          "[tiers][analysis]") {
    const FoundLink link =
        link_of(curve_of({{1000, 6100}, {2000, 9000}, {10'000, 7000}, {20'000, 8000}})).value();

    CHECK(link.bytes_per_second == 10e9);
    CHECK(link.latency == 6000);
    CHECK(link_of(curve_of({{10'000, 10}, {20'000, 1010}})).value().latency == 0);
}

TEST_CASE("Copies that tell no bandwidth are refused", "[tiers][analysis]") {
    CHECK_FALSE(link_of(CostCurve()));
    CHECK_FALSE(link_of(curve_of({{1000, 6100}})));
    CHECK_FALSE(link_of(curve_of({{1000, 6100}, {2000, 6100}})));
}

TEST_CASE("The shipped node with an H200 has the links that the measurements give",
          "[tiers][analysis]") {
    const MachineSpec machine = open_machine("h200-node").value();
    const CostProfile profile = load_profile("h200").value();
    const auto recorded = [&](Transfer transfer) {
        return link_of(profile.transfers[static_cast<std::size_t>(transfer)]).value();
    };
    const LinkSpec* out = machine.link({Tier::gpu, 0}, {Tier::host, 0});
    const LinkSpec* in = machine.link({Tier::host, 0}, {Tier::gpu, 0});

    CHECK(out->bytes_per_second ==
          Approx(recorded(Transfer::to_host).bytes_per_second).epsilon(1e-4));
    CHECK(out->overhead + out->latency == recorded(Transfer::to_host).latency);
    CHECK(in->bytes_per_second ==
          Approx(recorded(Transfer::to_device).bytes_per_second).epsilon(1e-4));
    CHECK(in->overhead + in->latency == recorded(Transfer::to_device).latency);
}
