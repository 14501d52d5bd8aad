// What a sweep reads, of any bytes: a grid, a shard, a unit's line, a file of units, a spec.
#include <string_view>

#include "core/allocator/spec.h"
#include "core/base/check.h"
#include "replay/analysis/sweep/grid.h"
#include "replay/report/sweep/sweep_result.h"
#include "replay/report/sweep/sweep_spec.h"
#include "replay/report/sweep/unit_line.h"
#include "tests/fuzz/targets.h"

namespace tidemark::fuzz {

void sweep_inputs(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const Result<std::vector<std::string>> settings = expand_grid(text);
    if (settings) {
        TM_CHECK(!settings->empty() && settings->size() <= kMostSettings);
        const Result<PolicySpec> last = parse_policy(settings->back());
        TM_CHECK(last && last->text() == settings->back());
    }
    const Result<Shard> shard = parse_shard(text);
    TM_CHECK(!shard || shard->index < shard->parts);
    const Result<UnitResult> unit = read_unit_line(text, "0123456789abcdef");
    TM_CHECK(!unit || unit->line == text);
    if (const Result<SweepResult> sweep = read_sweep(text, "all.jsonl")) {
        const Result<HeatMap> map = make_heat_map(sweep->settings, sweep->axes, "", "");
        TM_CHECK(map && !sweep_page(*sweep, {.title = "all", .map = *map}, {}).empty());
    }
    static_cast<void>(read_sweep_spec(text, "sweep.json"));
}

}  // namespace tidemark::fuzz
