// Torch: PyTorch's CUDA caching allocator (2.11), decision by decision.
//
// Model: requests are rounded to 512 bytes (or to divisions of powers of two). They are served
// best-fit and lowest address first from the free blocks of their stream, pool and kind (small up
// to 1 MiB, large above). A miss reserves a segment of 2 MiB, 20 MiB or the request's own size from
// the device, or maps pages into a reservation (expandable segments). Blocks are split at the low
// end, merged with free neighbours, and never change stream or pool. When the device or the limit
// refuses, caches are released in PyTorch's order and the request is retried. `verify` checks this
// against recorded runs, and the tests check it against a second model.
//
// Where PyTorch's order follows from hash tables (streams with events, pools that are released), it
// is ascending here. TorchPools holds the free blocks, TorchEvents those that are pending free. The
// class itself decides on requests (torch.cpp), on releasing (torch_release.cpp), on reservations
// (torch_expandable.cpp) and on a given state (torch_restore.cpp).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/policies/torch_events.h"
#include "core/policies/torch_pools.h"
#include "core/policies/torch_settings.h"
#include "core/regions/blocks.h"
#include "core/regions/reservation.h"

namespace tidemark::policies {

class Torch final : public Allocator {
  public:
    Torch(Device& device, const TorchSettings& settings)
        : device_(&device), settings_(settings), limit_(settings.limit_on(device.memory().total)) {
        pools_.set_large_page(settings_.large_segment);
    }

    ~Torch() override;  // the device must still be there

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    Result<void> reconfigure(const Options& options) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    using Kind = TorchPools::Kind;

    // A reservation and the list that its blocks belong to.
    struct Expandable {
        Reservation reservation;
        std::uint32_t list = 0;
    };

    Torch(const Torch&) = default;

    // Requests (torch.cpp).
    BlockId find_or_create(const Request& request, std::uint32_t list, Bytes size);
    BlockId retry(const Request& request, std::uint32_t list, Bytes size);
    BlockId new_after_wait(std::uint32_t list, Bytes size);
    bool rejects(Bytes size);
    BlockId find_free(std::uint32_t list, Bytes size);
    BlockId borrow(Kind kind, StreamId stream, Bytes size);
    BlockId new_block(std::uint32_t list, Bytes size);
    void split_if_worthwhile(BlockId id, Bytes size);
    void free_block(BlockId id);
    void free_done();
    void settle_events();

    // Releasing (torch_release.cpp).
    void collect_garbage();
    bool release_available(std::uint32_t list, Bytes size);
    void release_cached();
    void release_unwaited();
    void release_family(PoolId id);
    void release_pool(std::uint32_t pool);
    bool release_block(BlockId id);
    void count_reserved(std::uint32_t list, Bytes size);
    void count_private(std::uint32_t list, Bytes gained);

    // Reservations (torch_expandable.cpp).
    BlockId expand(std::uint32_t list, Bytes size);
    BlockId reserve(std::uint32_t list);
    BlockId map_block(BlockId id, Bytes size);
    void unmap_block(BlockId id);
    void give_back_reservation(BlockId id);
    void settle_reservations();
    template <class Change>
    DeviceResult<void> change(Expandable& expandable, Change change);
    Bytes reservation_size(Bytes page) const;
    Bytes page_of(const Block& block) const;

    // A given state (torch_restore.cpp).
    Result<void> restore_segment(const SeedSegment& segment, std::vector<Allocation>& live);
    Result<void> restore_reservation(std::span<const SeedSegment> runs,
                                     std::vector<Allocation>& live);
    Result<void> cut_at_seeds(BlockId rest, const SeedSegment& segment,
                              std::vector<Allocation>& live);

    bool should_collect() const { return limit_ != 0 && settings_.gc_threshold > 0; }

    Device* device_;
    TorchSettings settings_;
    Bytes limit_;  // on reserved bytes; 0 = none
    Blocks blocks_;
    TorchPools pools_;
    std::vector<Expandable> reservations_;  // by Block::reservation - 1
    VacantIds vacant_reservations_;
    std::uint32_t open_scopes_ = 0;
    TorchEvents events_;
    OutOfMemory refusal_;  // why the last attempt at a new segment failed
};

}  // namespace tidemark::policies
