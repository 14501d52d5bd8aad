// torch: starting from the state at the start of a trace.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/policies/torch_allocator.h"

namespace tidemark::policies {
namespace {

tl::unexpected<Error> misfit(std::string what) {
    return fail(ErrorCode::bad_input, std::move(what), "torch");
}

// Whether two runs of pages probably belong to one reservation: a pool and stream start a second
// reservation only when the first has no room.
bool same_reservation(const SeedSegment& a, const SeedSegment& b) {
    return a.pool == b.pool && a.stream == b.stream && a.small == b.small &&
           a.reserved == b.reserved;
}

// No two segments, or runs of pages, may share an address.
Result<void> check_apart(std::span<const SeedSegment> segments) {
    std::vector<Range> ranges;
    for (const SeedSegment& segment : segments)
        ranges.push_back(segment.range);
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i].begin - ranges[i - 1].begin < ranges[i - 1].size)
            return misfit(fmt::format("segments {:#x} and {:#x} overlap",
                                      to_integer(ranges[i - 1].begin),
                                      to_integer(ranges[i].begin)));
    }
    return {};
}

}  // namespace

Result<std::vector<Allocation>> Torch::restore(std::span<const SeedSegment> segments) {
    TM_CHECK(blocks_.count() == 0);
    TM_TRY(check_apart(segments));
    std::vector<Allocation> live;
    for (std::size_t i = 0; i < segments.size();) {
        std::size_t end = i + 1;
        if (segments[i].expandable) {
            while (end < segments.size() && segments[end].expandable &&
                   same_reservation(segments[i], segments[end]))
                ++end;
            TM_TRY(restore_reservation(segments.subspan(i, end - i), live));
        } else {
            TM_TRY(restore_segment(segments[i], live));
        }
        i = end;
    }
    return live;
}

Result<void> Torch::restore_segment(const SeedSegment& segment, std::vector<Allocation>& live) {
    const Kind kind =
        segment.range.size == kTorchSmallSegment ? TorchPools::small : TorchPools::large;
    const std::uint32_t list = pools_.list_of(segment.pool, kind, segment.stream);
    count_reserved(list, segment.range.size);
    return cut_at_seeds(blocks_.create(segment.range.begin, segment.range.size, list), segment,
                        live);
}

// Runs of pages, by address; what is between them is unmapped.
Result<void> Torch::restore_reservation(std::span<const SeedSegment> runs,
                                        std::vector<Allocation>& live) {
    const SeedSegment& first = runs.front();
    const Kind kind = first.small ? TorchPools::small : TorchPools::large;
    const std::uint32_t list = pools_.list_of(first.pool, kind, first.stream);
    const Bytes page = settings_.page_size(first.small);
    const Address base = first.reserved != Address::null ? first.reserved : first.range.begin;
    const Address end = base + reservation_size(page);
    Bytes mapped_bytes = 0;
    for (const SeedSegment& run : runs)
        mapped_bytes += run.range.size;
    const std::uint32_t number =
        1 + vacant_reservations_.put_into(
                reservations_,
                Expandable{Reservation::adopt({base, end - base}, page, mapped_bytes), list});
    BlockId rest = blocks_.create(base, end - base, list);
    blocks_[rest].reservation = number;
    for (const SeedSegment& run : runs) {
        const Address from = rest == kNoBlock ? end : blocks_[rest].address;
        if (run.range.begin < from || run.range.begin >= end || run.range.size == 0 ||
            run.range.size > end - run.range.begin || (run.range.begin - base) % page != 0 ||
            run.range.size % page != 0)
            return misfit(fmt::format("pages {:#x} of {} bytes do not fit into their reservation",
                                      to_integer(run.range.begin), run.range.size));
        BlockId mapped = rest;
        if (run.range.begin != from) {
            mapped = blocks_.split(rest, run.range.begin - from);
            pools_.insert_unmapped(rest, blocks_);
        }
        rest = run.range.size == blocks_[mapped].size ? kNoBlock
                                                      : blocks_.split(mapped, run.range.size);
        count_reserved(list, run.range.size);
        TM_TRY(cut_at_seeds(mapped, run, live));
    }
    if (rest != kNoBlock)
        pools_.insert_unmapped(rest, blocks_);
    return {};
}

// Splits a fresh block at its live blocks; what is between them is free.
Result<void> Torch::cut_at_seeds(BlockId rest, const SeedSegment& segment,
                                 std::vector<Allocation>& live) {
    for (const SeedBlock& seed : segment.blocks) {
        const Range free =
            rest == kNoBlock ? Range{} : Range{blocks_[rest].address, blocks_[rest].size};
        if (seed.address < free.begin || seed.size == 0 || seed.size > free.size ||
            seed.address - free.begin > free.size - seed.size)
            return misfit(fmt::format("block {:#x} of {} bytes does not fit into its segment {:#x}",
                                      to_integer(seed.address), seed.size,
                                      to_integer(segment.range.begin)));
        BlockId id = rest;
        if (seed.address != free.begin) {
            id = blocks_.split(rest, seed.address - free.begin);
            pools_.insert_free(rest, blocks_);
        }
        rest = seed.size == blocks_[id].size ? kNoBlock : blocks_.split(id, seed.size);
        blocks_[id].state = Block::State::allocated;
        count_allocated(seed.size);
        live.push_back({seed.address, seed.size, id});
        if (seed.retired)
            retire(live.back());
    }
    if (rest != kNoBlock)
        pools_.insert_free(rest, blocks_);
    return {};
}

}  // namespace tidemark::policies
