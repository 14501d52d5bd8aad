// Reservation: a range of addresses whose memory is mapped and unmapped page by page.
//
// Each page is a handle of physical memory of its own, mapped where it is needed, so any run of
// pages can be released. A value that names its device only in calls: copying it copies the state,
// for allocators that are copied in mid-run. Not thread-safe. Calls are O(pages) of their range.
#pragma once

#include <cstddef>
#include <vector>

#include "core/device/device.h"

namespace tidemark {

class Reservation {
  public:
    // Reserves `size` bytes of addresses, a multiple of `page`, itself a multiple of the device's
    // granularity. Errors: address_space, not_supported.
    static DeviceResult<Reservation> make(Device& device, Bytes size, Bytes page);

    // A reservation that exists already, with `mapped` bytes of its pages mapped by somebody else:
    // their handles are unknown and never released. For states at the start of a trace.
    static Reservation adopt(Range range, Bytes page, Bytes mapped) {
        Reservation reservation(range, page);
        reservation.held_ = mapped;
        return reservation;
    }

    Reservation() = default;  // empty

    // Maps memory behind whole pages, none of which is mapped. All or nothing: after an error no
    // page of `range` is mapped. Calls: create and map for each page, set_access once.
    DeviceResult<void> map(Device& device, Range range);

    // Releases the memory of whole, mapped pages. After an error in `unmap` nothing has changed;
    // handles that the device refuses to release are kept, and the next map() uses them.
    DeviceResult<void> unmap(Device& device, Range range);

    // Frees the addresses. No page may be mapped. Errors: as above, or the device still refuses to
    // take memory back; then the reservation remains.
    DeviceResult<void> release(Device& device);

    // Offers again what the device refused to take in earlier calls.
    void settle(Device& device);

    // The memory that it holds: mapped pages, and what the device refused to take back.
    Bytes held() const { return held_; }

    // Of these, what the device refused to take back. O(such pages).
    Bytes refused() const {
        std::size_t pages = refused_.size();
        for (const Stuck& stuck : stuck_)
            pages += stuck.handles.size();
        return pages * page_;
    }

    Range range() const { return range_; }

    // The smallest run of whole pages that covers `part`, which is inside the reservation.
    Range covering(Range part) const;

    // The largest run of whole pages inside `part`; size 0 if there is none.
    Range within(Range part) const;

  private:
    // Pages that a failed map() could not unmap again.
    struct Stuck {
        Range range;
        std::vector<PhysicalId> handles;
    };

    Reservation(Range range, Bytes page) : range_(range), page_(page) {}

    PhysicalId& handle(Address page);
    DeviceResult<PhysicalId> create(Device& device);
    void drop(Device& device, const std::vector<PhysicalId>& handles);

    Range range_;
    Bytes page_ = 1;
    Bytes held_ = 0;
    std::vector<PhysicalId> handles_;  // of the pages up to the last that was ever mapped; 0 = none
    std::vector<PhysicalId> refused_;  // no longer mapped, not yet released
    std::vector<Stuck> stuck_;
};

}  // namespace tidemark
