// ArenaMemory: pages behind a reservation, or one plain allocation.
#include "core/capture/arena_memory.h"

#include "core/base/check.h"

namespace tidemark {

DeviceResult<ArenaMemory> ArenaMemory::growing(Device& device) {
    const Bytes page = device.granularity();
    TM_ASSIGN(const Reservation reservation,
              Reservation::make(device, align_up(device.memory().total, page), page));
    ArenaMemory memory;
    memory.base_ = reservation.range().begin;
    memory.grows_ = true;
    memory.reservation_ = reservation;
    return memory;
}

DeviceResult<ArenaMemory> ArenaMemory::fixed(Device& device, Bytes size) {
    if (size == 0 || size >= kLargestRequest)
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::malloc, 0});
    const Bytes rounded = align_up(size, device.granularity());
    TM_ASSIGN(const Address base, device.malloc(rounded));
    ArenaMemory memory;
    memory.base_ = base;
    memory.committed_ = rounded;
    return memory;
}

DeviceResult<void> ArenaMemory::ensure(Device& device, Bytes size) {
    TM_CHECK(exists());
    if (size <= committed_)
        return {};
    const Bytes most = grows_ ? reservation_.range().size : committed_;
    if (size > most)
        return tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::create, 0});
    if (reservation_.held() != committed_)
        reservation_.settle(device);  // stuck pages may be where the next ones belong
    const Bytes wanted = align_up(size, device.granularity());
    TM_TRY(reservation_.map(device, {base_ + committed_, wanted - committed_}));
    committed_ = wanted;
    return {};
}

DeviceResult<void> ArenaMemory::release(Device& device) {
    if (!exists())
        return {};
    if (!grows_) {
        TM_TRY(device.free(base_));
        *this = {};
        return {};
    }
    if (committed_ != 0) {
        TM_TRY(reservation_.unmap(device, {base_, committed_}));
        committed_ = 0;
    }
    TM_TRY(reservation_.release(device));
    *this = {};
    return {};
}

Range ArenaMemory::refused() const {
    if (!grows_)
        return {};
    const Bytes size = reservation_.held() - committed_;
    const Range all = reservation_.range();
    return {all.begin + (all.size - size), size};
}

}  // namespace tidemark
