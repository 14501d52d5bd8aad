// extent: how a request is served, and how memory is freed.
#include <algorithm>

#include "core/base/check.h"
#include "core/policies/extent_allocator.h"

namespace tidemark::policies {

tl::unexpected<OutOfMemory> Extent::refuse() {
    give_back_growth();
    ++stats_.out_of_memory;
    return tl::make_unexpected(refusal_);
}

tl::expected<Allocation, OutOfMemory> Extent::allocate(const Request& request) {
    grown_.clear();
    if (request.size >= kLargestRequest) {
        refusal_ = {OutOfMemory::Cause::too_large};
        return refuse();
    }
    const Bytes padding = request.alignment > kUnit ? request.alignment - kUnit : 0;
    const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kUnit);
    const bool small = size < settings_.slab / 2;
    const Grant grant =
        small ? grant_small(size, request.stream) : grant_large(size, request.stream);
    if (grant.block == kNoBlock) [[unlikely]]
        return refuse();
    count_allocated(size);
    peak_ = std::max(peak_, usage_.active);
    return Allocation{Address{align_up(to_integer(grant.address), request.alignment)}, size,
                      small ? grant.block | kSmallNode : grant.block};
}

// From now on `stream` may use what `users` freed at that moment.
bool Extent::order(StreamSet users, std::uint64_t freed, StreamId stream) {
    if (users.only(stream)) [[likely]]
        return true;
    const DeviceResult<void> ordered = order_.order(users, freed, stream, *device_);
    if (!ordered)
        refusal_ = {OutOfMemory::Cause::device_error, ordered.error().status};
    return ordered.has_value();
}

Extent::Grant Extent::grant_small(Bytes size, StreamId stream) {
    BlockId id = small_.find(size, stream);
    if (id == kNoBlock) {
        const Grant slab = grant_large(settings_.slab, stream);
        if (slab.block == kNoBlock)
            return {};
        line_[slab.block].waits = 1;
        line_[slab.block].stamp = slab.block;
        // Later users are ordered behind the waits that this stream has just queued.
        id = small_.add({slab.address, settings_.slab}, slab.block, StreamSet(stream),
                        order_.let_go());
    } else if (!order(small_[id].streams, small_[id].stamp, stream)) {
        return {};
    }
    small_.take(id, size, stream);
    return {id, small_[id].address};
}

// From a free block of the line.
Extent::Grant Extent::grant_fit(Bytes size, StreamId stream) {
    const ExtentLine::Fit fit = line_.find(size, stream, settings_.placement);
    if (fit.block == kNoBlock || !order(line_[fit.block].streams, line_[fit.block].stamp, stream))
        return {};
    const BlockId id = line_.take(fit, size);
    Block& block = line_[id];
    block.streams = StreamSet(stream);
    block.list = kNoBlock;
    block.reservation = 0;
    block.waits = 0;
    block.stamp = 0;
    return {id, block.address};
}

// Free parts of the line that are adjacent at `address` in a view. Their order between streams has
// been made.
Extent::Grant Extent::grant_row(std::span<const Range> parts, Address address,
                                ExtentViews::ViewId view, StreamId stream) {
    BlockId first = kNoBlock;
    for (std::size_t i = parts.size(); i-- > 0;) {
        const BlockId id = line_.take(line_.free_block_at(parts[i].begin), parts[i]);
        Block& block = line_[id];
        block.streams = StreamSet(stream);
        block.list = first;
        block.reservation = view + 1;
        block.waits = 0;
        block.stamp = i == 0 ? to_integer(address) : 0;
        first = id;
    }
    views_.enter(view);
    return {first, address};
}

void Extent::record_use(const Allocation& allocation, StreamId stream) {
    if ((allocation.node & kSmallNode) != 0)
        small_.record_use(allocation.node & ~kSmallNode, stream);
    else
        line_[allocation.node].streams.add(stream);
}

void Extent::deallocate(const Allocation& allocation, StreamId /*stream*/) {
    count_deallocated(allocation);
    const std::uint64_t freed = order_.let_go();
    BlockId id = allocation.node;
    if ((allocation.node & kSmallNode) != 0) {
        const auto emptied = small_.give_back(allocation.node & ~kSmallNode, freed);
        if (!emptied)
            return;
        id = emptied->slab;
        line_[id].streams = emptied->streams;
    }
    const StreamSet users = line_[id].streams;
    if (line_[id].reservation != 0)
        views_.leave(line_[id].reservation - 1, users);
    while (id != kNoBlock) {
        const BlockId next = line_[id].list;
        line_[id].streams = users;
        line_.give_back(id, freed);
        id = next;
    }
}

Bytes Extent::largest_free() const {
    return std::max(line_.largest_free(), small_.largest_free());
}

std::unique_ptr<Allocator> Extent::clone(Device& device) const {
    std::unique_ptr<Extent> copy(new Extent(*this));
    copy->device_ = &device;
    return copy;
}

PolicyInfo extent() {
    return {
        .name = "extent",
        .summary =
            "one heap on virtual memory; free parts are stitched together instead of growing",
        .source = "ours; partial handles in a row, after VPMM and GMLake (Guo et al., 2024)",
        .options = extent_options(),
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            TM_ASSIGN(const ExtentSettings settings, ExtentSettings::from(options, device));
            return std::make_unique<Extent>(device, settings);
        },
        .maps_segments = true,
    };
}

}  // namespace tidemark::policies
