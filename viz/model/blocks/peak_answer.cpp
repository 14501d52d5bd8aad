// Words the answer. All of its figures come from the summary.
#include "viz/model/blocks/peak_answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/report/forms/wording.h"

namespace tidemark::viz {
namespace {

constexpr double kLittle = 0.02;  // of the peak: less isn't worth mentioning

Bytes less(Bytes whole, Bytes part) {
    return whole - std::min(whole, part);
}

std::string peak_text(const PeakSummary& summary) {
    return fmt::format("{} reserved at the peak", format_bytes(summary.parts.reserved));
}

// The free memory that a request didn't fit into: drawn at the top of what was reserved.
void locate(PeakAnswer& answer, const History& history, const facts::UnfitRequest& request,
            EventIndex moment) {
    answer.event = request.event;
    answer.to = history.values(moment)[Series::reserved];
    answer.from = less(answer.to, request.space.free);
}

// " on GPU 1", if there are others.
std::string device_text(const History& history, const facts::UnfitRequest& request) {
    return history.devices().size() > 1 ? fmt::format(" on GPU {}", request.device) : std::string();
}

PeakAnswer refusal(const History& history, const PeakSummary& summary) {
    const facts::UnfitRequest& request = summary.refused.first.front();
    PeakAnswer answer;
    locate(answer, history, request, request.event);
    answer.is_refusal = true;
    answer.is_waste = request.space.free >= request.requested;
    const std::string free = format_bytes(request.space.free);
    const std::string wanted = format_bytes(request.requested);
    answer.label = answer.is_waste ? fmt::format("{} was free, but {} did not fit", free, wanted)
                                   : fmt::format("{} did not fit, {} was free", wanted, free);
    answer.label += device_text(history, request);
    answer.detail =
        fmt::format("of {} reserved; the largest piece: {}", format_bytes(request.space.held),
                    piece_text(request.space.largest, request.requested));
    answer.headline = fmt::format(
        "Out of memory{}: {}", summary.was_recorded ? " when this was recorded" : "", answer.label);
    if (summary.refused.count > 1)
        answer.headline +=
            fmt::format(", the first of {} times", format_count(summary.refused.count));
    return answer;
}

// The free memory is that of the moment before the growth, which may be long before the peak.
PeakAnswer growth(const History& history, const PeakSummary& summary) {
    const facts::UnfitRequest& request = *summary.grown_for;
    const std::string free = format_bytes(request.space.free);
    const std::string wanted = format_bytes(request.requested);
    const std::string where = device_text(history, request);
    PeakAnswer answer;
    locate(answer, history, request, request.event - 1);
    answer.is_waste = true;
    answer.label = fmt::format("{} was free{}, but {} did not fit", free, where, wanted);
    answer.detail =
        fmt::format("the largest piece: {}", piece_text(request.space.largest, request.requested));
    answer.headline = fmt::format("{}; it grew for {} although {} was free{}", peak_text(summary),
                                  wanted, free, where);
    return answer;
}

PeakAnswer composition(const PeakSummary& summary) {
    const facts::MemoryParts& parts = summary.parts;
    PeakAnswer answer;
    answer.event = summary.peak;
    answer.to = parts.reserved;
    answer.from = parts.reserved - parts.free();
    answer.is_waste = share_of(parts.free(), parts.reserved) >= kLittle;
    if (answer.is_waste) {
        answer.label = fmt::format("{} of it was free ({})", format_bytes(parts.free()),
                                   format_brief_share(parts.free(), parts.reserved));
        answer.detail = fmt::format("{} cached, {} fragmentation", format_bytes(parts.cached),
                                    format_bytes(parts.fragmentation));
    } else {
        answer.from = 0;
        answer.label = fmt::format(
            "{} of it in use",
            format_brief_share(parts.reserved - parts.free(), std::max<Bytes>(parts.reserved, 1)));
    }
    answer.headline = peak_text(summary) + ", " + answer.label;
    return answer;
}

}  // namespace

PeakAnswer peak_answer(const History& history, const PeakSummary& summary) {
    PeakAnswer answer = !summary.refused.first.empty() ? refusal(history, summary)
                        : summary.grown_for            ? growth(history, summary)
                                                       : composition(summary);
    answer.event = std::min<EventIndex>(
        answer.event,
        static_cast<EventIndex>(std::max<std::size_t>(history.counts().events, 1) - 1));
    return answer;
}

}  // namespace tidemark::viz
