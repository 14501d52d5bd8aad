// rmm-binning: RMM's binning_memory_resource over its pool.
//
// Model: RMM 26.10, as its Python package makes it from two exponents. There is a bin of fixed
// blocks for each power of two (regions/stream_blocks.h), each with 128 blocks from the start. The
// bins are over a pool without initial memory (regions/stream_ordered_pool.h), which serves
// requests that are larger than the largest bin. Bins grow by 128 blocks of the pool. Bins and pool
// have lists and events of their own. What differs from RMM: the same as in rmm-pool; the first
// blocks are reserved at the first request; and when a bin gets memory of the pool that another
// stream may have had, an event is recorded, which RMM leaves out.
//
// Promises: one event recorded per free, as RMM does.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/stream_blocks.h"
#include "core/regions/stream_ordered_pool.h"

namespace tidemark::policies {
namespace {

constexpr std::uint64_t kBlocksOfBin = 128;

class RmmBinning final : public Allocator {
  public:
    // Bins of 2^`least` to 2^`most` bytes. In the pool `streams` come first, in that order.
    RmmBinning(Device& device, std::uint64_t least, std::uint64_t most,
               const std::vector<StreamId>& streams)
        : device_(&device), pool_(0, 0) {
        for (std::uint64_t exponent = least; exponent <= most; ++exponent)
            bins_.emplace_back(Bytes{1} << exponent, kBlocksOfBin);
        for (const StreamId stream : streams)
            pool_.meet(stream);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding =
            std::max(request.alignment, StreamOrderedPool::kUnit) - StreamOrderedPool::kUnit;
        const Bytes wanted = std::max<Bytes>(request.size, 1) + padding;
        const auto node = grant(wanted, request.stream);
        count_held();
        if (!node) [[unlikely]]
            return refuse(node.error().device ? refused_by(*node.error().device)
                                              : OutOfMemory{OutOfMemory::Cause::limit});
        const Block& block = (*this)[*node];
        count_allocated(block.size);
        return Allocation{Address{align_up(to_integer(block.address), request.alignment)},
                          block.size, *node};
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        TM_CHECK((*this)[allocation.node].state == Block::State::allocated);
        count_deallocated(allocation);
        const std::uint32_t bin = bin_of(allocation.node);
        if (bin == bins_.size())
            pool_.deallocate(id_of(allocation.node), stream, *device_);
        else
            bins_[bin].deallocate(id_of(allocation.node), stream, *device_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        (*this)[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        for (StreamBlocks& bin : bins_)
            bin.trim([this](StreamBlocks::Chunk chunk, StreamSet users) {
                pool_[chunk.owner].streams.add(users);
                pool_.deallocate(chunk.owner, StreamId::default_stream, *device_);
                return true;
            });
        pool_.trim(*device_);
        count_held();
    }

    Bytes largest_free() const override {
        Bytes largest = pool_.largest_free();
        for (const StreamBlocks& bin : bins_)
            largest = std::max(largest, bin.any_free() ? bin.block_size() : 0);
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<RmmBinning> copy(new RmmBinning(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    RmmBinning(const RmmBinning&) = default;

    // Nodes are numbers of blocks in a bin or, behind the last bin, in the pool.
    std::uint32_t node_of(std::uint32_t bin, BlockId id) const {
        const auto kinds = static_cast<std::uint32_t>(bins_.size() + 1);
        TM_CHECK(id < kNoBlock / kinds);
        return id * kinds + bin;
    }

    std::uint32_t bin_of(std::uint32_t node) const {
        return node % static_cast<std::uint32_t>(bins_.size() + 1);
    }

    BlockId id_of(std::uint32_t node) const {
        return node / static_cast<std::uint32_t>(bins_.size() + 1);
    }

    Block& operator[](std::uint32_t node) {
        const std::uint32_t bin = bin_of(node);
        return bin == bins_.size() ? pool_[id_of(node)] : bins_[bin][id_of(node)];
    }

    tl::expected<void, NoRoom> take_chunk(StreamBlocks& bin, StreamId stream) {
        const auto chunk = pool_.allocate(bin.chunk_size(), stream, *device_);
        if (!chunk)
            return tl::make_unexpected(chunk.error());
        bin.add_chunk({.begin = pool_[*chunk].address, .owner = *chunk}, stream, *device_);
        return {};
    }

    tl::expected<std::uint32_t, NoRoom> grant(Bytes wanted, StreamId stream);

    void count_held() {
        const HeldMemory& held = pool_.held();
        usage_.reserved = held.bytes;
        usage_.mapped = held.bytes;
        stats_.segments_created = held.taken;
        stats_.segments_released = held.given_back;
    }

    Device* device_;
    std::size_t begun_ = 0;  // bins that got their first blocks
    StreamOrderedPool pool_;
    std::vector<StreamBlocks> bins_;  // by size
};

tl::expected<std::uint32_t, NoRoom> RmmBinning::grant(Bytes wanted, StreamId stream) {
    for (; begun_ < bins_.size(); ++begun_) {
        if (const auto taken = take_chunk(bins_[begun_], StreamId::default_stream); !taken)
            return tl::make_unexpected(taken.error());
    }
    std::uint32_t number = 0;
    while (number < bins_.size() && bins_[number].block_size() < wanted)
        ++number;
    if (number == bins_.size()) {
        const auto id =
            pool_.allocate(align_up(wanted, StreamOrderedPool::kUnit), stream, *device_);
        if (!id)
            return tl::make_unexpected(id.error());
        return node_of(number, *id);
    }
    StreamBlocks& bin = bins_[number];
    auto id = bin.allocate(stream, *device_);
    if (id && *id == kNoBlock) {
        if (const auto taken = take_chunk(bin, stream); !taken)
            return tl::make_unexpected(taken.error());
        id = bin.allocate(stream, *device_);
    }
    if (!id)
        return tl::make_unexpected(NoRoom{id.error()});
    return node_of(number, *id);
}

// Shows the blocks of bins instead of the chunks that they are cut from.
void RmmBinning::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<Region> pieces;
    for (const StreamBlocks& bin : bins_) {
        bin.blocks().for_each([&](const Block& block, Range /*chunk*/) {
            const bool free = block.state == Block::State::free;
            pieces.push_back({.range = {block.address, block.size},
                              .segment = {},
                              .state = free ? Region::State::free : Region::State::allocated,
                              .stream = free ? bin.stream_of(block) : StreamId::default_stream});
        });
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
    auto piece = pieces.begin();
    pool_.blocks().for_each([&](const Block& block, Range segment) {
        const Range whole{segment.begin, HeldMemory::whole(segment.size)};
        const Address end = block.address + block.size;
        while (piece != pieces.end() && piece->range.begin < block.address)
            ++piece;
        if (piece != pieces.end() && piece->range.begin < end) {
            for (; piece != pieces.end() && piece->range.begin < end; ++piece) {
                piece->segment = whole;
                visit(*piece);
            }
        } else {
            const bool free = block.state == Block::State::free;
            visit({.range = {block.address, block.size},
                   .segment = whole,
                   .state = free ? Region::State::free : Region::State::allocated,
                   .stream = free ? pool_.stream_of(block) : StreamId::default_stream});
        }
        if (block.next == kNoBlock && whole.size != segment.size)
            visit({.range = {segment.begin + segment.size, whole.size - segment.size},
                   .segment = whole,
                   .state = Region::State::hole});
    });
}

constexpr std::array<OptionInfo, 3> kRmmBinningOptions{{
    {.name = "min",
     .type = OptionType::count,
     .default_value = "18",
     .minimum = "8",
     .maximum = "30",
     .summary = "the smallest bin has blocks of 2 to this power",
     .source = "min_size_exponent; RMM's replay benchmark uses 18"},
    {.name = "max",
     .type = OptionType::count,
     .default_value = "22",
     .minimum = "8",
     .maximum = "30",
     .summary = "the largest bin has blocks of 2 to this power",
     .source = "max_size_exponent; RMM's replay benchmark uses 22"},
    {.name = "streams",
     .type = OptionType::text,
     .default_value = "",
     .summary = "streams whose lists in the pool are searched first, in that order: \"3-2-1\"",
     .source = "RMM searches by the addresses of its events, which usually are in the order of the "
               "streams"},
}};

Result<std::unique_ptr<Allocator>> make_rmm_binning(Device& device, const Options& options) {
    if (options.count("min") > options.count("max"))
        return fail(ErrorCode::bad_option, "min is above max", "rmm-binning",
                    "lower min or raise max");
    std::vector<StreamId> streams;
    std::string_view text = options.text("streams");
    while (!text.empty()) {
        std::uint32_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (error != std::errc{} || (!text.empty() && (text.front() != '-' || text.size() == 1)))
            return fail(ErrorCode::bad_option, "streams is not a list of numbers", "rmm-binning",
                        "write them as \"3-2-1\"");
        streams.push_back(StreamId{number});
        text.remove_prefix(text.empty() ? 0 : 1);
    }
    return std::make_unique<RmmBinning>(device, options.count("min"), options.count("max"),
                                        streams);
}

}  // namespace

PolicyInfo rmm_binning() {
    return {
        .name = "rmm-binning",
        .summary = "RMM's bins: blocks of powers of two over RMM's pool",
        .source = "RMM 26.10, binning_memory_resource, checked against its own decisions",
        .options = kRmmBinningOptions,
        .make = make_rmm_binning,
        .also_called = "binning-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
