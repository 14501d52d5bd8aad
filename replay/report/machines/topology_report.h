// The reports of `devices` and `doctor` as text and as JSON. Pure; text as in text.h, JSON as in
// json.h (the keys are in docs/json.md). The text leaves out what this machine lacks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/numa/numa_bandwidth.h"
#include "backends/sim/costs.h"
#include "backends/topology/topology.h"
#include "replay/analysis/calibrate/doctor.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// `profiles`: the built-in simulated devices. `bandwidths` may be empty: nothing was measured.
std::string devices_text(const Topology& topology, std::span<const CostProfile> profiles,
                         std::span<const NumaBandwidth> bandwidths);
std::string devices_json(const Topology& topology, std::span<const CostProfile> profiles,
                         std::span<const NumaBandwidth> bandwidths, const Provenance& provenance);

// `required`: names of capabilities; those that are missing are marked.
std::string doctor_text(std::span<const Finding> findings,
                        std::span<const std::string_view> required);
std::string doctor_json(std::span<const Finding> findings,
                        std::span<const std::string_view> required, const Provenance& provenance);

// Those of `required` that are missing here.
std::vector<std::string_view> missing_of(std::span<const Finding> findings,
                                         std::span<const std::string_view> required);

}  // namespace tidemark
