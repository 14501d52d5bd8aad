// gmlake: GMLake, a caching allocator that stitches free memory together with virtual memory.
//
// Model: GMLake (0274a9c, 2024), a fork of PyTorch's allocator. Up to 1 MiB: blocks of multiples of
// 512 bytes in segments of 2 MiB, best fit. Above: pieces of 2 MiB pages, each stream's own; the
// smallest free piece that fits, cut to the request, else the smallest free stitch of at most
// `reuse_limit` times the request (policies/gmlake_pieces.h). If neither is there and the request
// is at least `frag_limit`, free pieces are mapped in a row at new addresses, the largest first.
// Else new memory: 20 MiB for requests below 10 MiB, just the request above. `defrag_level` says
// when it is stitched: 0 before growing, 1 when the device has refused, 2 when also giving uncut
// pieces back hasn't helped. Above `auto_gc` of stitched addresses free stitches are ended. Not
// GMLake's: free pieces that were cut join again while no stitch is over them; pools share all
// memory; and memory that another stream used is ordered before it is used again.
//
// Promises: no wait as long as each allocation is used on its own stream, but before memory goes
// back; O(log blocks) a call, and of a stitch O(pieces * stitches over them).
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/policies/gmlake_pieces.h"
#include "core/regions/segments.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kGmlakeUnit = 512;
constexpr Bytes kGmlakeSmall = 1_MiB;  // at most
constexpr Bytes kGmlakeSmallSegment = 2_MiB;
constexpr Bytes kGmlakePage = 2_MiB;
constexpr Bytes kGmlakeMiddle = 10_MiB;  // below it kGmlakeMiddlePiece is taken
constexpr Bytes kGmlakeMiddlePiece = 20_MiB;
constexpr std::uint32_t kGmlakeSmallNode = 0x80000000U;

struct GmlakeSettings {
    Bytes frag_limit = 0;
    std::uint64_t reuse_limit = 0;
    std::uint64_t defrag_level = 0;
    Bytes auto_gc = 0;
};

class Gmlake final : public Allocator {
  public:
    Gmlake(Device& device, const GmlakeSettings& settings)
        : device_(&device),
          settings_(settings),
          pieces_(std::max(kGmlakePage, device.granularity())) {}

    ~Gmlake() override {
        if (!is_broken_off())
            trim(TrimLevel::all);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = std::max(request.alignment, kGmlakeUnit) - kGmlakeUnit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kGmlakeUnit);
        auto granted = size <= kGmlakeSmall ? allocate_small(size, request.stream)
                                            : allocate_large(size, request.stream);
        show();
        if (!granted) [[unlikely]]
            return refuse(granted.error());
        count_allocated(granted->size);
        granted->address = Address{align_up(to_integer(granted->address), request.alignment)};
        return granted;
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        count_deallocated(allocation);
        if ((allocation.node & kGmlakeSmallNode) == 0) {
            pieces_.give_back(allocation.node);
            return;
        }
        BlockId id = allocation.node & ~kGmlakeSmallNode;
        TM_CHECK(small_[id].state == Block::State::allocated);
        small_[id].state = Block::State::free;
        SizeIndex& index = small_free_[small_[id].list];
        id = join_neighbours(id, Block::State::free, small_, index);
        index.insert(id, small_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        if ((allocation.node & kGmlakeSmallNode) != 0)
            small_[allocation.node & ~kGmlakeSmallNode].streams.add(stream);
        else
            pieces_.record_use(allocation.node, stream);
    }

    void trim(TrimLevel level) override {
        if (device_->capturing())
            return;
        for (SizeIndex& index : small_free_) {
            const Released released = release_unused(index, small_, *device_);
            small_held_ -= released.bytes;
            small_stats_.segments_released += released.segments;
        }
        release(false, level == TrimLevel::all);
        show();
    }

