// ArenaCache: lists of buffers of one size, and what happens when they overflow or run dry.
#include "core/policies/arena_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace tidemark::policies {

std::uint32_t ArenaCache::pop(Lists::iterator list) {
    const std::uint32_t node = list->second.first;
    list->second.first = buffers_[node].next;
    if (--list->second.count == 0)
        list->second.last = kNone;
    buffers_[node].next = kNone;
    cached_ -= buffers_[node].size;
    return node;
}

void ArenaCache::push(Lists::iterator list, std::uint32_t node) {
    if (list->second.count++ == 0)
        list->second.first = node;
    else
        buffers_[list->second.last].next = node;
    list->second.last = node;
    buffers_[node].state = Buffer::State::cached;
    cached_ += buffers_[node].size;
}

// The oldest of a list, ordered behind all streams that used it.
tl::expected<std::uint32_t, OutOfMemory> ArenaCache::take_cached(Lists::iterator list,
                                                                 StreamId stream, Device& device) {
    const Buffer& oldest = buffers_[list->second.first];
    if (!oldest.streams.only(stream)) [[unlikely]] {
        if (const auto ordered = oldest.streams.order_before(stream, device); !ordered)
            return tl::make_unexpected(
                OutOfMemory{OutOfMemory::Cause::device_error, ordered.error().status});
    }
    return pop(list);
}

// A block from the driver's pool; the second attempt comes after everything was freed to it.
DeviceResult<Address> ArenaCache::ask(Bytes size, StreamId stream, Device& device,
                                      AllocatorStats& stats) {
    if (!threshold_set_)
        threshold_set_ = device.set_pool_threshold(settings_.threshold).has_value();
    const DeviceResult<Address> begin = device.malloc_async(size, stream);
    if (begin || begin.error().status != DeviceStatus::out_of_memory || device.capturing())
        return begin;
    drain(device, stats);
    ++stats.synchronizations;
    if (const auto done = device.synchronize(stream); !done)
        return begin;
    if (const auto done = device.trim_pool(0); !done)
        return begin;
    ++stats.retries;
    return device.malloc_async(size, stream);
}

tl::expected<Allocation, OutOfMemory> ArenaCache::allocate(const Request& request, Device& device,
                                                           AllocatorStats& stats) {
    const Bytes padding = request.alignment > kAligned ? request.alignment - kAligned : 0;
    const Bytes wanted = std::max<Bytes>(request.size, 1) + padding;
    const Key key{wanted, request.stream};
    auto list = lists_.find(key);
    std::uint32_t node = kNone;
    if (list != lists_.end() && list->second.count != 0) {
        const auto cached = take_cached(list, request.stream, device);
        if (!cached)
            return tl::make_unexpected(cached.error());
        node = *cached;
    } else {
        const DeviceResult<Address> begin = ask(wanted, request.stream, device, stats);
        if (!begin)
            return tl::make_unexpected(refused_by(begin.error()));
        Buffer fresh;
        fresh.begin = *begin;
        fresh.size = align_up(wanted, kUnit);
        fresh.request = wanted;
        node = vacant_.put_into(buffers_, fresh);
        buffered_ += buffers_[node].size;
        last_ = *begin;
        ++stats.segments_created;
    }
    Buffer& buffer = buffers_[node];
    buffer.state = Buffer::State::live;
    buffer.stream = request.stream;
    buffer.streams = StreamSet(request.stream);
    return Allocation{Address{align_up(to_integer(buffer.begin), request.alignment)}, buffer.size,
                      node};
}

void ArenaCache::deallocate(std::uint32_t node, Device& device, AllocatorStats& stats) {
    const Buffer& buffer = buffers_[node];
    TM_CHECK(buffer.state == Buffer::State::live);
    const auto list = lists_.try_emplace(Key{buffer.request, buffer.stream}).first;
    push(list, node);
    if (device.capturing())
        return;
    if (list->second.count > kMostOfASize)
        give_to_driver(list, device, stats);
    while (cached_ > settings_.cap && give_to_driver(largest_list(), device, stats)) {
    }
}

// The list of the largest size that isn't empty; there must be one.
ArenaCache::Lists::iterator ArenaCache::largest_list() {
    auto list = std::prev(lists_.end());
    while (list->second.count == 0)
        --list;
    return list;
}

// Frees the oldest of a list to the driver's pool, in the order of its stream. False, and nothing
// has changed, if the device refuses.
bool ArenaCache::give_to_driver(Lists::iterator list, Device& device, AllocatorStats& stats) {
    const Buffer& oldest = buffers_[list->second.first];
    if (!oldest.streams.only(oldest.stream) && !oldest.streams.order_before(oldest.stream, device))
        return false;
    if (!device.free_async(oldest.begin, oldest.stream))
        return false;
    const std::uint32_t node = pop(list);
    buffered_ -= buffers_[node].size;
    ++stats.segments_released;
    buffers_[node] = {};
    vacant_.give_back(node);
    return true;
}

void ArenaCache::drain(Device& device, AllocatorStats& stats) {
    for (auto list = lists_.begin(); list != lists_.end(); ++list) {
        while (list->second.count != 0 && give_to_driver(list, device, stats)) {
        }
    }
}

Bytes ArenaCache::largest_cached() const {
    for (auto list = lists_.rbegin(); list != lists_.rend(); ++list) {
        if (list->second.count != 0)
            return list->first.size;
    }
    return 0;
}

void ArenaCache::look_at_pool(const Device& device) {
    const Bytes pool = device.pool_held();
    slack_ = pool > buffered_ ? pool - buffered_ : 0;
}

void ArenaCache::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<Buffer> buffers;
    std::copy_if(buffers_.begin(), buffers_.end(), std::back_inserter(buffers),
                 [](const Buffer& one) { return one.state != Buffer::State::vacant; });
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return a.begin < b.begin; });
    for (const Buffer& one : buffers) {
        const auto state =
            one.state == Buffer::State::live ? Region::State::allocated : Region::State::free;
        const bool is_last = &one == &buffers.back();
        const Range segment{one.begin, one.size + (is_last ? slack_ : 0)};
        visit({{one.begin, one.size}, segment, state, one.stream});
        if (segment.size != one.size)
            visit({{one.begin + one.size, slack_}, segment, Region::State::hole});
    }
    if (buffers.empty() && slack_ != 0)
        visit({{last_, slack_}, {last_, slack_}, Region::State::hole});
}

}  // namespace tidemark::policies
