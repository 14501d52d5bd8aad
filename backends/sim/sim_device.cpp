// The simulator's calls on memory and order, except the two that are hot (in the header). Movement
// and content are in sim_content.cpp.
#include "backends/sim/sim_device.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kAlignment = 32_MiB;           // of reservations, as measured, and of the pool
constexpr Bytes kReservable = Bytes{1} << 50;  // address space for reservations
constexpr Bytes kPlaceable = Bytes{1} << 60;   // address space for plain memory in driver's order

const CostProfile& free_of_cost() {
    static const CostProfile profile;
    return profile;
}

SimConfig checked(SimConfig config) {
    if (config.capacity == 0 && config.profile != nullptr)
        config.capacity = config.profile->memory;
    TM_CHECK(config.capacity <= SimDevice::kLargestCapacity);
    TM_CHECK(is_power_of_two(config.granularity) && config.granularity >= PlainMemory::kUnit);
    TM_CHECK(config.granularity <= kAlignment);
    TM_CHECK(config.host_capacity <= SimDevice::kLargestCapacity);
    return config;
}

// Addresses are divided into strips. The first has all plain memory; then come the pool, host
// memory and graph memory and, without a relevant bound, reservations and plain memory in the
// driver's order.
Bytes strip(const PlainMemory& plain) {
    const Range span = plain.span();
    return std::bit_ceil(std::max(to_integer(span.begin) + span.size, Bytes{1} << 44));
}

AddressSpace space(const PlainMemory& plain, Bytes strips, Bytes size, Bytes alignment) {
    const Bytes begin = strips * strip(plain) + to_integer(SimDevice::kFirstAddress);
    return {{Address{begin}, size}, alignment};
}

Range pool_space(const PlainMemory& plain) {
    return {Address{strip(plain) + to_integer(SimDevice::kFirstAddress)}, strip(plain) / 2};
}

Range placeable(const PlainMemory& plain) {
    return {Address{4 * strip(plain) + 2 * kReservable}, kPlaceable};
}

}  // namespace

SimDevice::SimDevice(const SimConfig& config)
    : config_(checked(config)),
      name_(config.profile == nullptr ? "sim" : "sim:" + config.profile->name),
      profile_(config.profile == nullptr ? &free_of_cost() : config.profile),
      free_(config_.capacity - config_.held),
      plain_(kFirstAddress, config_.capacity),
      pool_(pool_space(plain_)),
      host_(space(plain_, 2, strip(plain_) / 2, PlainMemory::kUnit)),
      host_free_(config_.host_capacity),
      virtual_(space(plain_, 4, kReservable, kAlignment), config_.granularity),
      driver_(placeable(plain_), profile_->largest_page, config_.late_hole),
      graph_memory_(space(plain_, 3, strip(plain_) / 2, GraphMemory::kUnit)) {}

std::unique_ptr<SimDevice> SimDevice::clone() const {
    return std::unique_ptr<SimDevice>(new SimDevice(*this));
}

bool SimDevice::has(Feature feature) const {
    if (feature == Feature::peer_access)
        return config_.peers != 0;
    return feature != Feature::shared_memory;
}

// Plain memory in driver's order.

Range SimDevice::placement_span() const {
    return placeable(plain_);
}

DeviceResult<Address> SimDevice::malloc_driver(Bytes size) {
    const std::optional<Address> address = driver_.take(size);
    if (!address)
        return refuse(DeviceCall::malloc, DeviceStatus::out_of_memory);
    free_ -= size;
    charge(DeviceCall::malloc, size);
    return *address;
}

void SimDevice::hold(Bytes memory, Bytes addresses) {
    free_ -= std::min(memory, free_);
    if (config_.placement == Placement::driver && addresses > 0)
        static_cast<void>(driver_.take(addresses));
}

// Stream-ordered memory.