    Bytes largest_free() const override {
        Bytes largest = pieces_.largest_free();
        for (const SizeIndex& index : small_free_)
            largest = std::max(largest, index.largest(small_));
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        small_.for_each([&](const Block& block, Range segment) {
            const auto state = block.state == Block::State::allocated ? Region::State::allocated
                                                                      : Region::State::free;
            visit({{block.address, block.size}, segment, state});
        });
        pieces_.for_each_region(visit);
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Gmlake> copy(new Gmlake(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    using Granted = tl::expected<Allocation, OutOfMemory>;
    using Node = GmlakePieces::Node;

    Gmlake(const Gmlake&) = default;

    Granted allocate_small(Bytes size, StreamId stream) {
        const std::uint32_t list = pieces_.list_of(stream);
        small_free_.resize(std::max<std::size_t>(small_free_.size(), list + std::size_t{1}));
        SizeIndex& index = small_free_[list];
        BlockId id = index.first_from(size, small_);
        if (id == kNoBlock) {
            const auto range = malloc_segment(*device_, kGmlakeSmallSegment, kGmlakeSmallSegment,
                                              [this] { return trim_for_retry(); });
            if (!range)
                return tl::make_unexpected(refused_by(range.error()));
            small_held_ += range->size;
            ++small_stats_.segments_created;
            id = small_.create(range->begin, range->size, list);
            index.insert(id, small_);
        }
        TM_TRY(order(small_[id].streams, stream));
        index.erase(id, small_);
        if (small_[id].size > size)
            index.insert(small_.split(id, size), small_);
        small_[id].state = Block::State::allocated;
        small_[id].streams = StreamSet(stream);
        return Allocation{small_[id].address, size, id | kGmlakeSmallNode};
    }

    Granted allocate_large(Bytes size, StreamId stream) {
        size = align_up(size, pieces_.page());
        const std::uint32_t list = pieces_.list_of(stream);
        Node node = pieces_.find(size, list, settings_.reuse_limit);
        if (node == GmlakePieces::kNothing) [[unlikely]] {
            const auto made = stitch_or_grow(size, list);
            if (!made)
                return tl::make_unexpected(made.error());
            node = *made;
        }
        TM_TRY(order(pieces_.streams(node), stream));
        pieces_.take(node, size, stream);
        const Range range = pieces_.range(node);
        return Allocation{range.begin, range.size, node};
    }

    tl::expected<void, OutOfMemory> order(StreamSet users, StreamId stream) {
        if (users.only(stream) || users.empty()) [[likely]]
            return {};
        const DeviceResult<void> ordered = users.order_before(stream, *device_);
        if (!ordered)
            return tl::make_unexpected(
                OutOfMemory{OutOfMemory::Cause::device_error, ordered.error().status});
        return {};
    }

    // A free piece or stitch of at least `size`.
    tl::expected<Node, OutOfMemory> stitch_or_grow(Bytes size, std::uint32_t list) {
        const auto stitched_at = [&](std::uint64_t level) {
            return level == settings_.defrag_level ? stitch(size, list) : GmlakePieces::kNothing;
        };
        if (const Node node = stitched_at(0); node != GmlakePieces::kNothing)
            return node;
        const Bytes wanted =
            size < kGmlakeMiddle ? align_up(kGmlakeMiddlePiece, pieces_.page()) : size;
        DeviceResult<Node> grown = pieces_.grow(wanted, list, *device_);
        if (grown)
            return *grown;
        if (const Node node = stitched_at(1); node != GmlakePieces::kNothing)
            return node;
        if (grown.error().status == DeviceStatus::out_of_memory && !device_->capturing() &&
            release(true, true)) {
            ++stats_.retries;
            grown = pieces_.grow(wanted, list, *device_);
            if (grown)
                return *grown;
        }
        if (const Node node = stitched_at(2); node != GmlakePieces::kNothing)
            return node;
        return tl::make_unexpected(refused_by(grown.error()));
    }

    Node stitch(Bytes size, std::uint32_t list) {
        if (size < settings_.frag_limit)
            return GmlakePieces::kNothing;
        const DeviceResult<Node> made = pieces_.stitch(size, list, *device_);
        if (pieces_.stitched() > settings_.auto_gc)
            pieces_.collect(settings_.auto_gc, false, *device_);
        return made && pieces_.find(size, list, settings_.reuse_limit) == *made
                   ? *made
                   : GmlakePieces::kNothing;
    }

    // True if anything went back. Waits for the device if `wait`.
    bool release(bool uncut, bool wait) {
        if (!pieces_.any_free())
            return false;
        const Bytes before = pieces_.held();
        bool awaited = false;
        if (wait && device_->synchronize_device()) {
            ++stats_.synchronizations;
            awaited = true;
        }
        pieces_.release(uncut, awaited, *device_);
        return pieces_.held() < before;
    }

    void show() {
        usage_.reserved = small_held_ + pieces_.held();
        usage_.mapped = small_held_ + pieces_.mapped();
        stats_.segments_created = small_stats_.segments_created + pieces_.stats().segments_created;
        stats_.segments_released =
            small_stats_.segments_released + pieces_.stats().segments_released;
        stats_.maps = pieces_.stats().maps;
        stats_.unmaps = pieces_.stats().unmaps;
    }

    Device* device_;
    GmlakeSettings settings_;
    GmlakePieces pieces_;
    Blocks small_;
    std::vector<SizeIndex> small_free_;  // by list
    Bytes small_held_ = 0;
    AllocatorStats small_stats_;  // segments alone
};

constexpr std::array<OptionInfo, 4> kGmlakeOptions{{
    {.name = "frag_limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512MiB",
     .minimum = "2MiB",
     .maximum = "1TiB",
     .summary = "only requests of at least this are stitched",
     .source = "fragLimit"},
    {.name = "reuse_limit",
     .type = OptionType::count,
     .unit = "times",
     .default_value = "10",
     .minimum = "1",
     .maximum = "1000",
     .summary = "a free stitch serves requests down to one part in so many of it",
     .source = "reuseLimit"},
    {.name = "defrag_level",
     .type = OptionType::count,
     .default_value = "0",
     .minimum = "0",
     .maximum = "2",
     .summary = "0: stitch before growing; 1: when the device refuses; 2: as the last step",
     .source = "defragLevel"},
    {.name = "auto_gc",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "1000GB",
     .minimum = "0",
     .maximum = "1000TiB",
     .summary = "addresses of stitches above which free ones are ended, the oldest first",
     .source = "autoGC, in GB there"},
}};

Result<std::unique_ptr<Allocator>> make_gmlake(Device& device, const Options& options) {
    if (!device.has(Feature::virtual_memory))
        return fail(ErrorCode::unsupported, "the device has no virtual memory", "gmlake",
                    "take a policy on plain memory, torch for one");
    return std::make_unique<Gmlake>(device,
                                    GmlakeSettings{.frag_limit = options.bytes("frag_limit"),
                                                   .reuse_limit = options.count("reuse_limit"),
                                                   .defrag_level = options.count("defrag_level"),
                                                   .auto_gc = options.bytes("auto_gc")});
}

}  // namespace

PolicyInfo gmlake() {
    return {
        .name = "gmlake",
        .summary = "PyTorch's rules with free pieces stitched together by virtual memory",
        .source = "Guo et al., GMLake, ASPLOS 2024; its code at 0274a9c",
        .options = kGmlakeOptions,
        .make = make_gmlake,
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
