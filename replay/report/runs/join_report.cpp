// Which of the process's memory is PyTorch's, and which isn't.
#include "replay/report/runs/join_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

constexpr std::size_t kMostListed = 10;

std::string verdict(const NamedJoin& joined) {
    const RecordingJoin& join = joined.join;
    std::string text = fmt::format(
        "{} and {}, process {}: {} of PyTorch's {} {} memory from the driver",
        printable(joined.driver), printable(joined.framework), join.process,
        format_count(join.matched + join.inside), format_counted(join.segments, "segment"),
        join.matched + join.inside == 1 ? "is" : "are");
    if (join.inside != 0)
        text += fmt::format(" ({} of them part of a larger allocation)", format_count(join.inside));
    if (join.undecided != 0)
        text += fmt::format("; {} can't be decided: {}", format_count(join.undecided),
                            join.lost_events != 0
                                ? fmt::format("{} missing, or they began before the driver's "
                                              "recording or after its end",
                                              format_counted(join.lost_events, "event"))
                                : "they began before the driver's recording or after its end");
    return text + "\n";
}

}  // namespace

std::string join_text(const NamedJoin& joined) {
    const RecordingJoin& join = joined.join;
    std::string text = verdict(joined);
    for (std::size_t i = 0; i < join.unmatched.size() && i < kMostListed; ++i) {
        const UnmatchedSegment& each = join.unmatched[i];
        text +=
            fmt::format("  {:#x} on device {} ({}, from {} on): {}\n", each.address, each.device,
                        format_bytes(each.size), format_duration(each.time), each.why);
    }
    if (join.unmatched.size() > kMostListed)
        text += fmt::format("  and {} others\n", format_count(join.unmatched.size() - kMostListed));
    Table table({{"device", Align::left},
                 {"held by", Align::left},
                 {"from", Align::left},
                 {fmt::format("at PyTorch's peak, {}", format_duration(join.peaks[0]))},
                 {fmt::format("at the process's peak, {}", format_duration(join.peaks[1]))}});
    for (const MemoryHolder& holder : join.holders)
        table.row(printable(join.devices[holder.device]),
                  holder.is_framework ? "PyTorch" : "others", printable(holder.call),
                  format_bytes(holder.bytes[0]), format_bytes(holder.bytes[1]));
    if (!join.holders.empty())
        text += "\n" + table.ruled(Emphasis::none) + "\n";
    text += fmt::format("on the GPUs, others hold {} at PyTorch's peak and {} at the process's",
                        format_bytes(join.outside(0)), format_bytes(join.outside(1)));
    if (join.cards.empty())
        return text + "; contexts and kernels take more, which no driver call reports\n";
    text += "\n";
    for (const CardAccount& card : join.cards)
        text += fmt::format(
            "at the end {} of {} were used: PyTorch has {}, others {}, and contexts, kernels and "
            "other processes {}\n",
            format_bytes(card.used), printable(join.devices[card.device]),
            format_bytes(card.framework), format_bytes(card.others), format_bytes(card.rest()));
    return text;
}

Json report::join_of(const NamedJoin& joined) {
    const RecordingJoin& join = joined.join;
    return {{"driver", joined.driver},
            {"torch", joined.framework},
            {"process", join.process},
            {"segments", join.segments},
            {"matched", join.matched},
            {"inside", join.inside},
            {"undecided", join.undecided},
            {"lost_events", join.lost_events},
            {"unmatched", list_of(join.unmatched,
                                  [](const UnmatchedSegment& each) -> Json {
                                      return {{"device", each.device},
                                              {"address", each.address},
                                              {"bytes", each.size},
                                              {"time_ns", each.time},
                                              {"why", each.why}};
                                  })},
            {"torch_peak_time_ns", join.peaks[0]},
            {"peak_time_ns", join.peaks[1]},
            {"outside_at_torch_peak_bytes", join.outside(0)},
            {"outside_at_peak_bytes", join.outside(1)},
            {"cards", list_of(join.cards,
                              [&](const CardAccount& card) -> Json {
                                  return {{"device", join.devices[card.device]},
                                          {"used_bytes", card.used},
                                          {"torch_bytes", card.framework},
                                          {"others_bytes", card.others},
                                          {"rest_bytes", card.rest()}};
                              })},
            {"holders", list_of(join.holders, [&](const MemoryHolder& holder) -> Json {
                 return {{"device", join.devices[holder.device]},
                         {"torch", holder.is_framework},
                         {"call", holder.call},
                         {"at_torch_peak_bytes", holder.bytes[0]},
                         {"at_peak_bytes", holder.bytes[1]}};
             })}};
}

}  // namespace tidemark
