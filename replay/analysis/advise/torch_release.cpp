// Versions, as texts and as what they know.
#include "replay/analysis/advise/torch_release.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace tidemark {
namespace {

// The first to read PYTORCH_ALLOC_CONF for certain; the last to which it is unknown.
constexpr unsigned kReadsNewName = 210;
constexpr unsigned kHasNewName = 209;

struct Brought {
    std::string_view key;
    unsigned version;
};

// From the release notes and c10/cuda/CUDAAllocatorConfig, later c10/core/AllocatorConfig.
constexpr std::array kBrought{
    Brought{"expandable_segments", 201},
    Brought{"max_non_split_rounding_mb", 206},
    Brought{"large_segment_size_mb", 211},
    Brought{"per_process_memory_fraction", 210},
    Brought{"throw_on_cudamalloc_oom", 212},
    Brought{"expandable_segments_reserve", 213},
    Brought{"graph_capture_record_stream_reuse", 209},
};

// The version that `text` begins with: "2.11.0+cu128".
std::optional<unsigned> version_of(std::string_view text) {
    unsigned major = 0;
    unsigned minor = 0;
    const char* const end = text.data() + text.size();
    const auto [dot, error] = std::from_chars(text.data(), end, major);
    if (error != std::errc() || dot == end || *dot != '.' || major > 99)
        return std::nullopt;
    const auto [rest, wrong] = std::from_chars(dot + 1, end, minor);
    if (wrong != std::errc() || minor > 99)
        return std::nullopt;
    return 100 * major + minor;
}

std::string version_text(unsigned version) {
    return fmt::format("{}.{}", version / 100, version % 100);
}

}  // namespace

TorchReleases torch_releases(const TraceInfo& info) {
    TorchReleases found;
    const std::string_view exact = info.setting("torch");
    const std::string_view text = exact.empty() ? std::string_view(info.source) : exact;
    found.rocm = text.find("rocm") != text.npos || text.find("ROCm") != text.npos;
    found.xpu = text.find("xpu") != text.npos || text.find("XPU") != text.npos;
    if (const auto version = version_of(exact)) {
        found.first = found.last = *version;
        return found;
    }
    constexpr std::string_view kName = "torch ";
    constexpr std::string_view kTo = " to ";
    if (!text.starts_with(kName))
        return found;
    found.first = version_of(text.substr(kName.size())).value_or(0);
    found.last = text.find(" or newer") != text.npos ? 0 : found.first;
    if (const std::size_t to = text.find(kTo); to != text.npos)
        found.last = version_of(text.substr(to + kTo.size())).value_or(0);
    return found;
}

std::string text_of(const TorchReleases& releases) {
    if (releases.first == 0)
        return {};
    const std::string first = version_text(releases.first);
    if (releases.exact())
        return first;
    return releases.last == 0 ? first + " or newer"
                              : fmt::format("{} to {}", first, version_text(releases.last));
}

unsigned brought_in(std::string_view key) {
    const auto* const found = std::ranges::find(kBrought, key, &Brought::key);
    return found == kBrought.end() ? 0 : found->version;
}

std::vector<std::string_view> torch_variables_of(const TorchReleases& releases) {
    const std::string_view old_name =
        releases.rocm ? "PYTORCH_HIP_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
    if (releases.all_from(kReadsNewName))
        return {"PYTORCH_ALLOC_CONF"};
    if (releases.last != 0 && releases.last <= kHasNewName)
        return {old_name};
    return {"PYTORCH_ALLOC_CONF", old_name};
}

std::string export_line(std::string_view conf, const TorchReleases& releases) {
    if (conf.empty())
        return "unset PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF";
    const bool plain = conf.find_first_of("[]> ") == std::string_view::npos;
    std::string line = "export";
    for (const std::string_view name : torch_variables_of(releases))
        line += fmt::format(" {0}={1}{2}{1}", name, plain ? "" : "'", conf);
    return line;
}

}  // namespace tidemark
