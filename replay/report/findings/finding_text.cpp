// One function for each kind, and the switch that chooses it.
#include "replay/report/findings/finding_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/analysis/trace/step_growth.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using findings::Kind;
using findings::Part;
using findings::Severity;

std::string bytes(const findings::Finding& finding, std::string_view name) {
    return format_bytes(finding.figure(name));
}

std::string count(const findings::Finding& finding, std::string_view name) {
    return format_count(finding.figure(name));
}

bool has(const findings::Finding& finding, std::string_view name) {
    return std::ranges::any_of(finding.figures,
                               [name](const auto& each) { return each.name == name; });
}

std::string share(const findings::Finding& finding, std::string_view part, std::string_view whole) {
    return format_share(finding.figure(part), finding.figure(whole));
}

std::string remedy_line(const Part& part) {
    Remedy remedy{.what = part.note,
                  .bytes = part.bytes,
                  .helps = part.helps,
                  .certain = part.certain,
                  .out_of_memory = part.count};
    for (const RemedyKind kind : {RemedyKind::setting, RemedyKind::empty_cache,
                                  RemedyKind::move_blocks, RemedyKind::more_memory})
        if (part.name == to_text(kind))
            remedy.kind = kind;
    return report::remedy_text(remedy);
}

std::string parts_text(const findings::Finding& finding) {
    std::string text;
    for (const bool helps : {true, false})
        for (const Part& part : finding.parts)
            if (part.role == "remedy" && part.helps == helps)
                text += "\n" + remedy_line(part);
    for (const Part& part : finding.parts) {
        if (part.role == "remedy")
            continue;
        if (part.role == "blocker") {
            text += fmt::format("\nPinned: {} by {} of {}", format_bytes(part.bytes),
                                format_counted(part.count, "block"), one_line(part.name, 100));
            continue;
        }
        const bool says_role = part.role == "stream" || part.role == "pool";  // the name does
        text += fmt::format("\n{}{}{}: ", says_role ? "" : part.role, says_role ? "" : " ",
                            part.name.empty() ? "(not recorded)" : one_line(part.name, 100));
        text += format_bytes(part.bytes);
        if (part.count > 0)
            text += " in " + format_counted(part.count,
                                            finding.kind == Kind::other_streams ? "hole" : "block");
        if (!part.note.empty())
            text += ", " + one_line(part.note, 120);
    }
    return text;
}

FindingText out_of_memory(const findings::Finding& finding) {
    if (has(finding, "further"))
        return {fmt::format("Out of memory {} more", format_times(finding.figure("further"))),
                "This finding leads to the last of them."};
    if (!has(finding, "requested_bytes"))
        return {"Out of memory " + format_times(finding.figure("count"))};
    FindingText text{"Out of memory: " + bytes(finding, "requested_bytes") + " requested"};
    const Bytes free = finding.figure("free_bytes");
    const Bytes largest = finding.figure("largest_free_bytes");
    const bool in_pieces =
        free >= finding.figure("requested_bytes") && largest < finding.figure("requested_bytes");
    if (in_pieces)
        text.title += ", though more was free";
    text.detail = fmt::format(
        "At {}: {} reserved, {} of it free{}, the largest hole {}.", finding_position(finding),
        bytes(finding, "reserved_bytes"), format_bytes(free),
        has(finding, "gaps") ? fmt::format(" in {}", format_counted(finding.figure("gaps"), "hole"))
                             : std::string(),
        piece_text(largest, finding.figure("requested_bytes")));
    if (in_pieces)
        text.detail +=
            "\nThe free memory is in pieces, or kept for other streams and sizes: in "
            "one piece it would have been enough.";
    if (finding.figure("without_retry") != 0)
        text.detail += fmt::format("\n{}.", report::kWithoutRetry);
    if (finding.figure("count") > 1 && finding.figure("number") == 1)
        text.detail +=
            fmt::format("\nOut of memory {} in total.", format_times(finding.figure("count")));
    text.detail += parts_text(finding);
    return text;
}

