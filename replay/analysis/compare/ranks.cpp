// Cursors side by side, allocation by allocation.
#include "replay/analysis/compare/ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <map>
#include <memory>
#include <utility>

#include "core/base/random.h"
#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/facts/rank_majority.h"

namespace tidemark {
namespace {

// A difference grows steadily if it rises in at least this many steps, and by amounts that are this
// close to their mean.
constexpr std::size_t kLeastRises = 3;
constexpr double kSteadyRise = 0.1;

// The allocations of a trace, one after the other.
class RequestSequence {
  public:
    explicit RequestSequence(const Trace& trace)
        : cursor_(trace.cursor()), preamble_(trace.info().preamble_count) {}

    // The next one; false at the end.
    Result<bool> next() {
        for (;; ++at_, ++event_) {
            if (at_ == batch_.count) {
                TM_ASSIGN(batch_, cursor_->next());
                at_ = 0;
                if (batch_.count == 0)
                    return false;
            }
            if (batch_.kind[at_] != EventKind::allocate || event_ < preamble_)
                continue;
            found_ = event_;
            size_ = batch_.size[at_];
            ++at_;
            ++event_;
            return true;
        }
    }

    std::uint64_t event() const { return found_; }

    Bytes size() const { return size_; }

  private:
    std::unique_ptr<TraceCursor> cursor_;
    std::uint64_t preamble_;
    EventBatch batch_{};
    std::size_t at_ = 0;
    std::uint64_t event_ = 0;
    std::uint64_t found_ = 0;
    Bytes size_ = 0;
};

// What a rank requests, as a whole: equal if its sequence of sizes is.
struct RankRequests {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;  // of the sizes, in order

    friend auto operator<=>(const RankRequests&, const RankRequests&) = default;
};

Result<RankRequests> read_requests(const Trace& trace) {
    RequestSequence requests(trace);
    for (RankRequests found;; ++found.count) {
        TM_ASSIGN(const bool more, requests.next());
        if (!more)
            return found;
        found.hash = Random(found.hash ^ requests.size()).next();
    }
}

// RankReport::groups.
std::vector<std::vector<std::size_t>> group_ranks(std::span<const RankRequests> ranks) {
    std::vector<std::vector<std::size_t>> groups;
    std::map<RankRequests, std::size_t> known;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto [group, fresh] = known.try_emplace(ranks[rank], groups.size());
        if (fresh)
            groups.emplace_back();
        groups[group->second].push_back(rank);
    }
    return groups;
}

// The first allocation at which a rank departs from the others.
Result<std::optional<RankDivergence>> divergence(std::span<const NamedTrace> traces) {
    std::vector<RequestSequence> requests;
    for (const NamedTrace& each : traces)
        requests.emplace_back(*each.trace);
    facts::RankMajority majority(traces.size());
    std::vector<Bytes> sizes;
    for (std::uint64_t index = 0; majority.together().size() > 1; ++index) {
        sizes.clear();
        for (const std::size_t rank : majority.together()) {
            TM_ASSIGN(const bool more, requests[rank].next());
            sizes.push_back(more ? requests[rank].size() : facts::RankMajority::kEnded);
        }
        if (std::ranges::all_of(sizes, [&](Bytes size) { return size == sizes.front(); })) {
            if (sizes.front() == facts::RankMajority::kEnded)
                break;
            continue;
        }
        const auto left = majority.part(sizes);
        if (!left.empty())
            return RankDivergence{.rank = left.front().rank,
                                  .other = majority.together().front(),
                                  .others = majority.together().size(),
                                  .index = index,
                                  .event = requests[left.front().rank].event(),
                                  .step = 0,
                                  .bytes = left.front().size,
                                  .usual_bytes = left.front().usual,
                                  .position = {}};
    }
    return std::nullopt;
}

// The most bytes that were requested and not finished at once, in each step.
struct StepPeaks {
    std::string name;                 // of the steps; "" = there are none that are ranges
    std::vector<std::uint64_t> ends;  // their last events, rising
    std::vector<Bytes> peaks;
    std::vector<std::uint64_t> events;  // of the peaks
    std::uint64_t largest = 0;          // RankRow::peak_step
};

Result<StepPeaks> find_step_peaks(const Trace& trace) {
    TM_ASSIGN(ProgramSteps steps, find_steps(trace));
    if (steps.name.empty())
        return StepPeaks{};
    // What follows the last step counts as one more.
    const std::size_t count = steps.ends.size() + 1;
    StepPeaks found{std::move(steps.name), std::move(steps.ends), std::vector<Bytes>(count),
                    std::vector<std::uint64_t>(count), 0};
    std::vector<Bytes> sizes(trace.info().slot_count);
    Bytes requested = 0;
    std::size_t step = 0;
    std::uint64_t event = 0;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i, ++event) {
            for (; step < found.ends.size() && found.ends[step] < event; ++step) {
                found.peaks[step + 1] = requested;
                found.events[step + 1] = event;
            }
            const EventKind kind = batch.kind[i];
            const bool ends = kind == EventKind::free || kind == EventKind::finish;
            if ((!ends && kind != EventKind::allocate) || batch.slot[i] >= sizes.size())
                continue;
            requested -= std::exchange(sizes[batch.slot[i]], ends ? 0 : batch.size[i]);
            requested += sizes[batch.slot[i]];
            if (requested > found.peaks[step]) {
                found.peaks[step] = requested;
                found.events[step] = event;
            }
        }
    }
    const auto largest = std::ranges::max_element(found.peaks) - found.peaks.begin();
    found.peaks.pop_back();
    found.largest = static_cast<std::size_t>(largest) < found.peaks.size()
                        ? static_cast<std::uint64_t>(largest) + 1
                        : 0;
    return found;
}

