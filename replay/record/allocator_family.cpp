// The systems, and how a program sets what they offer.
#include "replay/record/allocator_family.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/allocator/spec.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr Bytes kStep = 1_MiB;  // sizes that a user types are multiples of it

// This percentage of the largest request, not 0.
Bytes part_of(Bytes requested, unsigned percent) {
    const Bytes size = requested / 100 * percent + requested % 100 * percent / 100;
    return align_up(std::max<Bytes>(size, 1), kStep);
}

// The first ones are what policies are compared with: a size that most programs fit into.
constexpr std::array<unsigned, 5> kPercents{125, 110, 105, 100, 150};

std::string rmm_line(std::string_view resource) {
    return fmt::format("rmm.mr.set_current_device_resource({})", resource);
}

// RMM 26.10: rmm/python/rmm/rmm/pylibrmm/memory_resource.
std::vector<PolicyOffer> rmm_offers(Bytes requested) {
    constexpr std::string_view kUpstream = "rmm.mr.CudaMemoryResource()";
    std::vector<PolicyOffer> list{
        {"rmm-pool",
         rmm_line(fmt::format("rmm.mr.PoolMemoryResource({}, initial_pool_size=0)", kUpstream))}};
    for (const unsigned percent : kPercents) {
        const Bytes size = part_of(requested, percent);
        list.push_back({fmt::format("rmm-pool:initial={}", size),
                        rmm_line(fmt::format("rmm.mr.PoolMemoryResource({}, initial_pool_size={})",
                                             kUpstream, size))});
    }
    for (const unsigned percent : kPercents) {
        const Bytes size = part_of(requested, percent);
        list.push_back({fmt::format("rmm-arena:size={}", size),
                        rmm_line(fmt::format("rmm.mr.ArenaMemoryResource({}, arena_size={})",
                                             kUpstream, size))});
    }
    list.push_back({"rmm-binning", rmm_line(fmt::format(
                                       "rmm.mr.BinningMemoryResource(rmm.mr.PoolMemoryResource({}, "
                                       "initial_pool_size=0), 18, 22)",
                                       kUpstream))});
    list.push_back({"rmm-cuda-async", rmm_line("rmm.mr.CudaAsyncMemoryResource()")});
    list.push_back({"cuda-malloc", rmm_line(kUpstream)});
    return list;
}

// CuPy 14: docs of cupy.cuda.MemoryPool and MemoryAsyncPool.
std::vector<PolicyOffer> cupy_offers(Bytes requested) {
    std::vector<PolicyOffer> list{
        {"cupy", "cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)"}};
    for (const unsigned percent : kPercents) {
        const Bytes size = part_of(requested, percent);
        list.push_back({fmt::format("cupy:limit={}", size),
                        fmt::format("cupy.get_default_memory_pool().set_limit(size={})", size)});
    }
    list.push_back({"cuda-async:threshold=max",
                    "cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)"});
    list.push_back({"cuda-malloc", "cupy.cuda.set_allocator(None)"});
    return list;
}

// JAX's documentation, "GPU memory allocation".
std::vector<PolicyOffer> bfc_offers(Bytes /*requested*/) {
    return {{"bfc", "export XLA_PYTHON_CLIENT_PREALLOCATE=false"},
            {"cuda-async:threshold=max", "export XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"},
            {"cuda-malloc", "export XLA_PYTHON_CLIENT_ALLOCATOR=platform"}};
}

// Umpire's documentation of QuickPool: the sizes of its first and its further pieces.
std::vector<PolicyOffer> umpire_offers(Bytes requested) {
    const auto offer = [](std::string policy, Bytes first, Bytes next) {
        return PolicyOffer{std::move(policy),
                           fmt::format("rm.makeAllocator<umpire::strategy::QuickPool>(\"pool\", "
                                       "rm.getAllocator(\"DEVICE\"), {}, {})",
                                       first, next)};
    };
    std::vector<PolicyOffer> list{offer("quick-pool", 512_MiB, 1_MiB)};
    for (const Bytes next : {1_MiB, 16_MiB, 64_MiB, 256_MiB}) {
        list.push_back(offer(fmt::format("quick-pool:first={0},next={0}", next), next, next));
        const Bytes first = part_of(requested, 100);
        list.push_back(offer(fmt::format("quick-pool:first={},next={}", first, next), first, next));
    }
    return list;
}

// CUDA's documentation of cudaMemPoolAttrReleaseThreshold.
std::vector<PolicyOffer> driver_pool_offers(Bytes requested) {
    const auto offer = [](std::string policy, const std::string& value) {
        return PolicyOffer{std::move(policy),
                           fmt::format("cuuint64_t keep = {}; cudaMemPoolSetAttribute(pool, "
                                       "cudaMemPoolAttrReleaseThreshold, &keep);",
                                       value)};
    };
    const std::string size = fmt::format("{}", part_of(requested, 100));
    return {offer("cuda-async", "0"), offer("cuda-async:threshold=" + size, size),
            offer("cuda-async:threshold=max", "UINT64_MAX")};
}

