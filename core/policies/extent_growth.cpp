// extent: making room, by new handles or by stitching free parts of the old ones.
#include <algorithm>

#include "core/policies/extent_allocator.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kPieceWorth = 12_MiB;  // creating it costs about what mapping a piece again does
constexpr double kSlackGrowth = 6;
constexpr double kMostSlack = 0.08;  // where it ends: with more, reserved memory grows, not speed
constexpr Bytes kPeakParts = 64;

// A handle costs the driver about the same whatever its size. So growth adds at least this much,
// even beyond the slack: a program that grows by small requests would pay for each of them.
constexpr double kLeastGrowth = 0.003;  // of the most that was live
constexpr Bytes kSmallGrowth = 10_MiB;  // or this, but no more than
constexpr Bytes kSmallPart = 8;         // this part of it

// As a share of the most that was live: how much a stitched row has to save if it needs more new
// memory than the slack allows. Saving less isn't worth its mappings, since the slack is spent in
// any case.
constexpr double kLeastSaving = 0.02;

// How much of an expected peak is reserved before anything is stitched. A little less than all of
// it leaves the last part to rows of memory that is free by then. And the size of the pieces: large
// ones cost fewer calls, small ones are easier to combine.
constexpr double kExpectedShare = 0.94;
constexpr Bytes kExpectedPieces = 32;
constexpr Bytes kLeastPiece = 8_MiB;

Bytes scaled(Bytes bytes, double factor) {
    return static_cast<Bytes>(static_cast<double>(bytes) * factor);
}

}  // namespace

Bytes Extent::peak_with(Bytes size) const {
    return std::max(peak_, usage_.active + size);
}

// What an expected program gets in advance; 0 if nothing is expected.
Bytes Extent::expected() const {
    return scaled(settings_.expect, kExpectedShare);
}

// The largest size of a handle.
Bytes Extent::handle_size() const {
    const Bytes largest = settings_.expect == 0
                              ? std::max(settings_.handle, peak_ / kPeakParts)
                              : std::max(kLeastPiece, expected() / kExpectedPieces);
    return align_up(largest, device_->granularity());
}

// What may be reserved in advance. A program that fragments its memory so fast that stitching costs
// more than creating gets more slack with each stitched piece.
Bytes Extent::cap(Bytes peak) const {
    const double rate = static_cast<double>(stitched_) * static_cast<double>(kPieceWorth) /
                        static_cast<double>(peak);
    const double impatience = std::max(0.0, rate - settings_.patience);
    const double slack = std::min(std::max(settings_.slack, kMostSlack),
                                  settings_.slack * (1 + kSlackGrowth * impatience));
    const Bytes unexpected = peak - std::min(peak, expected());
    const Bytes most = std::max(peak + scaled(unexpected, slack), expected());
    return settings_.limit == 0 ? most : std::min(most, settings_.limit);
}

// How much the end of the line lacks for `size` bytes in a row.
Bytes Extent::missing(Bytes size) const {
    const BlockId hole = line_.hole_for(device_->granularity());
    const Bytes there = hole == kNoBlock ? 0 : line_.free_before(hole);
    return align_up(size - std::min(size, there), device_->granularity());
}

// How much to grow if `needed` bytes have to be new.
Bytes Extent::growth(Bytes needed, Bytes peak) const {
    const Bytes granularity = device_->granularity();
    Bytes least =
        align_up(std::max(scaled(peak, kLeastGrowth), std::min(kSmallGrowth, peak / kSmallPart)),
                 granularity);
    if (settings_.limit != 0)
        least = std::min(least, settings_.limit - std::min(settings_.limit, usage_.reserved));
    return std::max(needed, least / granularity * granularity);
}

Extent::Grant Extent::grant_large(Bytes size, StreamId stream) {
    refusal_ = {};
    if (const Grant grant = grant_fit(size, stream);
        grant.block != kNoBlock || refusal_.cause == OutOfMemory::Cause::device_error) [[likely]]
        return grant;
    const bool slab = size == settings_.slab;
    if (!slab) {
        const Grant grant = reuse_view(size, stream);
        if (grant.block != kNoBlock || refusal_.cause == OutOfMemory::Cause::device_error)
            return grant;
    }
    const Bytes peak = peak_with(size);
    const Bytes most = cap(peak);
    const Bytes budget = most > usage_.reserved ? most - usage_.reserved : 0;
    const Bytes needed = missing(size);
    const Bytes granularity = device_->granularity();
    if (needed <= budget) {
        Bytes amount = budget / granularity * granularity;
        if (usage_.reserved < expected())
            amount = std::max(needed, std::min(amount, handle_size()));
        grow(growth(amount, peak));  // a part of it may be enough
        const Grant grant = grant_fit(size, stream);
        if (grant.block != kNoBlock || refusal_.cause == OutOfMemory::Cause::device_error)
            return grant;
    }
    if (!slab) {
        const Grant grant = stitch(size, prices(peak, budget), stream);
        if (grant.block != kNoBlock || refusal_.cause == OutOfMemory::Cause::device_error)
            return grant;
    }
    const Bytes lacking = missing(size);  // less may be enough: a part of the growth above
    const Bytes more = growth(lacking, peak);
    if (grow(more) || (more != lacking && grow(missing(size))))
        return grant_fit(size, stream);
    if (slab || refusal_.cause == OutOfMemory::Cause::device_error)
        return {};
    ExtentPrices full = prices(peak, 0);
    full.byte = static_cast<double>(peak);  // the least new memory
    return stitch(size, full, stream);
}

