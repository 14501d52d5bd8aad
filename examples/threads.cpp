// A policy as the allocator of a program with threads: on the GPU if there is one, otherwise on a
// simulated device. Each thread has its own stream, and frees by address.
//
// Usage: threads [POLICY]
#include <cstdio>
#include <thread>
#include <vector>

#include <tidemark/backends/cuda/cuda_device.h>
#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/core/allocator/spec.h>
#include <tidemark/core/concurrent/shared_allocator.h>

using namespace tidemark;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 10'000;

Result<std::unique_ptr<Device>> open_device() {
    const auto driver = CudaDriver::open();
    if (!driver)
        return std::make_unique<SimDevice>(SimConfig{.capacity = 8_GiB});
    TM_ASSIGN(std::unique_ptr<Device> device, CudaDevice::open(*driver, {}));
    return device;
}

void work(SharedAllocator& memory, StreamId stream) {
    for (int round = 0; round < kRounds; ++round) {
        const auto first = memory.allocate({.size = 1_MiB, .stream = stream});
        const auto second = memory.allocate({.size = 3_MiB, .stream = stream});
        if (first)
            static_cast<void>(memory.free(first->begin));
        if (second)
            static_cast<void>(memory.free(second->begin));
    }
}

Result<bool> example(std::string_view text) {
    TM_ASSIGN(const PolicySpec policy, parse_policy(text));
    TM_ASSIGN(const std::unique_ptr<Device> device, open_device());
    TM_ASSIGN(std::unique_ptr<Allocator> allocator, policy.make(*device));
    SharedAllocator memory(std::move(allocator), *device, {},
                           ThreadCaches::for_device(*device));
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&memory, i] { work(memory, StreamId{i}); });
    threads.clear();  // waits for them

    const SharedStatus status = memory.status();
    std::printf("%s on %s: %llu allocations, %llu failed; peak %llu bytes reserved, %llu requested\n",
                policy.text().c_str(), std::string(device->name()).c_str(),
                static_cast<unsigned long long>(status.granted),
                static_cast<unsigned long long>(status.refused),
                static_cast<unsigned long long>(status.peak_reserved),
                static_cast<unsigned long long>(status.peak_requested.at_most));
    return status.live == 0 && status.granted == 2 * kThreads * kRounds;
}

}  // namespace

int main(int count, char** words) {
    const auto right = example(count > 1 ? words[1] : "torch");
    if (!right)
        std::fprintf(stderr, "%s\n", to_text(right.error()).c_str());
    return right && *right ? 0 : 1;
}
