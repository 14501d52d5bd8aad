// A set of addresses.
#include "replay/c_api/fenced_frees.h"

#include <utility>

namespace tidemark::c_api {

bool FencedFrees::holds(Address address) const {
    if (count() == 0)
        return false;
    const std::lock_guard lock(mutex_);
    return addresses_.contains(address);
}

tl::expected<void, BadAddress> FencedFrees::add(Address address, Bytes size) {
    {
        const std::lock_guard lock(mutex_);
        if (addresses_.contains(address))
            return tl::make_unexpected(BadAddress::freed_already);
        const auto living = shared_.range_of(address);
        if (!living || living->address != address || (size != 0 && living->requested != size))
            // The allocator says what is wrong; a size that cannot be frees nothing.
            return living && living->address == address
                       ? shared_.free(address, living->stream, size)
                       : shared_.free(address);
        addresses_.insert(address);
        count_ = addresses_.size();
        bytes_ += living->requested;
        if (addresses_.size() < kMostBlocks && bytes_ < kMostBytes)
            return {};
    }
    flush();
    return {};
}

void FencedFrees::flush() {
    std::unordered_set<Address> batch;
    {
        const std::lock_guard lock(mutex_);
        if (addresses_.empty())
            return;
        batch = std::exchange(addresses_, {});
        count_ = 0;
        bytes_ = 0;
    }
    const auto waited =
        shared_.locked([](Allocator&, Device& device) { return device.synchronize_device(); });
    // A device that is lost does no more work. One that refuses for another reason (a capture)
    // might: its memory stays.
    if (!waited && waited.error().status != DeviceStatus::lost) {
        const std::lock_guard lock(mutex_);
        addresses_.merge(batch);
        count_ = addresses_.size();
        return;
    }
    for (const Address address : batch)
        static_cast<void>(shared_.free(address));
}

}  // namespace tidemark::c_api
