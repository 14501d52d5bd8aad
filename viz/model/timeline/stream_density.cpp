// Counts what streams do.
#include "viz/model/timeline/stream_density.h"

#include <algorithm>
#include <bit>

namespace tidemark::viz {
namespace {

constexpr std::size_t kEventsBetweenChecks = 1U << 14U;  // of whether it was cancelled
constexpr std::size_t kLeastPerBucket = 64;

// Counts `event` for the stream of its block, in the last of `counts` if there are fewer.
template <class Counts>
void count_event(const History& history, EventIndex event, std::span<Counts> counts) {
    const BlockIndex index = history.block_at(event);
    if (index == kNoBlock)
        return;
    const Block block = history.block(index);
    const std::size_t stream = to_integer(history.site(block.site).stream);
    Counts& sum = counts[std::min(stream, counts.size() - 1)];
    if (block.born == event) {
        ++sum.allocations;
    } else if (block.freed == event) {
        ++sum.frees;
        if (block.reused > event)
            ++sum.waiting;
    }
}

}  // namespace

std::shared_ptr<const StreamDensity> StreamDensity::build(const History& history,
                                                          std::size_t events,
                                                          const Cancelled& cancelled,
                                                          const StreamDensity* known) {
    auto density = std::make_shared<StreamDensity>();
    density->events_ = events;
    density->streams_ = std::clamp<std::size_t>(history.streams().size(), 1, kStreams);
    density->per_bucket_ = std::bit_ceil(std::max(kLeastPerBucket, events / kBuckets));
    std::vector<Counts> sums(density->streams_);
    std::size_t first = 0;
    if (known != nullptr && known->streams_ == density->streams_ && known->events_ <= events) {
        first = density->take(*known);
        std::copy_n(density->sums_.end() - static_cast<std::ptrdiff_t>(sums.size()), sums.size(),
                    sums.begin());
        density->sums_.resize(density->sums_.size() - sums.size());
    }
    for (std::size_t event = first; event < events; ++event) {
        if (event % kEventsBetweenChecks == 0 && cancelled)
            return nullptr;
        if (event % density->per_bucket_ == 0)
            density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
        count_event(history, static_cast<EventIndex>(event), std::span(sums));
    }
    density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
    return density;
}

// What `known` has counted, in buckets of this size, up to the last whole one: the sums before each
// bucket and, last, before the first event that is to be counted, which is returned.
std::size_t StreamDensity::take(const StreamDensity& known) {
    const std::size_t step = per_bucket_ / known.per_bucket_;  // both are powers of two
    const std::size_t whole = known.events_ / per_bucket_;
    for (std::size_t bucket = 0; bucket <= whole; ++bucket) {
        const auto from =
            known.sums_.begin() + static_cast<std::ptrdiff_t>(bucket * step * streams_);
        sums_.insert(sums_.end(), from, from + static_cast<std::ptrdiff_t>(streams_));
    }
    return whole * per_bucket_;
}

StreamCounts StreamDensity::before(EventIndex event, std::size_t stream) const {
    const std::size_t position = std::min<std::size_t>(event, events_);
    const std::size_t bucket = position / per_bucket_;
    const std::size_t last = sums_.size() / streams_ - 1;
    const Counts& low = sums_[std::min(bucket, last) * streams_ + stream];
    if (bucket >= last)
        return {double(low.allocations), double(low.frees), double(low.waiting)};
    const Counts& high = sums_[(bucket + 1) * streams_ + stream];
    const std::size_t width = std::min(per_bucket_, events_ - bucket * per_bucket_);
    const double share = double(position - bucket * per_bucket_) / double(width);
    const auto between = [share](std::uint32_t from, std::uint32_t to) {
        return double(from) + share * double(to - from);
    };
    return {between(low.allocations, high.allocations), between(low.frees, high.frees),
            between(low.waiting, high.waiting)};
}

void StreamDensity::between(const History& history, EventIndex first, EventIndex last,
                            std::span<StreamCounts> counts) const {
    const auto known = static_cast<EventIndex>(events_);
    count(history, std::max(first, known), std::max(last, known), counts);
    for (std::size_t stream = 0; stream < counts.size() && stream < streams_; ++stream) {
        const StreamCounts from = before(first, stream);
        const StreamCounts to = before(last, stream);
        StreamCounts& sum = counts[stream];
        sum.allocations += to.allocations - from.allocations;
        sum.frees += to.frees - from.frees;
        sum.waiting += to.waiting - from.waiting;
    }
}

void StreamDensity::count(const History& history, EventIndex first, EventIndex last,
                          std::span<StreamCounts> counts) {
    std::fill(counts.begin(), counts.end(), StreamCounts{});
    for (EventIndex event = first; event < last; ++event)
        count_event(history, event, counts);
}

}  // namespace tidemark::viz
