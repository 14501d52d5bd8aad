// rmm-cuda-async: RMM's cuda_async_memory_resource.
//
// Model: every call goes to the driver's stream-ordered pool, which keeps what it holds unless
// there is a threshold; initial memory is asked for once and given back to the pool. What happens
// inside is the device's affair: on the simulator its model of the driver's pool. Not RMM's: a trim
// gives back what the pool doesn't need, memory freed on a stream that didn't use it is ordered
// there, and a request for nothing is granted 512 bytes. What the pool holds besides what is
// allocated counts as it was at the last call.
//
// Promises: one call of the device a call; it waits at a trim only.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/vacant_ids.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kRmmAsyncUnit = 512;     // sizes, as the driver's pool rounds them
constexpr Bytes kRmmAsyncAligned = 256;  // addresses, as it promises

class RmmCudaAsync final : public Allocator {
  public:
    RmmCudaAsync(Device& device, Bytes initial, Bytes threshold)
        : device_(&device), initial_(initial), threshold_(threshold) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        if (const auto begun = begin(); !begun)
            return refuse(refused_by(begun.error()));
        const Bytes padding = std::max(request.alignment, kRmmAsyncAligned) - kRmmAsyncAligned;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kRmmAsyncUnit);
        const auto begin = device_->malloc_async(size, request.stream);
        if (!begin) {
            count_held();
            return refuse(refused_by(begin.error()));
        }
        const std::uint32_t node = vacant_.put_into(
            buffers_,
            Buffer{*begin, size, StreamSet(request.stream), Region::State::allocated, {}});
        last_ = *begin;
        buffered_ += size;
        count_allocated(size);
        count_held();
        return Allocation{Address{align_up(to_integer(*begin), request.alignment)}, size, node};
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        Buffer& buffer = buffers_[allocation.node];
        TM_CHECK(buffer.state == Region::State::allocated);
        count_deallocated(allocation);
        buffer.stream = stream;
        buffer.state = Region::State::hole;
        give_to_pool(allocation.node);
        count_held();
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        buffers_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel level) override {
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

    Bytes largest_free() const override { return 0; }

    // What the pool holds besides is at addresses that only it knows, and is shown behind the
    // highest.
    void for_each_region(const std::function<void(const Region&)>& visit) const override {
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

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<RmmCudaAsync> copy(new RmmCudaAsync(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    struct Buffer {
        Address begin = Address::null;
        Bytes size = 0;     // 0: vacant
        StreamSet streams;  // that used it
        Region::State state = Region::State::free;
        StreamId stream = StreamId::default_stream;  // that it was freed on
    };

    RmmCudaAsync(const RmmCudaAsync&) = default;

    // A call that the device refuses is tried again at the next request.
    DeviceResult<void> begin() {
        if (begun_) [[likely]]
            return {};
        TM_TRY(device_->set_pool_threshold(threshold_ != 0 ? threshold_ : ~Bytes{0}));
        if (initial_ != 0) {
            TM_ASSIGN(const Address primed,
                      device_->malloc_async(initial_, StreamId::default_stream));
            last_ = primed;
            if (!device_->free_async(primed, StreamId::default_stream)) {
                static_cast<void>(vacant_.put_into(
                    buffers_,
                    Buffer{
                        primed, align_up(initial_, kRmmAsyncUnit), {}, Region::State::hole, {}}));
                buffered_ += align_up(initial_, kRmmAsyncUnit);
            }
        }
        begun_ = true;
        return {};
    }

    // What the device refuses stays held until the next trim.
    void give_to_pool(std::uint32_t node) {
        const Buffer& buffer = buffers_[node];
        if (!buffer.streams.order_before(buffer.stream, *device_) ||
            !device_->free_async(buffer.begin, buffer.stream))
            return;
        buffered_ -= buffer.size;
        buffers_[node] = {};
        vacant_.give_back(node);
    }

    void count_held() {
        usage_.reserved = std::max(device_->pool_held(), buffered_);
        usage_.mapped = usage_.reserved;
    }

    Device* device_;
    Bytes initial_;
    Bytes threshold_;
    bool begun_ = false;
    Bytes buffered_ = 0;
    Address last_ = Address::null;  // the last address that came from the driver
    std::vector<Buffer> buffers_;
    VacantIds vacant_;
};

constexpr std::array<OptionInfo, 2> kRmmCudaAsyncOptions{{
    {.name = "initial",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "what is asked for and given back to the pool before the first request",
     .source = "initial_pool_size"},
    {.name = "threshold",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "what the pool keeps when the device is awaited; 0 = everything",
     .source = "release_threshold"},
}};

}  // namespace

PolicyInfo rmm_cuda_async() {
    return {
        .name = "rmm-cuda-async",
        .summary = "RMM's view of the driver's pool: every call is cudaMallocAsync's",
        .source = "RMM 26.10, cuda_async_memory_resource; the driver's pool is the device's",
        .options = kRmmCudaAsyncOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            return std::make_unique<RmmCudaAsync>(device, options.bytes("initial"),
                                                  options.bytes("threshold"));
        },
        .placement_matters = false,
        .also_called = "cuda-async-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
