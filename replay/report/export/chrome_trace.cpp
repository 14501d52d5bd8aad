// The file's frame; the entries are chrome_counters.cpp's and chrome_blocks.cpp's.
#include "replay/report/export/chrome_trace.h"

#include "replay/report/export/chrome_entries.h"

namespace tidemark {

Result<ChromeSummary> write_chrome_trace(
    const Trace& trace, std::span<const Scenario> scenarios, const Provenance& provenance,
    OutputFile& file, const std::function<void(std::uint64_t events_done)>& progress) {
    report::ChromeEntries entries(file);
    entries.begin(provenance, trace);
    const std::uint64_t events = trace.info().event_count;
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
        const auto report_progress = [&](std::uint64_t done) {
            if (progress)
                progress(i * events + done);
        };
        TM_TRY(report::write_counters(trace, scenarios[i], entries, report_progress));
    }
    TM_TRY(report::write_blocks(trace, entries));
    TM_TRY(entries.end());
    return ChromeSummary{entries.count(), entries.backwards()};
}

}  // namespace tidemark
