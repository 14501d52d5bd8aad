// A set of addresses.
#include "replay/c_api/fenced_frees.h"

#include <algorithm>

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
        requested_ += living->requested;
        granted_ += living->size;
        if (!settings_.are_reached(addresses_.size(), granted_))
            return {};
    }
    flush();
    return {};
}

// The batch stays here until the device is done, because its memory still counts here.
void FencedFrees::flush() {
    const std::lock_guard lock(mutex_);
    if (addresses_.empty())
        return;
    const auto waited =
        shared_.locked([](Allocator&, Device& device) { return device.synchronize_device(); });
    // A device that is lost does no more work. A device that fails for another reason (a capture)
    // might: its memory stays.
    if (!waited && waited.error().status != DeviceStatus::lost)
        return;
    for (const Address address : addresses_)
        static_cast<void>(shared_.free(address));
    addresses_.clear();
    count_ = 0;
    requested_ = 0;
    granted_ = 0;
}

SharedStatus FencedFrees::status() const {
    const std::lock_guard lock(mutex_);
    SharedStatus status = shared_.status();
    status.live -= addresses_.size();
    status.freed += addresses_.size();
    status.requested -= requested_;
    status.usage.allocated -= granted_;
    status.stats.deferred += granted_;
    status.stats.deferred_peak = std::max(status.stats.deferred_peak, status.stats.deferred);
    return status;
}

}  // namespace tidemark::c_api
