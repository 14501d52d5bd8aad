// Depth first, with what a failure is due to.
#include "replay/analysis/bound/capacity_search.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/random.h"

namespace tidemark {
namespace {

constexpr Bytes kNowhere = std::numeric_limits<Bytes>::max();

// The decisions that something is due to, by their depth; all deeper ones share the last bit, and
// the search never backtracks over those.
constexpr std::size_t kDeepestReason = 511;
using Reasons = std::bitset<kDeepestReason + 1>;

using Members = std::vector<std::uint32_t>;

// States that were found to lead nowhere, by hash. When it is full, an older one is replaced.
class DeadEnds {
  public:
    bool holds(std::uint64_t state) const {
        for (std::uint64_t i = 0; i < kProbes; ++i)
            if (states_[(state + i) % kSize] == state)
                return true;
        return false;
    }

    void add(std::uint64_t state) {
        std::uint64_t at = state % kSize;
        for (std::uint64_t i = 0; i < kProbes; ++i) {
            at = (state + i) % kSize;
            if (states_[at] == 0)
                break;
        }
        states_[at] = state;
    }

  private:
    static constexpr std::uint64_t kSize = 1U << 16U;
    static constexpr std::uint64_t kProbes = 4;

    std::vector<std::uint64_t> states_ = std::vector<std::uint64_t>(kSize);
};

class CapacitySearch {
  public:
    CapacitySearch(std::span<const Interval> intervals, const Moments& moments,
                   const CapacityAttempt& attempt, std::vector<double>& failures)
        : intervals_(intervals),
          ranges_(moments.ranges),
          attempt_(attempt),
          failures_(failures),
          members_(moments.load.size()),
          floor_(moments.load.size()),
          remaining_(moments.load),
          offset_(intervals.size()),
          placed_(intervals.size()),
          floor_reasons_(moments.load.size()),
          offset_reasons_(intervals.size()),
          queued_(moments.load.size()) {
        Random random(attempt.seed);
        for (std::uint32_t i = 0; i < intervals.size(); ++i) {
            rank_.push_back(measure(i) * (1 + attempt.noise * random.unit()));
            for (std::uint32_t at = ranges_[i].first; at < ranges_[i].last; ++at)
                members_[at].push_back(i);
        }
    }

    std::optional<Packing> run() {
        for (std::uint32_t at = 0; at < members_.size(); ++at)
            queue(at);
        if (!propagate())
            return std::nullopt;
        Members all(intervals_.size());
        std::iota(all.begin(), all.end(), 0U);
        std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
            return ranges_[a].first < ranges_[b].first;
        });
        for (const Members& part : parts_of(all))
            if (!solve(part, 0))
                return std::nullopt;
        return Packing{offset_, height_of(intervals_, offset_)};
    }

  private:
    enum class Undo : std::uint8_t { floor, offset, placed };

    struct Change {
        Undo what;
        std::uint32_t index;
        Bytes before;
    };

    struct ReasonChange {
        bool of_floor;
        std::uint32_t index;
        Reasons before;
    };

    struct Point {
        std::size_t changes;
        std::size_t reasons;
    };

    // What can be done at a moment: begin one of these on its floor, or raise that.
    struct Choice {
        std::uint32_t moment = 0;
        Members candidates;
        Bytes raised = kNowhere;
        MomentRange span;  // where what is open decides how far it rises
    };

    double measure(std::uint32_t i) const {
        const Interval& interval = intervals_[i];
        const double lifetime = static_cast<double>(interval.end - interval.begin);
        switch (attempt_.first_by) {
            case FirstBy::lifetime:
                return lifetime;
            case FirstBy::area:
                return lifetime * static_cast<double>(interval.size);
            case FirstBy::size:
                return static_cast<double>(interval.size);
            case FirstBy::moments:
                return ranges_[i].last - ranges_[i].first;
        }
        return 0;
    }

    template <class Visit>
    void for_open(std::uint32_t moment, Visit visit) const {
        for (const std::uint32_t i : members_[moment])
            if (placed_[i] == 0)
                visit(i);
    }

