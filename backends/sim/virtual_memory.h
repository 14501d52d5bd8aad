// VirtualMemory: reservations, handles of physical memory, and the page table between them.
//
// It refuses what the CUDA driver refuses: sizes and addresses that are not a multiple of the
// granularity, mapping over a mapping or outside one reservation, ranges that cut a mapping,
// handles that are unknown or released, reservations that still have a mapping. A refused call
// changes nothing. The caller counts capacity: create accepts any size, and release and unmap
// return how many bytes have become free.
//
// Not thread-safe. O(log mappings) + O(mappings in the range) unless stated otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/sim/address_space.h"
#include "core/device/device.h"

namespace tidemark {

class VirtualMemory {
  public:
    // Physical memory has addresses of its own, [kPhysicalBegin, 2^64): they show which bytes two
    // mappings share.
    static constexpr std::uint64_t kPhysicalBegin = std::uint64_t{1} << 62;

    VirtualMemory(AddressSpace space, Bytes granularity)
        : space_(std::move(space)), granularity_(granularity) {}

    DeviceResult<Range> reserve(Bytes size);
    DeviceResult<void> unreserve(Range range);

    DeviceResult<PhysicalId> create(Bytes size);

    // The result of a handle's end: its size, and the physical range that is free from now on (size
    // 0 while a mapping holds it).
    struct Released {
        Bytes size = 0;
        Range freed;
    };

    DeviceResult<Released> release(PhysicalId physical);

    DeviceResult<void> map(Range range, PhysicalId physical);

    // `visit(bytes)` sees each mapping of the range; false, after none or some, if the range does
    // not consist of whole mappings.
    template <class Visit>
    bool for_each_mapping(Range range, Visit visit) const {
        if (range.size == 0)
            return false;
        const Address end = range.begin + range.size;
        auto mapping = mappings_.find(range.begin);
        for (Address at = range.begin; at < end; ++mapping) {
            if (mapping == mappings_.end() || mapping->first != at ||
                mapping->second.size > end - at)
                return false;
            visit(mapping->second.size);
            at = at + mapping->second.size;
        }
        return true;
    }

    // Both require whole mappings (for_each_mapping returned true). `freed(range)` is called with
    // the physical ranges of released handles that lost their last mapping.
    template <class Freed>
    void unmap(Range range, Freed freed) {
        auto mapping = mappings_.find(range.begin);
        while (mapping != mappings_.end() && mapping->first < range.begin + range.size) {
            const Range gone = drop_mapping(mapping->second.physical);
            if (gone.size != 0)
                freed(gone);
            mapping = mappings_.erase(mapping);
        }
    }

    void set_access(Range range, bool writable);

    // As set_access, for the device number `peer`, above 0.
    void set_access_for(std::uint16_t peer, Range range, bool writable);

    // Is all of the range mapped, and may `peer` read or write it?
    bool reachable_by(std::uint16_t peer, Range range, bool write) const;

    // The longest mapped, accessible piece that begins at `address`, at most `size` bytes, as
    // physical addresses; size 0 if there is none.
    Range translate(Address address, Bytes size, bool write) const;

    bool covers(Address address) const { return space_.covers(address); }

  private:
    enum class Access : std::uint8_t { none, read, write };

    struct Handle {
        Bytes size = 0;
        Address physical = Address::null;
        std::uint32_t mappings = 0;
        bool released = false;
    };

    struct Mapping {
        Bytes size = 0;
        PhysicalId physical{};
        Address begin = Address::null;  // physical
        Access access = Access::none;
        std::vector<std::pair<std::uint16_t, Access>> peers = {};
    };

    bool aligned(Bytes size) const { return size != 0 && size % granularity_ == 0; }

    Range drop_mapping(PhysicalId physical);

    AddressSpace space_;
    Bytes granularity_;
    std::uint64_t handle_count_ = 0;  // ids begin at 1 and are never reused
    std::uint64_t next_physical_ = kPhysicalBegin;
    std::unordered_map<std::uint64_t, Handle> handles_;
    std::map<Address, Mapping> mappings_;
};

}  // namespace tidemark
