// On a GPU, through the types of the CCCL that nvcc came with: two streams take memory, write and
// read it, and free it while they still do, in turns and without a wait. Each must find what it
// wrote. Prints what it did; exit code 1 if anything is wrong.
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <cuda_runtime_api.h>
#include <tidemark/memory_resource.h>

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr int kRounds = 300;

void check(cudaError_t status) {
    if (status != cudaSuccess) {
        std::printf("CUDA: %s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

#if CCCL_VERSION >= 3001000
using Reference = cuda::mr::resource_ref<cuda::mr::device_accessible>;

void* allocate(Reference from, cuda::stream_ref stream) {
    return from.allocate(stream, kBytes, 256);
}

void deallocate(Reference to, cuda::stream_ref stream, void* address) {
    to.deallocate(stream, address, kBytes, 256);
}

void* allocate_for_all(Reference from) {
    return from.allocate_sync(kBytes, 256);
}

void deallocate_for_all(Reference to, void* address) {
    to.deallocate_sync(address, kBytes, 256);
}
#else
using Reference = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;

void* allocate(Reference from, cuda::stream_ref stream) {
    return from.allocate_async(kBytes, 256, stream);
}

void deallocate(Reference to, cuda::stream_ref stream, void* address) {
    to.deallocate_async(address, kBytes, 256, stream);
}

void* allocate_for_all(Reference from) {
    return from.allocate(kBytes, 256);
}

void deallocate_for_all(Reference to, void* address) {
    to.deallocate(address, kBytes, 256);
}
#endif

// Writes `value` and reads it into `seen`, on `stream`.
void pass(void* address, int value, unsigned char* seen, cudaStream_t stream) {
    check(cudaMemsetAsync(address, value, kBytes, stream));
    check(cudaMemcpyAsync(seen, address, kBytes, cudaMemcpyDeviceToHost, stream));
}

int wrong_bytes(const unsigned char* seen, int value) {
    int wrong = 0;
    for (std::size_t i = 0; i < kBytes; ++i)
        wrong += seen[i] != value;
    return wrong;
}

}  // namespace

int main() {
    check(cudaFree(nullptr));
    tidemark::MemoryResource resource("cuda:0", "torch");
    const Reference reference{resource};
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams)
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned char* seen = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&seen), 2 * kRounds * kBytes));

    for (int round = 0; round < 2 * kRounds; ++round) {
        const cudaStream_t stream = streams[round % 2];
        const bool for_all = round % 100 < 2;  // of each stream a few
        void* const address = for_all ? allocate_for_all(reference) : allocate(reference, stream);
        pass(address, round % 251, seen + round * kBytes, stream);
        if (for_all)
            deallocate_for_all(reference, address);
        else
            deallocate(reference, stream, address);
    }
    check(cudaDeviceSynchronize());
    int wrong = 0;
    for (int round = 0; round < 2 * kRounds; ++round)
        wrong += wrong_bytes(seen + round * kBytes, round % 251);

    TM_INIT(tm_statistics, statistics);
    tm_statistics_of(resource.context(), &statistics);
    bool refused = false;
    try {
        resource.allocate(streams[0], std::size_t{1} << 50);
    } catch (const std::bad_alloc& failure) {
        refused = std::strstr(failure.what(), "out of memory") != nullptr;
    }
    std::printf("CCCL %d on %s: %d of %d allocations freed, %d wrong bytes, out of memory %s\n",
                CCCL_VERSION, tm_context_device_name(resource.context()),
                static_cast<int>(statistics.freed), static_cast<int>(statistics.granted), wrong,
                refused ? "thrown" : "NOT THROWN");
    check(cudaFreeHost(seen));
    for (const cudaStream_t stream : streams)
        check(cudaStreamDestroy(stream));
    return wrong == 0 && refused && statistics.granted == 2 * kRounds && statistics.live == 0 ? 0 : 1;
}
