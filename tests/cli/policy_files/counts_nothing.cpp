// One that takes memory of the device and never counts it as reserved.
#include "core/allocator/policy_file.h"

namespace {

using namespace tidemark;

class CountsNothing final : public Allocator {
  public:
    explicit CountsNothing(Device& device) : device_(device) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        const DeviceResult<Address> begin = device_.malloc(request.size);
        if (!begin)
            return refuse(refused_by(begin.error()));
        const Allocation granted{.address = *begin, .size = request.size};
        count_allocated(granted.size);
        return granted;
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        count_deallocated(allocation);
        static_cast<void>(device_.free(allocation.address));
    }

    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {}

    Bytes largest_free() const override { return 0; }

    void for_each_region(const std::function<void(const Region&)>& /*visit*/) const override {}

  private:
    Device& device_;
};

Result<std::unique_ptr<Allocator>> make(Device& device, const Options& /*options*/) {
    return std::make_unique<CountsNothing>(device);
}

}  // namespace

TIDEMARK_POLICY_FILE(
    {.name = "counts_nothing", .summary = "", .source = "", .options = {}, .make = make})
