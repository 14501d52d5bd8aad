// The catalogue of capabilities, and how each is detected.
#include "replay/analysis/calibrate/doctor.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

using Look = Result<std::string> (*)(const Topology&);  // what is here, or why not

constexpr std::string_view kGpu = "cuda";
constexpr std::string_view kPython = "python";

struct Capability {
    std::string_view name;
    std::string_view use;
    std::string_view needs;  // a capability above it, or ""
    // A fact comes first, where there is one. Neither: a package of Python's of that name.
    Look look = nullptr;
    Result<std::string> RecordingFacts::*fact = nullptr;
};

tl::unexpected<Error> missing(std::string why, std::string hint) {
    return fail(ErrorCode::unsupported, std::move(why), {}, std::move(hint));
}

std::string joined(std::span<const std::string> parts) {
    std::string text;
    for (const std::string& part : parts)
        text += (text.empty() ? "" : ", ") + part;
    return text;
}

// What the bus and the kernel show if the driver is missing.
Error without_driver(const Topology& topology, const Error& error) {
    Error explained = error;
    if (topology.cards.empty()) {
        explained.hint = "without an NVIDIA card, everything runs on the simulator; " + error.hint;
        return explained;
    }
    explained.what +=
        fmt::format("; an NVIDIA card is plugged in at {}", topology.cards[0].address);
    if (!topology.kernel_driver.empty())
        explained.hint =
            fmt::format("the kernel has driver {}: start the container with access to the GPU",
                        topology.kernel_driver);
    return explained;
}

Result<std::string> look_for_simulator(const Topology&) {
    std::string text;
    for (const std::string_view name : profile_names())
        text += fmt::format("{}sim:{}", text.empty() ? "" : ", ", name);
    return text;
}

Result<std::string> look_for_cuda(const Topology& topology) {
    if (!topology.cuda)
        return tl::make_unexpected(without_driver(topology, topology.cuda.error()));
    if (topology.cuda->gpus.empty())
        return missing("the CUDA driver shows no GPU",
                       "check whether CUDA_VISIBLE_DEVICES hides them");
    std::vector<std::string> names;
    for (const Gpu& gpu : topology.cuda->gpus)
        names.push_back(fmt::format("cuda:{} {}", gpu.cuda.ordinal, gpu.cuda.name));
    return joined(names);
}

// The GPUs for which `has` is true; if there are none, card or driver is the reason.
template <class Has>
Result<std::string> look_at_gpus(const Topology& topology, Has has) {
    std::vector<std::string> names;
    for (const Gpu& gpu : topology.cuda->gpus)
        if (has(gpu.cuda))
            names.push_back(fmt::format("cuda:{}", gpu.cuda.ordinal));
    if (names.empty())
        return missing("neither the GPU nor the driver supports it", "a newer driver may");
    return joined(names);
}

Result<std::string> look_for_virtual_memory(const Topology& topology) {
    return look_at_gpus(topology, [](const CudaDeviceInfo& gpu) { return gpu.virtual_memory; });
}

Result<std::string> look_for_pools(const Topology& topology) {
    return look_at_gpus(topology, [](const CudaDeviceInfo& gpu) { return gpu.memory_pools; });
}

Result<std::string> look_for_graphs(const Topology& topology) {
    return look_at_gpus(topology, [](const CudaDeviceInfo& gpu) { return gpu.graphs; });
}

Result<std::string> look_for_peers(const Topology& topology) {
    if (topology.cuda->gpus.size() < 2)
        return missing("there is one GPU", "");
    Result<std::string> found =
        look_at_gpus(topology, [](const CudaDeviceInfo& gpu) { return !gpu.peers.empty(); });
    if (!found)
        return missing("no GPU can access the memory of another",
                       "`nvidia-smi topo -m` shows links");
    return found;
}

Result<std::string> look_for_nvlink(const Topology& topology) {
    if (!topology.nvml)
        return tl::make_unexpected(topology.nvml.error());
    std::vector<std::string> names;
    for (const Gpu& gpu : topology.cuda->gpus)
        if (gpu.nvlinks.value_or(0) != 0)
            names.push_back(fmt::format("cuda:{} {} links", gpu.cuda.ordinal, *gpu.nvlinks));
    if (names.empty())
        return missing("no link is up", "");
    return joined(names);
}

Result<std::string> look_for_numa(const Topology& topology) {
    if (topology.numa_obstacle)
        return tl::make_unexpected(*topology.numa_obstacle);
    const std::size_t count = topology.host.nodes.size();
    return count == 1 ? std::string("one node") : fmt::format("{} nodes", count);
}

Result<std::string> look_for_python(const Topology& topology) {
    return topology.python.map(
        [](const PythonFacts& python) { return python.version + ", " + python.program; });
}

