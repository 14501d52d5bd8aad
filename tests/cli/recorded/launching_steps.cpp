// Steps of a recorded program, each of which frees what it takes.
#include "tests/cli/recorded/launching_steps.h"

#include <cstring>
#include <thread>
#include <vector>

#include "tests/cli/recorded/driver_calls.h"

namespace tidemark::cuda {
namespace {

CUfunction kernel(const char* name) {
    return reinterpret_cast<CUfunction (*)(const char*)>(find("test_kernel"))(name);
}

void launch(const char* name, CUstream stream, std::vector<void*> arguments) {
    MUST("cuLaunchKernel", kernel(name), 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, arguments.data(),
         static_cast<void**>(nullptr));
}

void axpy(CUdeviceptr from, CUdeviceptr to) {
    float factor = 1;
    int count = 1;
    launch("axpy", nullptr, {&from, &to, &factor, &count});
}

struct Structure {
    CUdeviceptr numbers[2];
    CUdeviceptr inside;
    double value;
    CUdeviceptr freed;
};

}  // namespace

// Of blocks of 1, 2 and 3 MiB, which tell them apart.
void kernels() {
    const CUdeviceptr one = take(kMiB);
    const CUdeviceptr two = take(2 * kMiB);
    CUdeviceptr freed = take(3 * kMiB);
    MUST("cuMemFree_v2", freed);
    axpy(one, two + 4096);
    axpy(one, one);
    axpy(freed, 8);
    Structure structure{{1, two}, one + kMiB - 8, 1e300, freed};
    int last = 0;
    launch("structure", nullptr, {&structure, &last});
    launch("none", nullptr, {});

    // The arguments in one piece.
    struct {
        CUdeviceptr from, to;
        float factor;
        int count;
    } packed{two, one, 1, 1};

    std::size_t size = sizeof packed;
    void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size,
                     nullptr};

    struct {
        unsigned grid[3]{1, 1, 1}, block[3]{1, 1, 1}, shared = 0;
        CUstream stream = nullptr;
        void* attributes = nullptr;
        unsigned attribute_count = 0;
    } config;

    MUST("cuStreamCreate", &config.stream, 1U);
    MUST("cuLaunchKernelEx", static_cast<const void*>(&config), kernel("axpy"),
         static_cast<void**>(nullptr), static_cast<void**>(extra));
    float factor = 1;
    CUdeviceptr address = two;
    void* arguments[] = {&address, &address, &factor, &factor};
    MUST("cuLaunchCooperativeKernel_ptsz", kernel("axpy"), 1U, 1U, 1U, 1U, 1U, 1U, 0U,
         CUstream{nullptr}, static_cast<void**>(arguments));
    MUST("cuMemFree_v2", one);
    MUST("cuMemFree_v2", two);
}

// Its handle becomes another kernel's, which takes a structure.
void reload() {
    const CUdeviceptr one = take(kMiB);
    double number = 2;
    std::memcpy(&number, &one, sizeof number);
    launch("scalar", nullptr, {&number});
    reinterpret_cast<void (*)(const char*, const char*)>(find("test_reload"))("scalar",
                                                                              "structure");
    Structure structure{{one, 0}, 0, 0, 0};
    int last = 0;
    launch("scalar", nullptr, {&structure, &last});
    MUST("cuMemFree_v2", one);
}

void copies() {
    const CUdeviceptr one = take(kMiB);
    const CUdeviceptr two = take(2 * kMiB);
    void* host = nullptr;
    MUST("cuMemHostAlloc", &host, 3 * kMiB, 0U);
    const auto pinned = reinterpret_cast<CUdeviceptr>(host);
    MUST("cuMemcpyAsync", two, one, kMiB, CUstream{nullptr});
    MUST("cuMemcpyAsync", one, pinned, kMiB, CUstream{nullptr});
    MUST("cuMemsetD8Async", two, static_cast<unsigned char>(1), 2 * kMiB, CUstream{nullptr});
    const char own[8]{};
    MUST("cuMemcpyHtoD_v2_ptds", one, static_cast<const void*>(own), sizeof own);

    struct {
        std::size_t x = 0, y = 0;
        int type = 1;  // CU_MEMORYTYPE_HOST
        void* host = nullptr;
        CUdeviceptr device = 0, array = 0;
        std::size_t pitch = 0, to_x = 0, to_y = 0;
        int to_type = 3;  // CU_MEMORYTYPE_ARRAY
        CUdeviceptr to_host = 0, to_device = 0, to_array = 0;
        std::size_t to_pitch = 0, width = 64, height = 32;
    } copy;

    struct {
        std::size_t width = 64, height = 32, depth = 0;
        int format = 0x20;  // CU_AD_FORMAT_FLOAT
        unsigned channels = 4, flags = 0;
    } array;

    MUST("cuArray3DCreate_v2", &copy.to_array, static_cast<const void*>(&array));
    copy.host = host;
    MUST("cuMemcpy2D_v2", static_cast<const void*>(&copy));
    MUST("cuArrayDestroy", copy.to_array);
    MUST("cuMemFreeHost", host);
    MUST("cuMemFree_v2", one);
    MUST("cuMemFree_v2", two);
}

