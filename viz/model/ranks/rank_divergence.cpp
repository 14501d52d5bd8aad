// Compares sequences a stretch at a time, and bisects for the first difference.
#include "viz/model/ranks/rank_divergence.h"

#include <algorithm>

#include "replay/facts/rank_majority.h"

namespace tidemark::viz {
namespace {

constexpr Bytes kEnded = facts::RankMajority::kEnded;
constexpr std::uint64_t kStretch = 1 << 12;  // requests

// The requests of a rank: blocks in the order of birth.
class Requests {
  public:
    explicit Requests(const RankHistory& rank)
        : history_(rank.history.get()),
          first_(history_->born_before(rank.preamble)),
          count_(history_->counts().blocks - first_) {}

    std::uint64_t count() const { return count_; }

    Bytes size(std::uint64_t index) const {
        return index < count_ ? block(index).requested : kEnded;
    }

    EventIndex event(std::uint64_t index) const { return block(index).born; }

    const History& history() const { return *history_; }

  private:
    Block block(std::uint64_t index) const {
        return history_->block(first_ + static_cast<BlockIndex>(index));
    }

    const History* history_;
    BlockIndex first_;
    std::uint64_t count_;
};

// --- requests ------------------------------------------------------------------------------------

class Majority {
  public:
    Majority(std::span<const Requests> ranks, const Cancelled& cancelled)
        : ranks_(ranks), cancelled_(cancelled), left_(ranks.size()), majority_(ranks.size()) {}

    std::vector<std::optional<RequestDivergence>> find() {
        while (majority_.together().size() > 1 && !cancelled_.load()) {
            const std::optional<std::uint64_t> differs = first_difference();
            if (!differs)
                break;
            at_ = *differs;
            part();
        }
        return std::move(left_);
    }

  private:
    // Finds where ranks that are together request different sizes, from at_ on; none if all have
    // ended.
    std::optional<std::uint64_t> first_difference() const {
        const std::vector<std::size_t>& together = majority_.together();
        const auto count = [this](std::size_t rank) { return ranks_[rank].count(); };
        const std::uint64_t most = count(*std::ranges::max_element(together, {}, count));
        const Requests& one = ranks_[together.front()];
        for (std::uint64_t begin = at_; begin < most && !cancelled_.load(); begin += kStretch) {
            std::uint64_t first = std::min(begin + kStretch, most);
            const std::uint64_t end = first;
            for (const std::size_t rank : together)
                for (std::uint64_t i = begin; i < first; ++i)
                    if (ranks_[rank].size(i) != one.size(i))
                        first = i;
            if (first < end)
                return first;
        }
        return std::nullopt;
    }

    void part() {
        std::vector<Bytes> sizes;
        for (const std::size_t rank : majority_.together())
            sizes.push_back(ranks_[rank].size(at_));
        for (const auto& [rank, size, usual] : majority_.part(sizes))
            left_[rank] = {at_, ranks_[rank].event(at_), size, usual};
    }

    std::span<const Requests> ranks_;
    const Cancelled& cancelled_;
    std::vector<std::optional<RequestDivergence>> left_;
    facts::RankMajority majority_;
    std::uint64_t at_ = 0;
};

// --- reserved memory -----------------------------------------------------------------------------

struct ReservedRange {
    Bytes least = 0;
    Bytes most = 0;
};

// Of reserved memory, the value on entry included.
ReservedRange reserved_range(const History& history, AxisUnit unit, Position begin, Position end) {
    SeriesColumn column;
    history.series(unit, begin, end, {&column, 1});
    return {column.min[Series::reserved], column.max[Series::reserved]};
}

bool may_differ(const ReservedRange& a, const ReservedRange& b, Bytes threshold) {
    return a.most > b.least + threshold || b.most > a.least + threshold;
}

std::int64_t signed_difference(Bytes a, Bytes b) {
    return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
}

// One rank against another.
class ReservedPair {
  public:
    ReservedPair(const Requests& rank, const Requests& reference, Bytes threshold,
                 const Cancelled& cancelled)
        : rank_(rank), reference_(reference), threshold_(threshold), cancelled_(cancelled) {}

