// SlowTorch: PyTorch's caching allocator once more, written from its specification alone and for
// nothing but to be compared with the `torch` policy. Plain, slow, and checked at every turn: no
// code of the policy's is used, and nothing is clever. Chapter numbers in comments are those of the
// specification.
//
// Where PyTorch goes through a hash table this goes through ascending ids, as the policy documents.
// Not thread-safe. Costs don't matter.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/allocator/allocator.h"
#include "tests/model/coverage.h"
#include "tests/model/driver.h"
#include "tests/model/slow_settings.h"

namespace tidemark::model {

class SlowTorch {
  public:
    struct Grant {
        Range block = {};  // the size is that of the block
        std::optional<OutOfMemory::Cause> refusal = {};
    };

    SlowTorch(const SlowSettings& settings, Driver& driver)
        : settings_(settings), driver_(driver) {}

    SlowTorch(const SlowTorch&) = delete;
    SlowTorch& operator=(const SlowTorch&) = delete;

    // What a program can do. Addresses are those of granted blocks. `pool` must not be closed.
    Grant allocate(Bytes size, StreamId stream, PoolId pool);
    void deallocate(Address address);
    void record_use(Address address, StreamId stream);
    void retire(Address address);  // not allocated any more, but active until deallocate
    void empty_cache();            // TrimLevel::all
    void trim_unused();            // the same without waiting
    void begin_pool(PoolId pool, PoolTraits traits);
    void end_pool(PoolId pool);
    void close_pool(PoolId pool);
    void trim_pool(PoolId pool);
    void change_settings(const SlowSettings& settings);

    const Usage& usage() const { return usage_; }

    const AllocatorStats& stats() const { return stats_; }

    const Coverage& coverage() const { return coverage_; }

    std::vector<Region> regions() const;  // by address

    bool in_scope() const { return !scopes_.empty(); }

  private:
    struct Segment;
    struct Pool;

    // Chapter 2. Its neighbours are those in its segment's map.
    struct Block {
        Segment* segment = nullptr;
        Address begin = Address::null;
        Bytes size = 0;
        bool mapped = true;
        bool allocated = false;  // or retired and not yet deallocated
        bool retired = false;
        std::set<StreamId> uses = {};           // stream_uses
        std::set<StreamId> uses_in_scope = {};  // of those, added while a scope was open
        unsigned events = 0;                    // event_count
        std::uint64_t gc_base = 0;

        Address end() const { return begin + size; }

        Range range() const { return {begin, size}; }

        // Chapter 8.2; "free" in the sense of chapter 4.
        bool allocatable() const { return !allocated && events == 0 && uses.empty(); }
    };

    // A cudaMalloc segment, or a reservation: tiled by its blocks.
    struct Segment {
        Range range;
        bool expandable = false;
        Bytes page = 0;
        Pool* pool = nullptr;
        StreamId stream = StreamId::default_stream;
        std::map<Address, Block> blocks = {};
    };

    using FreeKey = std::tuple<StreamId, Bytes, Address>;
    using UnmappedKey = std::pair<StreamId, Address>;

    struct Pool {
        PoolId id = PoolId::default_pool;
        bool small = false;
        bool splits = true;
        std::uint64_t get_calls = 0;
        std::map<FreeKey, Block*> free = {};
        std::map<UnmappedKey, Block*> unmapped = {};
    };

    using FreeIterator = std::map<FreeKey, Block*>::iterator;

    // The default pools are a pair too.
    struct PoolPair {
        Pool small;
        Pool large;
        bool serves_on_refusal = false;
        bool closed = false;
    };

    struct Waiting {
        std::uint64_t step = 0;  // at which the event was recorded
        Block* block = nullptr;
    };

    struct Need {
        Pool* pool = nullptr;
        StreamId stream = StreamId::default_stream;
        Bytes size = 0;     // n
        Bytes segment = 0;  // seg
    };

    // Chapter 3.
    Block* obtain(Need& need, bool in_scope);
    Block* find_free(const Need& need);
    bool fits(const Need& need, const Block& block);
    FreeIterator best_expandable(Pool& pool, FreeIterator it, StreamId stream);
    FreeIterator first_plain(Pool& pool, FreeIterator it, StreamId stream);
    Block* new_block(const Need& need);
    Block* from_serving_pools(Need& need);

    // Chapter 4.
    bool should_split(const Need& need, const Block& block);
    void split(Block& block, Bytes size);
    Block* merge(Block* block);
    void free_block(Block* block);

    // Chapter 6.
    void collect_garbage();
    std::size_t collect_round(double cut, Bytes& got, double& total_age, std::size_t& count);
    bool release_available(const Need& need);
    bool release_several(Pool& pool, FreeIterator it, StreamId stream, Bytes key);
    void release_cached(bool wait);
    void release_closed(PoolId id);
    void release_pool(Pool& pool);
    void release(Block* block);

    // Chapter 7.
    void insert_events(Block* block);
    void insert_deferred();
    void process_events();
    void synchronize(const std::function<bool(const Block&)>& wanted);
    void event_done(Block* block);

    // Chapter 8.
    Block* expandable_alloc(const Need& need);
    Block* find_expandable(const Need& need);
    Block* map_block(Block* block, Bytes size);
    void unmap_block(Block* block);
    void unreserve_if_empty(Segment* segment);

    // Neighbours in the segment, and the pools' sets.
    static Block* prev_of(const Block& block);
    static Block* next_of(const Block& block);
    static bool is_split(const Block& block);
    Block* add_block(Segment* segment, Range range, bool mapped);
    void put(Block* block);   // into its pool's free or unmapped set
    void take(Block* block);  // out of it
    PoolPair& pools(PoolId id);
    bool holds_memory(PoolId id) const;
    bool collects() const;  // is garbage collection on?

    SlowSettings settings_;
    Driver& driver_;
    std::map<PoolId, PoolPair> pools_;
    std::map<Address, Segment> segments_;
    std::map<Address, Block*> granted_;
    std::map<StreamId, std::deque<Waiting>> queues_;
    std::vector<Block*> deferred_;
    std::multiset<PoolId> scopes_;                                // that are open
    OutOfMemory::Cause cause_ = OutOfMemory::Cause::device_full;  // of the last refusal
    Usage usage_;
    AllocatorStats stats_;
    Coverage coverage_;
};

}  // namespace tidemark::model
