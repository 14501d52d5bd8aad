// Heuristics first, then attempts that learn from those before them.
#include "replay/analysis/bound/bound.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/threads.h"
#include "replay/analysis/bound/capacity_search.h"
#include "replay/analysis/bound/check_packing.h"
#include "replay/analysis/bound/moments.h"
#include "replay/analysis/bound/ordered_fit.h"

namespace tidemark {
namespace {

constexpr std::size_t kAttempts = 16;  // of an iteration, whatever the number of cores
// With more intervals, or more of them at all moments together, only orders are improved.
constexpr std::size_t kMostSearched = 3000;
constexpr std::uint64_t kMostLives = 100'000;
constexpr std::uint64_t kSteps = 1000;
constexpr double kNoise = 0.25;
constexpr double kForgotten = 0.5;                    // of the failures of earlier attempts
constexpr std::uint64_t kMostLooks = 30'000'000'000;  // intervals times live ones, of one order
// The default number of iterations: a few seconds, however many intervals there are.
constexpr std::uint64_t kUsual = 20;
constexpr std::uint64_t kUsualWithCapacity = 1000;
constexpr std::uint64_t kUsualLooks = 20'000'000'000;
constexpr Bytes kMostBytes = Bytes{1} << 62U;

using Order = std::vector<std::uint32_t>;

// 1 1 2 1 1 2 4 ...: how long the restarts of a search are (Luby, Sinclair, Zuckerman, 1993).
std::uint64_t luby(std::uint64_t i) {
    std::uint64_t length = 1;
    while (length < i + 1)
        length = 2 * length + 1;
    while (length != i + 1) {
        length /= 2;
        i %= length;
        if (length < i + 1)
            length = 2 * length + 1;
    }
    return (length + 1) / 2;
}

std::vector<Order> usual_orders(std::span<const Interval> intervals, const Moments& moments) {
    Order identity(intervals.size());
    std::iota(identity.begin(), identity.end(), 0U);
    std::vector<double> contention(intervals.size());
    if (!moments.load.empty()) {
        const double peak = static_cast<double>(std::max<Bytes>(moments.peak_load(), 1));
        std::vector<double> before{0};
        for (const Bytes load : moments.load)
            before.push_back(before.back() + static_cast<double>(load) / peak);
        for (std::size_t i = 0; i < intervals.size(); ++i) {
            const MomentRange range = moments.ranges[i];
            contention[i] = (before[range.last] - before[range.first]) / (range.last - range.first);
        }
    }
    const auto lifetime = [&](std::uint32_t i) {
        return static_cast<double>(intervals[i].end - intervals[i].begin);
    };
    const auto size = [&](std::uint32_t i) { return static_cast<double>(intervals[i].size); };
    const std::array<std::function<double(std::uint32_t)>, 8> measures{
        size,
        lifetime,
        [&](std::uint32_t i) { return size(i) * lifetime(i); },
        [&](std::uint32_t i) { return size(i) * contention[i]; },
        [&](std::uint32_t i) { return lifetime(i) * contention[i]; },
        [&](std::uint32_t i) { return size(i) * lifetime(i) * contention[i]; },
        [&](std::uint32_t i) { return size(i) * size(i) * lifetime(i); },
        [&](std::uint32_t i) { return -static_cast<double>(intervals[i].begin); },
    };
    std::vector<Order> orders;
    for (const auto& measure : measures) {
        std::vector<double> rank(intervals.size());
        for (const std::uint32_t i : identity)
            rank[i] = measure(i);
        orders.push_back(identity);
        std::stable_sort(orders.back().begin(), orders.back().end(),
                         [&](std::uint32_t a, std::uint32_t b) { return rank[a] > rank[b]; });
    }
    return orders;
}

// What an attempt learns for its next one.
struct Track {
    Order order;
    Bytes height = 0;
    std::vector<double> failures;
};

class Improvement {
  public:
    Improvement(std::span<const Interval> intervals, const BoundQuestion& question)
        : intervals_(intervals), question_(question), moments_(find_moments(intervals)) {
        bound_.lower = moments_.peak_load();
        goal_ = std::max(question.capacity, bound_.lower);
        for (const std::uint32_t count : moments_.live)
            lives_ += count;
        looks_ = lives_ / std::max<std::size_t>(moments_.live.size(), 1) * intervals.size();
        const std::uint64_t usual = question.capacity > 0 ? kUsualWithCapacity : kUsual;
        most_iterations_ = question.iterations.value_or(
            std::min(usual, kUsualLooks / std::max<std::uint64_t>(looks_ * 2 * kAttempts, 1)));
    }

    Bound run() {
        bound_.packing = pack_in_time(intervals_);
        report();
        if (looks_ <= kMostLooks && !done()) {
            heuristics();
            while (!done() && bound_.iterations < most_iterations_)
                iterate();
        }
        bound_.stopped = stopped();
        return std::move(bound_);
    }

  private:
    bool stopped() const { return question_.stop && question_.stop(); }

    bool done() const { return bound_.packing.height <= goal_ || stopped(); }

    void report() const {
        if (question_.progress)
            question_.progress(bound_.iterations, most_iterations_, bound_.packing);
    }

