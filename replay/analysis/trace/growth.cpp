// Counts what is live in each trace, then subtracts.
#include "replay/analysis/trace/growth.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "replay/analysis/trace/sites.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/recorded_policy.h"
#include "replay/scenario/trial.h"

namespace tidemark {
namespace {

struct Pair {
    Held end;
    Held peak;
};

using ByName = std::map<std::string, std::array<Pair, 2>>;  // before, after

// Goes through a trace and counts what is live at an event and at the end.
class Census {
  public:
    Census(const TraceInfo& info, bool by_site)
        : sites_(info), by_site_(by_site), live_(info.slot_count) {}

    Result<void> count(const Trace& trace, std::uint64_t peak_event, std::size_t side,
                       ByName& names) {
        const std::unique_ptr<TraceCursor> cursor = trace.cursor();
        std::uint64_t event = 0;
        for (;;) {
            TM_ASSIGN(const EventBatch batch, cursor->next());
            if (batch.count == 0)
                break;
            for (std::size_t i = 0; i < batch.count; ++i, ++event) {
                see(batch, i);
                if (event == peak_event)
                    for_each_live([&](Pair& pair) -> Held& { return pair.peak; }, side, names);
            }
        }
        for_each_live([&](Pair& pair) -> Held& { return pair.end; }, side, names);
        return {};
    }

  private:
    struct Live {
        bool lives = false;
        std::uint32_t stack = 0;
        Bytes size = 0;
    };

    void see(const EventBatch& batch, std::size_t i) {
        const std::uint32_t slot = batch.slot[i];
        if (slot >= live_.size())
            return;
        if (batch.kind[i] == EventKind::allocate)
            live_[slot] = {(batch.flags[i] & kTierMask) == 0 && batch.size[i] < kLargestRequest,
                           batch.stack[i], batch.size[i]};
        else if (batch.kind[i] == EventKind::free || batch.kind[i] == EventKind::finish)
            live_[slot].lives = false;
    }

    template <class Which>
    void for_each_live(Which which, std::size_t side, ByName& names) {
        for (const Live& live : live_) {
            if (!live.lives)
                continue;
            Held& held =
                which(names[by_site_ ? sites_.site(live.stack) : size_class(live.size)][side]);
            held.bytes += live.size;
            ++held.blocks;
        }
    }

    Sites sites_;
    bool by_site_;
    std::vector<Live> live_;
};

// Replays a trace under its own settings for the peak of reserved memory.
Result<void> replay_side(const Trace& trace, GrowthSide& side) {
    const Result<RecordedPolicy> recorded = recorded_policy(trace.info());
    side.policy = recorded ? recorded->text : "torch";
    TrialSetup setup;
    TM_ASSIGN(setup.policy, parse_policy(side.policy));
    TM_ASSIGN(const TrialResult result, run_trial(trace, setup));
    side.peak_reserved = result.peak.reserved;
    return {};
}

Bytes distance(const Held& before, const Held& after) {
    return std::max(before.bytes, after.bytes) - std::min(before.bytes, after.bytes);
}

Bytes distance(const GrowthEntry& entry) {
    return std::max(distance(entry.end_before, entry.end_after),
                    distance(entry.peak_before, entry.peak_after));
}

GrowthEntry entry_of(const std::string& name, const std::array<Pair, 2>& pairs) {
    const auto& [before, after] = pairs;
    const bool was = before.end.blocks + before.peak.blocks > 0;
    const bool is = after.end.blocks + after.peak.blocks > 0;
    return {name,        was && is ? Change::changed : is ? Change::added : Change::removed,
            before.end,  after.end,
            before.peak, after.peak};
}

void add(Held& sum, const Held& held) {
    sum.bytes += held.bytes;
    sum.blocks += held.blocks;
}

void sum_up(const ByName& names, Growth& growth) {
    for (const auto& [name, pairs] : names) {
        add(growth.before.end, pairs[0].end);
        add(growth.before.peak, pairs[0].peak);
        add(growth.after.end, pairs[1].end);
        add(growth.after.peak, pairs[1].peak);
    }
}

void warn(const TraceInfo& info, std::string_view which, Growth& growth) {
    if (info.cut_off)
        growth.warnings.push_back(fmt::format(
            "the {} file ends early: what was live at its end is what was live where it was cut",
            which));
    if (info.begins_inside)
        growth.warnings.push_back(
            fmt::format("the {} recording starts in the middle of the run: it does not contain an "
                        "earlier peak, and blocks that were live at its start may have no stack",
                        which));
}

}  // namespace

std::string_view to_text(Change change) {
    switch (change) {
        case Change::added:
            return "added";
        case Change::removed:
            return "removed";
        case Change::changed:
            return "changed";
    }
    return "unknown";
}

Result<Growth> find_growth(const Trace& before, const Trace& after, std::size_t top) {
    Growth growth;
    growth.by_site = has_stacks(before.info()) && has_stacks(after.info());
    ByName names;
    std::size_t side = 0;
    for (const Trace* trace : {&before, &after}) {
        TM_ASSIGN(const TraceSummary summary, summarize(*trace));
        Census census(trace->info(), growth.by_site);
        TM_TRY(census.count(*trace, summary.requested.event, side++, names));
    }
    sum_up(names, growth);
    TM_TRY(replay_side(before, growth.before));
    TM_TRY(replay_side(after, growth.after));
    warn(before.info(), "first", growth);
    warn(after.info(), "second", growth);

    for (const auto& [name, pairs] : names)
        if (GrowthEntry entry = entry_of(name, pairs); distance(entry) > 0)
            growth.entries.push_back(std::move(entry));
    std::ranges::stable_sort(growth.entries, std::greater(),
                             [](const GrowthEntry& entry) { return distance(entry); });
    if (growth.entries.size() > top) {
        growth.more = growth.entries.size() - top;
        growth.entries.resize(top);
    }
    return growth;
}

}  // namespace tidemark