DeviceResult<Address> SimDevice::malloc_async(Bytes size, StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::malloc_async;
    count(kCall);
    if (size == 0)
        return refuse(kCall, DeviceStatus::invalid_value);
    if (size > config_.capacity)
        return refuse(kCall, DeviceStatus::out_of_memory);
    const Bytes rounded = align_up(size, DriverPool::kUnit);
    if (Recording* recording = recording_of(stream))
        return malloc_captured(rounded, stream, *recording);
    const bool first = !pool_.has_grown();
    const std::optional<DriverPool::Taken> taken = pool_.take(rounded, stream, now(), free_);
    if (!taken)
        return refuse(kCall, DeviceStatus::out_of_memory);
    free_ -= taken->grown;
    // A chunk that comes from elsewhere has to be mapped like a new one.
    const Bytes mapped = taken->grown + taken->moved;
    Nanoseconds extra = first && mapped != 0 ? profile_->pool_creation : 0;
    if (mapped > (first ? DriverPool::kChunk : 0))
        extra += profile_->pool_growth.at(mapped);
    spend(kCall, profile_->cost(kCall, rounded) + extra);
    return taken->address;
}

DeviceResult<void> SimDevice::free_async(Address address, StreamId stream) {
    count(DeviceCall::free_async);
    if (graph_memory_.covers(address) || recording_of(stream) != nullptr) {
        const std::optional<Bytes> given = give_graph_memory(address, stream);
        if (!given)
            return refuse(DeviceCall::free_async, DeviceStatus::invalid_value);
        charge(DeviceCall::free_async, *given);
        return {};
    }
    const Bytes size = pool_.give(address, stream, clock_.busy_until(stream));
    if (size == 0)
        return refuse(DeviceCall::free_async, DeviceStatus::invalid_value);
    charge(DeviceCall::free_async, size);
    store_.drop({address, size});
    return {};
}

DeviceResult<void> SimDevice::set_pool_threshold(Bytes threshold) {
    count(DeviceCall::set_pool_threshold);
    pool_.set_threshold(threshold);
    charge(DeviceCall::set_pool_threshold, 0);
    return {};
}

DeviceResult<void> SimDevice::trim_pool(Bytes keep) {
    count(DeviceCall::trim_pool);
    if (capturing())
        return refuse(DeviceCall::trim_pool, DeviceStatus::not_permitted);
    const Bytes before = free_;
    free_ += pool_.trim(keep, now());
    trim_graph_memory();
    charge(DeviceCall::trim_pool, free_ - before);
    return {};
}

// Virtual memory.

DeviceResult<Range> SimDevice::reserve(Bytes size) {
    count(DeviceCall::reserve);
    const DeviceResult<Range> range = virtual_.reserve(size);
    if (range)
        charge(DeviceCall::reserve, size);
    return range;
}

DeviceResult<void> SimDevice::unreserve(Range range) {
    count(DeviceCall::unreserve);
    const DeviceResult<void> done = virtual_.unreserve(range);
    if (done)
        charge(DeviceCall::unreserve, range.size);
    return done;
}

DeviceResult<PhysicalId> SimDevice::create(Location where, Bytes size) {
    count(DeviceCall::create);
    if (where.kind != Location::Kind::device || where.index != 0)
        return refuse(DeviceCall::create, DeviceStatus::not_supported);
    if (size > free_)
        return refuse(DeviceCall::create, DeviceStatus::out_of_memory);
    const DeviceResult<PhysicalId> physical = virtual_.create(size);
    if (physical) {
        free_ -= size;
        charge(DeviceCall::create, size);
    }
    return physical;
}

void SimDevice::take_back(Range freed) {
    free_ += freed.size;
    store_.drop(freed);
}

DeviceResult<void> SimDevice::release(PhysicalId physical) {
    count(DeviceCall::release);
    TM_ASSIGN(const VirtualMemory::Released released, virtual_.release(physical));
    take_back(released.freed);
    charge(DeviceCall::release, released.size);
    return {};
}

DeviceResult<void> SimDevice::map(Range range, PhysicalId physical) {
    count(DeviceCall::map);
    const DeviceResult<void> done = virtual_.map(range, physical);
    if (done)
        charge(DeviceCall::map, range.size);
    return done;
}

// Nothing if the range does not consist of whole mappings.
std::optional<Nanoseconds> SimDevice::cost_of_mappings(DeviceCall call, Range range) const {
    Nanoseconds cost = 0;
    bool first = true;
    const bool whole = virtual_.for_each_mapping(range, [&](Bytes size) {
        cost += first ? profile_->cost(call, size) : profile_->further_cost(call, size);
        first = false;
    });
    return whole ? std::optional(cost) : std::nullopt;
}