FindingText setting(const findings::Finding& finding) {
    const Bytes now = finding.figure("reserved_bytes");
    const Bytes then = finding.figure("new_reserved_bytes");
    const std::uint64_t refused = finding.figure("out_of_memory");
    FindingText text;
    if (refused > finding.figure("new_out_of_memory"))
        text.title = finding.figure("new_out_of_memory") == 0
                         ? "Another setting never runs out of memory"
                         : "Another setting runs out of memory less often";
    else if (then < now)
        text.title = fmt::format("Another setting needs {} less ({})", format_bytes(now - then),
                                 format_share(now - then, now));
    else
        text.title = "Another setting is faster";
    const auto outcome = [&](std::string_view prefix) {
        const auto figure = [&](std::string_view name) {
            return finding.figure(std::string(prefix) + std::string(name));
        };
        std::string said = format_bytes(figure("reserved_bytes")) + " reserved at the peak";
        if (figure("out_of_memory") > 0)
            said += ", out of memory " + format_times(figure("out_of_memory"));
        if (figure("retries") > 0)
            said += ", " + format_counted(figure("retries"), "retry", "retries");
        return said + fmt::format(", {} in the driver and waiting",
                                  format_duration(static_cast<Nanoseconds>(figure("device_ns"))));
    };
    text.detail = fmt::format(
        "Now: {}.\nWith that setting: {}.\nThe best of {} that were replayed.", outcome(""),
        outcome("new_"), format_counted(finding.figure("trials"), "setting"));
    text.command = finding.command;
    return text;
}

FindingText growth_while_free(const findings::Finding& finding) {
    FindingText text{fmt::format("Reserved memory grew to its peak while {} was free",
                                 bytes(finding, "free_bytes"))};
    text.detail = fmt::format("{} was requested at {}.", bytes(finding, "requested_bytes"),
                              finding_position(finding));
    if (const std::uint64_t gaps = finding.figure("gaps"); gaps > 0) {
        const bool is_small =
            finding.figure("largest_free_bytes") < finding.figure("requested_bytes");
        text.detail += fmt::format(
            " {} was free where such a request can be served, in {}{}{}.",
            bytes(finding, has(finding, "usable_bytes") ? "usable_bytes" : "free_bytes"),
            format_counted(gaps, "hole"),
            is_small ? (gaps == 1 ? ", too small" : ", none large enough") : "",
            gaps == 1 && !is_small ? ""
                                   : fmt::format(": the largest has {}",
                                                 piece_text(finding.figure("largest_free_bytes"),
                                                            finding.figure("requested_bytes"))));
    }
    for (const auto& [name, what] : {std::pair("other_streams_bytes", "kept for other streams"),
                                     std::pair("other_pools_bytes", "in other pools"),
                                     std::pair("other_sizes_bytes", "kept for other sizes")})
        if (finding.figure(name) > 0)
            text.detail += fmt::format("\n{} {}.", bytes(finding, name), what);
    return text;
}

FindingText pinned(const findings::Finding& finding) {
    const std::string_view unit = has(finding, "pages") ? "page" : "segment";
    FindingText text{bytes(finding, "free_bytes") + " pinned by small or long-lived blocks"};
    if (!finding.site.empty())
        text.title = fmt::format("{} pinned by blocks of {}", bytes(finding, "free_bytes"),
                                 one_line(finding.site, 100));
    text.detail = fmt::format(
        "{} can't be released or coalesced",
        format_counted(finding.figure(has(finding, "pages") ? "pages" : "segments"), unit));
    if (has(finding, "blocks"))
        text.detail +=
            fmt::format(": {} of {} in total", format_counted(finding.figure("blocks"), "block"),
                        bytes(finding, "block_bytes"));
    else
        text.detail +=
            fmt::format(": the largest, {}, is pinned by one block of {}",
                        bytes(finding, "largest_segment_bytes"), bytes(finding, "block_bytes"));
    text.detail += fmt::format(", live from event {} to {}", count(finding, "born_event"),
                               has(finding, "ends_event") ? "event " + count(finding, "ends_event")
                                                          : std::string("the end"));
    if (finding.figure("lifetime_ns") > 0)
        text.detail +=
            ", " + format_duration(static_cast<Nanoseconds>(finding.figure("lifetime_ns")));
    text.detail += ". Allocate long-lived blocks before short-lived ones, or free them earlier.";
    return text;
}

