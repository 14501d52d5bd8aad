// Memory for C++ from a policy, as a memory resource of CCCL or RMM. On a simulated device it needs
// none of these and no GPU.
#include <cstdio>

#include <tidemark/memory_resource.h>

int main() {
    TM_INIT(tm_context_options, options);
    options.machine = "sim:h200";
    options.policy = "extent";
    options.memory = std::uint64_t{1} << 30;
    tidemark::MemoryResource resource(options);

    const std::size_t bytes = 100 << 20;
    const tidemark::StreamArgument stream(nullptr);
    void* const memory = resource.allocate(stream, bytes);
    TM_INIT(tm_statistics, statistics);
    tm_statistics_of(resource.context(), &statistics);
    std::printf("%zu bytes allocated, %llu reserved from the device\n", bytes,
                static_cast<unsigned long long>(statistics.reserved));
    try {
        resource.allocate(stream, std::size_t{2} << 30);
        return 1;
    } catch (const std::bad_alloc& failure) {
        std::printf("%s\n", failure.what());
    }
    resource.deallocate(stream, memory, bytes);
}