DeviceResult<void> SimDevice::unmap(Range range) {
    count(DeviceCall::unmap);
    const std::optional<Nanoseconds> cost = cost_of_mappings(DeviceCall::unmap, range);
    if (!cost)
        return refuse(DeviceCall::unmap, DeviceStatus::invalid_value);
    virtual_.unmap(range, [&](Range freed) { take_back(freed); });
    spend(DeviceCall::unmap, *cost);
    return {};
}

DeviceResult<void> SimDevice::set_access(Range range, bool writable) {
    count(DeviceCall::set_access);
    const std::optional<Nanoseconds> cost = cost_of_mappings(DeviceCall::set_access, range);
    if (!cost)
        return refuse(DeviceCall::set_access, DeviceStatus::invalid_value);
    virtual_.set_access(range, writable);
    spend(DeviceCall::set_access, *cost);
    return {};
}

DeviceResult<void> SimDevice::set_access_for(Location who, Range range, bool writable) {
    constexpr DeviceCall kCall = DeviceCall::set_access_for;
    count(kCall);
    if (config_.peers == 0)
        return refuse(kCall, DeviceStatus::not_supported);
    if (who.kind != Location::Kind::device || who.index == 0 || who.index > config_.peers)
        return refuse(kCall, DeviceStatus::invalid_value);
    const std::optional<Nanoseconds> cost = cost_of_mappings(DeviceCall::set_access, range);
    if (!cost)
        return refuse(kCall, DeviceStatus::invalid_value);
    virtual_.set_access_for(who.index, range, writable);
    spend(kCall, *cost);
    return {};
}

bool SimDevice::reachable_by(Location who, Range range, bool write) const {
    return virtual_.reachable_by(who.index, range, write);
}

// Order.

DeviceResult<EventId> SimDevice::record(StreamId stream) {
    count(DeviceCall::record);
    charge(DeviceCall::record, 0);
    const EventId event = clock_.record(stream);
    if (Recording* recording = recording_of(stream))
        recording->record(stream, event);
    return event;
}

DeviceResult<void> SimDevice::await(EventId event) {
    if (capturing())
        return refuse(DeviceCall::complete, DeviceStatus::not_permitted);
    if (!clock_.known(event))
        return refuse(DeviceCall::complete, DeviceStatus::invalid_value);
    stall(clock_.drain(event));
    return {};
}

void SimDevice::queue_kernel(StreamId stream, Nanoseconds duration) {
    if (recording_of(stream) == nullptr)
        clock_.enqueue(stream, duration);
}

DeviceResult<bool> SimDevice::complete(EventId event) {
    count(DeviceCall::complete);
    if (capturing())
        return refuse(DeviceCall::complete, DeviceStatus::not_permitted);
    if (!clock_.known(event))
        return refuse(DeviceCall::complete, DeviceStatus::invalid_value);
    if (config_.await_events)
        stall(clock_.drain(event));
    const bool passed = clock_.passed(event);
    charge(DeviceCall::complete, 0);
    return passed;
}

DeviceResult<void> SimDevice::wait(StreamId stream, EventId event) {
    count(DeviceCall::wait);
    if (!clock_.known(event))
        return refuse(DeviceCall::wait, DeviceStatus::invalid_value);
    if (!ties_capture(stream, event))
        clock_.wait(stream, event);
    else if (!wait_captured(stream, event))
        return refuse(DeviceCall::wait, DeviceStatus::not_permitted);
    charge(DeviceCall::wait, 0);
    return {};
}

void SimDevice::synchronized(DeviceCall call, Nanoseconds stalled, Bytes given_back) {
    stall(stalled);
    charge(call, 0);
    free_ += given_back;
    if (given_back != 0)
        spend(call, profile_->cost(DeviceCall::trim_pool, given_back));
}

DeviceResult<void> SimDevice::synchronize(StreamId stream) {
    count(DeviceCall::synchronize);
    if (capturing())
        return refuse(DeviceCall::synchronize, DeviceStatus::not_permitted);
    const Nanoseconds stalled = clock_.drain(stream);
    synchronized(DeviceCall::synchronize, stalled, pool_.synchronized(stream, now()));
    return {};
}

DeviceResult<void> SimDevice::synchronize_device() {
    count(DeviceCall::synchronize_device);
    if (capturing())
        return refuse(DeviceCall::synchronize_device, DeviceStatus::not_permitted);
    const Nanoseconds stalled = clock_.drain_all();
    synchronized(DeviceCall::synchronize_device, stalled, pool_.synchronized(now()));
    return {};
}

}  // namespace tidemark
