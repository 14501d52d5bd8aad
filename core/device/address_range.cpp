// See address_range.h.
#include "core/device/address_range.h"

namespace tidemark {

Result<std::shared_ptr<const AddressRange>> AddressRange::reserve(Device& device, Bytes size) {
    if (!device.has(Feature::virtual_memory))
        return fail(ErrorCode::unsupported, "no virtual memory", std::string(device.name()));
    const DeviceResult<Range> range = device.reserve(align_up(size, device.granularity()));
    if (!range)
        return tl::make_unexpected(device.explain(range.error()));
    // Addresses that a lost device refuses to free end with the process.
    return std::make_shared<const AddressRange>(
        *range, [&device, range = *range] { (void)device.unreserve(range); });
}

}  // namespace tidemark
