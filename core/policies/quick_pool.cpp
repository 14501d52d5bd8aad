// quick-pool: Umpire's QuickPool.
//
// Model: Umpire 2024 over cudaMalloc. Sizes are multiples of `alignment`; best fit, of equal chunks
// the one that was freed first, always split exactly, joined with free neighbours when it is freed.
// A miss reserves the request from the device, or `next` if that is more, or `first` while the pool
// holds nothing. Where the device refuses, unused segments are released first. After a free the
// pool may merge many segments into one (`coalesce`): it releases the unused ones and reserves one
// segment for what is missing to the bytes held before, or to the most that was ever in use
// (`_hwm`). What differs from Umpire: memory that another stream used is ordered before it is
// reused (Umpire leaves that to programs), and a request for 0 bytes is granted `alignment` bytes.
//
// Promises: no wait as long as one stream is used, except for segments that are released; O(log
// free chunks) a call, and O(free chunks) where it merges segments.
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

struct QuickPoolSettings {
    Bytes first = 0;
    Bytes next = 0;
    Bytes alignment = 0;
    bool by_percent = true;       // else by the number of segments
    bool to_high_water = true;    // else to what is held
    std::uint64_t threshold = 0;  // 0: never
};

class QuickPool final : public Allocator {
  public:
    QuickPool(Device& device, const QuickPoolSettings& settings)
        : device_(&device), settings_(settings) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes unit = settings_.alignment;
        const Bytes padding = std::max(request.alignment, unit) - unit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, unit);
        BlockId id = index_.first_from(size, blocks_);
        if (id == kNoBlock) [[unlikely]] {
            const auto grown =
                grow(std::max(size, actual_ == 0 ? settings_.first : settings_.next));
            if (!grown)
                return refuse(grown.error());
            id = *grown;
        }
        // Ordered before anything changes: a failure here leaves the chunk where it was.
        if (!blocks_[id].streams.only(request.stream)) [[unlikely]] {
            const auto ordered = blocks_[id].streams.order_before(request.stream, *device_);
            if (!ordered)
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
        }
        take(id);
        if (blocks_[id].size > size)
            put(blocks_.split(id, size));
        blocks_[id].state = Block::State::allocated;
        blocks_[id].streams = StreamSet(request.stream);
        in_use_ += size;
        high_water_ = std::max(high_water_, in_use_);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(blocks_[id].address), request.alignment)},
                          size, id};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        const BlockId id = allocation.node;
        TM_CHECK(blocks_[id].state == Block::State::allocated);
        count_deallocated(allocation);
        in_use_ -= allocation.size;
        blocks_[id].state = Block::State::free;
        chunks_ -= free_neighbours(id);  // they become one with it
        put(join_neighbours(id, Block::State::free, blocks_, index_));
        if (should_coalesce()) [[unlikely]]
            coalesce(settings_.to_high_water ? high_water_ : actual_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    // Umpire's release.
    void trim(TrimLevel /*level*/) override {
        const Released released = release_unused(index_, blocks_, *device_);
        actual_ -= released.bytes;
        unused_.bytes -= released.bytes;
        unused_.segments -= released.segments;
        chunks_ -= released.segments;
        count_given_back(released.held, released.segments);
    }

    Bytes largest_free() const override { return index_.largest(blocks_); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        blocks_.for_each([&](const Block& block, Range segment) {
            const Range whole{segment.begin, HeldMemory::whole(segment.size)};
            const auto state = block.state == Block::State::allocated ? Region::State::allocated
                                                                      : Region::State::free;
            visit({{block.address, block.size}, whole, state});
            if (block.next == kNoBlock && whole.size != segment.size)
                visit({{segment.begin + segment.size, whole.size - segment.size},
                       whole,
                       Region::State::hole});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<QuickPool> copy(new QuickPool(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    QuickPool(const QuickPool&) = default;

    void put(BlockId id) {
        blocks_[id].stamp = ++clock_;
        index_.insert(id, blocks_);
        ++chunks_;
        if (blocks_[id].whole_segment()) {
            ++unused_.segments;
            unused_.bytes += blocks_[id].size;
        }
    }

    void take(BlockId id) {
        index_.erase(id, blocks_);
        --chunks_;
        if (blocks_[id].whole_segment()) {
            --unused_.segments;
            unused_.bytes -= blocks_[id].size;
        }
    }

    std::uint64_t free_neighbours(BlockId id) const {
        const auto is_free = [this](BlockId other) {
            return other != kNoBlock && blocks_[other].state == Block::State::free;
        };
        return std::uint64_t{is_free(blocks_[id].prev)} + std::uint64_t{is_free(blocks_[id].next)};
    }

    // A new free chunk of `size`, in the index.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size) {
        const auto range =
            malloc_segment(*device_, size, size, [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(HeldMemory::whole(size));
        actual_ += size;
        const BlockId id = blocks_.create(range->begin, size, 0);
        put(id);
        return id;
    }

    bool should_coalesce() const {
        if (settings_.threshold == 0 || chunks_ <= 1)
            return false;
        if (!settings_.by_percent)
            return unused_.segments >= settings_.threshold;
        if (settings_.threshold == 100)
            return in_use_ == 0;
        return static_cast<double>(unused_.bytes) >=
               static_cast<double>(actual_) / 100 * static_cast<double>(settings_.threshold);
    }

    void coalesce(Bytes target) {
        trim(TrimLevel::all);
        if (actual_ < target)
            static_cast<void>(
                grow(std::max(target - actual_, actual_ == 0 ? settings_.first : settings_.next)));
    }

    Device* device_;
    QuickPoolSettings settings_;
    Blocks blocks_;
    AgedSizeIndex index_;
    std::uint64_t clock_ = 0;
    std::uint64_t chunks_ = 0;  // free ones
    Released unused_;           // segments that could be released
    Bytes actual_ = 0;          // of the segments, as requested from the device
    Bytes in_use_ = 0;
    Bytes high_water_ = 0;  // of that
};

constexpr std::array<std::string_view, 4> kCoalesceChoices{
    "percent_releasable", "percent_releasable_hwm", "blocks_releasable", "blocks_releasable_hwm"};

constexpr std::array<OptionInfo, 5> kQuickPoolOptions{{
    {.name = "first",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512MiB",
     .minimum = "16",
     .maximum = "1TiB",
     .summary = "smallest segment that is reserved while the pool holds nothing",
     .source = "first_minimum_pool_allocation_size"},
    {.name = "next",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "1MiB",
     .minimum = "16",
     .maximum = "1TiB",
     .summary = "smallest segment that is reserved later",
     .source = "next_minimum_pool_allocation_size"},
    {.name = "alignment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "16",
     .minimum = "16",
     .maximum = "512",
     .summary = "requests are rounded up to a multiple of this, a power of two",
     .source = "alignment"},
    {.name = "coalesce",
     .type = OptionType::choice,
     .default_value = "percent_releasable_hwm",
     .choices = kCoalesceChoices,
     .summary = "when a free merges the unused segments into one, and up to which total: what the "
                "pool held before, or (hwm) the most that was ever in use",
     .source = "PoolCoalesceHeuristic"},
    {.name = "threshold",
     .type = OptionType::count,
     .unit = "percent or segments",
     .default_value = "100",
     .minimum = "0",
     .maximum = "100",
     .summary = "how much of what the pool holds, or how many segments, must be unused for that; 0 "
                "= never",
     .source = "the heuristics' argument"},
}};

Result<std::unique_ptr<Allocator>> make_quick_pool(Device& device, const Options& options) {
    const std::string_view coalesce = options.choice("coalesce");
    const QuickPoolSettings settings{.first = options.bytes("first"),
                                     .next = options.bytes("next"),
                                     .alignment = options.bytes("alignment"),
                                     .by_percent = coalesce.starts_with("percent"),
                                     .to_high_water = coalesce.ends_with("_hwm"),
                                     .threshold = options.count("threshold")};
    if (!is_power_of_two(settings.alignment) || settings.first % settings.alignment != 0 ||
        settings.next % settings.alignment != 0)
        return fail(ErrorCode::bad_option,
                    "alignment must be a power of two, first and next multiples of it",
                    "quick-pool");
    return std::make_unique<QuickPool>(device, settings);
}

}  // namespace

PolicyInfo quick_pool() {
    return {
        .name = "quick-pool",
        .summary = "Umpire's: best fit, exact cuts, merges its segments into one when all are free",
        .source = "Umpire 5bf5bc1 (2024), QuickPool",
        .options = kQuickPoolOptions,
        .make = make_quick_pool,
        .tried_unasked = false,
        .only_read = true,
    };
}

}  // namespace tidemark::policies
