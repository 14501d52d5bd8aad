// Kernels, done by hand.
#include "tests/backends/cuda/fake/fake_kernels.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backends/cuda/cuda_kernels.h"
#include "tests/backends/cuda/fake/fake_memory.h"

namespace tidemark::fake {
namespace {

template <class T>
T parameter(void** parameters, std::size_t index) {
    T value{};
    std::memcpy(&value, parameters[index], sizeof value);
    return value;
}

std::uint64_t differing_bytes(std::uint32_t difference) {
    std::uint64_t count = 0;
    for (; difference != 0; difference >>= 8)
        count += (difference & 0xff) != 0 ? 1 : 0;
    return count;
}

std::function<Code()> count_mismatches(void** parameters, int device) {
    const auto target = parameter<std::uint64_t>(parameters, 0);
    const auto size = parameter<std::uint64_t>(parameters, 1);
    const auto counter = parameter<std::uint64_t>(parameters, 2);
    const auto pattern = parameter<std::uint32_t>(parameters, 3);
    return [=] {
        if (!reachable(target, size, false, device) ||
            !reachable(counter, sizeof(std::uint64_t), true, device))
            return Code::illegal_address;
        if (target % sizeof pattern != 0)
            return Code::misaligned_address;
        std::uint64_t found = 0;
        for (std::uint64_t i = 0; i < size; i += sizeof pattern) {
            std::uint32_t word = pattern;
            std::memcpy(&word, reinterpret_cast<const void*>(target + i),
                        std::min<std::uint64_t>(size - i, sizeof word));
            if (word != pattern) [[unlikely]]
                found += differing_bytes(word ^ pattern);
        }
        *reinterpret_cast<std::uint64_t*>(counter) += found;
        return Code::success;
    };
}

// Time that was to pass has passed: nobody waits for it here.
std::function<Code()> pass_until(void** parameters, int device) {
    const auto slot = parameter<std::uint64_t>(parameters, 0);
    const auto end = parameter<std::uint64_t>(parameters, 1);
    return [=] {
        if (!reachable(slot, sizeof end, true, device))
            return Code::illegal_address;
        const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch());
        const std::uint64_t time = std::max(end, static_cast<std::uint64_t>(now.count()));
        std::memcpy(reinterpret_cast<void*>(slot), &time, sizeof time);
        return Code::success;
    };
}

std::function<Code()> write_word(void** parameters, int device) {
    const auto address = parameter<std::uint64_t>(parameters, 0);
    const auto value = parameter<std::uint32_t>(parameters, 1);
    return [=] {
        if (!reachable(address, sizeof value, true, device))
            return Code::illegal_address;
        std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
        return Code::success;
    };
}

}  // namespace

std::function<Code()> kernel_work(std::string_view name, void** parameters, int device) {
    if (name == cuda::kCountMismatches)
        return count_mismatches(parameters, device);
    if (name == cuda::kPassUntil)
        return pass_until(parameters, device);
    if (name == "tidemark_test_write")
        return write_word(parameters, device);
    return {};
}

}  // namespace tidemark::fake