    void queue(std::uint32_t moment) {
        if (queued_[moment] == 0) {
            queued_[moment] = 1;
            queue_.push_back(moment);
        }
    }

    void set_floor(std::uint32_t moment, Bytes floor) {
        changes_.push_back({Undo::floor, moment, floor_[moment]});
        floor_[moment] = floor;
    }

    void add_reasons(bool of_floor, std::uint32_t index, const Reasons& more) {
        Reasons& reasons = of_floor ? floor_reasons_[index] : offset_reasons_[index];
        if ((reasons | more) == reasons)
            return;
        reason_changes_.push_back({of_floor, index, reasons});
        reasons |= more;
    }

    Point here() const { return {changes_.size(), reason_changes_.size()}; }

    void go_back(Point point) {
        for (; changes_.size() > point.changes; changes_.pop_back()) {
            const Change& change = changes_.back();
            if (change.what == Undo::floor) {
                floor_[change.index] = change.before;
            } else if (change.what == Undo::offset) {
                offset_[change.index] = change.before;
            } else {
                placed_[change.index] = 0;
                const MomentRange range = ranges_[change.index];
                for (std::uint32_t at = range.first; at < range.last; ++at)
                    remaining_[at] += intervals_[change.index].size;
            }
        }
        for (; reason_changes_.size() > point.reasons; reason_changes_.pop_back()) {
            const ReasonChange& change = reason_changes_.back();
            (change.of_floor ? floor_reasons_ : offset_reasons_)[change.index] = change.before;
        }
    }

    Reasons reasons_at(std::uint32_t moment) const {
        Reasons reasons = floor_reasons_[moment];
        for_open(moment, [&](std::uint32_t i) { reasons |= offset_reasons_[i]; });
        return reasons;
    }

    bool fail_at(std::uint32_t moment) {
        failures_[moment] += 1;
        conflict_ = reasons_at(moment);
        for (const std::uint32_t at : queue_)
            queued_[at] = 0;
        queue_.clear();
        return false;
    }

    // Carries floors up to the lowest of what may begin there, and that up to the floors under it.
    bool propagate() {
        while (!queue_.empty()) {
            const std::uint32_t moment = queue_.back();
            queue_.pop_back();
            queued_[moment] = 0;
            if (remaining_[moment] == 0)
                continue;
            raise_to_lowest(moment);
            if (floor_[moment] + remaining_[moment] > attempt_.capacity)
                return fail_at(moment);
            lift_open(moment);
            if (stacked(moment) > attempt_.capacity)
                return fail_at(moment);
        }
        return true;
    }

    void raise_to_lowest(std::uint32_t moment) {
        Bytes lowest = kNowhere;
        Reasons reasons;
        for_open(moment, [&](std::uint32_t i) {
            lowest = std::min(lowest, offset_[i]);
            reasons |= offset_reasons_[i];
        });
        if (lowest == kNowhere || lowest <= floor_[moment])
            return;
        set_floor(moment, lowest);
        add_reasons(true, moment, reasons);
    }

    void lift_open(std::uint32_t moment) {
        for_open(moment, [&](std::uint32_t i) {
            if (offset_[i] >= floor_[moment])
                return;
            changes_.push_back({Undo::offset, i, offset_[i]});
            offset_[i] = floor_[moment];
            add_reasons(false, i, floor_reasons_[moment]);
            for (std::uint32_t at = ranges_[i].first; at < ranges_[i].last; ++at)
                if (at != moment && floor_[at] < offset_[i])
                    queue(at);
        });
    }

    // The least height of all open intervals here: one on top of the other, none below its offset.
    Bytes stacked(std::uint32_t moment) {
        stack_.clear();
        for_open(moment,
                 [&](std::uint32_t i) { stack_.emplace_back(offset_[i], intervals_[i].size); });
        std::sort(stack_.begin(), stack_.end());
        Bytes top = 0;
        for (const auto& [offset, size] : stack_)
            top = std::max(top, offset) + size;
        return top;
    }

