// Waiting for the members of a StreamSet.
#include "core/regions/stream_set.h"

#include <bit>

namespace tidemark {

DeviceResult<void> StreamSet::order_before(StreamId stream, Device& device) const {
    if (only(stream))
        return {};
    if ((bits_ & kOthers) != 0)
        return device.synchronize_device();
    for (std::uint64_t rest = bits_ & ~bit(stream); rest != 0; rest &= rest - 1) {
        const StreamId member{static_cast<std::uint32_t>(std::countr_zero(rest))};
        TM_ASSIGN(const EventId event, device.record(member));
        TM_TRY(device.wait(stream, event));
    }
    return {};
}

}  // namespace tidemark
