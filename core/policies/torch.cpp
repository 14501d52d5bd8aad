// torch: PyTorch's CUDA caching allocator (2.11), decision by decision.
//
// Model: requests are rounded to 512 bytes (or to divisions of powers of two), served best-fit and
// lowest address first from the free blocks of their stream, pool and kind (small up to 1 MiB,
// large above); a miss takes a segment of 2 MiB, 20 MiB or the request's own size from the device.
// Blocks are split low, merged with free neighbours, and never change stream or pool. When the
// device or the limit says no, caches are released in PyTorch's order and the request is tried
// again. `verify` holds this against recorded runs.
//
// Not here yet: expandable segments, and private pools that end (a pool, once used, keeps its
// segments). Orders that PyTorch leaves to a hash table (streams in process_events) are ascending.
#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/policies/torch_settings.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"
#include "core/regions/unused_segments.h"

namespace tidemark::policies {
namespace {

constexpr std::uint32_t kNoList = 0xffffffffU;

enum Kind : std::uint8_t { small = 0, large = 1 };

// The free blocks of one stream in one pool.
struct FreeList {
    SizeIndex index;
    StreamId stream = StreamId::default_stream;
    std::uint32_t pool = 0;
};

// The default pool, a graph's, or a MemPool's; one kind of it.
struct Pool {
    PoolId id = PoolId::default_pool;
    Kind kind = small;
    std::uint64_t searches = 0;        // PyTorch's get_free_blocks_call_count: the pool's clock
    std::vector<std::uint32_t> lists;  // by stream, ascending
};

// A block that was let go while other streams used it, and the events that it waits for.
struct Pending {
    EventId event{};
    BlockId block = kNoBlock;
};

class Torch final : public Allocator {
  public:
    Torch(Device& device, const TorchSettings& settings) : device_(&device), settings_(settings) {
        pool_pair(PoolId::default_pool);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Torch> copy(new Torch(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Torch(const Torch&) = default;

    std::uint32_t pool_pair(PoolId id);  // the number of its small pool; the large one follows
    std::uint32_t find_list(std::uint32_t pool, StreamId stream);

    BlockId find_free(std::uint32_t list, Bytes size);
    BlockId new_block(std::uint32_t list, Bytes segment);
    BlockId find_or_create(std::uint32_t list, Bytes size);
    void split_if_worthwhile(BlockId id, Bytes size);
    void free_block(BlockId id);

    bool should_collect() const { return settings_.limit != 0 && settings_.gc_threshold > 0; }

    void collect_garbage();
    bool release_available(std::uint32_t list, Bytes size);
    void release_cached();
    void release_pool(std::uint32_t pool);
    bool release_block(BlockId id);
    void count_released(const Released& released);

    Result<void> restore_segment(const SeedSegment& segment, std::vector<Allocation>& live);

    void process_events();
    void await_events();
    void event_done(BlockId id);

    Device* device_;
    TorchSettings settings_;
    Blocks blocks_;
    std::vector<Pool> pools_;
    std::map<PoolId, std::uint32_t> pool_numbers_;  // of the small one; the large one follows
    std::vector<FreeList> lists_;
    std::array<std::uint32_t, 2> last_list_{kNoList, kNoList};  // of the default pool, by kind
    std::map<BlockId, std::vector<StreamId>> uses_;  // of blocks whose `streams` isn't empty
    std::map<StreamId, std::deque<Pending>> pending_;
    OutOfMemory refusal_;  // why the last attempt at a new segment failed
};

std::uint32_t Torch::pool_pair(PoolId id) {
    const auto [place, fresh] = pool_numbers_.try_emplace(id, pools_.size());
    if (fresh) {
        pools_.push_back({id, small, 0, {}});
        pools_.push_back({id, large, 0, {}});
    }
    return place->second;
}

std::uint32_t Torch::find_list(std::uint32_t pool, StreamId stream) {
    std::vector<std::uint32_t>& lists = pools_[pool].lists;
    auto place = std::lower_bound(
        lists.begin(), lists.end(), stream,
        [this](std::uint32_t list, StreamId wanted) { return lists_[list].stream < wanted; });
    if (place == lists.end() || lists_[*place].stream != stream) {
        place = lists.insert(place, static_cast<std::uint32_t>(lists_.size()));
        lists_.push_back({{}, stream, pool});
    }
    if (pool < 2)
        last_list_[pool] = *place;
    return *place;
}

tl::expected<Allocation, OutOfMemory> Torch::allocate(const Request& request) {
    const Bytes padding =
        request.alignment > kTorchMinBlock ? request.alignment - kTorchMinBlock : 0;
    if (request.size >= kLargestRequest) {
        ++stats_.out_of_memory;
        return tl::make_unexpected(OutOfMemory{OutOfMemory::Cause::too_large});
    }
    if (!pending_.empty())
        process_events();
    const Bytes size = settings_.round_size(std::max<Bytes>(request.size, 1) + padding);
    const Kind kind = size <= kTorchSmallMax ? small : large;
    std::uint32_t list = last_list_[kind];
    if (request.pool != PoolId::default_pool || list >= lists_.size() ||
        lists_[list].stream != request.stream) [[unlikely]]
        list = find_list(pool_pair(request.pool) + kind, request.stream);
    const BlockId id = find_or_create(list, size);
    if (id == kNoBlock) [[unlikely]] {
        ++stats_.out_of_memory;
        return tl::make_unexpected(refusal_);
    }
    split_if_worthwhile(id, size);
    Block& block = blocks_[id];
    block.state = Block::State::allocated;
    block.streams = {};
    count_allocated(block.size);
    const Address address{align_up(to_integer(block.address), request.alignment)};
    return Allocation{address, block.size, id};
}

BlockId Torch::find_or_create(std::uint32_t list, Bytes size) {
    BlockId id = find_free(list, size);
    if (id != kNoBlock) [[likely]]
        return id;
    const Bytes segment = settings_.segment_size(size);
    if (should_collect())
        collect_garbage();
    id = new_block(list, segment);
    if (id == kNoBlock && release_available(list, size))
        id = new_block(list, segment);
    if (id == kNoBlock) {
        release_cached();
        ++stats_.retries;
        id = new_block(list, segment);  // blocks freed by the wait are not looked at: as upstream
    }
    return id;
}

BlockId Torch::find_free(std::uint32_t list, Bytes size) {
    FreeList& free = lists_[list];
    if (should_collect())
        ++pools_[free.pool].searches;
    if (settings_.max_split == TorchSettings::kUnlimited) [[likely]]
        return free.index.take_first_from(size, blocks_);
    const BlockId id = free.index.first_from(size, blocks_);
    if (id == kNoBlock)
        return kNoBlock;
    const Bytes found = blocks_[id].size;
    if (size < settings_.max_split && found >= settings_.max_split)
        return kNoBlock;
    if (size >= settings_.max_split && found >= size + settings_.max_non_split_rounding)
        return kNoBlock;
    free.index.erase(id, blocks_);
    return id;
}

BlockId Torch::new_block(std::uint32_t list, Bytes segment) {
    if (settings_.limit != 0 && usage_.reserved + segment > settings_.limit) {
        refusal_ = {OutOfMemory::Cause::limit, DeviceStatus::out_of_memory};
        return kNoBlock;
    }
    const DeviceResult<Address> address = device_->malloc(segment);
    if (!address) {
        refusal_ = refused_by(address.error());
        return kNoBlock;
    }
    usage_.reserved += segment;
    usage_.mapped += segment;
    ++stats_.segments_created;
    return blocks_.create(*address, segment, list);
}

void Torch::split_if_worthwhile(BlockId id, Bytes size) {
    const Block& block = blocks_[id];
    const Bytes rest = block.size - size;
    const std::uint32_t list = block.list;
    const bool worthwhile = pools_[lists_[list].pool].kind == small
                                ? rest >= kTorchMinBlock
                                : size < settings_.max_split && rest > kTorchSmallMax;
    if (!worthwhile)
        return;
    const BlockId free = blocks_.split(id, size);
    blocks_[free].stamp = pools_[lists_[list].pool].searches;
    lists_[list].index.insert(free, blocks_);
}

void Torch::deallocate(const Allocation& allocation, StreamId /*stream*/) {
    const BlockId id = allocation.node;
    Block& block = blocks_[id];
    TM_CHECK(block.state == Block::State::allocated);
    block.state = Block::State::waiting;
    if (!allocation.retired)
        usage_.allocated -= block.size;
    if (allocation.retired || block.streams.empty()) [[likely]] {
        if (!block.streams.empty())
            uses_.erase(id);
        free_block(id);
        return;
    }
    for (const StreamId stream : uses_[id]) {
        if (const DeviceResult<EventId> event = device_->record(stream)) {
            ++block.waits;
            pending_[stream].push_back({*event, id});
        } else if (device_->synchronize(stream)) {
            ++stats_.synchronizations;
        } else {
            ++block.waits;  // nobody can say when that stream is done: it waits for ever
        }
    }
    uses_.erase(id);
    block.streams = {};
    if (block.waits == 0)
        free_block(id);
}

void Torch::record_use(const Allocation& allocation, StreamId stream) {
    Block& block = blocks_[allocation.node];
    if (lists_[block.list].stream == stream)
        return;
    block.streams.add(stream);
    std::vector<StreamId>& uses = uses_[allocation.node];
    const auto place = std::lower_bound(uses.begin(), uses.end(), stream);
    if (place == uses.end() || *place != stream)
        uses.insert(place, stream);
}

// The end of a block's life: neither allocated nor awaited. Joins its free neighbours.
void Torch::free_block(BlockId id) {
    const std::uint32_t list = blocks_[id].list;
    SizeIndex& index = lists_[list].index;
    usage_.active -= blocks_[id].size;
    blocks_[id].state = Block::State::free;
    blocks_[id].streams = {};
    const BlockId prev = blocks_[id].prev;
    const BlockId next = blocks_[id].next;
    const bool join_prev = prev != kNoBlock && blocks_[prev].state == Block::State::free;
    const bool join_next = next != kNoBlock && blocks_[next].state == Block::State::free;
    if (join_next) {
        index.erase(next, blocks_);
        blocks_.merge_next(id);
    }
    if (join_prev) {
        index.erase(prev, blocks_);
        blocks_.merge_next(prev);
        id = prev;
    }
    blocks_[id].stamp = pools_[lists_[list].pool].searches;
    index.insert(id, blocks_);
}

// garbage_collection_threshold: releases the oldest unsplit blocks of the default large pool until
// enough is gone; each pass takes all that are older than the mean age of the rest.
void Torch::collect_garbage() {
    const auto threshold =
        static_cast<Bytes>(settings_.gc_threshold * static_cast<double>(settings_.limit));
    if (usage_.reserved <= threshold)
        return;
    const Bytes target = usage_.reserved - threshold;
    const Pool& pool = pools_[large];
    std::vector<BlockId> candidates;
    std::uint64_t total_age = 0;
    for (const std::uint32_t list : pool.lists) {
        const SizeIndex& index = lists_[list].index;
        for (BlockId id = index.first_from(0, blocks_); id != kNoBlock;
             id = index.next(blocks_[id], blocks_)) {
            if (!blocks_[id].whole_segment())
                continue;
            candidates.push_back(id);
            total_age += pool.searches - blocks_[id].stamp;
        }
    }
    Bytes released = 0;
    bool progress = true;
    while (released < target && progress && !candidates.empty()) {
        const double cut = static_cast<double>(total_age) / static_cast<double>(candidates.size());
        progress = false;
        std::vector<BlockId> kept;
        for (const BlockId id : candidates) {
            const std::uint64_t age = pool.searches - blocks_[id].stamp;
            const Bytes size = blocks_[id].size;
            if (static_cast<double>(age) >= cut && release_block(id)) {
                progress = true;
                released += size;
                total_age -= age;
            } else {
                kept.push_back(id);
            }
        }
        candidates = std::move(kept);
    }
}

// With max_split_size: releases one oversized block that is large enough, or several that are
// together. True if a new attempt is worthwhile.
bool Torch::release_available(std::uint32_t list, Bytes size) {
    if (settings_.max_split == TorchSettings::kUnlimited)
        return false;
    const Bytes key = std::max(size, settings_.max_split);
    const SizeIndex& index = lists_[list].index;
    if (const BlockId id = index.first_from(key, blocks_); id != kNoBlock)
        return release_block(id);
    Bytes released = 0;
    BlockId id = index.last_below(key, blocks_);
    while (released < key && id != kNoBlock && blocks_[id].size >= settings_.max_split) {
        const Block block = blocks_[id];
        if (!release_block(id))
            break;
        released += block.size;
        id = index.last_below(block.size, blocks_, block.address);
    }
    return released >= key;
}

void Torch::release_cached() {
    await_events();
    release_pool(large);
    release_pool(small);
}

void Torch::release_pool(std::uint32_t pool) {
    for (const std::uint32_t list : pools_[pool].lists)
        count_released(release_unused(lists_[list].index, blocks_, *device_));
}

void Torch::count_released(const Released& released) {
    usage_.reserved -= released.bytes;
    usage_.mapped -= released.bytes;
    stats_.segments_released += released.segments;
}

// Gives a free block that is a whole segment back to the device. False, and nothing changed, if the
// device refuses.
bool Torch::release_block(BlockId id) {
    const Block block = blocks_[id];
    TM_CHECK_DEBUG(block.whole_segment());
    if (!device_->free(block.address))
        return false;
    lists_[block.list].index.erase(id, blocks_);
    blocks_.release(id);
    count_released({1, block.size});
    return true;
}

void Torch::process_events() {
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        std::deque<Pending>& waiting = queue->second;
        while (!waiting.empty()) {
            const DeviceResult<bool> done = device_->complete(waiting.front().event);
            if (!done || !*done)
                break;
            event_done(waiting.front().block);
            waiting.pop_front();
        }
        queue = waiting.empty() ? pending_.erase(queue) : std::next(queue);
    }
}

void Torch::await_events() {
    for (auto queue = pending_.begin(); queue != pending_.end();) {
        if (!device_->synchronize(queue->first)) {
            ++queue;
            continue;
        }
        ++stats_.synchronizations;
        for (const Pending& waiting : queue->second)
            event_done(waiting.block);
        queue = pending_.erase(queue);
    }
}

void Torch::event_done(BlockId id) {
    if (--blocks_[id].waits == 0)
        free_block(id);
}

void Torch::trim(TrimLevel level) {
    if (level == TrimLevel::all) {
        release_cached();
        return;
    }
    release_pool(large);
    release_pool(small);
}

Bytes Torch::largest_free() const {
    Bytes largest = 0;
    for (const FreeList& list : lists_)
        largest = std::max(largest, list.index.largest(blocks_));
    return largest;
}

void Torch::for_each_region(const std::function<void(const Region&)>& visit) const {
    blocks_.for_each([&](const Block& block, Range segment) {
        const auto state = block.state == Block::State::allocated ? Region::State::allocated
                           : block.state == Block::State::waiting ? Region::State::waiting
                                                                  : Region::State::free;
        const FreeList& list = lists_[block.list];
        visit({{block.address, block.size}, segment, state, list.stream, pools_[list.pool].id});
    });
}

Result<std::vector<Allocation>> Torch::restore(std::span<const SeedSegment> segments) {
    TM_CHECK(blocks_.count() == 0);
    std::vector<Allocation> live;
    for (const SeedSegment& segment : segments) {
        if (segment.expandable)
            return fail(ErrorCode::unsupported, "a state with expandable segments", "torch");
        TM_TRY(restore_segment(segment, live));
    }
    return live;
}

// Cuts a fresh segment at its live blocks; what lies between them is free.
Result<void> Torch::restore_segment(const SeedSegment& segment, std::vector<Allocation>& live) {
    const Kind kind = segment.range.size == kTorchSmallSegment ? small : large;
    const std::uint32_t list = find_list(pool_pair(segment.pool) + kind, segment.stream);
    SizeIndex& index = lists_[list].index;
    usage_.reserved += segment.range.size;
    usage_.mapped += segment.range.size;
    BlockId rest = blocks_.create(segment.range.begin, segment.range.size, list);
    for (const SeedBlock& seed : segment.blocks) {
        const Range free =
            rest == kNoBlock ? Range{} : Range{blocks_[rest].address, blocks_[rest].size};
        if (seed.address < free.begin || seed.size == 0 || seed.size > free.size ||
            seed.address - free.begin > free.size - seed.size)
            return fail(
                ErrorCode::bad_input,
                fmt::format("block {:#x} of {} bytes does not fit into its segment {:#x}",
                            to_integer(seed.address), seed.size, to_integer(segment.range.begin)),
                "torch");
        BlockId id = rest;
        if (seed.address != free.begin) {
            id = blocks_.split(rest, seed.address - free.begin);
            index.insert(rest, blocks_);
        }
        rest = seed.size == blocks_[id].size ? kNoBlock : blocks_.split(id, seed.size);
        blocks_[id].state = Block::State::allocated;
        count_allocated(seed.size);
        live.push_back({seed.address, seed.size, id});
        if (seed.retired)
            retire(live.back());
    }
    if (rest != kNoBlock)
        index.insert(rest, blocks_);
    return {};
}

Result<std::unique_ptr<Allocator>> make_torch(Device& device, const Options& options) {
    TM_ASSIGN(const TorchSettings settings, TorchSettings::from(options));
    return std::make_unique<Torch>(device, settings);
}

}  // namespace

PolicyInfo torch() {
    return {
        .name = "torch",
        .summary = "PyTorch's caching allocator: segments, split and merged, per stream",
        .source = "PyTorch 2.11, CUDACachingAllocator",
        .options = torch_options(),
        .make = make_torch,
    };
}

}  // namespace tidemark::policies
