// All that can be read of a run's history, as a text: two that say the same are the same to whoever
// looks at them.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "replay/scenario/scenario.h"
#include "replay/timeline/history.h"

namespace tidemark::support {

inline void digest_series(const History& history, std::string& text) {
    std::vector<SeriesColumn> columns(50);
    history.series(AxisUnit::time, 0, history.end(AxisUnit::time), columns);
    for (const SeriesColumn& column : columns)
        text += fmt::format("{} {} ", column.max[Series::reserved], column.min[Series::allocated]);
    const HistoryCounts counts = history.counts();
    for (EventIndex i = 0; i < counts.events; ++i)
        text += fmt::format("{} {} {} {},", history.time(i), static_cast<int>(history.kind(i)),
                            history.block_at(i), history.values(i)[Series::active]);
}

inline void digest_lists(const History& history, std::string& text) {
    const HistoryCounts counts = history.counts();
    for (BlockIndex i = 0; i < counts.blocks; ++i) {
        const Block block = history.block(i);
        text += fmt::format("{:x} {} {} {} {} {},", static_cast<std::uint64_t>(block.address),
                            block.size, block.requested, block.born, block.reused,
                            history.site(block.site).stack);
        if (i % 97 == 0)
            text += fmt::format("{} {};", history.before(i), history.after(i));
    }
    for (SegmentIndex i = 0; i < counts.segments; ++i)
        text += fmt::format("{} {},", history.segment(i).size, history.segment(i).died);
    for (std::size_t i = 0; i < counts.annotations; ++i)
        text += fmt::format("{} {},", history.strings()[history.annotation(i).name],
                            history.annotation(i).end);
    for (std::size_t i = 0; i < counts.marks; ++i)
        text += fmt::format("{} {},", history.mark(i).event, history.mark(i).size);
    for (std::size_t i = 0; i < counts.launches; ++i)
        text += fmt::format("{} {},", history.uses(i).blocks.size(), history.uses(i).size);
    for (std::size_t i = 0; i < counts.executions; ++i)
        text += fmt::format("{} {},", history.execution(i).begin, history.execution(i).launch);
}

inline std::string history_digest(const History& history, const Run& run) {
    std::string text = run.scenario.policy + run.device_name;
    for (const Measurement& measurement : run.measurements)
        text += fmt::format("{}={} ", measurement.name, measurement.value());
    for (const std::string& warning : run.warnings)
        text += warning;
    for (std::uint32_t i = 0; i < history.strings().size(); ++i)
        text += std::string(history.strings()[i]) + ",";
    text += fmt::format("{} {} {} {}", history.stacks().size(), history.pools().size(),
                        history.capacity(), history.limit());
    digest_series(history, text);
    digest_lists(history, text);
    return text;
}

}  // namespace tidemark::support
