// cupy: CuPy's MemoryPool.
//
// Model: CuPy 14.2 over cudaMalloc. Sizes are multiples of 512 bytes. Each stream has an arena of
// free chunks: best fit, always split exactly, joined with free neighbours. A chunk returns to the
// arena that it came from, whatever stream frees it, and no other stream ever gets it. A miss takes
// exactly what is needed from CUDA. If that would pass the limit, or CUDA refuses, every chunk that
// is a whole segment is released, and CUDA is asked once more. Among equal chunks CuPy takes the
// one whose host object has the lowest address; here it is the chunk with the lowest address. What
// differs from CuPy: a request for 0 bytes is granted 512 bytes, and memory that other streams used
// is ordered before it is reused (CuPy leaves that to programs).
//
// Promises: no wait as long as each allocation is used on its own stream; O(log free chunks) a
// call.
#include <algorithm>
#include <array>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/hash_index.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kCupyUnit = 512;

// Block::list is the number of the arena.
class Cupy final : public Allocator {
  public:
    Cupy(Device& device, Bytes limit) : device_(&device), limit_(limit) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = std::max(request.alignment, kCupyUnit) - kCupyUnit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kCupyUnit);
        const std::uint32_t arena = arena_of(request.stream);
        BlockId id = find(size, arena, request.among_equals);
        if (id == kNoBlock) [[unlikely]] {
            const auto grown = grow(size, arena);
            if (!grown)
                return refuse(grown.error());
            id = *grown;
        }
        // Ordered before anything changes: a failure here leaves the chunk where it was.
        if (!blocks_[id].streams.only(request.stream)) {
            const auto ordered = blocks_[id].streams.order_before(request.stream, *device_);
            if (!ordered)
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
        }
        SizeIndex& index = arenas_[arena].index;
        index.erase(id, blocks_);
        if (blocks_[id].size > size)
            index.insert(blocks_.split(id, size), blocks_);
        blocks_[id].state = Block::State::allocated;
        blocks_[id].streams = StreamSet(request.stream);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(blocks_[id].address), request.alignment)},
                          size, id};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        BlockId id = allocation.node;
        TM_CHECK(blocks_[id].state == Block::State::allocated);
        count_deallocated(allocation);
        blocks_[id].state = Block::State::free;
        SizeIndex& index = arenas_[blocks_[id].list].index;
        id = join_neighbours(id, Block::State::free, blocks_, index);
        index.insert(id, blocks_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    // CuPy's free_all_blocks.
    void trim(TrimLevel /*level*/) override {
        for (Arena& arena : arenas_) {
            const Released released = release_unused(arena.index, blocks_, *device_);
            count_given_back(released.bytes, released.segments);
        }
    }

    Bytes largest_free() const override {
        Bytes largest = 0;
        for (const Arena& arena : arenas_)
            largest = std::max(largest, arena.index.largest(blocks_));
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        blocks_.for_each([&](const Block& block, Range segment) {
            const auto state = block.state == Block::State::allocated ? Region::State::allocated
                                                                      : Region::State::free;
            visit({{block.address, block.size}, segment, state, arenas_[block.list].stream});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Cupy> copy(new Cupy(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    struct Arena {
        StreamId stream;
        SizeIndex index;
    };

    Cupy(const Cupy&) = default;

    std::uint32_t arena_of(StreamId stream) {
        const std::uint32_t known = numbers_.find(to_integer(stream));
        if (known != HashIndex::kNothing) [[likely]]
            return known;
        const auto number = static_cast<std::uint32_t>(arenas_.size());
        numbers_.insert(to_integer(stream), number);
        arenas_.push_back({stream, {}});
        return number;
    }

    // The best fit, which stays in its index; among equal ones, the chunk at `among_equals`.
    BlockId find(Bytes size, std::uint32_t arena, Address among_equals) {
        const SizeIndex& index = arenas_[arena].index;
        const BlockId best = index.first_from(size, blocks_);
        if (among_equals == Address::null || best == kNoBlock ||
            blocks_[best].address == among_equals)
            return best;
        const BlockId other = index.first_from(blocks_[best].size, blocks_, among_equals);
        if (other == kNoBlock || blocks_[other].address != among_equals ||
            blocks_[other].size != blocks_[best].size)
            return best;
        ++stats_.ties;
        return other;
    }

    bool above_limit(Bytes size) const {
        return limit_ != 0 && (usage_.reserved > limit_ || size > limit_ - usage_.reserved);
    }

    // A new free chunk of exactly `size`, in the arena.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size, std::uint32_t arena) {
        constexpr OutOfMemory kAboveLimit{OutOfMemory::Cause::limit};
        if (limit_ != 0 && size > limit_)
            return tl::make_unexpected(kAboveLimit);
        if (above_limit(size)) {
            trim_for_retry();
            if (above_limit(size))
                return tl::make_unexpected(kAboveLimit);
        }
        const auto range =
            malloc_segment(*device_, size, size, [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(size);
        const BlockId id = blocks_.create(range->begin, size, arena);
        arenas_[arena].index.insert(id, blocks_);
        return id;
    }

    Device* device_;
    Bytes limit_;
    Blocks blocks_;
    std::vector<Arena> arenas_;
    HashIndex numbers_;  // of arenas, by stream
};

constexpr std::array<OptionInfo, 1> kCupyOptions{{
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "most that the pool may reserve; 0 = no limit",
     .source = "MemoryPool.set_limit, CUPY_GPU_MEMORY_LIMIT"},
}};

}  // namespace

PolicyInfo cupy() {
    return {
        .name = "cupy",
        .summary = "CuPy's pool: best fit in an arena for each stream, exact segments",
        .source = "CuPy 14.2, MemoryPool, checked against its own decisions",
        .options = kCupyOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            return std::make_unique<Cupy>(device, options.bytes("limit"));
        },
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
