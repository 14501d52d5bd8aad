// AddressSpace: a span of addresses, cut into ranges.
//
// A range begins where the previous one ended, rounded up (as a driver places reservations). Only
// when the end is reached are the gaps of freed ranges reused, lowest first. Not thread-safe. O(log
// ranges); finding a gap is O(ranges).
#pragma once

#include <map>
#include <optional>

#include "core/base/units.h"

namespace tidemark {

class AddressSpace {
  public:
    // Every range begins at a multiple of `alignment`, a power of two; so must the span.
    AddressSpace(Range span, Bytes alignment) : span_(span), alignment_(alignment) {}

    // A range of `size` (not 0) bytes, or nothing if no gap is that large.
    std::optional<Range> take(Bytes size);

    // Frees a taken range.
    void give(Range range);

    // The taken range that contains `address`.
    std::optional<Range> find(Address address) const;

    bool covers(Address address) const {
        return address >= span_.begin && address - span_.begin < span_.size;
    }

    // Taken ranges: begin -> size.
    const std::map<Address, Bytes>& ranges() const { return ranges_; }

  private:
    std::optional<Address> find_range(Bytes size) const;

    Range span_;
    Bytes alignment_;
    Bytes used_ = 0;  // the end of the last range placed, from the span's begin
    std::map<Address, Bytes> ranges_;
};

}  // namespace tidemark
