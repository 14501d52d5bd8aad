// A discovered machine with its estimates replaced by measurements, one after another: links
// between GPUs and host memory, between host nodes, and disks.
//
// What cannot be measured keeps its estimate, and the machine's notes say why. For each measured
// figure they say on what it was measured, in how many runs, and how far these were apart. Devices,
// files, nodes and time come from outside, so that tests can measure simulated ones. Time: about
// MeasureQuestion::budget, divided over everything; opening devices comes on top.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/machines/discovered_machine.h"
#include "backends/machines/figures.h"
#include "core/device/device.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

// One figure of a machine, named like its link: "gpu:0 -> host", "host:0 -> host:1", "host ->
// disk:0", "host <-> disk:0" for both directions at once.
struct MeasuredFigure {
    std::string what;
    std::string_view name;  // "bytes_per_second", "overhead", "latency"
    Figure figure;
};

struct MeasureQuestion {
    std::vector<std::int32_t> gpus = {};  // the GPUs to measure
    std::function<Result<std::unique_ptr<Device>>(std::int32_t ordinal)> open_gpu = {};
    const NumaHost* host = nullptr;
    BlockFiles* files = nullptr;
    Nanoseconds budget = 60'000'000'000;
    unsigned runs = 9;                                // at most; half as many for disks
    std::function<Nanoseconds()> now = {};            // for disks; empty: real time
    std::function<bool()> stop = {};                  // may be empty
    std::function<void(double share)> progress = {};  // may be empty
    std::string root = {};                            // used instead of "/" for looking up drives
};

// Changes `machine` in place. Returns what was measured, in order. The only error: cancelled, if
// `stop` returned true.
Result<std::vector<MeasuredFigure>> measure_machine(DiscoveredMachine& machine,
                                                    const MeasureQuestion& question);

}  // namespace tidemark