// In which step an event is, 1 = the first; 0 = after the last one, or there are none.
std::uint64_t step_of_event(const StepPeaks& rank, std::uint64_t event) {
    const auto end = std::ranges::lower_bound(rank.ends, event);
    return end == rank.ends.end() ? 0 : static_cast<std::uint64_t>(end - rank.ends.begin()) + 1;
}

// Requested bytes that are live just after `event`, by name: tag, else site, else size class.
Result<std::map<std::string, Bytes>> live_by_name(const Trace& trace, std::uint64_t last) {
    struct RankBlock {
        Bytes size = 0;
        std::uint32_t tag = 0;
        std::uint32_t stack = 0;
    };

    const TraceInfo& info = trace.info();
    std::vector<RankBlock> live(info.slot_count);
    std::uint64_t event = 0;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (event <= last) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count && event <= last; ++i, ++event) {
            const EventKind kind = batch.kind[i];
            const bool ends = kind == EventKind::free || kind == EventKind::finish;
            if ((!ends && kind != EventKind::allocate) || batch.slot[i] >= live.size())
                continue;
            live[batch.slot[i]] =
                ends ? RankBlock{} : RankBlock{batch.size[i], batch.tag[i], batch.stack[i]};
        }
    }
    Sites sites(info);
    std::map<std::string, Bytes> names;
    for (const RankBlock& block : live) {
        if (block.size == 0)
            continue;
        std::string name(info.strings[block.tag]);
        if (name.empty())
            name = sites.site(block.stack);
        names[name.empty() ? size_class(block.size) : name] += block.size;
    }
    return names;
}

// What makes the difference in the widest step.
Result<void> find_more(std::span<const NamedTrace> traces, std::span<const StepPeaks> ranks,
                       RankSpread& spread) {
    if (spread.most_bytes == spread.least_bytes)
        return {};
    const auto names = [&](std::size_t rank) {
        return live_by_name(*traces[rank].trace, ranks[rank].events[spread.step - 1]);
    };
    TM_ASSIGN(const auto most, names(spread.most));
    TM_ASSIGN(const auto least, names(spread.least));
    for (const auto& [name, bytes] : most) {
        const auto found = least.find(name);
        const Bytes others = found == least.end() ? 0 : found->second;
        if (bytes <= others || bytes - others <= spread.most_of_it - spread.least_of_it)
            continue;
        spread.more = name;
        spread.most_of_it = bytes;
        spread.least_of_it = others;
    }
    return {};
}

// The mean rise of a difference from one step to the next, if it grows steadily; else 0.
Bytes steady_rise(std::span<const Bytes> differences) {
    if (differences.size() <= kLeastRises || differences.back() <= differences.front())
        return 0;
    const std::size_t rises = differences.size() - 1;
    const Bytes total = differences.back() - differences.front();
    const double mean = static_cast<double>(total) / static_cast<double>(rises);
    for (std::size_t step = 1; step <= rises; ++step) {
        if (differences[step] <= differences[step - 1])
            return 0;
        const auto rise = static_cast<double>(differences[step] - differences[step - 1]);
        if (std::abs(rise - mean) > kSteadyRise * mean)
            return 0;
    }
    return total / rises;
}