    // The requests that both have in common are compared one by one.
    std::optional<ReservedDivergence> find(std::uint64_t alike) const {
        if (const auto index = by_request(0, alike))
            return ReservedDivergence{rank_.history().time(rank_.event(*index)), after(*index),
                                      true};
        // The last request that was the same has been compared; time goes on after it.
        Position begin = 0;
        if (alike > 0)
            begin = std::max(rank_.history().time(rank_.event(alike - 1)),
                             reference_.history().time(reference_.event(alike - 1)));
        const Position end =
            std::min(rank_.history().end(AxisUnit::time), reference_.history().end(AxisUnit::time));
        const auto time = begin < end ? by_time(begin, end) : std::nullopt;
        if (!time)
            return std::nullopt;
        return ReservedDivergence{*time, at(*time), false};
    }

  private:
    std::int64_t after(std::uint64_t index) const {
        const auto value = [index](const Requests& requests) {
            return requests.history().values(requests.event(index))[Series::reserved];
        };
        return signed_difference(value(rank_), value(reference_));
    }

    // The value at the end of that nanosecond.
    std::int64_t at(Position time) const {
        const auto value = [time](const Requests& requests) {
            SeriesColumn column;
            requests.history().series(AxisUnit::time, time, time + 1, {&column, 1});
            return column.last[Series::reserved];
        };
        return signed_difference(value(rank_), value(reference_));
    }

    bool differs(std::int64_t difference) const {
        return static_cast<Bytes>(difference < 0 ? -difference : difference) > threshold_;
    }

    // The first request of [begin, end) after which they differ.
    std::optional<std::uint64_t> by_request(std::uint64_t begin, std::uint64_t end) const {
        if (begin >= end || cancelled_.load())
            return std::nullopt;
        if (end - begin == 1)
            return differs(after(begin)) ? std::optional(begin) : std::nullopt;
        const auto range = [&](const Requests& requests) {
            return reserved_range(requests.history(), AxisUnit::events,
                                  Position{requests.event(begin)} * kPositionsPerEvent,
                                  (Position{requests.event(end - 1)} + 1) * kPositionsPerEvent);
        };
        if (!may_differ(range(rank_), range(reference_), threshold_))
            return std::nullopt;
        const std::uint64_t middle = begin + (end - begin) / 2;
        const auto found = by_request(begin, middle);
        return found ? found : by_request(middle, end);
    }

    // The first nanosecond of [begin, end) at the end of which they differ.
    std::optional<Position> by_time(Position begin, Position end) const {
        if (cancelled_.load())
            return std::nullopt;
        if (end - begin == 1)
            return differs(at(begin)) ? std::optional(begin) : std::nullopt;
        const ReservedRange rank = reserved_range(rank_.history(), AxisUnit::time, begin, end);
        const ReservedRange reference =
            reserved_range(reference_.history(), AxisUnit::time, begin, end);
        if (!may_differ(rank, reference, threshold_))
            return std::nullopt;
        if (rank.least == rank.most && reference.least == reference.most)
            return begin;
        const Position middle = begin + (end - begin) / 2;
        const auto found = by_time(begin, middle);
        return found ? found : by_time(middle, end);
    }

    const Requests& rank_;
    const Requests& reference_;
    Bytes threshold_;
    const Cancelled& cancelled_;
};

}  // namespace

std::optional<std::size_t> RankDivergences::first_to_leave() const {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < requests.size(); ++rank)
        if (requests[rank] && (!first || requests[rank]->index < requests[*first]->index))
            first = rank;
    return first;
}

RankDivergences find_divergences(std::span<const RankHistory> ranks, std::size_t reference,
                                 Bytes threshold, const Cancelled& cancelled) {
    const std::vector<Requests> requests(ranks.begin(), ranks.end());
    RankDivergences found;
    found.requests = Majority(requests, cancelled).find();
    found.reserved.resize(ranks.size());
    // How many requests of a rank are those of all ranks that stayed together.
    const auto alike = [&](std::size_t rank) {
        return found.requests[rank] ? found.requests[rank]->index : requests[rank].count();
    };
    for (std::size_t rank = 0; rank < ranks.size() && !cancelled.load(); ++rank) {
        if (rank == reference)
            continue;
        const ReservedPair pair(requests[rank], requests[reference], threshold, cancelled);
        found.reserved[rank] = pair.find(std::min(alike(rank), alike(reference)));
    }
    return found;
}

}  // namespace tidemark::viz
