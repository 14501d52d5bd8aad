// Wording the answer. All of its figures are the summary's.
#include "viz/model/blocks/peak_answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"

namespace tidemark::viz {
namespace {

constexpr double kLittle = 0.02;  // of the peak: less isn't worth a word

Bytes less(Bytes whole, Bytes part) {
    return whole - std::min(whole, part);
}

std::string peak_text(const PeakSummary& summary) {
    return fmt::format("{} reserved at the peak", format_bytes(summary.at_peak[Series::reserved]));
}

// Where the free memory lay that a request didn't fit into.
void locate(PeakAnswer& answer, const UnfitRequest& request) {
    answer.event = request.event;
    answer.to = request.held;
    answer.from = less(request.held, request.free);
}

PeakAnswer refusal(const UnfitRequest& request) {
    PeakAnswer answer;
    locate(answer, request);
    answer.is_refusal = true;
    answer.is_waste = request.free >= request.requested;
    const std::string free = format_bytes(request.free);
    const std::string wanted = format_bytes(request.requested);
    answer.label = answer.is_waste ? fmt::format("{} lay free, {} did not fit", free, wanted)
                                   : fmt::format("{} did not fit, {} lay free", wanted, free);
    answer.detail = fmt::format("of {} reserved; the largest piece: {}", format_bytes(request.held),
                                format_bytes(request.largest_free));
    answer.headline = fmt::format(
        "Out of memory{}: {}", request.was_recorded ? " when this was recorded" : "", answer.label);
    if (request.count > 1)
        answer.headline += fmt::format(", the first of {} times", format_count(request.count));
    return answer;
}

PeakAnswer growth(const PeakSummary& summary) {
    const UnfitRequest& request = *summary.grown_for;
    PeakAnswer answer;
    locate(answer, request);
    answer.is_waste = true;
    answer.label = fmt::format("{} lay free, {} did not fit", format_bytes(request.free),
                               format_bytes(request.requested));
    answer.detail = fmt::format("the largest piece: {}", format_bytes(request.largest_free));
    answer.headline = peak_text(summary) + ": " + answer.label;
    return answer;
}

PeakAnswer composition(const PeakSummary& summary) {
    const Bytes reserved = summary.at_peak[Series::reserved];
    const Bytes free = less(reserved, summary.at_peak[Series::active]);
    PeakAnswer answer;
    answer.event = summary.peak;
    answer.to = reserved;
    answer.from = reserved - free;
    answer.is_waste = share_of(free, reserved) >= kLittle;
    if (answer.is_waste) {
        answer.label = fmt::format("{} of it lay free ({})", format_bytes(free),
                                   format_brief_share(free, reserved));
        const Bytes fragmented = std::min(summary.fragmentation, free);
        answer.detail = fmt::format("{} cached, {} fragmentation", format_bytes(free - fragmented),
                                    format_bytes(fragmented));
    } else {
        answer.from = 0;
        answer.label = fmt::format(
            "{} of it in use", format_brief_share(reserved - free, std::max<Bytes>(reserved, 1)));
    }
    answer.headline = peak_text(summary) + ", " + answer.label;
    return answer;
}

}  // namespace

PeakAnswer peak_answer(const History& history, const PeakSummary& summary) {
    PeakAnswer answer = summary.refused     ? refusal(*summary.refused)
                        : summary.grown_for ? growth(summary)
                                            : composition(summary);
    answer.event = std::min<EventIndex>(
        answer.event,
        static_cast<EventIndex>(std::max<std::size_t>(history.counts().events, 1) - 1));
    return answer;
}

std::string peak_parts_text(const PeakSummary& summary) {
    const Bytes reserved = summary.at_peak[Series::reserved];
    const Bytes allocated = summary.at_peak[Series::allocated];
    const Bytes requested = summary.at_peak[Series::requested];
    const Bytes active = summary.at_peak[Series::active];
    const Bytes free = less(reserved, active);
    const Bytes fragmented = std::min(summary.fragmentation, free);
    std::string text =
        fmt::format("{} ({}) free: {} cached in whole segments, {} fragmentation between blocks.",
                    format_bytes(free), format_brief_share(free, std::max<Bytes>(reserved, 1)),
                    format_bytes(free - fragmented), format_bytes(fragmented));
    if (active > requested)
        text += fmt::format(" {} lost to rounding.", format_bytes(active - requested));
    if (active > allocated)
        text += fmt::format(" {} waits for other streams.", format_bytes(active - allocated));
    return text;
}

}  // namespace tidemark::viz
