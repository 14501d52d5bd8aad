// Segments and allocations in the order of their addresses.
#include "replay/c_api/callback_policy.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "replay/c_api/errors.h"

namespace tidemark::c_api {

CallbackPolicy::CallbackPolicy(const tm_policy& calls, Device& device)
    : calls_(calls), device_(device), handle_{this} {
    self_ = calls_.create(calls_.user, &handle_);
}

CallbackPolicy::~CallbackPolicy() {
    if (self_ != nullptr && calls_.destroy != nullptr)
        calls_.destroy(self_);
    for (const auto& [address, size] : segments_)
        static_cast<void>(device_.free(address));
}

tl::expected<Allocation, OutOfMemory> CallbackPolicy::allocate(const Request& request) {
    if (request.size >= kLargestRequest)
        return refuse({OutOfMemory::Cause::too_large});
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    const Bytes wanted = std::max(request.size, Bytes{1});
    if (calls_.allocate(self_, wanted, request.alignment, to_integer(request.stream),
                        to_integer(request.pool), &address, &size) != 0)
        return refuse({OutOfMemory::Cause::device_full});
    const Range range{Address{address}, size};
    if (const std::string wrong = complaint(request, range); !wrong.empty()) {
        if (calls_.fault != nullptr)
            calls_.fault(self_, wrong.c_str());
        return refuse({OutOfMemory::Cause::device_error, DeviceStatus::invalid_value});
    }
    grants_[range.begin] = {size, request.stream, request.pool, {}};
    count_allocated(size);
    return Allocation{.address = range.begin, .size = size};
}

// "" if the policy may grant that.
std::string CallbackPolicy::complaint(const Request& request, Range granted) const {
    const std::uint64_t begin = to_integer(granted.begin);
    if (granted.size < request.size)
        return fmt::format("the policy returned {} bytes for a request of {}", granted.size,
                           request.size);
    if (begin % request.alignment != 0)
        return fmt::format("{:#x} is not a multiple of {}", begin, request.alignment);
    const auto segment = segments_.upper_bound(granted.begin);
    if (segment == segments_.begin())
        return fmt::format("the policy returned {:#x}, which is not in memory that it holds",
                           begin);
    const auto& [first, size] = *std::prev(segment);
    if (granted.begin - first >= size || granted.size > size - (granted.begin - first))
        return fmt::format(
            "the policy returned {:#x} and {} bytes, which is not in memory that it holds", begin,
            granted.size);
    const auto next = grants_.lower_bound(granted.begin);
    const bool above = next != grants_.end() && next->first - granted.begin < granted.size;
    const bool below = next != grants_.begin() &&
                       granted.begin - std::prev(next)->first < std::prev(next)->second.size;
    if (above || below)
        return fmt::format("the policy returned {:#x} and {} bytes, of which some are in use",
                           begin, granted.size);
    return {};
}

void CallbackPolicy::deallocate(const Allocation& allocation, StreamId stream) {
    const auto found = grants_.find(allocation.address);
    const Granted gone = std::move(found->second);
    grants_.erase(found);
    for (const StreamId user : gone.users)
        static_cast<void>(order(user, gone.stream));
    if (stream != gone.stream)
        static_cast<void>(order(stream, gone.stream));
    count_deallocated(allocation);
    calls_.deallocate(self_, to_integer(allocation.address), allocation.size,
                      to_integer(gone.stream));
}

void CallbackPolicy::record_use(const Allocation& allocation, StreamId stream) {
    Granted& granted = grants_[allocation.address];
    if (stream != granted.stream)
        granted.users.push_back(stream);
}

void CallbackPolicy::trim(TrimLevel level) {
    if (level == TrimLevel::all)
        static_cast<void>(device_.synchronize_device());
    if (calls_.trim != nullptr)
        calls_.trim(self_, level == TrimLevel::all ? 1 : 0);
}

Bytes CallbackPolicy::largest_free() const {
    Bytes largest = 0;
    for_each_region([&](const Region& region) {
        if (region.state == Region::State::free)
            largest = std::max(largest, region.range.size);
    });
    return largest;
}

void CallbackPolicy::for_each_region(const std::function<void(const Region&)>& visit) const {
    for (const auto& [begin, size] : segments_) {
        const Range segment{begin, size};
        Address position = begin;
        for (auto grant = grants_.lower_bound(begin);
             grant != grants_.end() && grant->first - begin < size; ++grant) {
            if (position < grant->first)
                visit({{position, grant->first - position}, segment, Region::State::free});
            visit({{grant->first, grant->second.size},
                   segment,
                   Region::State::allocated,
                   grant->second.stream,
                   grant->second.pool});
            position = grant->first + grant->second.size;
        }
        if (position < begin + size)
            visit({{position, begin + size - position}, segment, Region::State::free});
    }
}

// In the units in which devices allocate plain memory.
DeviceResult<Address> CallbackPolicy::take_segment(Bytes wanted) {
    constexpr Bytes kUnit = 512;
    const Bytes size = align_up(wanted, kUnit);
    const auto address = device_.malloc(size);
    if (!address)
        return address;
    segments_[*address] = size;
    count_taken(size);
    return address;
}

tm_status CallbackPolicy::give_back(Address address) {
    const auto segment = segments_.find(address);
    if (segment == segments_.end())
        return fail(TM_BAD_ADDRESS,
                    fmt::format("{:#x} is not memory that the policy holds", to_integer(address)),
                    "tm_policy_free");
    const auto grant = grants_.lower_bound(address);
    if (grant != grants_.end() && grant->first - address < segment->second)
        return fail(TM_BAD_ADDRESS,
                    fmt::format("the memory at {:#x} is in use", to_integer(address)),
                    "tm_policy_free");
    if (const auto freed = device_.free(address); !freed)
        return fail(device_.explain(freed.error()));
    count_given_back(segment->second);
    segments_.erase(segment);
    return TM_OK;
}

DeviceResult<void> CallbackPolicy::order(StreamId before, StreamId after) {
    const auto event = device_.record(before);
    if (!event)
        return tl::make_unexpected(event.error());
    return device_.wait(after, *event);
}

}  // namespace tidemark::c_api
