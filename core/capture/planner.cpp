// Planner: rectangles from allocations, and the lowest of the packings that several heuristics
// find.
#include "core/capture/planner.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/capture/packing.h"
#include "core/capture/stream_clocks.h"

namespace tidemark {
namespace {

using packing::Gap;
using packing::Packer;
using packing::Rectangle;

constexpr int kMostRounds = 64;  // of placing the highest earlier

// An order of placing, by decreasing key.
struct Method {
    std::string_view name;
    double (*key)(const Rectangle& one);
    Gap gap;
};

double by_size(const Rectangle& one) {
    return static_cast<double>(one.size);
}

double by_area(const Rectangle& one) {
    return static_cast<double>(one.size) * (one.end - one.begin);
}

double by_duration(const Rectangle& one) {
    return one.end - one.begin;
}

double by_time(const Rectangle& one) {
    return -static_cast<double>(one.begin);
}

// The most promising first: the budget may not be enough for all.
constexpr std::array<Method, 8> kMethods{{
    {"size, first fit", by_size, Gap::lowest},
    {"size, best fit", by_size, Gap::tightest},
    {"duration, best fit", by_duration, Gap::tightest},
    {"area, first fit", by_area, Gap::lowest},
    {"area, best fit", by_area, Gap::tightest},
    {"duration, first fit", by_duration, Gap::lowest},
    {"time, best fit", by_time, Gap::tightest},
    {"time, first fit", by_time, Gap::lowest},
}};

std::vector<std::uint32_t> order_by(const Method& method, std::span<const Rectangle> rectangles) {
    std::vector<std::uint32_t> order(rectangles.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const double first = method.key(rectangles[a]);
        const double second = method.key(rectangles[b]);
        return first != second ? first > second : rectangles[a].size > rectangles[b].size;
    });
    return order;
}

// The highest one comes first, and the rest as before.
void highest_first(std::vector<std::uint32_t>& order, std::span<const Rectangle> rectangles,
                   const std::vector<Bytes>& offsets, Bytes height) {
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t number) {
        return offsets[number] + rectangles[number].size == height;
    });
}

// The lowest packing that the budget allows.
class Search {
  public:
    Search(std::span<const Rectangle> rectangles, packing::Meets meets, Bytes bound,
           std::uint64_t most_pairs)
        : all_(rectangles),
          packer_(rectangles, std::move(meets)),
          bound_(bound),
          left_(most_pairs),
          cost_(std::max<std::uint64_t>(packer_.pairs(), 1)) {}

    void run() {
        if (all_.empty())
            return;
        if (cost_ > left_) {
            height_ = packing::sweep(all_, offsets_);
            method_ = "time, tightest hole";
            return;
        }
        for (const Method& method : kMethods)
            attempt(order_by(method, all_), method.gap, method.name);
        std::vector<std::uint32_t> order = order_;
        const Gap gap = gap_;
        for (int round = 0; round < kMostRounds && may_go_on(); ++round) {
            highest_first(order, all_, last_, last_height_);
            attempt(order, gap, "highest placed earlier");
        }
    }

    std::vector<Bytes> take_offsets() { return std::move(offsets_); }

    Bytes height() const { return height_; }

    std::string_view method() const { return method_; }

  private:
    bool may_go_on() const { return height_ > bound_ && cost_ <= left_; }

    void attempt(const std::vector<std::uint32_t>& order, Gap gap, std::string_view name) {
        if (!order_.empty() && !may_go_on())
            return;
        left_ -= std::min(left_, cost_);
        last_height_ = packer_.pack(order, gap, last_);
        if (!order_.empty() && last_height_ >= height_)
            return;
        height_ = last_height_;
        offsets_ = last_;
        order_ = order;
        gap_ = gap;
        method_ = name;
    }

    std::span<const Rectangle> all_;
    Packer packer_;
    Bytes bound_;
    std::uint64_t left_;  // of the budget
    std::uint64_t cost_;  // of one packing
    std::vector<Bytes> last_;
    Bytes last_height_ = 0;
    // The lowest so far.
    std::vector<Bytes> offsets_;
    Bytes height_ = 0;
    std::vector<std::uint32_t> order_;
    Gap gap_ = Gap::lowest;
    std::string_view method_ = "nothing to place";
};

// The rectangles that share bytes with others, and the allocations that they represent.
struct Shared {
    std::vector<Rectangle> rectangles;
    std::vector<std::uint32_t> numbers;  // of the allocations
};

// The position from which on any stream may have the bytes of `one`.
std::uint32_t clear_of(const PlannedAllocation& one, std::span<const StreamId> streams,
                       const StreamClocks& clocks) {
    std::uint32_t clear = std::max(one.end, one.begin + 1);
    for (const StreamId stream : streams)
        clear = std::max(clear, clocks.ready(one.stream, one.end, stream));
    return clear;
}