// "2.11.0", or with its name where that isn't the family's.
Result<std::string> look_for_package(const Topology& topology, std::string_view family) {
    const PythonPackage* package = topology.python->find(family);
    if (package == nullptr)
        return missing("not installed", "");
    return package->name == family ? package->version : package->name + " " + package->version;
}

// PyTorch includes one, which its programs find.
Result<std::string> look_for_cupti_package(const Topology& topology) {
    if (!topology.python)
        return tl::make_unexpected(topology.python.error());
    return look_for_package(topology, "nvidia-cuda-cupti").map([](const std::string& version) {
        return fmt::format("{}, in programs of this Python", version);
    });
}

constexpr std::array kCapabilities{
    Capability{"simulator", "replay, compare, fit, advise, verify: they need no GPU", "",
               look_for_simulator},
    Capability{kGpu, "replay --device cuda:N, calibrate", "", look_for_cuda},
    Capability{"virtual-memory", "vpmm and expandable segments on the GPU", kGpu,
               look_for_virtual_memory},
    Capability{"memory-pools", "stream-ordered memory on the GPU", kGpu, look_for_pools},
    Capability{"graphs", "arenas and captured graphs on the GPU", kGpu, look_for_graphs},
    Capability{"peer-access", "memory of one GPU for another", kGpu, look_for_peers},
    Capability{"nvlink", "fast copies between GPUs", kGpu, look_for_nvlink},
    Capability{"numa", "host memory on a chosen node", "", look_for_numa},
    Capability{kPython, "to find the packages below", "", look_for_python},
    Capability{"torch", "tidemark.torch: records PyTorch from inside, or serves its memory",
               kPython},
    Capability{"compiler", "to compile tidemark.torch for your PyTorch", "", nullptr,
               &RecordingFacts::compiler},
    Capability{"cupy", "tidemark.cupy: serves CuPy's memory", kPython},
    Capability{"numba-cuda", "tidemark.numba: serves Numba's memory", kPython},
    Capability{"cuda-core", "tidemark.cuda_core: serves cuda.core's memory", kPython},
    Capability{"rmm", "tidemark.rmm: serves RMM's memory; RMM's CSV logs are read", kPython},
    Capability{"record", "tidemark record -- PROGRAM: records any CUDA program's driver calls", "",
               nullptr, &RecordingFacts::library},
    Capability{"cupti", "reports these calls", "", look_for_cupti_package, &RecordingFacts::cupti},
    Capability{"attach", "tidemark record --attach PID: records a running PyTorch program", "",
               nullptr, &RecordingFacts::probes},
};

Result<std::string> look(const Capability& capability, const Topology& topology,
                         const RecordingFacts& recording) {
    if (capability.fact == nullptr)
        return capability.look == nullptr ? look_for_package(topology, capability.name)
                                          : capability.look(topology);
    const Result<std::string>& fact = recording.*capability.fact;
    if (fact || capability.look == nullptr)
        return fact;
    const Result<std::string> found = capability.look(topology);
    return found ? found : fact;
}

Finding find_out(const Capability& capability, const Topology& topology,
                 const RecordingFacts& recording) {
    Finding finding;
    finding.name = capability.name;
    finding.use = capability.use;
    const Result<std::string> found = look(capability, topology, recording);
    finding.here = found.has_value();
    if (found) {
        finding.what = *found;
        return finding;
    }
    const Error& error = found.error();
    finding.why = error.where.empty() ? error.what : error.where + ": " + error.what;
    finding.hint = error.hint;
    return finding;
}

bool is_missing(std::string_view name, std::span<const Finding> findings) {
    return std::ranges::any_of(
        findings, [name](const Finding& finding) { return finding.name == name && !finding.here; });
}

}  // namespace

std::vector<Finding> diagnose(const Topology& topology, const RecordingFacts& recording) {
    std::vector<Finding> findings;
    for (const Capability& capability : kCapabilities) {
        if (!is_missing(capability.needs, findings)) {
            findings.push_back(find_out(capability, topology, recording));
            continue;
        }
        Finding finding;
        finding.name = capability.name;
        finding.use = capability.use;
        finding.why = fmt::format("it needs {}", capability.needs);
        finding.needs = capability.needs;
        findings.push_back(std::move(finding));
    }
    return findings;
}

std::vector<std::string_view> capability_names() {
    std::vector<std::string_view> names;
    for (const Capability& capability : kCapabilities)
        names.push_back(capability.name);
    return names;
}

Result<void> check_capability_name(std::string_view name) {
    const std::vector<std::string_view> names = capability_names();
    if (std::ranges::find(names, name) != names.end())
        return {};
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::bad_option, fmt::format("there is no capability '{}'", name),
                "--require",
                near.empty() ? "see `tidemark doctor`" : fmt::format("did you mean {}?", near));
}

}  // namespace tidemark
