// Placing ranges: at the end, or in a gap.
#include "backends/sim/address_space.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

std::optional<Address> AddressSpace::find_range(Bytes size) const {
    if (size > span_.size)
        return std::nullopt;
    const Bytes end = align_up(used_, alignment_);
    if (end <= span_.size - size)
        return span_.begin + end;
    Bytes gap = 0;  // where the gap before the next range begins, from the span's begin
    for (const auto& [begin, length] : ranges_) {
        const Bytes offset = begin - span_.begin;
        if (offset >= gap && offset - gap >= size)
            return span_.begin + gap;
        gap = align_up(offset + length, alignment_);
    }
    if (gap <= span_.size - size)
        return span_.begin + gap;
    return std::nullopt;
}

std::optional<Range> AddressSpace::take(Bytes size) {
    const std::optional<Address> begin = find_range(size);
    if (!begin)
        return std::nullopt;
    ranges_.emplace(*begin, size);
    used_ = std::max(used_, *begin - span_.begin + size);
    return Range{*begin, size};
}

void AddressSpace::give(Range range) {
    const auto found = ranges_.find(range.begin);
    TM_CHECK(found != ranges_.end() && found->second == range.size);
    ranges_.erase(found);
}

std::optional<Range> AddressSpace::find(Address address) const {
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin())
        return std::nullopt;
    --next;
    if (address - next->first >= next->second)
        return std::nullopt;
    return Range{next->first, next->second};
}

}  // namespace tidemark