// Since when the one rank requests more than the other, and whether ever more.
void find_trend(std::span<const StepPeaks> ranks, RankSpread& spread) {
    const auto last = [&](const StepPeaks& rank) { return rank.peaks[spread.steps - 1]; };
    const auto [lowest, highest] = std::ranges::minmax_element(ranks, {}, last);
    spread.last_most = static_cast<std::size_t>(highest - ranks.begin());
    spread.last_least = static_cast<std::size_t>(lowest - ranks.begin());
    const std::vector<Bytes>& most = highest->peaks;
    const std::vector<Bytes>& least = lowest->peaks;
    std::size_t before = spread.steps;  // how many steps precede the first of them
    while (before > 0 && most[before - 1] > least[before - 1])
        --before;
    if (before == spread.steps)
        return;
    spread.since = before + 1;
    std::vector<Bytes> differences;
    for (std::size_t step = spread.grows_from() - 1; step < spread.steps; ++step)
        differences.push_back(most[step] - least[step]);
    spread.growth_per_step = steady_rise(differences);
}

std::optional<RankSpread> find_spread(std::span<const StepPeaks> ranks) {
    RankSpread widest;
    widest.steps = std::ranges::min(ranks, {}, [](const StepPeaks& rank) {
                       return rank.peaks.size();
                   }).peaks.size();
    const bool aligned = std::ranges::all_of(
        ranks, [&](const StepPeaks& rank) { return rank.name == ranks.front().name; });
    if (widest.steps == 0 || !aligned)
        return std::nullopt;
    for (std::size_t step = 0; step < widest.steps; ++step) {
        const auto peak = [step](const StepPeaks& rank) { return rank.peaks[step]; };
        const auto [least, most] = std::ranges::minmax_element(ranks, {}, peak);
        if (widest.step != 0 &&
            peak(*most) - peak(*least) <= widest.most_bytes - widest.least_bytes)
            continue;
        widest.step = step + 1;
        widest.most = static_cast<std::size_t>(most - ranks.begin());
        widest.least = static_cast<std::size_t>(least - ranks.begin());
        widest.most_bytes = peak(*most);
        widest.least_bytes = peak(*least);
    }
    find_trend(ranks, widest);
    return widest;
}

}  // namespace

std::string rank_pattern(std::string_view name) {
    std::string result;
    if (name.starts_with("generate:"))
        return result;
    for (const char letter : name) {
        const bool digit = letter >= '0' && letter <= '9';
        if (!digit)
            result += letter;
        else if (!result.ends_with('#'))
            result += '#';
    }
    return result;
}

bool are_ranks(std::span<const NamedTrace> traces) {
    if (traces.size() < 2 || traces[0].name == traces[1].name)
        return false;
    const std::string first = rank_pattern(traces.front().name);
    return !first.empty() && std::ranges::all_of(traces, [&first](const NamedTrace& trace) {
        return rank_pattern(trace.name) == first;
    });
}

std::size_t RankReport::largest() const {
    const bool known =
        std::ranges::all_of(rows, [](const RankRow& row) { return row.peak_reserved > 0; });
    const auto peak = [known](const RankRow& row) {
        return known ? row.peak_reserved : row.peak_requested;
    };
    const auto found = std::ranges::max_element(rows, {}, peak);
    return static_cast<std::size_t>(found - rows.begin());
}

Result<RankReport> compare_ranks(std::span<const NamedTrace> traces, std::vector<RankRow> rows) {
    RankReport report;
    report.rows = std::move(rows);
    std::vector<RankRequests> requests;
    std::vector<StepPeaks> steps;
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
        TM_ASSIGN(const RankRequests found, read_requests(*traces[rank].trace));
        requests.push_back(found);
        report.rows[rank].allocations = found.count;
        TM_ASSIGN(StepPeaks peaks, find_step_peaks(*traces[rank].trace));
        report.rows[rank].peak_step = peaks.largest;
        steps.push_back(std::move(peaks));
    }
    report.groups = group_ranks(requests);
    report.spread = find_spread(steps);
    if (report.spread)
        TM_TRY(find_more(traces, steps, *report.spread));
    TM_ASSIGN(report.divergence, divergence(traces));
    if (report.divergence) {
        RankDivergence& where = *report.divergence;
        where.step = step_of_event(steps[where.rank], where.event);
        const std::array events{where.event};
        TM_ASSIGN(EventPositions positions,
                  find_event_positions(*traces[where.rank].trace, events));
        where.position = std::move(positions.positions.front());
    }
    return report;
}

}  // namespace tidemark
