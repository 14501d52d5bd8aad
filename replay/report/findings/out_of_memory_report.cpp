// One case after another, the remedies that help first.
#include "replay/report/findings/out_of_memory_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"

namespace tidemark::report {
namespace {

constexpr std::size_t kFramesShown = 4;

std::string ranges_text(const std::vector<NamedRange>& all) {
    constexpr std::size_t kShownMost = 8;
    const std::span ranges = std::span(all).last(std::min(all.size(), kShownMost));
    std::string text = ranges.size() < all.size() ? "..." : "";
    for (const NamedRange& range : ranges)
        text += fmt::format("{}{} #{}", text.empty() ? "" : " > ", one_line(range.name, 60),
                            format_count(range.number));
    return text;
}

Json ranges_of(const std::vector<NamedRange>& ranges) {
    return list_of(ranges, [&](const NamedRange& range) -> Json {
        return {{"name", range.name}, {"number", range.number}};
    });
}

Json pin_of(const PinningSite& pin) {
    return {{"place", pin.site},
            {"segments", pin.segments},
            {"free_bytes", pin.free},
            {"blocks", pin.blocks},
            {"block_bytes", pin.block_bytes}};
}

Json remedy_of(const Remedy& remedy) {
    return {{"kind", to_text(remedy.kind)},
            {"what", remedy.what},
            {"bytes", remedy.bytes},
            {"helps", remedy.helps},
            {"certain", remedy.certain},
            {"peak_reserved_bytes", remedy.peak_reserved},
            {"out_of_memory", remedy.out_of_memory}};
}

std::string request_text(const OutOfMemoryCase& found) {
    const Refusal& refusal = found.refusal;
    return fmt::format(
               "\n  event {}{}: {} requested on stream {} with {} reserved, {} of them allocated: "
               "{}\n",
               format_count(refusal.event), position_text(found.position),
               format_bytes(refusal.what.size), to_integer(refusal.what.stream),
               format_bytes(refusal.usage.reserved), format_bytes(refusal.usage.allocated),
               to_text(refusal.why.cause)) +
           stack_text(found.position, 6);
}

std::string free_text(const OutOfMemoryCase& found) {
    const Gaps& gaps = found.gaps;
    std::string text = fmt::format(
        "    free just before it: {}, of which {} usable for such a request, the largest "
        "hole {}\n",
        format_bytes(gaps.free), format_bytes(gaps.reachable),
        piece_text(gaps.largest, gaps.requested));
    if (found.without_retry)
        text += fmt::format("    {}\n", kWithoutRetry);
    for (const PinningSite& pin : found.pins) {
        if (pin.free == 0)
            continue;
        text += fmt::format("    pinned: {} in {}, by {} of {} ({})\n", format_bytes(pin.free),
                            format_counted(pin.segments, "segment"),
                            format_counted(pin.blocks, "block"), one_line(pin.site),
                            format_bytes(pin.block_bytes));
    }
    return text;
}

std::string what_text(const Remedy& remedy) {
    switch (remedy.kind) {
        case RemedyKind::setting:
            return one_line(remedy.what);
        case RemedyKind::empty_cache:
            return one_line(remedy.what) + " just before it";
        case RemedyKind::move_blocks:
            return fmt::format("the pinning blocks of {} ({}) placed elsewhere",
                               one_line(remedy.what), format_bytes(remedy.bytes));
        case RemedyKind::more_memory:
            return fmt::format("{} of memory instead", format_bytes(remedy.bytes));
    }
    return {};
}

std::string remedies_text(const OutOfMemoryCase& found) {
    std::string text;
    for (const bool helps : {true, false}) {
        for (const Remedy& remedy : found.remedies) {
            if (remedy.helps != helps)
                continue;
            text += fmt::format("    {}\n", remedy_text(remedy));
        }
    }
    return text;
}

}  // namespace

std::string remedy_text(const Remedy& remedy) {
    const std::string what = what_text(remedy);
    if (!remedy.certain)
        return what + ": the request may succeed: the holes from before the recording aren't known";
    if (remedy.helps && remedy.out_of_memory == 0)
        return what + ": the request succeeds, and nothing runs out of memory";
    if (remedy.helps)
        return fmt::format("{}: the request succeeds, but others run out of memory {}", what,
                           format_times(remedy.out_of_memory));
    return fmt::format("{}: still out of memory ({} in total)", what,
                       format_times(remedy.out_of_memory));
}

std::string position_text(const EventPosition& position) {
    std::string text = position.gpu ? fmt::format(" on GPU {}", *position.gpu) : "";
    if (!position.inside.empty())
        text += fmt::format(", in {}", ranges_text(position.inside));
    else if (!position.after.empty())
        text += fmt::format(", after {}", ranges_text(position.after));
    return text;
}

std::string stack_text(const EventPosition& position, std::size_t indent) {
    std::string text;
    for (const std::string& frame :
         std::span(position.stack).first(std::min(position.stack.size(), kFramesShown)))
        text += fmt::format(
            "{:{}}{}{}\n", "", indent, one_line(frame),
            text.empty() && !position.operation.empty() ? ": " + one_line(position.operation) : "");
    return text;
}

Json position_json(const EventPosition& position) {
    return {{"inside", ranges_of(position.inside)},
            {"after", ranges_of(position.after)},
            {"stack", position.stack},
            {"operator", position.operation},
            {"tag", position.tag}};
}

std::string out_of_memory_text(const OutOfMemoryReport& report, const std::string& limit) {
    if (report.count == 0)
        return {};
    std::string text = fmt::format("\nOut of memory {}{}{}\n", format_times(report.count),
                                   limit.empty() ? "" : ", ", limit);
    for (const OutOfMemoryCase& found : report.cases)
        text += request_text(found) + free_text(found) + remedies_text(found);
    if (report.count > report.cases.size())
        text += fmt::format("  and {} more\n", format_count(report.count - report.cases.size()));
    return text;
}

Json out_of_memory_json(const OutOfMemoryReport& report) {
    return list_of(report.cases, [](const OutOfMemoryCase& found) -> Json {
        const Refusal& refusal = found.refusal;
        return {{"event", refusal.event},
                {"device", refusal.what.device},
                {"stream", to_integer(refusal.what.stream)},
                {"bytes", refusal.what.size},
                {"usage", usage_of(refusal.usage)},
                {"without_retry", found.without_retry},
                {"free_bytes", found.gaps.free},
                {"reachable_free_bytes", found.gaps.reachable},
                {"largest_hole_bytes", found.gaps.largest},
                {"place", position_json(found.position)},
                {"pins", list_of(found.pins, pin_of)},
                {"remedies", list_of(found.remedies, remedy_of)}};
    });
}

}  // namespace tidemark::report
