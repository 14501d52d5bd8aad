// On a GPU: the resource of RMM or of tidemark that is named, asked through RMM's reference. Prints
// its name, ns for an allocation and its free, and the bytes that it holds of the GPU. Sizes are
// 256 B to 4 MiB, 64 blocks live, one stream.
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>
#include <rmm/cuda_stream.hpp>
#include <rmm/error.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/resource_ref.hpp>
#include <tidemark/memory_resource.h>

namespace {

using Resource = tidemark::BasicMemoryResource<rmm::out_of_memory>;

constexpr int kPairs = 200'000;

std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    return free;
}

// `before` is what was free before the resource was made.
void measure(const char* name, rmm::device_async_resource_ref resource, std::size_t before) {
    struct Block {
        void* address = nullptr;
        std::size_t bytes = 0;
    };

    const rmm::cuda_stream stream;
    std::mt19937_64 random(1);
    std::vector<Block> blocks(64);
    double ns = 0;
    for (const bool counts : {false, true}) {
        const auto begin = std::chrono::steady_clock::now();
        for (int pair = 0; pair < kPairs; ++pair) {
            Block& block = blocks[random() % blocks.size()];
            if (block.address != nullptr)
                resource.deallocate(stream, block.address, block.bytes, 256);
            block.bytes = std::size_t{256} << (random() % 15);
            block.bytes -= random() % (block.bytes / 2);
            block.address = resource.allocate(stream, block.bytes, 256);
        }
        const std::chrono::duration<double, std::nano> all =
            std::chrono::steady_clock::now() - begin;
        if (counts)
            ns = all.count() / kPairs;
    }
    stream.synchronize();
    std::printf("%s %.0f %zu\n", name, ns, before - free_bytes());
    std::fflush(stdout);
    for (const Block& block : blocks)
        if (block.address != nullptr)
            resource.deallocate(stream, block.address, block.bytes, 256);
    stream.synchronize();
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view name = count > 1 ? arguments[1] : "";
    rmm::mr::cuda_memory_resource cuda;
    cudaFree(nullptr);
    const std::size_t before = free_bytes();
    if (name == "rmm-pool") {
        rmm::mr::pool_memory_resource pool(cuda, 0);
        measure(arguments[1], pool, before);
    } else if (name == "rmm-arena") {
        rmm::mr::arena_memory_resource arena(cuda, std::size_t{1} << 30);
        measure(arguments[1], arena, before);
    } else if (name == "rmm-cuda-async") {
        rmm::mr::cuda_async_memory_resource async;
        measure(arguments[1], async, before);
    } else {  // a policy
        Resource resource("cuda:0", arguments[1]);
        measure(arguments[1], resource, before);
    }
}
