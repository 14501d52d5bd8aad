// Timed calls, and what they leave behind.
#include "replay/analysis/calibrate/calibrate_probe.h"

#include <algorithm>
#include <numeric>

namespace tidemark {
namespace {

constexpr Nanoseconds kFarOut = 100;

Nanoseconds quantile(const std::vector<Nanoseconds>& sorted, std::size_t tenths) {
    const std::size_t rank = (sorted.size() * tenths + 9) / 10;
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// The total cost of many calls depends on the mean, including rare expensive ones (a malloc that
// takes a new page for its pieces). One in two hundred at either end is left out, and calls that
// took a hundred times as long as usual: in those the system had taken the processor away.
Nanoseconds middle_mean(const std::vector<Nanoseconds>& sorted) {
    const std::size_t cut = (sorted.size() + 180) / 200;
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(cut);
    auto end = sorted.end() - static_cast<std::ptrdiff_t>(cut);
    end = std::upper_bound(begin, end, kFarOut * std::max<Nanoseconds>(quantile(sorted, 5), 1));
    const Nanoseconds sum = std::accumulate(begin, end, Nanoseconds{0});
    const Nanoseconds count = end - begin;
    return std::max<Nanoseconds>((sum + count / 2) / count, 0);
}

// A malloc or free of a piece of a page is the next event of a program; calls that take or free
// whole pages come after many.
Between before(Bytes size) {
    return size < kDriverPage ? Between::little : Between::much;
}

}  // namespace

std::vector<MeasuredCost> Samples::summary() const {
    std::vector<MeasuredCost> rows;
    for (const auto& [key, samples] : samples_) {
        std::vector<Nanoseconds> sorted = samples;
        std::ranges::sort(sorted);
        rows.push_back({.operation = std::string(key.operation),
                        .state = std::string(key.state),
                        .bytes = key.bytes,
                        .count = sorted.size(),
                        .p10 = quantile(sorted, 1),
                        .median = quantile(sorted, 5),
                        .mean = middle_mean(sorted),
                        .p90 = quantile(sorted, 9)});
    }
    return rows;
}

void Samples::set_apart(std::string_view operation, Bytes below, Nanoseconds limit,
                        std::string_view state) {
    std::map<Key, std::vector<Nanoseconds>> apart;
    for (auto& [key, samples] : samples_) {
        if (key.operation != operation || key.bytes >= below)
            continue;
        const auto dear = std::stable_partition(samples.begin(), samples.end(),
                                                [&](Nanoseconds cost) { return cost <= limit; });
        std::vector<Nanoseconds>& moved = apart[{operation, state, key.bytes}];
        moved.insert(moved.end(), dear, samples.end());
        samples.erase(dear, samples.end());
    }
    std::erase_if(apart, [](const auto& entry) { return entry.second.empty(); });
    samples_.merge(apart);
    std::erase_if(samples_, [](const auto& entry) { return entry.second.empty(); });
}

void Probe::clean() {
    // Memory that the device refuses to free now can't be freed.
    for (const auto& [begin, size] : mapped_)
        static_cast<void>(device_.unmap({begin, size}));
    for (const auto& [physical, size] : handles_)
        static_cast<void>(device_.release(physical));
    for (const auto& [begin, size] : reserved_)
        static_cast<void>(device_.unreserve({begin, size}));
    for (const auto& [address, size] : plain_)
        static_cast<void>(device_.free(address));
    for (const auto& [address, size] : host_)
        static_cast<void>(device_.host_free(address));
    for (auto* held : {&mapped_, &reserved_, &plain_, &host_})
        held->clear();
    handles_.clear();
    if (device_.has(Feature::async_pool)) {
        static_cast<void>(device_.set_pool_threshold(0));
        static_cast<void>(device_.synchronize_device());
        static_cast<void>(device_.trim_pool(0));
    }
}

void Probe::disturb(Between between) {
    if (between == Between::nothing)
        return;
    constexpr std::size_t kLine = 8;
    const std::size_t end = between == Between::much ? cache_.size() : cache_.size() / 8;
    for (std::size_t i = 0; i < end; i += kLine)
        disturbed_ += cache_[i]++;
}

DeviceResult<Address> Probe::malloc(Bytes size, std::string_view state) {
    const DeviceResult<Address> address = timed(DeviceCall::malloc, {"malloc", state, size},
                                                before(size), [&] { return device_.malloc(size); });
    if (address)
        plain_.emplace(*address, size);
    return address;
}

DeviceResult<void> Probe::free(Address address, std::string_view state) {
    const Bytes size = plain_[address];
    const DeviceResult<void> done = timed(DeviceCall::free, {"free", state, size}, before(size),
                                          [&] { return device_.free(address); });
    if (done)
        plain_.erase(address);
    return done;
}

DeviceResult<Range> Probe::reserve(Bytes size) {
    const DeviceResult<Range> range = timed(DeviceCall::reserve, {"reserve", "", size},
                                            Between::much, [&] { return device_.reserve(size); });
    if (range)
        reserved_.emplace(range->begin, range->size);
    return range;
}

DeviceResult<void> Probe::unreserve(Range range) {
    const DeviceResult<void> done = timed(DeviceCall::unreserve, {"unreserve", "", range.size},
                                          Between::much, [&] { return device_.unreserve(range); });
    if (done)
        reserved_.erase(range.begin);
    return done;
}

DeviceResult<PhysicalId> Probe::create(Bytes size) {
    const DeviceResult<PhysicalId> physical =
        timed(DeviceCall::create, {"create", "", size}, Between::much,
              [&] { return device_.create({}, size); });
    if (physical)
        handles_.emplace(*physical, size);
    return physical;
}

DeviceResult<void> Probe::release(PhysicalId physical) {
    const DeviceResult<void> done = timed(DeviceCall::release, {"release", "", handles_[physical]},
                                          Between::much, [&] { return device_.release(physical); });
    if (done)
        handles_.erase(physical);
    return done;
}

DeviceResult<void> Probe::map(Range range, PhysicalId physical, std::string_view state) {
    const DeviceResult<void> done =
        timed(DeviceCall::map, {"map", state, range.size}, Between::much,
              [&] { return device_.map(range, physical); });
    if (done)
        mapped_.emplace(range.begin, range.size);
    return done;
}

DeviceResult<void> Probe::set_access(Range range, std::string_view state) {
    return timed(DeviceCall::set_access, {"set_access", state, range.size}, Between::much,
                 [&] { return device_.set_access(range, true); });
}

DeviceResult<void> Probe::unmap(Range range, const Samples::Key& key) {
    const DeviceResult<void> done =
        timed(DeviceCall::unmap, key, Between::much, [&] { return device_.unmap(range); });
    if (done)
        mapped_.erase(mapped_.lower_bound(range.begin),
                      mapped_.lower_bound(range.begin + range.size));
    return done;
}

DeviceResult<Address> Probe::host_malloc(Bytes size) {
    const DeviceResult<Address> address =
        timed(DeviceCall::host_malloc, {"host_malloc", "", size}, Between::much,
              [&] { return device_.host_malloc(size); });
    if (address)
        host_.emplace(*address, size);
    return address;
}

DeviceResult<void> Probe::host_free(Address address) {
    const DeviceResult<void> done =
        timed(DeviceCall::host_free, {"host_free", "", host_[address]}, Between::much,
              [&] { return device_.host_free(address); });
    if (done)
        host_.erase(address);
    return done;
}

DeviceResult<Address> Probe::hold(Bytes size) {
    const DeviceResult<Address> address = device_.malloc(size);
    if (address)
        plain_.emplace(*address, size);
    return address;
}

DeviceResult<Range> Probe::hold_room(Bytes size) {
    const DeviceResult<Range> room = device_.reserve(size);
    if (room)
        reserved_.emplace(room->begin, room->size);
    return room;
}

DeviceResult<void> Probe::let_go(Address address) {
    const DeviceResult<void> done = device_.free(address);
    if (done)
        plain_.erase(address);
    return done;
}

DeviceResult<void> Probe::let_go(Range room) {
    const DeviceResult<void> done = device_.unreserve(room);
    if (done)
        reserved_.erase(room.begin);
    return done;
}

}  // namespace tidemark