ExtentPrices Extent::prices(Bytes peak, Bytes budget) const {
    return {.byte = 1 / (settings_.worth * static_cast<double>(peak)),
            .budget = budget,
            .granularity = device_->granularity()};
}

// New handles at the end of the line. False, with the reason in refusal_, if the device refuses;
// what it has granted so far stays, so that a row of pieces can use it.
bool Extent::grow(Bytes amount) {
    if (line_.addresses().size == 0 && !reserve_line())
        return false;
    if (settings_.limit != 0 &&
        amount > settings_.limit - std::min(settings_.limit, usage_.reserved)) {
        refusal_ = {OutOfMemory::Cause::limit};
        return false;
    }
    const Bytes largest = handle_size();
    while (amount != 0) {
        // The last one is made a little larger, so that no crumb follows it.
        const Bytes size = amount <= largest + largest / 4 ? amount : largest;
        if (!add_handle(size))
            return false;
        amount -= size;
    }
    return true;
}

// The addresses, at the first request.
bool Extent::reserve_line() {
    const DeviceResult<Range> addresses = device_->reserve(settings_.va_size);
    if (!addresses) {
        refusal_ = refused_by(addresses.error());
        return false;
    }
    line_.begin(*addresses);
    return true;
}

bool Extent::add_handle(Bytes size) {
    const BlockId hole = line_.hole_for(size);
    if (hole == kNoBlock) {
        refusal_ = {OutOfMemory::Cause::address_space, DeviceStatus::address_space};
        return false;
    }
    const Range target{line_[hole].address, size};
    const DeviceResult<PhysicalId> id = device_->create({}, size);
    if (!id) {
        refusal_ = refused_by(id.error());
        return false;
    }
    ++stats_.segments_created;
    usage_.reserved += size;
    DeviceResult<void> done = device_->map(target, *id);
    bool mapped = done.has_value();
    if (mapped)
        done = device_->set_access(target, true);
    if (done) {
        usage_.mapped += size;
        ++stats_.maps;
        line_.add(hole, *id, size);
        grown_.push_back(*id);
        return true;
    }
    refusal_ = refused_by(done.error());
    mapped = mapped && !device_->unmap(target);
    if (!mapped && device_->release(*id)) {
        usage_.reserved -= size;
        ++stats_.segments_released;
        return false;
    }
    usage_.mapped += mapped ? size : 0;
    line_.add_stuck(hole, *id, size, mapped);
    return false;
}

// A free range in an earlier view.
Extent::Grant Extent::reuse_view(Bytes size, StreamId stream) {
    auto found = views_.find(line_, size);
    if (!found)
        return {};
    Bytes rest = size;
    std::vector<Range> parts;
    StreamSet users;
    for (const Range& part : found->parts) {
        if (rest == 0)
            break;
        parts.push_back({part.begin, std::min(part.size, rest)});
        rest -= parts.back().size;
        users.add(line_[line_.free_block_at(part.begin)].streams);
    }
    if (!order(users, order_.now(), stream))
        return {};
    return grant_row(parts, found->begin, found->view, stream);
}

// A new view of free parts, and of new memory where that is cheaper. Nothing if growing is cheaper.
Extent::Grant Extent::stitch(Bytes size, const ExtentPrices& prices, StreamId stream) {
    const auto row = stitched_row(line_.pieces(prices.granularity), size, prices);
    if (!row ||
        (prices.budget != 0 && row->fresh > prices.budget &&
         missing(size) < row->fresh + scaled(peak_, kLeastSaving)) ||
        row->price > prices.of(1, 1, missing(size)))
        return {};
    std::vector<Range> parts;
    if (row->suffix)
        parts.push_back(row->suffix->range);
    for (const ExtentLine::Piece& piece : row->wholes)
        parts.push_back(piece.range);
    for (Bytes left = row->fresh; left != 0;) {
        const Bytes part = std::min(left, handle_size());
        const BlockId hole = line_.hole_for(part);
        const Address begin = hole == kNoBlock ? Address::null : line_[hole].address;
        if (!grow(part))
            return {};
        parts.push_back({begin, part});
        left -= part;
    }
    if (row->prefix)
        parts.push_back(row->prefix->range);
    // The excess stays free where it still touches the end of a handle.
    Bytes skipped = 0;
    if (!row->suffix && parts.front().size > row->excess)
        skipped = row->excess;
    parts.front() = {parts.front().begin + skipped, parts.front().size - skipped};
    parts.back().size -= row->excess - skipped;

    StreamSet users;
    std::vector<std::uint32_t> handles;
    for (const Range& part : parts) {
        users.add(line_[line_.free_block_at(part.begin)].streams);
        handles.push_back(line_.handle_at(part.begin));
    }
    if (!order(users, order_.now(), stream))
        return {};
    views_.end_unused(*device_, settings_.mappings, false);
    const DeviceResult<ExtentViews::ViewId> view = views_.make(*device_, line_, handles);
    if (!view) {
        refusal_ = refused_by(view.error());
        return {};
    }
    stats_.maps += handles.size();
    stitched_ += handles.size();
    const Bytes offset = parts.front().begin - line_.handle(handles.front()).home.begin;
    return grant_row(parts, views_.begin(*view) + offset, *view, stream);
}

}  // namespace tidemark::policies