    bool put(std::uint32_t i, std::size_t depth) {
        Reasons reasons = offset_reasons_[i];
        reasons.set(std::min(depth, kDeepestReason));
        placed_[i] = 1;
        changes_.push_back({Undo::placed, i, 0});
        for (std::uint32_t at = ranges_[i].first; at < ranges_[i].last; ++at) {
            add_reasons(true, at, reasons);
            remaining_[at] -= intervals_[i].size;
            set_floor(at, offset_[i] + intervals_[i].size);
            queue(at);
        }
        return propagate();
    }

    bool raise(std::uint32_t moment, Bytes floor, std::size_t depth) {
        Reasons reasons = reasons_at(moment);
        reasons.set(std::min(depth, kDeepestReason));
        add_reasons(true, moment, reasons);
        set_floor(moment, floor);
        queue(moment);
        return propagate();
    }

    // `open` in order of their first moments, cut where no two meet.
    std::vector<Members> parts_of(const Members& open) const {
        std::vector<Members> parts;
        std::uint32_t last = 0;
        for (const std::uint32_t i : open) {
            if (placed_[i] != 0)
                continue;
            if (parts.empty() || ranges_[i].first >= last)
                parts.emplace_back();
            parts.back().push_back(i);
            last = std::max(last, ranges_[i].last);
        }
        std::stable_sort(parts.begin(), parts.end(),
                         [](const Members& a, const Members& b) { return a.size() < b.size(); });
        return parts;
    }

    std::uint64_t state_of(const Members& part) const {
        std::uint64_t state = 0;
        for (const std::uint32_t i : part)
            state += Random(Random(offset_[i]).next() + i).next();
        return std::max<std::uint64_t>(state, 1);
    }

    // No neighbour undercuts the floor here: what begins on it has nothing below that is open.
    bool is_lowest(std::uint32_t moment) const {
        for (const std::uint32_t i : members_[moment]) {
            if (placed_[i] != 0 || offset_[i] != floor_[moment])
                continue;
            for (std::uint32_t at = ranges_[i].first; at < ranges_[i].last; ++at)
                if (floor_[at] < floor_[moment])
                    return false;
        }
        return true;
    }

    std::uint32_t choose_moment(const Members& part) const {
        std::uint32_t last = 0;
        for (const std::uint32_t i : part)
            last = std::max(last, ranges_[i].last);
        std::uint32_t best = ranges_[part.front()].first;
        double fewest = std::numeric_limits<double>::max();
        for (std::uint32_t at = ranges_[part.front()].first; at < last; ++at) {
            if (remaining_[at] == 0)
                continue;
            const bool may_rise = floor_[at] + remaining_[at] < attempt_.capacity;
            double ways = may_rise ? 1 : 0;
            for_open(at, [&](std::uint32_t i) { ways += offset_[i] == floor_[at] ? 1 : 0; });
            if (ways > 1)
                ways /= failures_[at];
            else
                ways = 0;
            if (ways > fewest || (ways == fewest && floor_[at] >= floor_[best]) || !is_lowest(at))
                continue;
            fewest = ways;
            best = at;
        }
        return best;
    }

    bool lives_at(std::uint32_t i, std::uint32_t moment) const {
        return ranges_[i].first <= moment && moment < ranges_[i].last;
    }

    static bool meets(MomentRange a, MomentRange b) { return a.first < b.last && b.first < a.last; }

    bool alike(std::uint32_t a, std::uint32_t b) const {
        return ranges_[a].first == ranges_[b].first && ranges_[a].last == ranges_[b].last &&
               intervals_[a].size == intervals_[b].size;
    }

    Choice choose(const Members& part) const {
        Choice choice{.moment = choose_moment(part), .candidates = {}, .span = {}};
        const std::uint32_t moment = choice.moment;
        choice.span = {moment, moment + 1};
        for_open(moment, [&](std::uint32_t i) {
            if (offset_[i] > floor_[moment]) {
                choice.raised = std::min(choice.raised, offset_[i]);
                return;
            }
            choice.span.first = std::min(choice.span.first, ranges_[i].first);
            choice.span.last = std::max(choice.span.last, ranges_[i].last);
            if (std::none_of(choice.candidates.begin(), choice.candidates.end(),
                             [&](std::uint32_t other) { return alike(i, other); }))
                choice.candidates.push_back(i);
        });
        if (floor_[moment] + remaining_[moment] < attempt_.capacity) {
            // One of the candidates that begins higher is on top of one that is not live here.
            for (const std::uint32_t under : part) {
                if (placed_[under] == 0 && !lives_at(under, moment) &&
                    meets(ranges_[under], choice.span))
                    choice.raised =
                        std::min(choice.raised, offset_[under] + intervals_[under].size);
            }
        } else {
            choice.raised = kNowhere;
            choice.span = {moment, moment + 1};
        }
        std::sort(choice.candidates.begin(), choice.candidates.end(),
                  [&](std::uint32_t a, std::uint32_t b) {
                      return rank_[a] != rank_[b] ? rank_[a] > rank_[b] : a < b;
                  });
        return choice;
    }

