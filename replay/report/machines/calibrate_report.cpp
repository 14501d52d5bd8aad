// The measured costs as a table and as JSON.
#include "replay/report/machines/calibrate_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {

std::string calibration_text(const Calibration& calibration, const std::string& target) {
    const CostProfile& profile = calibration.profile;
    std::string text = fmt::format("{}: {}, calibrated in {}\n", printable(profile.name),
                                   printable(profile.device), format_duration(calibration.elapsed));
    Table table({{"operation", Align::left},
                 {"state", Align::left},
                 {"size"},
                 {"calls"},
                 {"10 %"},
                 {"median"},
                 {"90 %"},
                 {"charged"}});
    for (const MeasuredCost& row : calibration.notes.measured)
        table.row(row.operation, row.state, row.bytes == 0 ? "" : format_bytes(row.bytes),
                  format_count(row.count), format_duration(row.p10), format_duration(row.median),
                  format_duration(row.p90), format_duration(row.mean));
    text += fmt::format("\n{}\n", table.ruled(Emphasis::none));
    text += fmt::format("The first malloc_async of a process creates its pool: {}\n",
                        format_duration(profile.pool_creation));
    for (const std::string& sentence : calibration.skipped)
        text += fmt::format("skipped: {}\n", printable(sentence));
    if (target != "-")
        text += fmt::format("wrote {}: tidemark replay TRACE --profile {}\n", printable(target),
                            printable(target));
    return text;
}

std::string calibration_json(const Calibration& calibration, const std::string& target,
                             const Provenance& provenance) {
    using namespace report;
    const CostProfile& profile = calibration.profile;
    Json measured = list_of(calibration.notes.measured, [&](const MeasuredCost& row) -> Json {
        return {{"operation", row.operation}, {"state", row.state}, {"bytes", row.bytes},
                {"count", row.count},         {"p10_ns", row.p10},  {"median_ns", row.median},
                {"mean_ns", row.mean},        {"p90_ns", row.p90}};
    });
    Json object{{"target", target},
                {"name", profile.name},
                {"device_name", profile.device},
                {"memory_bytes", profile.memory},
                {"granularity_bytes", profile.granularity},
                {"clock_ns", calibration.clock_cost},
                {"device_elapsed_ns", calibration.elapsed},
                {"pool_creation_ns", profile.pool_creation},
                {"measured", std::move(measured)},
                {"skipped", calibration.skipped},
                {"provenance", provenance_of(provenance, {{"profile_hash", profile.hash()}})}};
    return text_of(object);
}

}  // namespace tidemark