std::vector<StreamId> streams_of(std::span<const PlannedAllocation> allocations) {
    std::vector<StreamId> streams;
    for (const PlannedAllocation& one : allocations)
        streams.push_back(one.stream);
    std::sort(streams.begin(), streams.end());
    streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
    return streams;
}

class Planning {
  public:
    Planning(std::span<const PlannedAllocation> allocations, std::span<const StreamEdge> edges,
             const PlanOptions& options)
        : allocations_(allocations), options_(options), streams_(streams_of(allocations)) {
        std::vector<StreamEdge> sorted(edges.begin(), edges.end());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; });
        for (const StreamEdge& edge : sorted)
            clocks_.edge(edge.at, edge.from, edge.to);
    }

    Plan make() {
        Plan plan;
        plan.offsets.resize(allocations_.size());
        const Shared shared = position_apart(plan);
        const Bytes base = align_up(plan.height, alignment_);
        plan.lower_bound = plan.height + packing::most_at_once(shared.rectangles);
        Search search(shared.rectangles, meets(shared), plan.lower_bound - plan.height,
                      options_.most_pairs);
        search.run();
        const std::vector<Bytes> offsets = search.take_offsets();
        for (std::size_t i = 0; i < offsets.size(); ++i)
            plan.offsets[shared.numbers[i]] = base + offsets[i];
        if (!offsets.empty())
            plan.height = base + search.height();
        plan.method = search.method();
        return plan;
    }

  private:
    Bytes rounded(const PlannedAllocation& one) const {
        return align_up(std::max<Bytes>(one.size, 1), options_.unit);
    }

    // Places the ones that share with nobody at the bottom, and returns the rest.
    Shared position_apart(Plan& plan) {
        Shared shared;
        for (std::uint32_t i = 0; i < allocations_.size(); ++i) {
            const PlannedAllocation& one = allocations_[i];
            const Bytes alignment = std::max(one.alignment, options_.unit);
            plan.volume += rounded(one);
            if (one.escapes && options_.escapes == EscapeRule::apart) {
                plan.offsets[i] = align_up(plan.height, alignment);
                plan.height = plan.offsets[i] + rounded(one);
                continue;
            }
            alignment_ = std::max(alignment_, alignment);
            shared.rectangles.push_back(rectangle(one, alignment));
            shared.numbers.push_back(i);
        }
        return shared;
    }

    Rectangle rectangle(const PlannedAllocation& one, Bytes alignment) const {
        const auto stream = static_cast<std::uint32_t>(
            std::lower_bound(streams_.begin(), streams_.end(), one.stream) - streams_.begin());
        if (one.escapes)
            return {rounded(one),         alignment, one.begin, StreamClocks::kNever,
                    StreamClocks::kNever, stream};
        return {rounded(one),
                alignment,
                one.begin,
                std::max(one.end, one.begin + 1),
                clear_of(one, streams_, clocks_),
                stream};
    }

    packing::Meets meets(const Shared& shared) const {
        if (streams_.size() < 2)
            return {};
        return [this, &shared](std::uint32_t first, std::uint32_t second) {
            const PlannedAllocation& a = allocations_[shared.numbers[first]];
            const PlannedAllocation& b = allocations_[shared.numbers[second]];
            return !clocks_.ordered(a.stream, a.end, b.stream, b.begin);
        };
    }

    std::span<const PlannedAllocation> allocations_;
    const PlanOptions& options_;
    std::vector<StreamId> streams_;
    StreamClocks clocks_;
    Bytes alignment_ = 1;  // the largest of the shared ones
};

}  // namespace

Result<void> check_planned(std::span<const PlannedAllocation> allocations, Bytes unit) {
    if (!is_power_of_two(unit) || unit >= kLargestRequest)
        return fail(ErrorCode::bad_input, fmt::format("a unit of {} bytes", unit), "plan");
    Bytes sum = 0;
    for (std::size_t i = 0; i < allocations.size(); ++i) {
        const PlannedAllocation& one = allocations[i];
        const std::string where = fmt::format("plan, allocation {}", i);
        if (one.end < one.begin)
            return fail(ErrorCode::bad_input, "it ends before it begins", where);
        if (!is_power_of_two(one.alignment) || one.alignment >= kLargestRequest)
            return fail(ErrorCode::bad_input, fmt::format("an alignment of {}", one.alignment),
                        where);
        const Bytes most = align_up(std::min(one.size, kLargestRequest), unit) + one.alignment;
        if (one.size >= kLargestRequest || most > kLargestRequest - sum)
            return fail(ErrorCode::bad_input, "more bytes than any device has", where);
        sum += most;
    }
    return {};
}

Result<Plan> plan_offsets(std::span<const PlannedAllocation> allocations,
                          std::span<const StreamEdge> edges, const PlanOptions& options) {
    TM_TRY(check_planned(allocations, options.unit));
    return Planning(allocations, edges, options).make();
}

}  // namespace tidemark
