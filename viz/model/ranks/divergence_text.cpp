// Two sentences: about requests, and about reserved memory.
#include "viz/model/ranks/divergence_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::viz {
namespace {

std::string requests_text(const Session& session, std::span<const RankFigures> rows,
                          const RankDivergences& found) {
    const auto first = found.first_to_leave();
    if (!first)
        return "All ranks request the same sizes in the same order.";
    const auto count = std::ranges::count_if(
        found.requests, [](const auto& request) { return request.has_value(); });
    const RequestDivergence& where = *found.requests[*first];
    const History& history = *session.runs[rows[*first].run].history;
    return fmt::format(
        "{} at {} (event {}, request by request): {} requests {} where the others request {}.",
        count == 1 ? fmt::format("Rank {} diverges from the others", rows[*first].number)
                   : fmt::format("{} ranks diverge from the majority, the first", count),
        format_duration(history.time(where.event)), format_count(where.event),
        count == 1 ? "it" : "rank " + rows[*first].number, format_bytes(where.size),
        format_bytes(where.usual));
}

std::string reserved_text(std::span<const RankFigures> rows, const RankDivergences& found,
                          std::size_t reference, Bytes threshold) {
    std::size_t count = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!found.reserved[i])
            continue;
        if (count == 0 || found.reserved[i]->time < found.reserved[first]->time)
            first = i;
        ++count;
    }
    const std::string& other = rows[reference].number;
    if (count == 0)
        return fmt::format("Reserved memory: no rank differs from rank {} by more than {}.", other,
                           format_bytes(threshold));
    const ReservedDivergence& where = *found.reserved[first];
    return fmt::format("Reserved memory: {} from rank {} by more than {}{} at {}, {}.",
                       count == 1 ? fmt::format("rank {} differs", rows[first].number)
                                  : fmt::format("{} ranks differ", count),
                       other, format_bytes(threshold),
                       count == 1 ? ", first" : fmt::format(", rank {} first", rows[first].number),
                       format_duration(where.time),
                       where.by_request
                           ? "compared request by request"
                           : "compared at the same time, because their requests differ by then");
}

}  // namespace

std::string divergence_text(const Session& session, std::span<const RankFigures> rows,
                            const RankDivergences& found, std::size_t reference, Bytes threshold) {
    return requests_text(session, rows, found) + " " +
           reserved_text(rows, found, reference, threshold);
}

}  // namespace tidemark::viz
