// rmm-arena: RMM's arena_memory_resource.
//
// Model: RMM 26.10 over cudaMalloc. One piece of memory is reserved once and cut into superblocks
// of at least 1 MiB. A superblock belongs to the global arena or to the arena of one stream.
// Everything is first fit by address. Requests above 1 MiB are served from the lowest superblock of
// the global arena that has room. Others are served from superblocks of the stream's arena. If
// that is empty, it takes one from the global arena: a whole one even if it is in use, but only the
// tail of a free one. Memory returns to its superblock, whoever owns it by then; a free superblock
// of the global arena joins free neighbours. When nothing fits, the allocator waits for the device,
// makes all superblocks global, and retries the request once. Not modelled: arenas by thread, for
// the per-thread default stream. What differs from RMM: a trim releases unused memory, the memory
// is reserved at the first request, memory that other streams use too is ordered before it is
// freed, and a request for 0 bytes is granted 256 bytes.
//
// Promises: no event and no wait while small blocks are freed on the stream that they were for.
// Frees above 1 MiB, or into another stream's arena, wait for the stream, as in RMM. O(log free
// blocks) a call, and O(blocks) of a superblock that changes arenas.
#include <algorithm>
#include <array>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/vacant_ids.h"
#include "core/regions/address_index.h"
#include "core/regions/blocks.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kRmmArenaUnit = 256;
constexpr Bytes kRmmSuperblock = 1_MiB;  // the least; larger requests are "large"
constexpr Bytes kRmmArenaMalloc = 512;   // what Device::malloc promises
constexpr std::uint32_t kGlobal = 0xffffffffU;

// Block::list is the number of its superblock; blocks of one are joined, of two never.
struct Superblock {
    BlockId first = kNoBlock;
    Bytes size = 0;
    Bytes free = 0;
    std::uint32_t owner = kGlobal;  // or the stream
    StreamSet late = {};            // who may still use what is free: the device refused to wait
};

