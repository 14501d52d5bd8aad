// The hazards of expandable segments and of the drop-in, and what in a recording shows them.
#include "replay/analysis/advise/setting_hazards.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include <fmt/format.h>

namespace tidemark {
namespace {

using Shows = bool (*)(const TraceInfo& info, const TorchReleases& releases);

struct Clash {
    std::string_view what;    // with which it clashes
    std::string_view effect;  // what happens then
    std::string_view source;
    Shows shows;
};

// Whether a function or file in the recorded stacks has one of these in its name.
bool has_frame(const TraceInfo& info, std::initializer_list<std::string_view> names) {
    for (std::uint32_t i = 0; i < info.strings.size(); ++i) {
        const std::string_view text = info.strings[i];
        if (std::ranges::any_of(names, [text](std::string_view name) {
                return text.find(name) != std::string_view::npos;
            }))
            return true;
    }
    return false;
}

// "C:\\Users\\...\\train.py".
bool is_windows_path(std::string_view text) {
    return text.size() > 3 && text[1] == ':' && text[2] == '\\' &&
           ((text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= 'a' && text[0] <= 'z'));
}

bool is_on_windows(const TraceInfo& info) {
    for (std::uint32_t i = 0; i < info.strings.size(); ++i)
        if (is_windows_path(info.strings[i]))
            return true;
    return false;
}

bool shares_tensors(const TraceInfo& info, const TorchReleases& /*releases*/) {
    return has_frame(
        info, {"_share_cuda_", "_new_shared_cuda", "rebuild_cuda_tensor", "cudaIpcGetMemHandle"});
}

// The program's own pools: those of captured graphs are "(n, 0)".
bool has_mem_pool(const TraceInfo& info) {
    return std::ranges::any_of(info.pools, [](const std::string& name) {
        return name.find("(0, ") != std::string::npos && name.find("(0, 0)") == std::string::npos;
    });
}

constexpr std::array kClashes{
    Clash{"Windows", "PyTorch ignores it there", "pytorch #189163",
          [](const TraceInfo& info, const TorchReleases&) { return is_on_windows(info); }},
    Clash{"ROCm before 7", "PyTorch ignores it there", "c10/hip, HIPAllocatorConfig",
          [](const TraceInfo& info, const TorchReleases& releases) {
              return releases.rocm && info.setting("torch").find("rocm7") == std::string_view::npos;
          }},
    Clash{"tensors that processes share by CUDA IPC",
          "sharing fails, or needs TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=1 and the same machine",
          "pytorch #130330", shares_tensors},
    Clash{"transfers that register memory (NIXL, UCX)",
          "they fall back to a path about 600 times slower", "ai-dynamo/nixl #1754",
          [](const TraceInfo& info, const TorchReleases&) {
              return has_frame(info, {"nixl", "/ucp/", "libucp"});
          }},
    Clash{"buffers that are registered with NCCL", "registration fails", "pytorch #147851",
          [](const TraceInfo& info, const TorchReleases&) {
              return has_frame(info, {"ncclCommRegister", "register_mem_pool", "ncclMemAlloc"});
          }},
    Clash{"vLLM's sleep mode", "vLLM refuses it, or turns it off while its pool is in use",
          "vllm #14189",
          [](const TraceInfo& info, const TorchReleases&) {
              return has_frame(info, {"device_allocator/cumem", "CuMemAllocator"});
          }},
    Clash{"torch_memory_saver", "memory that it should pause stays allocated",
          "radixark/miles #2852",
          [](const TraceInfo& info, const TorchReleases&) {
              return has_frame(info, {"torch_memory_saver"});
          }},
    Clash{"a MemPool with an allocator of its own",
          "the pool's memory doesn't come from that allocator", "pytorch #147851",
          [](const TraceInfo& info, const TorchReleases&) { return has_mem_pool(info); }},
};

// What python/tidemark/torch/allocator.cpp refuses.
constexpr std::array kDropInClashes{
    Clash{"tensors that processes share by CUDA IPC", "sharing is refused", "docs/guide/drop-in.md",
          shares_tensors},
};

// `setting` with each of them.
SettingHazards hazards_among(std::span<const Clash> clashes, std::string_view setting,
                             const TraceInfo& info, const TorchReleases& releases) {
    SettingHazards found;
    std::string others;
    for (const Clash& hazard : clashes) {
        if (hazard.shows(info, releases))
            found.shown.push_back(
                fmt::format("{} and {}: {} ({}), and this recording is of such a program; "
                            "--without vmm leaves this setting out",
                            setting, hazard.what, hazard.effect, hazard.source));
        else
            others += fmt::format("{}{}", others.empty() ? "" : ", ", hazard.what);
    }
    if (!others.empty())
        found.conditions =
            fmt::format("{} is unsuitable for {}: --without vmm leaves it out", setting, others);
    return found;
}

}  // namespace

SettingHazards expandable_hazards(const TraceInfo& info, const TorchReleases& releases) {
    return hazards_among(kClashes, "expandable_segments", info, releases);
}

bool has_drop_in(const TraceInfo& info, const TorchReleases& releases) {
    return !releases.rocm && !releases.xpu && !is_on_windows(info);
}

SettingHazards drop_in_hazards(const TraceInfo& info, const TorchReleases& releases) {
    SettingHazards found = hazards_among(kDropInClashes, "tidemark.torch.use", info, releases);
    found.conditions += found.conditions.empty() ? "" : "; ";
    found.conditions +=
        "private pools (captured graphs, MemPools) stay with PyTorch's own allocator, and the "
        "first use needs a C++ compiler";
    return found;
}

}  // namespace tidemark
