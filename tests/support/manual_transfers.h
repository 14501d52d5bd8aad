// ManualTransfers: Transfers over plain memory whose copies go on when the test says so, a chunk at
// a time, and whose failures the test injects. It aborts at what no engine may do: freeing a block
// that a copy uses or that work was queued on, copying from or to a block that is gone.
//
// Thread-safe; `automatic` copies go on by themselves, a chunk with each poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/tiers/engine/transfer.h"

namespace tidemark::support {

// One chance in so many; 0: never.
struct Faults {
    std::uint64_t no_memory = 0;         // the memory itself is full
    std::uint64_t allocation_fails = 0;  // something else
    std::uint64_t copy_fails = 0;        // per chunk
    std::uint64_t order_fails = 0;
};

class ManualTransfers final : public Transfers {
  public:
    explicit ManualTransfers(Bytes chunk = 64, std::uint64_t seed = 1)
        : chunk_(chunk), random_(seed) {}

    ~ManualTransfers() override;

    // The test's hands.
    void set_automatic(bool automatic);
    void set_faults(const Faults& faults);
    void fail_next_copy(std::uint32_t copies = 1);
    void refuse_allocations(SpaceId space, std::uint32_t times);  // with no_room
    bool step();  // one chunk of a random copy; false: none is in flight
    bool step_oldest();
    void finish_all();
    void pass_one();  // a random recorded point passes
    void pass_all();

    std::span<std::byte> bytes(const BlockLocation& block);
    std::size_t in_flight() const;
    std::size_t points() const;  // recorded, not passed
    std::size_t blocks() const;
    Bytes held(SpaceId space) const;
    std::uint64_t copies() const;   // ever begun
    std::uint64_t ordered() const;  // streams made to wait
    std::size_t awaited() const;    // points that the last copy comes after

    // Addresses for allocate_at. What is read there while no block is holds 0xdd.
    std::shared_ptr<const AddressRange> reserve(Bytes size);

    Result<BlockLocation> allocate(SpaceId space, Bytes size) override;
    Result<BlockLocation> allocate_at(SpaceId space,
                                      std::shared_ptr<const AddressRange> range) override;
    void free(const BlockLocation& block) override;
    std::vector<Range> pieces(const BlockLocation& block) const override;
    Result<UsePoint> record(SpaceId space, StreamId stream, bool wrote) override;
    Result<void> order(SpaceId space, StreamId stream, std::span<const UsePoint> points) override;
    bool passed(const UsePoint& point) override;
    CopyId start(CopyOrder order) override;
    void cancel(CopyId copy) override;
    void poll(std::vector<CopyDone>& ended) override;

  private:
    struct Flight {
        CopyOrder order;
        Bytes done = 0;
        bool cancelled = false;
        bool fails = false;
    };

    bool chance(std::uint64_t one_in);
    void go_on(std::uint64_t id);
    void end(std::uint64_t id, CopyEnd how);

    const Bytes chunk_;
    mutable std::mutex mutex_;
    Random random_;
    Faults faults_;
    bool automatic_ = false;
    std::uint32_t failing_ = 0;
    std::map<SpaceId, std::uint32_t> refusing_;
    std::uint64_t next_ = 1;
    std::uint64_t copies_ = 0;
    std::uint64_t ordered_ = 0;
    std::size_t awaited_ = 0;
    std::map<std::uint64_t, std::vector<std::byte>> blocks_;
    std::map<std::uint64_t, SpaceId> where_;
    std::map<std::uint64_t, std::shared_ptr<const AddressRange>> at_;  // blocks in reserved ranges
    std::map<Address, std::vector<std::byte>> vacant_;                 // ranges without a block
    std::map<std::uint64_t, Flight> flights_;
    std::set<std::uint64_t> points_;
    std::vector<CopyDone> ended_;
};

}  // namespace tidemark::support
