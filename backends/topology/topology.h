// Topology: what is here, as far as it concerns Tidemark: processors, memory nodes, GPUs and their
// links, and the software around them.
//
// Discovery asks the kernel (/sys, /proc), the CUDA driver, NVML, libnuma and Python, each
// only if it is there; what is not there is a value that says why. It makes no CUDA context,
// changes nothing, and ends within the time that Python is given and a little more. Every source
// can be replaced, so that tests show a machine that is not there. Thread-safe.
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
    std::optional<PciCard> card;      // nothing where the bus is hidden, as in some containers
    std::optional<unsigned> nvlinks;  // that are up; nothing if NVML does not tell
};

// The CUDA driver and what it drives.
struct CudaFacts {
    std::string library;
    int version = 0;        // 13000 is CUDA 13.0
    std::vector<Gpu> gpus;  // by ordinal; empty if the driver has none
};

struct Topology {
    std::string processor;  // "AMD EPYC 9654"; empty if not told
    unsigned processors = 0;
    Bytes memory = 0;
    Bytes memory_available = 0;
    HostNodes host;
    std::optional<Error> numa_obstacle;  // why pages cannot be placed; nothing if they can
    std::vector<PciCard> cards;          // NVIDIA's, with or without a driver
    std::string kernel_driver;  // version of the kernel's nvidia module; empty if not there
    Result<CudaFacts> cuda;
    Result<std::string> nvml;  // the driver's version
    Result<PythonFacts> python;
};

// Where to look. The defaults are this computer; "" for a library is its usual name.
struct TopologyQuestion {
    std::string root = {};  // stands for "/" (backends/numa/sys_files.h)
    std::string cuda_library = {};
    std::string nvml_library = {};
    std::string numa_library = {};
    PythonQuestion python = {};
};

Topology discover_topology();
Topology discover_topology(const TopologyQuestion& question);

}  // namespace tidemark
