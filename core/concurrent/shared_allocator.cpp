// Each call: lock, look, ask the policy, count.
#include "core/concurrent/shared_allocator.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

std::string_view to_text(BadAddress why) {
    switch (why) {
        case BadAddress::unknown:
            return "not from this allocator";
        case BadAddress::freed_already:
            return "freed already";
        case BadAddress::inside:
            return "inside an allocation, not its beginning";
        case BadAddress::closed:
            return "the allocator is closed";
    }
    return "";
}

SharedAllocator::SharedAllocator(std::unique_ptr<Allocator> allocator, Device& device,
                                 LeakReport report)
    : allocator_(std::move(allocator)), device_(device), report_(std::move(report)) {
    TM_CHECK(allocator_ != nullptr);
}

SharedAllocator::~SharedAllocator() {
    const std::vector<LiveAllocation> leaked = close();
    if (!leaked.empty() && report_)
        report_(leaked);
}

tl::expected<Range, OutOfMemory> SharedAllocator::allocate(const Request& request) {
    const std::lock_guard lock(mutex_);
    if (const auto refusal = objection(request)) {
        ++status_.refused;
        return tl::make_unexpected(*refusal);
    }
    const auto granted = allocator_->allocate(request);
    count_peaks();
    if (!granted) {
        ++status_.refused;
        return tl::make_unexpected(granted.error());
    }
    map_.insert({*granted, request.size, request.stream, request.pool, status_.granted});
    ++status_.granted;
    status_.requested += request.size;
    status_.peak_requested = std::max(status_.peak_requested, status_.requested);
    return Range{granted->address, granted->size};
}

tl::expected<void, BadAddress> SharedAllocator::free(Address address, StreamId stream) {
    return free_on(address, stream);
}

tl::expected<void, BadAddress> SharedAllocator::free(Address address) {
    return free_on(address, std::nullopt);
}

tl::expected<void, BadAddress> SharedAllocator::record_use(Address address, StreamId stream) {
    const std::lock_guard lock(mutex_);
    const AddressMap::Entry* entry = map_.find(address);
    if (entry == nullptr || allocator_ == nullptr)
        return reject(address);
    ++status_.record_uses;
    allocator_->record_use(entry->allocation, stream);
    return {};
}

std::optional<LiveAllocation> SharedAllocator::range_of(Address address) const {
    const std::lock_guard lock(mutex_);
    const AddressMap::Entry* entry = map_.containing(address);
    return entry == nullptr ? std::nullopt : std::optional(to_live(*entry));
}

void SharedAllocator::set_limit(Bytes limit) {
    const std::lock_guard lock(mutex_);
    status_.limit = limit;
}

void SharedAllocator::trim(TrimLevel level) {
    with_policy([level](Allocator& policy) { policy.trim(level); });
}

void SharedAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    with_policy([pool, traits](Allocator& policy) { policy.begin_pool(pool, traits); });
}

void SharedAllocator::end_pool(PoolId pool) {
    with_policy([pool](Allocator& policy) { policy.end_pool(pool); });
}

void SharedAllocator::close_pool(PoolId pool) {
    with_policy([pool](Allocator& policy) { policy.close_pool(pool); });
}

void SharedAllocator::trim_pool(PoolId pool) {
    with_policy([pool](Allocator& policy) { policy.trim_pool(pool); });
}

Result<void> SharedAllocator::reconfigure(const Options& options) {
    const std::lock_guard lock(mutex_);
    if (allocator_ == nullptr)
        return fail(ErrorCode::unsupported, std::string(to_text(BadAddress::closed)));
    return allocator_->reconfigure(options);
}

SharedStatus SharedAllocator::status() const {
    const std::lock_guard lock(mutex_);
    SharedStatus status = status_;
    status.live = map_.size();
    if (allocator_ != nullptr) {
        status.usage = allocator_->usage();
        status.stats = allocator_->stats();
    }
    return status;
}

std::vector<LiveAllocation> SharedAllocator::live() const {
    const std::lock_guard lock(mutex_);
    return map_.all();
}

std::vector<LiveAllocation> SharedAllocator::close() {
    const std::lock_guard lock(mutex_);
    if (allocator_ == nullptr)
        return {};
    allocator_->trim(TrimLevel::all);
    status_.usage = allocator_->usage();
    status_.stats = allocator_->stats();
    allocator_.reset();
    std::vector<LiveAllocation> left = map_.all();
    map_ = {};
    return left;
}

// Why `request` need not be shown to the policy.
std::optional<OutOfMemory> SharedAllocator::objection(const Request& request) const {
    if (allocator_ == nullptr)
        return OutOfMemory{OutOfMemory::Cause::device_error, DeviceStatus::not_permitted};
    if (!is_power_of_two(request.alignment) || request.alignment > device_.granularity())
        return OutOfMemory{OutOfMemory::Cause::device_error, DeviceStatus::invalid_value};
    if (request.size >= kLargestRequest)
        return OutOfMemory{OutOfMemory::Cause::too_large, DeviceStatus::out_of_memory};
    if (status_.limit != 0 && status_.requested + request.size > status_.limit)
        return OutOfMemory{OutOfMemory::Cause::limit, DeviceStatus::out_of_memory};
    return std::nullopt;
}

tl::expected<void, BadAddress> SharedAllocator::free_on(Address address,
                                                        std::optional<StreamId> stream) {
    if (address == Address::null)
        return {};
    const std::lock_guard lock(mutex_);
    AddressMap::Entry entry;
    if (!map_.take(address, entry))
        return reject(address);
    allocator_->deallocate(entry.allocation, stream.value_or(entry.stream));
    freed_[status_.freed % kRemembered] = address;
    ++status_.freed;
    status_.requested -= entry.requested;
    return {};
}

// What is wrong with an address at which nothing living begins.
tl::expected<void, BadAddress> SharedAllocator::reject(Address address) {
    ++status_.bad_addresses;
    BadAddress why = BadAddress::unknown;
    if (allocator_ == nullptr)
        why = BadAddress::closed;
    else if (map_.containing(address) != nullptr)
        why = BadAddress::inside;
    else if (address != Address::null &&
             std::find(freed_.begin(), freed_.end(), address) != freed_.end())
        why = BadAddress::freed_already;
    return tl::make_unexpected(why);
}

// A request may leave more reserved behind even if it is refused.
void SharedAllocator::count_peaks() {
    const Usage& usage = allocator_->usage();
    status_.peak_reserved = std::max(status_.peak_reserved, usage.reserved);
    status_.peak_allocated = std::max(status_.peak_allocated, usage.allocated);
}

}  // namespace tidemark
