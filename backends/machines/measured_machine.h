// A discovered machine with its estimates replaced by measurements, one after another: links
// between GPUs and host memory, between host nodes, and disks.
//
// What cannot be measured keeps its estimate, and the machine's notes say why. They say of each
// figure that was measured on what, in how many runs, and how far these were apart. Devices, files,
// nodes and time come from outside, so that tests measure what isn't there. Time: about
// MeasureQuestion::budget, divided over what there is; devices that are opened come on top.
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

// One figure of a machine, named as its link is: "gpu:0 -> host", "host:0 -> host:1",
// "host -> disk:0", "host <-> disk:0" for both directions at once.
struct MeasuredFigure {
    std::string what;
    std::string_view name;  // "bytes_per_second", "overhead", "latency"
    Figure figure;
};

struct MeasureQuestion {
    std::vector<std::int32_t> gpus = {};  // those to be measured
    std::function<Result<std::unique_ptr<Device>>(std::int32_t ordinal)> open_gpu = {};
    const NumaHost* host = nullptr;
    BlockFiles* files = nullptr;
    Nanoseconds budget = 60'000'000'000;
    unsigned runs = 9;                                // at most; of disks half as many
    std::function<Nanoseconds()> now = {};            // of disks; empty: the time that passes
    std::function<bool()> stop = {};                  // may be empty
    std::function<void(double share)> progress = {};  // may be empty
    std::string root = {};                            // stands for "/" where drives are looked up
};

// Changes `machine` in place. Gives what was measured, in order. Errors: cancelled alone: `stop`
// said so.
Result<std::vector<MeasuredFigure>> measure_machine(DiscoveredMachine& machine,
                                                    const MeasureQuestion& question);

}  // namespace tidemark
