// BumpArena: a cursor and a list of what it passed.
#include "core/capture/bump_arena.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kNever = std::numeric_limits<Bytes>::max();

}  // namespace

Error to_error(const ArenaFull& full) {
    return {ErrorCode::driver,
            fmt::format("the arena is full: {} bytes requested, {} of {} used", full.requested,
                        full.used, full.total),
            "capture", "a dry run says how many bytes the capture needs"};
}

std::string_view to_text(BumpArena::Freed freed) {
    constexpr std::array<std::string_view, 4> kNames{"freed", "double free", "unknown address",
                                                     "outside of the arena"};
    return kNames[static_cast<std::size_t>(freed)];
}

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

tl::expected<Address, ArenaFull> BumpArena::allocate(Bytes size, Bytes alignment) {
    const Bytes end = needed_for(size, alignment);
    if (end == kNever || end > size_)
        return tl::make_unexpected(ArenaFull{size, high_water_, size_});
    const Bytes taken = align_up(std::max<Bytes>(size, 1), kUnit);
    records_.push_back({end - taken, taken, true});
    high_water_ = end;
    ++live_count_;
    live_bytes_ += taken;
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
    --live_count_;
    live_bytes_ -= found->size;
    return Freed::freed;
}

void BumpArena::extend(Bytes size) {
    TM_CHECK(size >= size_);
    size_ = size;
}

void BumpArena::skip_to(Bytes offset) {
    TM_CHECK(offset >= high_water_ && offset <= size_);
    high_water_ = offset;
}

std::vector<BumpArena::Live> BumpArena::live() const {
    std::vector<Live> found;
    for (const Record& record : records_) {
        if (record.live)
            found.push_back({record.offset, record.size});
    }
    return found;
}

}  // namespace tidemark
