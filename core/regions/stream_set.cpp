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

DeviceResult<bool> StreamSet::passed(Device& device) const {
    if ((bits_ & kOthers) != 0)
        return false;
    for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1) {
        const StreamId member{static_cast<std::uint32_t>(std::countr_zero(rest))};
        const DeviceResult<EventId> event = device.record(member);
        if (!event)
            return tl::make_unexpected(event.error());
        const DeviceResult<bool> done = device.complete(*event);
        if (!done || !*done)
            return done;
    }
    return true;
}

}  // namespace tidemark
