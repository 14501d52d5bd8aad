// Vpmm: a pool of pages behind reserved addresses, whose free pages are moved to where a request
// needs them in a row. After openvm's virtual pool memory manager.
//
// Model: requests are rounded to pages and served best-fit from the free regions of their stream,
// then from those of others whose work has finished. If none fits, a range of unused addresses is
// taken. Pages of free regions are mapped there a second time: first the stream's own, oldest
// first, then the others', for whose work the stream waits. New pages are added for what is
// missing, and the old mappings are removed once the work that might use them has finished.
// Requests below a page go to the device's pool. The original's defects
// (tests/core/policies/vpmm_defects_test.cpp) are fixed: no address is lost, every refusal of the
// device leaves the state intact, memory can be released, and other streams' uses are waited for.
//
// While a graph is captured, the pool asks the device nothing, waits for nothing, and moves and
// unmaps nothing. Memory that a graph uses must stay allocated as long as the graph exists.
//
// VpmmRegions holds the addresses and their states, PageTable the pages behind them, VpmmSmall
// everything that is smaller than a page. The class itself decides on requests (vpmm.cpp), on
// making room (vpmm_growth.cpp) and on releasing (vpmm_release.cpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/policies/vpmm_regions.h"
#include "core/policies/vpmm_settings.h"
#include "core/policies/vpmm_small.h"
#include "core/regions/page_table.h"

namespace tidemark::policies {

class Vpmm final : public Allocator {
  public:
    Vpmm(Device& device, const VpmmSettings& settings)
        : device_(&device), settings_(settings), table_(settings.page, settings.peers) {}

    ~Vpmm() override;  // the device must still be there

    // Creates the pages that exist from the start. Errors: those of the device.
    Result<void> prepare();

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;

    // The largest free region of any stream; another stream's may first have to be waited for. Free
    // memory of the small pool doesn't count.
    Bytes largest_free() const override { return regions_.largest_free(); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;
    void for_each_address(const std::function<void(const AddressSpan&)>& visit) const override;

    Bytes page() const { return settings_.page; }

  private:
    using Owner = VpmmRegions::Owner;
    using PageRange = PageTable::PageRange;

    // Nodes of small allocations are numbers of pieces with this bit.
    static constexpr std::uint32_t kSmallNode = 0x80000000U;

    // How far a request goes to get memory.
    enum class Effort : std::uint8_t {
        pages,  // new pages only
        cost,   // what needs no wait or is worth one, then new pages
        all,    // all free memory, then new pages
    };

    // This many bytes from the front of a free region.
    struct Move {
        BlockId region = kNoBlock;
        Bytes size = 0;
    };

    // How to serve a request that no free region fits.
    struct Plan {
        BlockId hole = kNoBlock;
        BlockId kept = kNoBlock;  // a free region right before the hole, used in place
        Bytes fresh = 0;          // bytes of new pages
        std::vector<Move> moves;
        Bytes moved = 0;  // their sum
    };

    Vpmm(const Vpmm&) = default;

    // Requests (vpmm.cpp).
    tl::expected<Allocation, OutOfMemory> allocate_small(const Request& request, Bytes size);
    tl::expected<Allocation, OutOfMemory> allocate_pages(const Request& request, Bytes size);
    std::optional<Allocation> grant_piece(const Request& request, Bytes size);
    tl::expected<Allocation, OutOfMemory> retry_piece(const Request& request, Bytes size);
    bool exceeds_limit(Bytes growth) const;
    BlockId find_or_make(Owner owner, Bytes size);
    BlockId find(Owner owner, Bytes size, bool ask);
    BlockId make(Owner owner, Bytes size);
    bool order_users(BlockId id);
    void free_block(BlockId id, bool done);
    void settle();
    void count_held();

    // Making room (vpmm_growth.cpp).
    BlockId make_room(Owner owner, Bytes size, Effort effort);
    Effort first_effort(Bytes size) const;
    Plan plan(Owner owner, Bytes size, Effort effort) const;
    void plan_moves(Plan& plan, Owner owner, Bytes missing, Effort effort) const;
    bool is_eligible(const Block& region, Owner owner, Effort effort) const;
    bool can_hold(Bytes fresh, Owner owner);
    bool reserve_hole(Plan& plan, Bytes size);
    bool wait_for_moves(const Plan& plan, Owner owner);
    bool map_pages(const Plan& plan);
    BlockId commit(const Plan& plan, Owner owner);
    PageRange pages_of(BlockId id, Bytes offset, Bytes size) const;
    bool refused(const DeviceError& error);
    void retire_hole(BlockId id);

    // Releasing (vpmm_release.cpp).
    void end_zombies();
    void settle_stuck();
    void await_all();
    bool reclaim();
    void release_free();

    Device* device_;
    VpmmSettings settings_;
    PageTable table_;
    VpmmRegions regions_;
    VpmmSmall small_;
    std::vector<BlockId> deferred_;  // freed; their order is still to be made
    std::vector<BlockId> stuck_;     // see VpmmRegions::Wait
    OutOfMemory refusal_;            // why the last attempt at making room failed
};

}  // namespace tidemark::policies