    void keep(Packing&& packing) {
        if (!packing.offsets.empty() && packing.height < bound_.packing.height)
            bound_.packing = std::move(packing);
    }

    void heuristics() {
        std::vector<Order> orders = usual_orders(intervals_, moments_);
        std::vector<Packing> packings(orders.size());
        parallel_for(orders.size(), question_.threads, [&](std::size_t i, unsigned) {
            packings[i] = pack_in_order(intervals_, moments_, orders[i], question_.stop);
            return true;
        });
        tracks_.resize(kAttempts);
        for (std::size_t i = 0; i < tracks_.size(); ++i) {
            const std::size_t from = i % orders.size();
            tracks_[i] = {orders[from], packings[from].height,
                          std::vector<double>(moments_.load.size(), 1)};
        }
        for (Packing& packing : packings)
            keep(std::move(packing));
        report();
    }

    bool searches(std::size_t track) const {
        return intervals_.size() <= kMostSearched && lives_ <= kMostLives && track % 4 != 3;
    }

    void iterate() {
        std::vector<Packing> packings(tracks_.size());
        parallel_for(tracks_.size(), question_.threads, [&](std::size_t i, unsigned) {
            packings[i] = searches(i) ? search(tracks_[i], i) : repack(tracks_[i], i);
            return true;
        });
        std::size_t best = tracks_.size();
        for (std::size_t i = 0; i < packings.size(); ++i)
            if (!packings[i].offsets.empty() && packings[i].height < bound_.packing.height) {
                best = i;
                keep(std::move(packings[i]));
            }
        for (std::size_t i = 0; best < tracks_.size() && i < tracks_.size(); ++i)
            if (!searches(best) && !searches(i) &&
                tracks_[i].height > bound_.packing.height + bound_.packing.height / 50)
                tracks_[i].order = tracks_[best].order;
        ++bound_.iterations;
        report();
    }

    Random random_of(std::size_t track) const {
        return Random(Random(question_.seed).next() ^ (bound_.iterations * kAttempts + track));
    }

    // Without a capacity, half of them aim at the lower bound and half at less and less of the gap.
    Bytes target(std::size_t track) const {
        if (question_.capacity > 0 || track % 2 == 0)
            return goal_;
        const Bytes gap = bound_.packing.height - goal_;
        return goal_ + gap - std::max<Bytes>(gap / (2U << (track / 2 % 4)), 1);
    }

    Packing search(Track& track, std::size_t index) const {
        std::optional<Packing> found = search_capacity(
            intervals_, moments_,
            {.capacity = target(index),
             .first_by = static_cast<FirstBy>((index + index / 4 + bound_.iterations) % 4),
             .noise = bound_.iterations == 0 && index < 5 ? 0 : kNoise,
             .seed = random_of(index).next(),
             .steps = kSteps * luby(bound_.iterations),
             .stop = question_.stop},
            track.failures);
        for (double& failures : track.failures)
            failures = 1 + (failures - 1) * kForgotten;
        return found ? std::move(*found) : Packing{};
    }

    // Intervals that ended up too high go to the front, some more at random (Joslin and Clements,
    // Squeaky Wheel Optimization, 1999).
    Packing repack(Track& track, std::size_t index) const {
        Random random = random_of(index);
        const Packing packing = pack_in_order(intervals_, moments_, track.order, question_.stop);
        if (packing.offsets.empty())
            return {};
        const double count = static_cast<double>(track.order.size());
        const Bytes high = std::max(goal_, bound_.packing.height - 1);
        const double far = random.unit() * random.unit();
        std::vector<double> position(track.order.size());
        for (std::size_t at = 0; at < track.order.size(); ++at) {
            const std::uint32_t i = track.order[at];
            position[i] = static_cast<double>(at) + random.unit() * far * 0.02 * count;
            if (packing.offsets[i] + intervals_[i].size > high)
                position[i] *= 1 - random.unit();
        }
        Order order = track.order;
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return position[a] < position[b];
        });
        Packing next = pack_in_order(intervals_, moments_, order, question_.stop);
        if (next.offsets.empty())
            return {};
        if (next.height <= packing.height + packing.height / 200) {
            track.order = std::move(order);
            track.height = next.height;
        }
        return next;
    }

    std::span<const Interval> intervals_;
    const BoundQuestion& question_;
    Moments moments_;
    Bound bound_;
    Bytes goal_ = 0;
    std::uint64_t lives_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t most_iterations_ = 0;
    std::vector<Track> tracks_;
};

}  // namespace

Result<Bound> find_bound(std::span<const Interval> intervals, const BoundQuestion& question) {
    Bytes sum = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        if (intervals[i].end <= intervals[i].begin)
            return fail(ErrorCode::bad_input, "it ends before it begins",
                        fmt::format("interval {}", i));
        if (intervals[i].size > kMostBytes - sum)
            return fail(ErrorCode::bad_input, "more than 2^62 bytes in total",
                        fmt::format("interval {}", i));
        sum += intervals[i].size;
    }
    Bound bound = Improvement(intervals, question).run();
    TM_CHECK(!find_clash(intervals, bound.packing.offsets));
    return bound;
}

}  // namespace tidemark
