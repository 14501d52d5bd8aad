// Counting what streams do.
#include "viz/model/timeline/stream_density.h"

#include <algorithm>
#include <bit>

namespace tidemark::viz {
namespace {

constexpr std::size_t kStreamDensityBetweenLooks = 1U << 14U;  // events, at the request to stop
constexpr std::size_t kLeastPerBucket = 64;

enum class Act : std::uint8_t { none, allocation, free, waiting_free };

struct StreamAct {
    std::size_t stream = 0;
    Act act = Act::none;
};

StreamAct act_of(const History& history, EventIndex event) {
    const BlockIndex index = history.block_at(event);
    if (index == kNoBlock)
        return {};
    const Block block = history.block(index);
    const std::size_t stream = to_integer(history.site(block.site).stream);
    if (block.born == event)
        return {stream, Act::allocation};
    if (block.freed == event)
        return {stream, block.reused > event ? Act::waiting_free : Act::free};
    return {};
}

}  // namespace

std::shared_ptr<const StreamDensity> StreamDensity::build(const History& history,
                                                          std::size_t events,
                                                          const Cancelled& cancelled) {
    auto density = std::make_shared<StreamDensity>();
    density->events_ = events;
    const std::size_t streams = std::max<std::size_t>(history.streams().size(), 1);
    density->streams_ = std::min(streams, kStreams);
    density->lumped_ = streams > kStreams;
    density->per_bucket_ = std::bit_ceil(std::max(kLeastPerBucket, events / kBuckets));
    std::vector<Counts> sums(density->streams_);
    for (std::size_t event = 0; event < events; ++event) {
        if (event % kStreamDensityBetweenLooks == 0 && cancelled)
            return nullptr;
        if (event % density->per_bucket_ == 0)
            density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
        const StreamAct act = act_of(history, static_cast<EventIndex>(event));
        Counts& sum = sums[std::min(act.stream, density->streams_ - 1)];
        sum.allocations += act.act == Act::allocation ? 1 : 0;
        sum.frees += act.act == Act::free || act.act == Act::waiting_free ? 1 : 0;
        sum.waiting += act.act == Act::waiting_free ? 1 : 0;
    }
    density->sums_.insert(density->sums_.end(), sums.begin(), sums.end());
    return density;
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

void StreamDensity::between(EventIndex first, EventIndex last,
                            std::span<StreamCounts> counts) const {
    for (std::size_t stream = 0; stream < counts.size() && stream < streams_; ++stream) {
        const StreamCounts from = before(first, stream);
        const StreamCounts to = before(last, stream);
        counts[stream] = {to.allocations - from.allocations, to.frees - from.frees,
                          to.waiting - from.waiting};
    }
}

void StreamDensity::count(const History& history, EventIndex first, EventIndex last,
                          std::span<StreamCounts> counts) {
    std::fill(counts.begin(), counts.end(), StreamCounts{});
    for (EventIndex event = first; event < last; ++event) {
        const StreamAct act = act_of(history, event);
        StreamCounts& sum = counts[std::min(act.stream, counts.size() - 1)];
        sum.allocations += act.act == Act::allocation ? 1 : 0;
        sum.frees += act.act == Act::free || act.act == Act::waiting_free ? 1 : 0;
        sum.waiting += act.act == Act::waiting_free ? 1 : 0;
    }
}

}  // namespace tidemark::viz
