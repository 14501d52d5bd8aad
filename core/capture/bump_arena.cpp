// BumpArena: a cursor and a list of what it passed.
#include "core/capture/bump_arena.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kNever = std::numeric_limits<Bytes>::max();

}  // namespace

BumpArena::BumpArena(Address base, Bytes size) : base_(base), size_(size) {}

Bytes BumpArena::needed_for(Bytes size, Bytes alignment) const {
    TM_CHECK(is_power_of_two(alignment));
    if (size >= kLargestRequest || alignment >= kLargestRequest || high_water_ >= kLargestRequest)
        return kNever;
    const std::uint64_t cursor = to_integer(base_) + high_water_;
    const Bytes boundary = std::max(alignment, kUnit);
    if (cursor > kNever - boundary)
        return kNever;
    const std::uint64_t begin = align_up(cursor, boundary);
    const Bytes taken = align_up(std::max<Bytes>(size, 1), kUnit);
    return begin > kNever - taken ? kNever : begin + taken - to_integer(base_);
}

tl::expected<Address, OutOfMemory> BumpArena::allocate(Bytes size, Bytes alignment) {
    const Bytes end = needed_for(size, alignment);
    if (end == kNever || end > size_)
        return tl::make_unexpected(OutOfMemory{OutOfMemory::Cause::limit});
    const Bytes taken = align_up(std::max<Bytes>(size, 1), kUnit);
    records_.push_back({end - taken, true});
    high_water_ = end;
    return base_ + (end - taken);
}

BumpArena::Freed BumpArena::deallocate(Address address) {
    if (address < base_ || address - base_ >= size_)
        return Freed::outside;
    const Bytes offset = address - base_;
    const auto found =
        std::lower_bound(records_.begin(), records_.end(), offset,
                         [](const Record& record, Bytes wanted) { return record.offset < wanted; });
    if (found == records_.end() || found->offset != offset)
        return Freed::unknown;
    if (!found->live)
        return Freed::double_free;
    found->live = false;
    return Freed::freed;
}

void BumpArena::skip_to(Bytes offset) {
    TM_CHECK(offset >= high_water_ && offset <= size_);
    high_water_ = offset;
}

}  // namespace tidemark