// What growth is counted by.
std::string_view step_of(const findings::Finding& finding) {
    return has(finding, "parts") ? kRunPart : std::string_view("step");
}

// "at the ends of 30 steps (step N)".
std::string over_steps(const findings::Finding& finding) {
    if (has(finding, "parts"))
        return fmt::format("{} equal parts of the run", kRunParts);
    return fmt::format(
        "{} ({})", format_counted(finding.figure("steps"), "step"),
        finding.message.empty() ? "found in repeated allocations" : one_line(finding.message, 60));
}

std::string site_or(const findings::Finding& finding, std::string_view otherwise) {
    return finding.site.empty() ? std::string(otherwise) : one_line(finding.site, 100);
}

// "At this rate the 79.2 GiB is full after 1,234 more steps, in about 3.20 h."
std::string end_of_memory(const findings::Finding& finding) {
    if (!has(finding, "steps_left"))
        return {};
    std::string text = fmt::format(
        "\nAt this rate the {} is full after {}", bytes(finding, "memory_bytes"),
        format_counted(finding.figure("steps_left"), fmt::format("more {}", step_of(finding))));
    if (has(finding, "time_left_ns"))
        text += ", in about " +
                format_duration(static_cast<Nanoseconds>(finding.figure("time_left_ns")));
    return text + ".";
}

FindingText step_growth(const findings::Finding& finding) {
    const std::string slope = bytes(finding, "bytes_per_step");
    if (finding.kind == Kind::cache_growth)
        return {fmt::format("{} grew at first, then stayed at {}", site_or(finding, "Live memory"),
                            bytes(finding, "last_bytes")),
                fmt::format("Over {}, from {}: a cache, not a leak.", over_steps(finding),
                            bytes(finding, "first_bytes"))};
    const bool drifts = finding.kind == Kind::drift;
    FindingText text;
    if (drifts)
        text.title =
            fmt::format("Drift: reserved memory grows by {} a {}, though live memory doesn't",
                        slope, step_of(finding));
    else if (finding.stack == 0 && !finding.site.empty())
        text.title = fmt::format("Leak: {} more is live after each {}, in blocks of {}", slope,
                                 step_of(finding), site_or(finding, ""));
    else
        text.title = fmt::format("Leak: {} keeps {} more each {}", site_or(finding, "the program"),
                                 slope, step_of(finding));
    text.detail = fmt::format(
        "{} {} {}: {} after event {}, {} after event {}", drifts ? "Reserved" : "Live",
        has(finding, "parts") && !drifts ? "at least, in" : "at the ends of", over_steps(finding),
        bytes(finding, "first_bytes"), count(finding, "first_event"), bytes(finding, "last_bytes"),
        format_count(finding.event));
    if (finding.figure("blocks") > 0)
        text.detail += " in " + format_counted(finding.figure("blocks"), "block");
    text.detail += "." + end_of_memory(finding);
    if (drifts)
        text.detail +=
            "\nSizes that change from step to step leave segments that later requests don't fit. "
            "Expandable segments, or fewer distinct sizes (padding), prevent that.";
    else
        text.detail +=
            has(finding, "parts")
                ? "\nSomething keeps what it allocates and never frees it: an unbounded cache, a "
                  "list that only grows. No allocator setting helps."
                : "\nSomething keeps what each step allocates: a list of losses that hold their "
                  "graph, an unbounded cache, hooks. No allocator setting helps.";
    return text;
}

