// arena: memory of captured graphs from arenas, everything else from exact-size lists.
//
// Model: numr (ml-rust/numr). Outside of captures, buffers come from free lists of one size each
// over the driver's stream-ordered pool (arena_cache.h). Memory that is allocated while a graph is
// captured (here: the requests of a private pool) comes from an arena that hands out every address
// only once, since the graph's nodes hold it (arena_pools.h). Options add what numr lacks: an arena
// that grows without moving, one that is planned from a dry run so that bytes are reused inside a
// graph, and one that is shared by graphs that never run together.
//
// Promises: private memory is never given to anybody else before its pool is closed, whatever the
// device refuses; while a graph is captured nothing is released to the driver. O(log sizes) a call.
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/policies/arena_cache.h"
#include "core/policies/arena_pools.h"

namespace tidemark::policies {
namespace {

// Which part of the policy an allocation belongs to: a bit of its node.
constexpr std::uint32_t kPrivate = std::uint32_t{1} << 31;

class Arena final : public Allocator {
  public:
    Arena(Device& device, const ArenaCacheSettings& cache, const ArenaPoolSettings& pools)
        : device_(&device), cache_(cache), pools_(pools) {}

    // Releases the memory of graphs that have ended, even of pools that nobody closed.
    ~Arena() override {
        if (!is_broken_off() && pools_.held() != 0 && device_->synchronize_device())
            pools_.release_unused(*device_);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        if (request.pool != PoolId::default_pool) [[unlikely]]
            return allocate_private(request);
        const std::uint64_t created = stats_.segments_created;
        const auto allocation = cache_.allocate(request, *device_, stats_);
        if (!allocation || stats_.segments_created != created)
            count_cache();
        if (!allocation)
            return refuse(allocation.error());
        count_allocated(allocation->size);
        return allocation;
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        count_deallocated(allocation);
        if ((allocation.node & kPrivate) != 0) {
            pools_.deallocate(allocation.node & ~kPrivate);
            return;
        }
        const std::uint64_t released = stats_.segments_released;
        cache_.deallocate(allocation.node, *device_, stats_);
        if (stats_.segments_released != released)
            count_cache();
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        if ((allocation.node & kPrivate) != 0)
            pools_.record_use(allocation.node & ~kPrivate, stream);
        else
            cache_.record_use(allocation.node, stream);
    }

    void trim(TrimLevel level) override {
        if (device_->capturing())
            return;
        cache_.drain(*device_, stats_);
        if (level == TrimLevel::all) {
            ++stats_.synchronizations;
            if (device_->synchronize_device()) {
                static_cast<void>(device_->trim_pool(0));
                release_closed();
            }
        }
        count_cache();
    }

    void begin_pool(PoolId pool, PoolTraits /*traits*/) override { pools_.begin_pool(pool); }

    void end_pool(PoolId pool) override { pools_.end_pool(pool); }

    void close_pool(PoolId pool) override { pools_.close_pool(pool); }

    void trim_pool(PoolId /*pool*/) override {
        if (!pools_.any_closed() || device_->capturing())
            return;
        ++stats_.synchronizations;
        if (device_->synchronize_device())
            release_closed();
    }

    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override {
        pools_.plan_pool(pool, expected);
    }

