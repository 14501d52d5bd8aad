// Two machines, written down.
#include "tests/support/fake_topology.h"

namespace tidemark::support {
namespace {

Gpu gpu(int ordinal) {
    Gpu gpu;
    gpu.cuda.ordinal = ordinal;
    gpu.cuda.name = "NVIDIA H200";
    gpu.cuda.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(ordinal);
    gpu.cuda.pci_address = "0000:1b:00." + std::to_string(ordinal);
    gpu.cuda.total_memory = 140_GiB;
    gpu.cuda.compute_major = 9;
    gpu.cuda.multiprocessors = 132;
    gpu.cuda.numa_node = ordinal;
    gpu.cuda.virtual_memory = true;
    gpu.cuda.granularity = 2_MiB;
    gpu.cuda.memory_pools = true;
    gpu.cuda.posix_handles = true;
    gpu.cuda.ipc = true;
    gpu.cuda.graphs = true;
    gpu.cuda.batch_copies = true;
    gpu.cuda.peers = {1 - ordinal};
    gpu.card = PciCard{gpu.cuda.pci_address, "nvidia", ordinal, {2.5, 8, 32, 16}};
    gpu.nvlinks = 18;
    return gpu;
}

}  // namespace

Topology plain_machine() {
    return {.processor = "AMD EPYC 9654",
            .processors = 4,
            .memory = 16_GiB,
            .memory_available = 12_GiB,
            .host = {{{0, 16_GiB, 8_GiB, 12_GiB, {0, 1, 2, 3}, {10}}}, true},
            .numa_obstacle = std::nullopt,
            .cards = {},
            .kernel_driver = {},
            .cuda = fail(ErrorCode::not_found, "no CUDA driver: not found", "libcuda.so.1",
                         "install NVIDIA's driver"),
            .nvml = fail(ErrorCode::unsupported, "libnvidia-ml.so.1 cannot be loaded", "NVML"),
            .python = fail(ErrorCode::not_found, "there is no python3 on PATH", "Python")};
}

Topology full_machine() {
    Topology machine = plain_machine();
    machine.host.nodes = {{0, 64_GiB, 50_GiB, 60_GiB, {0, 1, 2, 3, 8}, {10, 32}},
                          {1, 64_GiB, 40_GiB, 60_GiB, {}, {32, 10}}};
    machine.cards = {*gpu(0).card, *gpu(1).card};
    machine.kernel_driver = "580.65.06";
    machine.cuda = CudaFacts{"libcuda.so.1", 13000, {gpu(0), gpu(1)}};
    machine.nvml = std::string("580.65.06");
    machine.python = PythonFacts{"/usr/bin/python3",
                                 "3.12.1",
                                 {{"torch", "2.11.0"},
                                  {"cupy-cuda13x", "14.0"},
                                  {"numba-cuda", "0.23"},
                                  {"cuda-core", "0.5"},
                                  {"rmm-cu13", "26.2"},
                                  {"nvidia-cuda-cupti", "13.0.85"}}};
    return machine;
}

}  // namespace tidemark::support
