// Topology: what this computer has, as far as it concerns Tidemark: processors, memory nodes, GPUs
// and their links, and the software around them.
//
// Discovery queries the kernel (/sys, /proc), the CUDA driver, NVML, libnuma and Python, each only
// if it is available; otherwise its value says why it isn't. It makes no CUDA context, changes
// nothing, and ends within the time that Python gets and a little more. Every source can be
// replaced, so that tests can show another machine. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/cuda_info.h"
#include "backends/numa/numa_host.h"
#include "backends/topology/nvml.h"
#include "backends/topology/pci.h"
#include "backends/topology/python.h"

namespace tidemark {

struct Gpu {
    CudaDeviceInfo cuda;
    std::optional<PciCard> card;      // nothing if the bus is hidden, as in some containers
    std::optional<unsigned> nvlinks;  // number that is up; nothing if NVML does not report it
};

// The CUDA driver and its GPUs.
struct CudaFacts {
    std::string library;
    int version = 0;        // 13000 is CUDA 13.0
    std::vector<Gpu> gpus;  // by ordinal; empty if the driver has none
};

struct Topology {
    std::string processor;  // "AMD EPYC 9654"; empty if unknown
    unsigned processors = 0;
    Bytes memory = 0;
    Bytes memory_available = 0;
    HostNodes host;
    std::optional<Error> numa_obstacle;  // why pages cannot be placed; nothing if they can
    std::vector<PciCard> cards;          // NVIDIA's, with or without a driver
    std::string kernel_driver;  // version of the kernel's nvidia module; empty if it is not loaded
    Result<CudaFacts> cuda;
    Result<std::string> nvml;  // the driver's version
    Result<PythonFacts> python;
};

// Where to look. By default this computer; "" for a library is its usual name.
struct TopologyQuestion {
    std::string root = {};  // used instead of "/" (backends/numa/sys_files.h)
    std::string cuda_library = {};
    std::string nvml_library = {};
    std::string numa_library = {};
    PythonQuestion python = {};
};

Topology discover_topology();
Topology discover_topology(const TopologyQuestion& question);

}  // namespace tidemark