class RmmArena final : public Allocator {
  public:
    RmmArena(Device& device, Bytes size) : device_(&device), size_(size) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        if (whole_.size == 0) {
            if (const auto taken = take_memory(); !taken)
                return refuse(refused_by(taken.error()));
        }
        const Bytes padding = std::max(request.alignment, kRmmArenaUnit) - kRmmArenaUnit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kRmmArenaUnit);
        BlockId id = find(size, request.stream);
        if (id == kNoBlock) {
            if (const auto cleaned = gather_all(); !cleaned)
                return refuse(refused_by(cleaned.error()));
            id = find(size, request.stream);
        }
        if (id == kNoBlock)
            return refuse({OutOfMemory::Cause::limit});
        const Superblock& in = supers_[blocks_[id].list];
        if (const auto ordered = in.late.order_before(request.stream, *device_); !ordered)
            return refuse(refused_by(ordered.error()));
        id = grant(id, size, request.stream);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(blocks_[id].address), request.alignment)},
                          size, id};
    }

    void deallocate(const Allocation& allocation, StreamId stream) override;

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        if (whole_.size == 0 || usage_.active != 0 || !device_->free(whole_.begin))
            return;
        count_given_back(held_for(whole_.size));
        whole_ = {};
        blocks_ = {};
        supers_.clear();
        vacant_ = {};
        global_ = {};
        arenas_.clear();
    }

    Bytes largest_free() const override {
        Bytes largest = global_.largest(blocks_);
        for (const StreamArena& arena : arenas_)
            largest = std::max(largest, arena.free.largest(blocks_));
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        const Range segment{whole_.begin, held_for(whole_.size)};
        blocks_.for_each([&](const Block& block, Range /*segment*/) {
            const std::uint32_t owner = supers_[block.list].owner;
            visit({.range = {block.address, block.size},
                   .segment = segment,
                   .state = block.state == Block::State::free ? Region::State::free
                                                              : Region::State::allocated,
                   .stream = owner == kGlobal ? StreamId::default_stream : StreamId{owner}});
        });
        if (segment.size != whole_.size)
            visit({.range = {whole_.begin + whole_.size, segment.size - whole_.size},
                   .segment = segment,
                   .state = Region::State::hole});
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<RmmArena> copy(new RmmArena(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    struct StreamArena {
        std::uint32_t stream = 0;
        AddressIndex free;  // blocks of its superblocks
    };

    RmmArena(const RmmArena&) = default;

    static Bytes held_for(Bytes size) { return align_up(size, kRmmArenaMalloc); }

    DeviceResult<void> take_memory();
    BlockId find(Bytes size, StreamId stream);
    BlockId find_global(Bytes size);
    BlockId grant(BlockId id, Bytes size, StreamId stream);
    void give_to(std::uint32_t owner, std::uint32_t super);
    DeviceResult<void> gather_all();
    void join(std::uint32_t super);
    void absorb_next(std::uint32_t super, std::uint32_t next);

    // The free blocks of the arena of a stream, or of the global one.
    AddressIndex& arena_of(std::uint32_t owner) {
        if (owner == kGlobal)
            return global_;
        const auto found = std::find_if(arenas_.begin(), arenas_.end(),
                                        [&](const auto& arena) { return arena.stream == owner; });
        if (found != arenas_.end())
            return found->free;
        return arenas_.emplace_back(StreamArena{owner, {}}).free;
    }

    bool is_free(std::uint32_t super) const { return supers_[super].free == supers_[super].size; }

    Device* device_;
    Bytes size_;
    Range whole_;
    Blocks blocks_;
    std::vector<Superblock> supers_;
    VacantIds vacant_;
    AddressIndex global_;  // free blocks of superblocks that belong to no stream
    std::vector<StreamArena> arenas_;
};

DeviceResult<void> RmmArena::take_memory() {
    const Bytes size = size_ != 0 ? size_ : device_->memory().free / 2;
    const Bytes rounded = size / kRmmArenaUnit * kRmmArenaUnit;
    TM_ASSIGN(const Address begin, device_->malloc(rounded));
    whole_ = {begin, rounded};
    count_taken(held_for(rounded));
    const BlockId first = blocks_.create(begin, rounded, 0);
    const std::uint32_t super =
        vacant_.put_into(supers_, Superblock{.first = first, .size = rounded, .free = rounded});
    blocks_[first].list = super;
    global_.insert(first, blocks_);
    return {};
}

// The free block that serves the request: the lowest that is large enough. It is in the lowest
// superblock that has room.
BlockId RmmArena::find(Bytes size, StreamId stream) {
    if (size > kRmmSuperblock)
        return find_global(size);
    const std::uint32_t owner = to_integer(stream);
    if (const BlockId id = arena_of(owner).first_from(size, blocks_); id != kNoBlock)
        return id;
    const BlockId id = find_global(size);
    if (id != kNoBlock)
        give_to(owner, blocks_[id].list);
    return id;
}

// The same in the global arena. The tail of a free superblock becomes a superblock of its own.
BlockId RmmArena::find_global(Bytes size) {
    const BlockId id = global_.first_from(size, blocks_);
    if (id == kNoBlock)
        return kNoBlock;
    const std::uint32_t super = blocks_[id].list;
    const Bytes whole = supers_[super].size;
    const Bytes head = std::max(kRmmSuperblock, size);
    if (!is_free(super) || whole < head + kRmmSuperblock)
        return id;
    const BlockId front = blocks_.split_front(id, head);
    Superblock tail = supers_[super];
    tail.first = id;
    tail.size = tail.free = whole - head;
    blocks_[id].list = vacant_.put_into(supers_, tail);
    supers_[super].first = front;
    supers_[super].size = supers_[super].free = head;
    global_.resized(id, whole, blocks_);
    global_.insert(front, blocks_);
    return front;
}

void RmmArena::give_to(std::uint32_t owner, std::uint32_t super) {
    AddressIndex& to = arena_of(owner);
    AddressIndex& from = arena_of(supers_[super].owner);
    for (BlockId id = supers_[super].first; id != kNoBlock && blocks_[id].list == super;
         id = blocks_[id].next) {
        if (blocks_[id].state != Block::State::free)
            continue;
        from.erase(id, blocks_);
        to.insert(id, blocks_);
    }
    supers_[super].owner = owner;
}

// The first `size` bytes of the free block `id`.
BlockId RmmArena::grant(BlockId id, Bytes size, StreamId stream) {
    Superblock& in = supers_[blocks_[id].list];
    AddressIndex& free = arena_of(in.owner);
    if (const Bytes before = blocks_[id].size; before > size) {
        const BlockId rest = id;
        id = blocks_.split_front(rest, size);
        free.resized(rest, before, blocks_);
        if (in.first == rest)
            in.first = id;
    } else {
        free.erase(id, blocks_);
    }
    blocks_[id].state = Block::State::allocated;
    blocks_[id].streams = StreamSet(stream);
    in.free -= size;
    return id;
}

void RmmArena::deallocate(const Allocation& allocation, StreamId stream) {
    const BlockId id = allocation.node;
    TM_CHECK(blocks_[id].state == Block::State::allocated);
    count_deallocated(allocation);
    const std::uint32_t super = blocks_[id].list;
    Superblock& in = supers_[super];
    const bool ordered = blocks_[id].streams.order_before(stream, *device_).has_value();
    const bool waits = allocation.size > kRmmSuperblock || in.owner != to_integer(stream);
    if (waits)
        ++stats_.synchronizations;
    if (!ordered || (waits && !device_->synchronize(stream))) {
        in.late.add(blocks_[id].streams);
        in.late.add(stream);
    }
    in.free += blocks_[id].size;
    blocks_[id].state = Block::State::free;
    AddressIndex& free = arena_of(in.owner);
    const auto joins = [&](BlockId neighbour) {
        return neighbour != kNoBlock && blocks_[neighbour].list == super &&
               blocks_[neighbour].state == Block::State::free;
    };
    if (const BlockId next = blocks_[id].next; joins(next)) {
        free.erase(next, blocks_);
        blocks_.merge_next(id);
    }
    if (const BlockId prev = blocks_[id].prev; joins(prev)) {
        const Bytes before = blocks_[prev].size;
        blocks_.merge_next(prev);
        free.resized(prev, before, blocks_);
    } else {
        free.insert(id, blocks_);
    }
    if (in.owner == kGlobal && is_free(super))
        join(super);
}

// A free superblock of the global arena, with its free neighbours there.
void RmmArena::join(std::uint32_t super) {
    const auto joins = [&](BlockId neighbour) {
        return neighbour != kNoBlock && supers_[blocks_[neighbour].list].owner == kGlobal &&
               is_free(blocks_[neighbour].list);
    };
    if (const BlockId next = blocks_[supers_[super].first].next; joins(next))
        absorb_next(super, blocks_[next].list);
    if (const BlockId prev = blocks_[supers_[super].first].prev; joins(prev))
        absorb_next(blocks_[prev].list, super);
}

void RmmArena::absorb_next(std::uint32_t super, std::uint32_t next) {
    Superblock& in = supers_[super];
    const Bytes before = in.size;
    global_.erase(supers_[next].first, blocks_);
    in.late.add(supers_[next].late);
    in.size += supers_[next].size;
    in.free = in.size;
    blocks_.merge_next(in.first);
    global_.resized(in.first, before, blocks_);
    supers_[next] = {};
    vacant_.give_back(next);
}

// Nothing fits: all superblocks become global, once the device has finished everything.
DeviceResult<void> RmmArena::gather_all() {
    ++stats_.retries;
    ++stats_.synchronizations;
    TM_TRY(device_->synchronize_device());
    for (Superblock& super : supers_)
        super.late = {};
    for (std::uint32_t super = 0; super < supers_.size(); ++super) {
        if (supers_[super].size == 0 || supers_[super].owner == kGlobal)
            continue;
        give_to(kGlobal, super);
        if (is_free(super))
            join(super);
    }
    return {};
}

constexpr std::array<OptionInfo, 1> kRmmArenaOptions{{
    {.name = "size",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "memory that the arena reserves at the first request and keeps; 0 = half of the "
                "device's free memory",
     .source = "arena_size"},
}};

}  // namespace

PolicyInfo rmm_arena() {
    return {
        .name = "rmm-arena",
        .summary = "RMM's arena: one piece of memory, superblocks by stream, first fit",
        .source = "RMM 26.10, arena_memory_resource, checked against its own decisions",
        .options = kRmmArenaOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            return std::make_unique<RmmArena>(device, options.bytes("size"));
        },
        .also_called = "arena-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