FindingText does_not_fit(const findings::Finding& finding) {
    if (finding.figure("excess_bytes") == 0)
        return {"No setting survives: requests are larger than any memory",
                "They fail however much memory the device has."};
    FindingText text{fmt::format("No setting can help: {} live at once, {} available",
                                 bytes(finding, "requested_bytes"),
                                 bytes(finding, "memory_bytes"))};
    if (finding.figure("requested_bytes") <= finding.figure("memory_bytes"))
        text.title = fmt::format("No setting survives: {} live at once, {} available",
                                 bytes(finding, "requested_bytes"), bytes(finding, "memory_bytes"));
    text.detail = fmt::format(
        "At least {} would have to go: with unlimited memory, the run "
        "reserves {}. What would hold it at the peak:",
        bytes(finding, "excess_bytes"), bytes(finding, "needed_bytes"));
    text.detail += parts_text(finding);
    return text;
}

FindingText other_streams(const findings::Finding& finding) {
    const Bytes streams = finding.figure("other_streams_bytes");
    const Bytes pools = finding.figure("other_pools_bytes");
    FindingText text;
    if (streams > 0)
        text.title = format_bytes(streams) + " kept for other streams";
    if (pools > 0)
        text.title +=
            fmt::format("{}{} kept for other pools", streams > 0 ? ", " : "", format_bytes(pools));
    text.detail = fmt::format(
        "It was free when reserved memory had to grow for {} at {}: a free block "
        "serves only the stream and pool that it was reserved for.",
        bytes(finding, "requested_bytes"), finding_position(finding));
    text.detail += parts_text(finding);
    return text;
}

FindingText idle(const findings::Finding& finding) {
    std::string title =
        fmt::format("{} of reserved memory is free for {} of the run", bytes(finding, "free_bytes"),
                    share(finding, "parts", "parts_in_all"));
    if (!finding.setting.empty())
        return {
            std::move(title),
            fmt::format("From {} up to event {}, at most {} is in use, with {} reserved. {} "
                        "there leaves at most {} reserved in that time, and takes {}.",
                        finding_position(finding), format_count(finding.figure("to_event")),
                        bytes(finding, "active_bytes"), bytes(finding, "reserved_bytes"),
                        finding.setting, bytes(finding, "new_reserved_bytes"),
                        format_duration(static_cast<Nanoseconds>(finding.figure("longer_ns"))))};
    return {std::move(title),
            fmt::format("From {} on, it is cached for later requests of this program; other "
                        "programs can't use it.",
                        finding_position(finding))};
}

FindingText in_use(const findings::Finding& finding) {
    FindingText text{fmt::format("{} reserved at the peak, {} of it in use",
                                 bytes(finding, "reserved_bytes"),
                                 share(finding, "in_use_bytes", "reserved_bytes"))};
    text.detail = fmt::format("At {}:", finding_position(finding));
    for (const auto& [name, what] :
         {std::pair("in_use_bytes", "in use"), std::pair("rounding_bytes", "rounding"),
          std::pair("pending_free_bytes", "pending free"),
          std::pair("fragmentation_bytes", "free between blocks (fragmentation)"),
          std::pair("cached_bytes", "free in whole segments (cached)")})
        if (finding.figure(name) > 0)
            text.detail += fmt::format("\n{}: {} ({})", what, bytes(finding, name),
                                       share(finding, name, "reserved_bytes"));
    return text;
}

// "12.3 % of the reserved peak is fragmentation".
FindingText waste(const findings::Finding& finding, std::string_view figure, std::string_view what,
                  std::string_view why) {
    const std::string_view whole =
        has(finding, "reserved_bytes") ? "reserved_bytes" : "active_bytes";
    return {fmt::format("{} {} at the peak", bytes(finding, figure), what),
            fmt::format("{} of the memory {} at {}: {}{}", share(finding, figure, whole),
                        whole == "reserved_bytes" ? "reserved" : "active",
                        finding_position(finding), why, parts_text(finding))};
}

FindingText of_memory(const findings::Finding& finding) {
    if (finding.kind == Kind::beyond_memory)
        return {"More is allocated than the devices have",
                fmt::format("{} at {}, on devices with {}. The recording misses frees, or the "
                            "memory size is wrong: don't trust any figure of this run.",
                            bytes(finding, "allocated_bytes"), finding_position(finding),
                            bytes(finding, "memory_bytes"))};
    return {share(finding, "reserved_bytes", "memory_bytes") + " of the device memory is reserved",
            fmt::format("{} of {} at {}: a slightly larger run would run out of memory.",
                        bytes(finding, "reserved_bytes"), bytes(finding, "memory_bytes"),
                        finding_position(finding))};
}

