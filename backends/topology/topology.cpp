// Queries one source after another.
#include "backends/topology/topology.h"

#include "backends/numa/sys_files.h"

namespace tidemark {
namespace {

// "model name : AMD EPYC 9654" in /proc/cpuinfo; other architectures have other keys, or none.
std::string read_processor(const std::string& root) {
    const std::string text = read_sys_text(root + "/proc/cpuinfo").value_or("");
    for (const std::string_view key : {"\nmodel name", "\nModel"}) {
        const std::size_t at = text.find(key);
        const std::size_t colon = text.find(": ", at);
        const std::size_t end = text.find('\n', at + 1);
        if (at != std::string::npos && colon < end)
            return text.substr(colon + 2, end - colon - 2);
    }
    return "";
}

void read_host(const std::string& root, Topology& found) {
    found.processor = read_processor(root);
    for (const NumaNode& node : found.host.nodes)
        found.processors += static_cast<unsigned>(node.cpus.size());
    const std::string memory = read_sys_text(root + "/proc/meminfo").value_or("");
    found.memory = find_meminfo(memory, "MemTotal").value_or(0);
    found.memory_available = find_meminfo(memory, "MemAvailable").value_or(0);
    found.cards = find_nvidia_cards(root);
    found.kernel_driver = read_sys_text(root + "/sys/module/nvidia/version").value_or("");
}

Result<CudaFacts> ask_cuda(const TopologyQuestion& question, const Result<Nvml>& nvml) {
    TM_ASSIGN(const auto driver, CudaDriver::open(question.cuda_library));
    TM_ASSIGN(std::vector<CudaDeviceInfo> devices, cuda_devices(*driver));
    CudaFacts facts;
    facts.library = driver->library();
    facts.version = driver->version();
    for (CudaDeviceInfo& device : devices) {
        Gpu gpu;
        gpu.card = find_card(device.pci_address, question.root);
        if (nvml)
            if (const Result<unsigned> links = nvml->links_up(device.pci_address))
                gpu.nvlinks = *links;
        gpu.cuda = std::move(device);
        facts.gpus.push_back(std::move(gpu));
    }
    return facts;
}

Result<std::string> version_of(const Result<Nvml>& nvml) {
    if (!nvml)
        return tl::make_unexpected(nvml.error());
    return nvml->driver_version();
}

}  // namespace

Topology discover_topology() {
    const TopologyQuestion here;
    return discover_topology(here);
}

Topology discover_topology(const TopologyQuestion& question) {
    const NumaHost host(question.root, load_numa(question.numa_library));
    const Result<Nvml> nvml = Nvml::open(question.nvml_library);
    Topology found{.processor = {},
                   .host = host.nodes(),
                   .numa_obstacle = host.obstacle(),
                   .cards = {},
                   .kernel_driver = {},
                   .cuda = ask_cuda(question, nvml),
                   .nvml = version_of(nvml),
                   .python = ask_python(question.python)};
    read_host(question.root, found);
    return found;
}

}  // namespace tidemark
