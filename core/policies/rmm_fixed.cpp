// rmm-fixed: RMM's fixed_size_memory_resource.
//
// Model: RMM 26.10 over cudaMalloc. Every request takes one block; requests above a block fail.
// Blocks come in chunks, the first chunk at the first request, and are used first in, first out in
// free lists by stream (regions/stream_blocks.h). Differences from RMM: see rmm-pool.
//
// Promises: one event recorded per free, as RMM does; O(1) a call while a stream finds blocks of
// its own.
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/stream_blocks.h"
#include "core/regions/stream_ordered_pool.h"

namespace tidemark::policies {
namespace {

class RmmFixed final : public Allocator {
  public:
    RmmFixed(Device& device, Bytes block, std::uint64_t count)
        : device_(&device), blocks_(block, count) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        if (!begun_) {
            if (const auto taken = take_chunk(StreamId::default_stream); !taken)
                return refuse(refused_by(taken.error()));
            begun_ = true;
        }
        blocks_.meet(request.stream);
        const Bytes padding =
            std::max(request.alignment, StreamOrderedPool::kUnit) - StreamOrderedPool::kUnit;
        if (request.size + padding > blocks_.block_size())
            return refuse({OutOfMemory::Cause::limit});
        auto id = blocks_.allocate(request.stream, *device_);
        if (id && *id == kNoBlock) {
            if (const auto taken = take_chunk(request.stream); !taken)
                return refuse(refused_by(taken.error()));
            id = blocks_.allocate(request.stream, *device_);
        }
        if (!id) [[unlikely]]
            return refuse(refused_by(id.error()));
        count_allocated(blocks_.block_size());
        return Allocation{Address{align_up(to_integer(blocks_[*id].address), request.alignment)},
                          blocks_.block_size(), *id};
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        TM_CHECK(blocks_[allocation.node].state == Block::State::allocated);
        count_deallocated(allocation);
        blocks_.deallocate(allocation.node, stream, *device_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        blocks_.trim([this](StreamBlocks::Chunk chunk, StreamSet /*users*/) {
            if (!device_->free(chunk.begin))
                return false;
            count_given_back(HeldMemory::whole(blocks_.chunk_size()));
            return true;
        });
    }

    Bytes largest_free() const override { return blocks_.any_free() ? blocks_.block_size() : 0; }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        blocks_.blocks().for_each([&](const Block& block, Range segment) {
            const Range whole{segment.begin, HeldMemory::whole(segment.size)};
            const bool free = block.state == Block::State::free;
            visit({.range = {block.address, block.size},
                   .segment = whole,
                   .state = free ? Region::State::free : Region::State::allocated,
                   .stream = free ? blocks_.stream_of(block) : StreamId::default_stream});
            if (block.next == kNoBlock && whole.size != segment.size)
                visit({.range = {segment.begin + segment.size, whole.size - segment.size},
                       .segment = whole,
                       .state = Region::State::hole});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<RmmFixed> copy(new RmmFixed(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    RmmFixed(const RmmFixed&) = default;

    DeviceResult<void> take_chunk(StreamId stream) {
        TM_ASSIGN(const Address begin, device_->malloc(blocks_.chunk_size()));
        count_taken(HeldMemory::whole(blocks_.chunk_size()));
        blocks_.add_chunk({.begin = begin, .owner = 0}, stream, *device_);
        return {};
    }

    Device* device_;
    bool begun_ = false;
    StreamBlocks blocks_;
};

constexpr std::array<OptionInfo, 2> kRmmFixedOptions{{
    {.name = "block",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "1MiB",
     .minimum = "1",
     .maximum = "1GiB",
     .summary = "size of the block that every request takes, rounded up to a multiple of 256; "
                "larger requests fail",
     .source = "block_size"},
    {.name = "preallocate",
     .type = OptionType::count,
     .default_value = "128",
     .minimum = "1",
     .maximum = "65536",
     .summary = "blocks that are reserved at once, at the first request and whenever none is free",
     .source = "blocks_to_preallocate"},
}};

}  // namespace

PolicyInfo rmm_fixed() {
    return {
        .name = "rmm-fixed",
        .summary = "RMM's fixed sizes: every request takes one block, first in, first out",
        .source = "RMM 26.10, fixed_size_memory_resource, checked against its own decisions",
        .options = kRmmFixedOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            return std::make_unique<RmmFixed>(
                device, align_up(options.bytes("block"), StreamOrderedPool::kUnit),
                options.count("preallocate"));
        },
        .also_called = "fixed-size-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
