// Extent: the pool with the least memory for its driver time.
//
// Model: one heap for all streams, in one line of addresses, with handles of the needed size mapped
// behind it (ExtentLine). As long as reserved memory stays within `slack` of the most that was ever
// live, the line grows. Beyond that, a request that fits nowhere is served by free parts of several
// handles, mapped in a row a second time (ExtentViews, stitched_row): no copy, no wait, no
// unmapping. Free blocks are split where that does the least damage to what could be stitched
// later. Small requests share slabs (ExtentSmall).
//
// Promises: a request that fits a free block costs no driver call, except for an order between
// streams if another stream used it last. No call waits for the device except trim(all). Any
// refusal of the device leaves the state intact.
//
// The class is one piece of state; its functions are in the files of their tasks: extent.cpp
// (requests), extent_growth.cpp (making room), extent_release.cpp (releasing, showing).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/policies/extent_line.h"
#include "core/policies/extent_settings.h"
#include "core/policies/extent_small.h"
#include "core/policies/extent_stitch.h"
#include "core/policies/extent_views.h"
#include "core/regions/known_order.h"

namespace tidemark::policies {

class Extent final : public Allocator {
  public:
    Extent(Device& device, const ExtentSettings& settings)
        : device_(&device), settings_(settings) {}

    ~Extent() override;  // the device must still be there

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    // Nodes of small allocations are numbers of blocks in slabs with this bit.
    static constexpr std::uint32_t kSmallNode = 0x80000000U;
    static constexpr Bytes kUnit = 512;
    static constexpr std::uint32_t kNoView = 0xffffffffU;

    // What a request gets: the first of its blocks, and its address.
    struct Grant {
        BlockId block = kNoBlock;
        Address address = Address::null;
    };

    Extent(const Extent&) = default;

    // Requests (extent.cpp). Returning no block: the request failed, and refusal_ says why.
    Grant grant_small(Bytes size, StreamId stream);
    Grant grant_large(Bytes size, StreamId stream);
    Grant grant_fit(Bytes size, StreamId stream);
    Grant grant_row(std::span<const Range> parts, Address address, ExtentViews::ViewId view,
                    StreamId stream);
    bool order(StreamSet users, std::uint64_t freed, StreamId stream);
    tl::unexpected<OutOfMemory> refuse();

    // Making room (extent_growth.cpp).
    Bytes peak_with(Bytes size) const;
    Bytes expected() const;
    Bytes handle_size() const;
    Bytes cap(Bytes peak) const;
    Bytes missing(Bytes size) const;
    Bytes growth(Bytes needed, Bytes peak) const;
    bool reserve_line();
    bool grow(Bytes amount);
    bool add_handle(Bytes size);
    ExtentPrices prices(Bytes peak, Bytes budget) const;
    Grant stitch(Bytes size, const ExtentPrices& prices, StreamId stream);
    Grant reuse_view(Bytes size, StreamId stream);

    // Releasing (extent_release.cpp).
    bool release_handle(std::uint32_t number, bool awaited);
    void give_back_growth();
    void settle_stuck();

    Device* device_;
    ExtentSettings settings_;
    ExtentLine line_;
    ExtentViews views_;
    ExtentSmall small_;
    KnownOrder order_;
    Bytes peak_ = 0;                 // the most that was active, since the last trim
    std::uint64_t stitched_ = 0;     // pieces mapped again for it
    std::vector<PhysicalId> grown_;  // by the current request
    OutOfMemory refusal_;            // why the last attempt at making room failed
};

}  // namespace tidemark::policies
