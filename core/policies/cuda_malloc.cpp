// cuda-malloc: every request is a device allocation of its own. The cost of a program without a
// pool.
//
// Model: allocate is cudaMalloc, deallocate is cudaFree, which waits for all work of the device; so
// streams need no bookkeeping. Sizes are counted rounded up to 512 bytes, the driver's alignment.
// Nothing is kept, so reserved == allocated and there is no fragmentation, but it takes the most
// time of all policies.
//
// Promises: O(1) a call in addition to the device's own cost. Memory that the device refuses to
// take back is held as a hole and offered to it again at the next trim.
#include <algorithm>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/grants.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kCudaMallocUnit = 512;

// Who holds a device allocation: Grant::owner.
enum Owner : std::uint32_t { program = 0, nobody = 1 };

class CudaMalloc final : public Allocator {
  public:
    explicit CudaMalloc(Device& device) : device_(&device) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding =
            request.alignment > kCudaMallocUnit ? request.alignment - kCudaMallocUnit : 0;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kCudaMallocUnit);
        const DeviceResult<Address> begin = device_->malloc(size);
        if (!begin) [[unlikely]]
            return refuse(refused_by(begin.error()));
        count_taken(size);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(*begin), request.alignment)}, size,
                          grants_.add({*begin, size, program})};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        Grant& grant = grants_[allocation.node];
        TM_CHECK(grant.size == allocation.size && grant.owner == program);
        count_deallocated(allocation);
        if (!give_back(allocation.node)) [[unlikely]] {
            grant.owner = nobody;
            held_.push_back(allocation.node);
        }
    }

    // cudaFree waits for every stream.
    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {
        std::erase_if(held_, [this](std::uint32_t node) { return give_back(node); });
    }

    Bytes largest_free() const override { return 0; }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        for (const Grant& grant : grants_.by_address()) {
            const Range range{grant.begin, grant.size};
            visit({range, range,
                   grant.owner == program ? Region::State::allocated : Region::State::hole});
        }
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<CudaMalloc> copy(new CudaMalloc(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    CudaMalloc(const CudaMalloc&) = default;

    bool give_back(std::uint32_t node) {
        const Grant grant = grants_[node];
        if (!device_->free(grant.begin)) [[unlikely]]
            return false;
        count_given_back(grant.size);
        grants_.remove(node);
        return true;
    }

    Device* device_;
    Grants grants_;
    std::vector<std::uint32_t> held_;  // what the device refused to take back
};

}  // namespace

PolicyInfo cuda_malloc() {
    return {
        .name = "cuda-malloc",
        .summary = "no pool: every request is a cudaMalloc, every free a cudaFree",
        .source = "CUDA runtime API, memory management",
        .options = {},
        .make = [](Device& device, const Options& /*options*/)
            -> Result<std::unique_ptr<Allocator>> { return std::make_unique<CudaMalloc>(device); },
        .placement_matters = false,
    };
}

}  // namespace tidemark::policies
