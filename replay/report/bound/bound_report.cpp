// The range that contains the least possible memory, as text and as JSON.
#include "replay/report/bound/bound_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;
using report::list_of;
using report::or_null;

double gap_share(const Bound& bound) {
    return share_of(bound.packing.height - bound.lower, bound.lower);
}

std::string capacity_answer(const BoundReport& report) {
    if (report.capacity == 0)
        return "";
    const std::optional<bool> fits = report.fits();
    if (!fits)
        return fmt::format(
            "No packing in {} was found, but one may exist. Raise --iterations or --time to search "
            "longer.\n",
            format_bytes(report.capacity));
    if (!*fits)
        return fmt::format("It does not fit in {}: more than that is live at once.\n",
                           format_bytes(report.capacity));
    return fmt::format("It fits in {}.\n", format_bytes(report.capacity));
}

Json bound_row_of(const BoundRow& row) {
    return {{"device", row.device},
            {"intervals", row.intervals},
            {"lower_bytes", row.bound.lower},
            {"packed_bytes", row.bound.packing.height},
            {"gap", gap_share(row.bound)},
            {"iterations", row.bound.iterations},
            {"recorded_reserved_bytes", or_null(row.recorded)}};
}

}  // namespace

std::optional<bool> BoundReport::fits() const {
    std::optional<bool> fits = true;
    for (const BoundRow& row : rows) {
        const std::optional<bool> one = row.bound.fits(capacity);
        if (one == false)
            return false;
        if (!one)
            fits = std::nullopt;
    }
    return fits;
}

std::string bound_text(const BoundReport& report) {
    Table table({{"device", Align::left},
                 {"allocations"},
                 {"live at most"},
                 {"packed"},
                 {"gap"},
                 {"recorded"}});
    for (const BoundRow& row : report.rows)
        table.row(fmt::format("{}", row.device), format_count(row.intervals),
                  format_bytes(row.bound.lower), format_bytes(row.bound.packing.height),
                  format_percent(gap_share(row.bound)),
                  row.recorded ? format_bytes(*row.recorded) : "not known");
    std::string text = fmt::format("{}\n\n{}\n{}", printable(report.name),
                                   table.ruled(Emphasis::none), capacity_answer(report));
    text +=
        "Every allocator needs at least what is live at once; one that knew the whole run would "
        "need "
        "no more than the packed size.\n";
    if (report.interrupted)
        text += "note: interrupted: the best so far\n";
    return text;
}

std::string bound_json(const BoundReport& report, const Provenance& provenance) {
    return report::text_of({{"trace", report.name},
                            {"capacity_bytes", or_null(report.capacity)},
                            {"fits", report.capacity > 0 ? or_null(report.fits()) : Json()},
                            {"devices", list_of(report.rows, bound_row_of)},
                            {"seed", report.seed},
                            {"interrupted", report.interrupted},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