    // What the choices at a moment are due to, apart from how they fail.
    Reasons reasons_of(const Choice& choice, const Members& part) const {
        Reasons reasons = reasons_at(choice.moment);
        for (std::uint32_t at = choice.span.first; at < choice.span.last; ++at)
            reasons |= floor_reasons_[at];
        for (const std::uint32_t i : part)
            if (meets(ranges_[i], choice.span))
                reasons |= offset_reasons_[i];
        return reasons;
    }

    bool solve(const Members& part, std::size_t depth) {
        if (++steps_ > attempt_.steps || (attempt_.stop && attempt_.stop())) {
            given_up_ = true;
            return false;
        }
        const std::uint64_t state = state_of(part);
        if (dead_ends_.holds(state)) {
            conflict_.reset();
            for (const std::uint32_t i : part)
                for (std::uint32_t at = ranges_[i].first; at < ranges_[i].last; ++at)
                    conflict_ |= floor_reasons_[at] | offset_reasons_[i];
            return false;
        }
        const Choice choice = choose(part);
        Reasons reasons = reasons_of(choice, part);
        const bool may_rise = choice.raised != kNowhere &&
                              choice.raised + remaining_[choice.moment] <= attempt_.capacity;
        for (std::size_t way = 0; way < choice.candidates.size() + (may_rise ? 1 : 0); ++way) {
            const Point point = here();
            const bool possible = way < choice.candidates.size()
                                      ? put(choice.candidates[way], depth)
                                      : raise(choice.moment, choice.raised, depth);
            if (possible && solve_parts(part, depth + 1))
                return true;
            if (given_up_)
                return false;
            go_back(point);
            if (depth < kDeepestReason && !conflict_[depth])
                return false;
            reasons |= conflict_;
        }
        dead_ends_.add(state);
        if (depth < kDeepestReason)
            reasons.reset(depth);
        conflict_ = reasons;
        return false;
    }

    bool solve_parts(const Members& open, std::size_t depth) {
        const std::vector<Members> parts = parts_of(open);
        return std::all_of(parts.begin(), parts.end(),
                           [&](const Members& part) { return solve(part, depth); });
    }

    std::span<const Interval> intervals_;
    std::span<const MomentRange> ranges_;
    const CapacityAttempt& attempt_;
    std::vector<double>& failures_;
    std::vector<Members> members_;  // of each moment
    std::vector<Bytes> floor_;      // of each moment
    std::vector<Bytes> remaining_;  // bytes that are open at each moment
    std::vector<Bytes> offset_;     // of what is placed; else the lowest that is possible
    std::vector<char> placed_;
    std::vector<Reasons> floor_reasons_;
    std::vector<Reasons> offset_reasons_;
    std::vector<double> rank_;
    std::vector<char> queued_;
    std::vector<std::uint32_t> queue_;
    std::vector<Change> changes_;
    std::vector<ReasonChange> reason_changes_;
    std::vector<std::pair<Bytes, Bytes>> stack_;
    Reasons conflict_;  // of the last failure
    DeadEnds dead_ends_;
    std::uint64_t steps_ = 0;
    bool given_up_ = false;
};

}  // namespace

std::optional<Packing> search_capacity(std::span<const Interval> intervals, const Moments& moments,
                                       const CapacityAttempt& attempt,
                                       std::vector<double>& failures) {
    return CapacitySearch(intervals, moments, attempt, failures).run();
}

}  // namespace tidemark