    Bytes largest_free() const override { return cache_.largest_cached(); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        cache_.for_each_region(visit);
        pools_.for_each_region(visit);
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Arena> copy(new Arena(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Arena(const Arena&) = default;

    // The cache may hold the memory that the arena lacks: empty it, then ask the arena again.
    tl::expected<Allocation, OutOfMemory> allocate_private(const Request& request) {
        auto allocation = pools_.allocate(request, *device_);
        if (!allocation && allocation.error().cause == OutOfMemory::Cause::device_full &&
            !device_->capturing()) {
            ++stats_.retries;
            trim(TrimLevel::all);
            allocation = pools_.allocate(request, *device_);
        }
        count_private_memory();
        if (!allocation)
            return refuse(allocation.error());
        allocation->node |= kPrivate;
        count_allocated(allocation->size);
        return allocation;
    }

    void release_closed() {
        stats_.segments_released += pools_.release_closed(*device_);
        count_private_memory();
    }

    void count_private_memory() {
        const Bytes mapped = pools_.mapped();
        if (mapped > private_mapped_)
            ++stats_.maps;
        else if (mapped < private_mapped_)
            ++stats_.unmaps;
        private_mapped_ = mapped;
        stats_.count_private(pools_.held() - stats_.private_reserved);
        stats_.plan_deviations = pools_.deviations();
        count_held();
    }

    void count_cache() {
        cache_.look_at_pool(*device_);
        count_held();
    }

    void count_held() {
        usage_.reserved = cache_.held() + stats_.private_reserved;
        usage_.mapped = cache_.held() + private_mapped_;
    }

    Device* device_;
    ArenaCache cache_;
    ArenaPools pools_;
    Bytes private_mapped_ = 0;
};

constexpr std::array<std::string_view, 2> kArenaVariables{
    "NUMR_CUDA_FREE_LIST_CAP_MB=free_list_cap_mb",
    "NUMR_CUDA_POOL_RELEASE_THRESHOLD_MB=pool_release_threshold_mb"};

constexpr std::array<std::string_view, 2> kModes{"bump", "planned"};
constexpr std::array<std::string_view, 2> kShares{"none", "sequence"};
constexpr std::array<std::string_view, 2> kEscapes{"apart", "after"};

constexpr std::array<OptionInfo, 6> kArenaOptions{{
    {.name = "mode",
     .type = OptionType::choice,
     .default_value = "bump",
     .choices = kModes,
     .summary = "how private pools place requests: each address only once (bump), or by a plan "
                "made from a dry run (planned)",
     .source = "numr uses bump"},
    {.name = "arena",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary =
         "size of each private pool's arena, reserved at its first request; 0 = the arena grows",
     .source = "numr has a fixed size"},
    {.name = "share",
     .type = OptionType::choice,
     .default_value = "none",
     .choices = kShares,
     .summary = "none: each private pool has its own arena; sequence: all share one, since their "
                "graphs never run together"},
    {.name = "escapes",
     .type = OptionType::choice,
     .default_value = "apart",
     .choices = kEscapes,
     .summary = "whether blocks that outlive a planned capture get bytes of their own (apart), or "
                "may reuse the bytes of blocks that were freed before",
     .source = "PyTorch's private pools do the latter"},
    {.name = "free_list_cap_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "1024",
     .minimum = "0",
     .maximum = "1048576",
     .summary = "most that the free lists keep; beyond it, the oldest buffer of the largest size "
                "goes to the driver's pool",
     .source = "numr, NUMR_CUDA_FREE_LIST_CAP_MB"},
    {.name = "pool_release_threshold_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "512",
     .minimum = "0",
     .maximum = "1048576",
     .summary = "what the driver's pool keeps when the program waits for the device",
     .source = "numr, NUMR_CUDA_POOL_RELEASE_THRESHOLD_MB"},
}};

Result<std::unique_ptr<Allocator>> make_arena(Device& device, const Options& options) {
    const ArenaPoolSettings pools{
        .planned = options.choice("mode") == "planned",
        .shared = options.choice("share") == "sequence",
        .arena = options.bytes("arena"),
        .escapes = options.choice("escapes") == "after" ? EscapeRule::after : EscapeRule::apart};
    if (!device.has(Feature::async_pool))
        return fail(ErrorCode::unsupported, "the device has no stream-ordered memory",
                    "policy arena");
    if (pools.arena == 0 && !device.has(Feature::virtual_memory))
        return fail(ErrorCode::unsupported, "the device has no virtual memory", "policy arena",
                    "give the size of arenas (arena=256MiB)");
    const ArenaCacheSettings cache{options.count("free_list_cap_mb") * 1_MiB,
                                   options.count("pool_release_threshold_mb") * 1_MiB};
    return std::make_unique<Arena>(device, cache, pools);
}

}  // namespace

PolicyInfo arena() {
    return {
        .name = "arena",
        .summary =
            "numr's arena: private pools in arenas that grow in place, bump or planned; free lists "
            "of exact sizes for the rest (RMM's arena is rmm-arena)",
        .source = "ml-rust/numr, src/runtime/cuda/{arena,allocator}.rs",
        .options = kArenaOptions,
        .make = make_arena,
        .variables = kArenaVariables,
        .placement_matters = false,
        .plans = PlanScope::private_pools,
        .only_read = true,
    };
}

}  // namespace tidemark::policies
