// The table of runs over tiers.
#include "viz/views/compare_tiers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 9> kTierColumns{{
    {"run", Align::left, false, true},
    {"GPU memory", Align::right},
    {"length", Align::right},
    {"slowdown", Align::right},
    {"stalled", Align::right},
    {"moved out", Align::right, false, false, true},
    {"moved in", Align::right, false, false, true},
    {"in time", Align::right, false, false, true},
    {"refused", Align::right, false, false, true},
}};

Bytes gpu_memory(const TierRun& run) {
    Bytes sum = 0;
    for (const TierSpacePeak& space : run.spaces)
        sum += space.space.tier == Tier::gpu ? space.capacity : 0;
    return sum;
}

std::string cell_of(const ViewedRun& viewed, std::size_t column) {
    const TierRun& run = *viewed.tiers;
    const std::array<std::string, kTierColumns.size()> cells{
        viewed.label,
        format_bytes(gpu_memory(run)),
        format_duration(run.makespan),
        fmt::format("{:.3f}", run.slowdown()),
        format_duration(run.stalls.total()),
        format_bytes(run.spilled_bytes),
        format_bytes(run.fetched_bytes),
        fmt::format("{:.1f} %", run.hit_ratio() * 100),
        format_count(run.out_of_memory)};
    return cells[column];
}

}  // namespace

std::size_t tier_runs(const Session& session) {
    return static_cast<std::size_t>(std::ranges::count_if(
        session.runs, [](const ViewedRun& run) { return run.tiers != nullptr; }));
}

void draw_tier_comparison(Frame& frame, VirtualTable& table) {
    std::vector<const ViewedRun*> runs;
    for (const ViewedRun& run : frame.session.runs)
        if (run.tiers)
            runs.push_back(&run);
    Canvas& canvas = frame.canvas;
    const float line = std::ceil(canvas.line_height() + canvas.px(12));
    const Box head{frame.area.left + canvas.px(12), frame.area.top, frame.area.right,
                   frame.area.top + line};
    canvas.text_within(head, "Runs over tiers: slowdown is relative to unlimited GPU memory.",
                       canvas.theme().text);
    TableContent content;
    content.columns = kTierColumns;
    content.rows = runs.size();
    content.text = [&](std::uint64_t row, std::size_t column) {
        return cell_of(*runs[static_cast<std::size_t>(row)], column);
    };
    table.draw(frame, {frame.area.left, head.bottom, frame.area.right, frame.area.bottom}, "tiers",
               content);
}

}  // namespace tidemark::viz
