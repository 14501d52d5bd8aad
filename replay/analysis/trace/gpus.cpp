// One summary, and one look for what ran out of memory.
#include "replay/analysis/trace/gpus.h"

#include <algorithm>

#include <fmt/format.h>

#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/explained_record.h"
#include "traces/model/device_trace.h"

namespace tidemark {
namespace {

// The first GPU that ran out of memory; counts all that did.
Result<std::optional<std::size_t>> count_refusals(const Trace& trace, std::vector<GpuRow>& rows) {
    std::optional<std::size_t> first;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return first;
        for (std::size_t i = 0; i < batch.count; ++i) {
            if (batch.kind[i] != EventKind::out_of_memory || batch.device[i] >= rows.size())
                continue;
            ++rows[batch.device[i]].out_of_memory;
            first = first.value_or(batch.device[i]);
        }
    }
}

}  // namespace

Result<Gpus> find_gpus(const Trace& trace, std::optional<std::size_t> wanted) {
    const DeviceTrace* const one = device_trace(trace);
    const Trace& whole = one == nullptr ? trace : *one->passes_on();
    Gpus gpus;
    gpus.rows.resize(whole.info().gpus());
    if (wanted && *wanted >= gpus.rows.size())
        return fail(ErrorCode::bad_option,
                    fmt::format("there is no GPU {}: the trace has {}", *wanted, gpus.rows.size()),
                    "--gpu", "GPUs are counted from 0");
    const ExplainedRecord* const record = explained_record(whole);
    TM_ASSIGN(const TraceSummary summary,  // inferred events were not recorded
              summarize(record == nullptr ? whole : *record->record));
    for (std::size_t i = 0; i < std::min(gpus.rows.size(), summary.devices.size()); ++i) {
        gpus.rows[i].peak_requested = summary.devices[i].requested.value;
        gpus.rows[i].peak_reserved = summary.devices[i].recorded_reserved.value;
    }
    TM_ASSIGN(const std::optional<std::size_t> first, count_refusals(whole, gpus.rows));
    const auto highest = std::ranges::max_element(gpus.rows, {}, [](const GpuRow& row) {
        return std::max(row.peak_reserved, row.peak_requested);
    });
    gpus.chosen = wanted ? *wanted
                  : one != nullptr
                      ? one->device()
                      : first.value_or(static_cast<std::size_t>(highest - gpus.rows.begin()));
    return gpus;
}

}  // namespace tidemark
