// Packing: finding what a rectangle meets, and the gap that it takes.
//
// Placed rectangles are in a tree over all rectangles, ordered by their begins; a node keeps the
// latest `clear` below it. So every placed rectangle that begins before a position and has not
// ended there is found without looking at the others.
#include "core/capture/packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/capture/holes.h"

namespace tidemark::packing {
namespace {

// Positions at which something begins or ends, in order; ends come before begins.
struct Moment {
    std::uint32_t position = 0;
    bool begins = false;
    std::uint32_t number = 0;
};

std::vector<Moment> moments_of(std::span<const Rectangle> rectangles) {
    std::vector<Moment> moments;
    moments.reserve(2 * rectangles.size());
    for (std::uint32_t i = 0; i < rectangles.size(); ++i) {
        moments.push_back({rectangles[i].begin, true, i});
        moments.push_back({rectangles[i].end, false, i});
    }
    std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
        return std::tuple(a.position, a.begins, a.number) <
               std::tuple(b.position, b.begins, b.number);
    });
    return moments;
}

}  // namespace

Packer::Packer(std::span<const Rectangle> rectangles, Meets meets)
    : all_(rectangles),
      meets_(std::move(meets)),
      by_begin_(rectangles.size()),
      ranks_(rectangles.size()),
      leaves_(static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(all_.size(), 1)))),
      tree_(2 * std::size_t{leaves_}) {
    TM_CHECK(rectangles.size() < (std::size_t{1} << 31));
    std::iota(by_begin_.begin(), by_begin_.end(), 0U);
    std::stable_sort(by_begin_.begin(), by_begin_.end(), [this](std::uint32_t a, std::uint32_t b) {
        return all_[a].begin < all_[b].begin;
    });
    for (std::uint32_t rank = 0; rank < by_begin_.size(); ++rank)
        ranks_[by_begin_[rank]] = rank;
}

// The first rank that begins at `position` or later.
std::uint32_t Packer::rank_from(std::uint32_t position) const {
    const auto found =
        std::partition_point(by_begin_.begin(), by_begin_.end(),
                             [&](std::uint32_t number) { return all_[number].begin < position; });
    return static_cast<std::uint32_t>(found - by_begin_.begin());
}

std::uint64_t Packer::pairs() const {
    std::uint64_t sum = 0;
    for (const Rectangle& one : all_)
        sum += rank_from(one.clear) - rank_from(one.begin);
    return sum;
}

void Packer::set(std::uint32_t rank, std::uint32_t clear) {
    std::uint32_t node = leaves_ + rank;
    tree_[node] = clear;
    for (node /= 2; node != 0; node /= 2)
        tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
}

// Calls visit(number) for the placed ones with ranks in [begin, end) and `clear` behind `above`.
template <class Visit>
void Packer::visit(std::uint32_t begin, std::uint32_t end, std::uint32_t above, Visit visit) const {
    // Nodes yet to be visited, with the ranks below them; a path down is the most there can be.
    struct Node {
        std::uint32_t number, begin, size;
    };

    std::array<Node, 64> stack{};
    std::size_t depth = 0;
    stack[depth++] = {1, 0, leaves_};
    while (depth != 0) {
        const Node node = stack[--depth];
        if (tree_[node.number] <= above || node.begin >= end || node.begin + node.size <= begin)
            continue;
        if (node.size == 1) {
            visit(by_begin_[node.begin]);
            continue;
        }
        const std::uint32_t half = node.size / 2;
        stack[depth++] = {2 * node.number + 1, node.begin + half, half};
        stack[depth++] = {2 * node.number, node.begin, half};
    }
}

// Both are known to begin before the other is clear.
bool Packer::do_meet(std::uint32_t a, std::uint32_t b) const {
    if (!meets_)
        return true;
    if (all_[a].end <= all_[b].begin)
        return meets_(a, b);
    if (all_[b].end <= all_[a].begin)
        return meets_(b, a);
    return true;
}

void Packer::gather(std::uint32_t number, const std::vector<Bytes>& offsets) {
    const Rectangle& one = all_[number];
    met_.clear();
    const auto add = [&](std::uint32_t other) {
        if (do_meet(number, other))
            met_.push_back({offsets[other], offsets[other] + all_[other].size});
    };
    const std::uint32_t here = rank_from(one.begin);
    visit(0, here, one.begin, add);
    visit(here, rank_from(one.clear), 0, add);
    std::sort(met_.begin(), met_.end(),
              [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
}

Bytes Packer::lowest_gap(const Rectangle& one) const {
    Bytes offset = 0;
    for (const Placed& other : met_) {
        if (other.begin >= offset && other.begin - offset >= one.size)
            return offset;
        offset = std::max(offset, align_up(other.end, one.alignment));
    }
    return offset;
}

Bytes Packer::tightest_gap(const Rectangle& one) const {
    Bytes offset = 0;
    Bytes best = 0;
    Bytes least = std::numeric_limits<Bytes>::max();
    for (const Placed& other : met_) {
        if (other.begin >= offset && other.begin - offset >= one.size &&
            other.begin - offset < least) {
            best = offset;
            least = other.begin - offset;
        }
        offset = std::max(offset, align_up(other.end, one.alignment));
    }
    return least == std::numeric_limits<Bytes>::max() ? offset : best;
}

Bytes Packer::pack(std::span<const std::uint32_t> order, Gap gap, std::vector<Bytes>& offsets) {
    offsets.assign(all_.size(), 0);
    std::fill(tree_.begin(), tree_.end(), 0U);
    Bytes height = 0;
    for (const std::uint32_t number : order) {
        const Rectangle& one = all_[number];
        gather(number, offsets);
        offsets[number] = gap == Gap::lowest ? lowest_gap(one) : tightest_gap(one);
        height = std::max(height, offsets[number] + one.size);
        set(ranks_[number], one.clear);
    }
    return height;
}

Bytes sweep(std::span<const Rectangle> rectangles, std::vector<Bytes>& offsets) {
    offsets.assign(rectangles.size(), 0);
    std::map<std::uint32_t, Holes> streams;
    for (const Moment& moment : moments_of(rectangles)) {
        const Rectangle& one = rectangles[moment.number];
        if (moment.begins)
            offsets[moment.number] = streams[one.stream].take(one.size, one.alignment);
        else
            streams[one.stream].give(offsets[moment.number], one.size);
    }
    Bytes alignment = 1;
    for (const Rectangle& one : rectangles)
        alignment = std::max(alignment, one.alignment);
    std::map<std::uint32_t, Bytes> bases;
    Bytes height = 0;
    for (const auto& [stream, holes] : streams) {
        bases[stream] = align_up(height, alignment);
        height = bases[stream] + holes.top();
    }
    for (std::size_t i = 0; i < rectangles.size(); ++i)
        offsets[i] += bases[rectangles[i].stream];
    return height;
}

Bytes most_at_once(std::span<const Rectangle> rectangles) {
    Bytes live = 0;
    Bytes most = 0;
    for (const Moment& moment : moments_of(rectangles)) {
        const Bytes size = rectangles[moment.number].size;
        live = moment.begins ? live + size : live - size;
        most = std::max(most, live);
    }
    return most;
}

}  // namespace tidemark::packing