// Two copies of blocks, and one from a block into an array.
void batches() {
    const CUdeviceptr one = take(kMiB);
    const CUdeviceptr two = take(2 * kMiB);
    const CUdeviceptr three = take(3 * kMiB);
    CUdeviceptr targets[] = {two, three};
    CUdeviceptr sources[] = {one, one};
    std::size_t sizes[] = {kMiB, 3 * kMiB};
    MUST("cuMemcpyBatchAsync", static_cast<CUdeviceptr*>(targets),
         static_cast<CUdeviceptr*>(sources), static_cast<std::size_t*>(sizes), std::size_t{2},
         static_cast<void*>(nullptr), static_cast<std::size_t*>(nullptr), std::size_t{0},
         static_cast<std::size_t*>(nullptr), CUstream{nullptr});

    struct {
        std::size_t width = 64, height = 32, depth = 0;
        int format = 0x20;  // CU_AD_FORMAT_FLOAT
        unsigned channels = 4, flags = 0;
    } array;

    struct {
        int type = 1;  // CU_MEMCPY_OPERAND_TYPE_POINTER
        CUdeviceptr address = 0;
        std::uint64_t layout[3]{};
        int to_type = 2;  // CU_MEMCPY_OPERAND_TYPE_ARRAY
        CUdeviceptr to_array = 0;
        std::size_t to_offset[3]{}, extent[3]{64, 32, 1};
        int order = 1;
        unsigned flags = 0;
    } operation;

    MUST("cuArray3DCreate_v2", &operation.to_array, static_cast<const void*>(&array));
    operation.address = one;
    MUST("cuMemcpy3DBatchAsync_v2", std::size_t{1}, static_cast<void*>(&operation), 0ULL,
         CUstream{nullptr});
    MUST("cuArrayDestroy", operation.to_array);
    for (const CUdeviceptr block : {one, two, three})
        MUST("cuMemFree_v2", block);
}

// Memory that is mapped: a use of it is one of the piece. A number that looks like the address by
// which a piece is recorded is none.
void mapped() {
    CUmemAllocationProp properties;
    properties.location = {CUmemLocationType::device, 0};
    const std::size_t size = 4 * kMiB;
    CUdeviceptr range = 0;
    CUmemHandle piece = 0;
    MUST("cuMemAddressReserve", &range, 2 * size, std::size_t{0}, CUdeviceptr{0}, 0ULL);
    MUST("cuMemCreate", &piece, size, static_cast<const CUmemAllocationProp*>(&properties), 0ULL);
    MUST("cuMemMap", range + size, size, std::size_t{0}, piece, 0ULL);
    axpy(range + size + 8, range);
    double two = 2;
    launch("scalar", nullptr, {&two});
    MUST("cuMemUnmap", range + size, size);
    axpy(range + size + 8, 0);
    MUST("cuMemRelease", piece);
    MUST("cuMemAddressFree", range, 2 * size);
}

// Launched while it is captured a kernel doesn't run; then the graph does, twice.
void graphs() {
    const CUdeviceptr one = take(kMiB);
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    MUST("cuStreamCreate", &stream, 1U);
    MUST("cuStreamBeginCapture_v2", stream, CUstreamCaptureMode::relaxed);
    MUST("cuMemsetD8Async", one, static_cast<unsigned char>(1), kMiB, stream);
    MUST("cuStreamEndCapture", stream, &graph);
    MUST("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
    MUST("cuGraphLaunch", executable, stream);
    MUST("cuGraphLaunch", executable, stream);
    MUST("cuMemFree_v2", one);
}

// Each thread launches on a block of its own, which another thread frees.
void two_threads() {
    std::vector<std::thread> threads;
    std::vector<CUdeviceptr> blocks{take(kMiB), take(2 * kMiB)};
    for (const CUdeviceptr block : blocks)
        threads.emplace_back([block] {
            MUST("cuCtxSetCurrent", context);
            for (int i = 0; i < 1000; ++i)
                axpy(block, block);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const CUdeviceptr block : blocks)
        MUST("cuMemFree_v2", block);
}

}  // namespace tidemark::cuda
