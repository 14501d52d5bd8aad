// LiveMemory: what an injected recorder knows of a program's allocations, against a map.
#include "replay/inject/live_memory.h"

#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;
using inject::LiveAllocation;
using inject::LiveMemory;

namespace {

cuda::CUcontext context(std::uint64_t number) {
    return reinterpret_cast<cuda::CUcontext>(number);
}

LiveAllocation allocation(std::uint64_t address, std::uint64_t size, std::uint64_t of_context) {
    return {.address = address, .size = size, .context = context(of_context)};
}

}  // namespace

TEST_CASE("live memory finds what was added, once, whatever came and went beside it", "[inject]") {
    LiveMemory memory;
    std::map<std::uint64_t, std::uint64_t> model;
    Random random(7);
    for (std::uint64_t turn = 1; turn <= 200'000; ++turn) {
        // More than a table begins with, and so few that addresses meet again.
        const std::uint64_t address = 512 * (1 + random.below(5000));
        LiveAllocation taken;
        if (random.below(2) == 0) {
            const auto before = memory.add(allocation(address, turn, 1));
            const auto known = model.find(address);
            REQUIRE(before.has_value() == (known != model.end()));
            if (before)
                REQUIRE(before->size == known->second);
            model[address] = turn;
        } else {
            REQUIRE(memory.take(address, taken) == (model.count(address) == 1));
            if (model.count(address) == 1)
                REQUIRE(taken.size == model[address]);
            model.erase(address);
        }
    }
    for (const auto& [address, size] : model) {
        LiveAllocation taken;
        REQUIRE(memory.take(address, taken));
        CHECK(taken.size == size);
    }
    LiveAllocation none;
    CHECK_FALSE(memory.take(512, none));
    CHECK_FALSE(memory.take(0, none));
}

TEST_CASE("live memory gives out what lives in a context that ends, and keeps the rest",
          "[inject]") {
    LiveMemory memory;
    for (std::uint64_t i = 1; i <= 1000; ++i)
        static_cast<void>(memory.add(allocation(i * 4096, i, 1 + i % 2)));
    const auto ended = memory.end_context(context(1));
    CHECK(ended.size() == 500);
    for (const LiveAllocation& each : ended)
        CHECK(each.size % 2 == 0);
    CHECK(memory.end_context(context(1)).empty());
    LiveAllocation taken;
    for (std::uint64_t i = 1; i <= 1000; ++i)
        REQUIRE(memory.take(i * 4096, taken) == (i % 2 == 1));
}

TEST_CASE("live memory is one for all threads", "[inject]") {
    LiveMemory memory;
    constexpr std::uint64_t kThreads = 4;
    constexpr std::uint64_t kEach = 5000;
    std::vector<std::thread> threads;
    std::vector<std::uint64_t> found(kThreads);
    for (std::uint64_t number = 0; number < kThreads; ++number)
        threads.emplace_back([&memory, &found, number] {
            for (std::uint64_t i = 0; i < kEach; ++i) {
                const std::uint64_t address = 1 + number + kThreads * i;
                static_cast<void>(memory.add(allocation(address, number, 1)));
                LiveAllocation taken;
                if (i % 2 == 0 && memory.take(address, taken))
                    found[number] += taken.size == number ? 1 : 0;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::uint64_t each : found)
        CHECK(each == kEach / 2);
    CHECK(memory.end_context(context(1)).size() == kThreads * kEach / 2);
}
