// Passes calls on, and keeps the books.
#include "core/policies/driver_pool_allocator.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kDriverPoolUnit = 512;     // sizes, as the driver's pool rounds them
constexpr Bytes kDriverPoolAligned = 256;  // addresses, as it promises

}  // namespace

tl::expected<Allocation, OutOfMemory> DriverPoolAllocator::allocate(const Request& request) {
    if (request.size >= kLargestRequest) [[unlikely]]
        return refuse({OutOfMemory::Cause::too_large});
    if (const auto begun = begin(); !begun)
        return refuse(refused_by(begun.error()));
    const Bytes padding = std::max(request.alignment, kDriverPoolAligned) - kDriverPoolAligned;
    const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kDriverPoolUnit);
    const auto begin = device_->malloc_async(size, request.stream);
    if (!begin) {
        count_held();
        return refuse(refused_by(begin.error()));
    }
    const std::uint32_t node = vacant_.put_into(
        buffers_, Buffer{*begin, size, StreamSet(request.stream), Region::State::allocated, {}});
    last_ = *begin;
    buffered_ += size;
    count_allocated(size);
    count_held();
    return Allocation{Address{align_up(to_integer(*begin), request.alignment)}, size, node};
}

void DriverPoolAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    Buffer& buffer = buffers_[allocation.node];
    TM_CHECK(buffer.state == Region::State::allocated);
    count_deallocated(allocation);
    buffer.stream = stream;
    buffer.state = Region::State::hole;
    give_to_pool(allocation.node);
    count_held();
}

void DriverPoolAllocator::trim(TrimLevel level) {
    for (std::uint32_t node = 0; node < buffers_.size(); ++node) {
        if (buffers_[node].state == Region::State::hole)
            give_to_pool(node);
    }
    if (level == TrimLevel::all) {
        ++stats_.synchronizations;
        if (device_->synchronize_device())
            static_cast<void>(device_->trim_pool(0));
    }
    count_held();
}

void DriverPoolAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    const Bytes slack = usage_.reserved - buffered_;
    std::vector<Buffer> buffers;
    std::copy_if(buffers_.begin(), buffers_.end(), std::back_inserter(buffers),
                 [](const Buffer& one) { return one.size != 0; });
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return a.begin < b.begin; });
    for (const Buffer& one : buffers) {
        const bool is_last = &one == &buffers.back();
        const Range segment{one.begin, one.size + (is_last ? slack : 0)};
        visit({{one.begin, one.size}, segment, one.state});
        if (segment.size != one.size)
            visit({{one.begin + one.size, slack}, segment, Region::State::hole});
    }
    if (buffers.empty() && slack != 0)
        visit({{last_, slack}, {last_, slack}, Region::State::hole});
}

std::unique_ptr<Allocator> DriverPoolAllocator::clone(Device& device) const {
    std::unique_ptr<DriverPoolAllocator> copy(new DriverPoolAllocator(*this));
    copy->device_ = &device;
    return copy;
}

// A call that the device refuses is retried at the next request.
DeviceResult<void> DriverPoolAllocator::begin() {
    if (begun_) [[likely]]
        return {};
    TM_TRY(device_->set_pool_threshold(threshold_));
    if (initial_ != 0) {
        TM_ASSIGN(const Address primed, device_->malloc_async(initial_, StreamId::default_stream));
        last_ = primed;
        if (!device_->free_async(primed, StreamId::default_stream)) {
            static_cast<void>(vacant_.put_into(
                buffers_,
                Buffer{primed, align_up(initial_, kDriverPoolUnit), {}, Region::State::hole, {}}));
            buffered_ += align_up(initial_, kDriverPoolUnit);
        }
    }
    begun_ = true;
    return {};
}

// What the device refuses stays held until the next trim.
void DriverPoolAllocator::give_to_pool(std::uint32_t node) {
    const Buffer& buffer = buffers_[node];
    if (!buffer.streams.order_before(buffer.stream, *device_) ||
        !device_->free_async(buffer.begin, buffer.stream))
        return;
    buffered_ -= buffer.size;
    buffers_[node] = {};
    vacant_.give_back(node);
}

void DriverPoolAllocator::count_held() {
    usage_.reserved = std::max(device_->pool_held(), buffered_);
    usage_.mapped = usage_.reserved;
}

}  // namespace tidemark::policies