struct Entry {
    std::string_view format;  // TraceInfo::format; "" = known by its policy alone
    AllocatorFamily family;
};

constexpr AllocatorFamily kTorch{
    .name = "PyTorch",
    .policy = "torch",
    .empties_cache = "torch.cuda.empty_cache()",
    .stacks = "torch.cuda.memory._record_memory_history(stacks=\"python\")"};

constexpr AllocatorFamily kDriver{.name = "the CUDA driver", .policy = "cuda-malloc"};

constexpr std::array kEntries{
    Entry{"rmm-csv",
          {.name = "RMM",
           .policy = "rmm-pool",
           .assumed = "the log doesn't name the resource: it is assumed to be RMM's pool",
           .offers = rmm_offers}},
    Entry{"cupy-hook",
          {.name = "CuPy",
           .policy = "cupy",
           .empties_cache = "cupy.get_default_memory_pool().free_all_blocks()",
           .offers = cupy_offers}},
    Entry{"umpire-replay",
          {.name = "Umpire",
           .policy = "quick-pool",
           .assumed = "the log is replayed under QuickPool, which most programs use",
           .offers = umpire_offers}},
    Entry{"driver-pool",
          {.name = "the driver's pool", .policy = "cuda-async", .offers = driver_pool_offers}},
    Entry{"", {.name = "JAX or TensorFlow", .policy = "bfc", .offers = bfc_offers}},
};

}  // namespace

const AllocatorFamily* allocator_family(const TraceInfo& info) {
    if (info.from_torch())
        return &kTorch;
    if (info.from_driver())
        return &kDriver;
    // Readers of what our own scripts wrote before named the pool in the format.
    const std::string_view format = info.format == "cupy-pool" ? "cupy-hook"
                                    : info.format == "rmm-decisions"
                                        ? "rmm-csv"
                                        : std::string_view(info.format);
    const std::string_view allocator = info.setting("allocator");
    const auto found = std::ranges::find_if(kEntries, [&](const Entry& entry) {
        return (!entry.format.empty() && entry.format == format) ||
               (!allocator.empty() && entry.family.policy == allocator);
    });
    return found == kEntries.end() ? nullptr : &found->family;
}

std::vector<PolicyOffer> policy_offers(const TraceInfo& info, Bytes requested, std::size_t most) {
    const AllocatorFamily* const family = allocator_family(info);
    if (family == nullptr || family->offers == nullptr)
        return {};
    std::vector<PolicyOffer> list = family->offers(requested);
    std::map<std::string, std::size_t, std::less<>> listed;
    std::erase_if(list, [&](const PolicyOffer& offer) {
        return ++listed[offer.policy.substr(0, offer.policy.find(':'))] > most;
    });
    return list;
}

bool offers_policy(const TraceInfo& info, std::string_view name) {
    const std::vector<PolicyOffer> list = policy_offers(info, 1_GiB, 1);
    return std::ranges::any_of(list, [name](const PolicyOffer& offer) {
        return std::string_view(offer.policy).substr(0, offer.policy.find(':')) == name;
    });
}

std::string only_read_text(std::span<const std::string> policies) {
    std::vector<std::string_view> names;
    for (const std::string& text : policies) {
        const Result<PolicySpec> spec = parse_policy(text);
        if (spec && spec->policy->only_read &&
            std::ranges::find(names, spec->policy->name) == names.end())
            names.push_back(spec->policy->name);
    }
    if (names.empty())
        return {};
    return fmt::format(
        "{} {} rules as their sources read: no recording of such a system has been compared with "
        "{}",
        fmt::join(names, ", "), names.size() > 1 ? "follow" : "follows",
        names.size() > 1 ? "them" : "it");
}

std::vector<std::string> model_limits(const TraceInfo& info,
                                      std::span<const std::string> policies) {
    std::vector<std::string> limits;
    if (std::string text = only_read_text(policies); !text.empty())
        limits.push_back(std::move(text));
    const bool driver_pool = std::ranges::any_of(policies, [](const std::string& text) {
        const Result<PolicySpec> spec = parse_policy(text);
        return spec && spec->policy->name.ends_with("cuda-async");
    });
    const bool graphs = info.pools.size() > 1;
    if (driver_pool && (info.streams.size() > 1 || graphs))
        limits.push_back(
            fmt::format("the driver's pool: Tidemark does not model memory of graphs, or memory "
                        "that the pool takes over from another stream, by events or after a wait "
                        "of its own; with {} it may need another amount",
                        info.streams.size() > 1 ? format_counted(info.streams.size(), "stream")
                                                : std::string("graphs")));
    return limits;
}

}  // namespace tidemark