FindingText wording(const findings::Finding& finding) {
    switch (finding.kind) {
        case Kind::out_of_memory:
            return out_of_memory(finding);
        case Kind::beyond_memory:
        case Kind::near_limit:
            return of_memory(finding);
        case Kind::does_not_fit:
            return does_not_fit(finding);
        case Kind::leak:
        case Kind::drift:
        case Kind::cache_growth:
            return step_growth(finding);
        case Kind::other_streams:
            return other_streams(finding);
        case Kind::pools:
            return {bytes(finding, "private_bytes") + " in private pools at the peak",
                    parts_text(finding)};
        case Kind::fragmentation:
            return waste(finding, "fragmentation_bytes", "of fragmentation",
                         "free, in segments that are partly in use.");
        case Kind::cached:
            return waste(finding, "cached_bytes", "cached in whole segments",
                         "free, and kept for requests of other sizes, streams or pools.");
        case Kind::waiting:
            return waste(finding, "pending_free_bytes", "pending free",
                         "freed by the program, but work on other streams may still use it. Fewer "
                         "uses across streams, or earlier joins, free it sooner.");
        case Kind::rounding:
            return waste(finding, "rounding_bytes", "of rounding",
                         "what the allocator adds to the requested sizes.");
        case Kind::setting:
            return setting(finding);
        case Kind::retries:
            return {finding.figure("count") == 1
                        ? std::string("One retry to make room")
                        : count(finding, "count") + " retries to make room",
                    "Memory was short: the allocator released its cached memory and asked the "
                    "driver again. Each retry makes the program wait for the device."};
        case Kind::growth_while_free:
            return growth_while_free(finding);
        case Kind::pinned:
            return pinned(finding);
        case Kind::lost_events:
            return {format_counted(finding.figure("count"), "event") + " missing",
                    "The program sent events faster than they could be read. Blocks that were live "
                    "there may be shown with too long a lifetime, and totals may be wrong."};
        case Kind::idle:
            return idle(finding);
        case Kind::in_use:
            return in_use(finding);
        case Kind::holders:
            return {"What holds the memory at the allocated peak", parts_text(finding)};
        case Kind::no_history:
            return {"The file has no history: it is the state at one moment, not a run",
                    "Nothing is replayed. To replay a run, " + finding.message + "."};
        case Kind::remark:
        default:
            return {printable(finding.message)};
    }
}

}  // namespace

std::string finding_position(const findings::Finding& finding) {
    if (finding.event == kNotInTrace)
        return {};
    std::string text = fmt::format("event {}", format_count(finding.event));
    if (finding.time >= 0)
        text += ", " + format_duration(finding.time);
    if (!finding.range.empty())
        text += ", " + one_line(finding.range);
    return text;
}

FindingText finding_text(const findings::Finding& finding) {
    FindingText text = wording(finding);
    if (text.detail.starts_with('\n'))
        text.detail.erase(0, 1);
    if (!finding.run.empty())
        text.title = fmt::format("{}: {}", one_line(finding.run, 100), text.title);
    return text;
}

std::string findings_text(std::span<const findings::Finding> list, bool brief) {
    std::string text;
    for (const findings::Finding& finding : list) {
        if (brief && finding.severity == Severity::note)
            continue;
        const FindingText said = finding_text(finding);
        text += fmt::format("  {}: {}\n", to_text(finding.severity), said.title);
        if (brief && finding.severity != Severity::problem)
            continue;
        std::string below = said.detail;
        if (!said.command.empty())
            below += (below.empty() ? "" : "\n") + said.command;
        for (std::size_t at = 0; at < below.size();) {
            const std::size_t end = std::min(below.find('\n', at), below.size());
            text += fmt::format("    {}\n", below.substr(at, end - at));
            at = end + 1;
        }
    }
    return text;
}

}  // namespace tidemark
