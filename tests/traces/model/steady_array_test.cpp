// SteadyArray and the tables on it: what is there stays where it is while they grow.
#include "traces/model/steady_array.h"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "traces/model/tables.h"

namespace tidemark {
namespace {

TEST_CASE("elements stay where they are while a steady array grows", "[steady_array]") {
    SteadyArray<std::string> array;
    std::vector<const std::string*> addresses;
    for (std::size_t i = 0; i < 5000; ++i) {
        array.push_back(std::to_string(i));
        addresses.push_back(&array[i]);
    }

    CHECK(array.size() == 5000);
    for (std::size_t i = 0; i < 5000; ++i) {
        REQUIRE(addresses[i] == &array[i]);
        REQUIRE(array[i] == std::to_string(i));
    }
}

TEST_CASE("a copy of a steady array is its own", "[steady_array]") {
    SteadyArray<int> array;
    for (int i = 0; i < 100; ++i)
        array.push_back(i);

    SteadyArray<int> copy(array);
    array.push_back(100);

    CHECK(copy.size() == 100);
    CHECK(copy[99] == 99);
    CHECK(&copy[0] != &array[0]);
}

TEST_CASE("names and stacks can be read while others are added", "[steady_array][tables]") {
    constexpr std::uint32_t kNames = 20000;
    StringTable strings;
    StackTable stacks;
    std::size_t wrong = 0;
    std::thread reader([&] {
        std::uint32_t seen = 0;
        while (seen < kNames + 1) {
            seen = stacks.size();
            const std::uint32_t last = seen - 1;
            if (last == 0)
                continue;
            wrong += strings[last] != std::to_string(last) ? 1U : 0U;
            wrong += stacks[last].size() != 1 || stacks[last][0].line != last ? 1U : 0U;
        }
    });
    for (std::uint32_t i = 1; i <= kNames; ++i) {
        const std::uint32_t name = strings.intern(std::to_string(i));
        const Frame frame{name, 0, i};
        stacks.intern({&frame, 1});
    }
    reader.join();

    CHECK(wrong == 0);
}

TEST_CASE("copied tables know their own names", "[tables]") {
    StringTable strings;
    strings.intern("a");
    StackTable stacks;
    const Frame frame{1, 0, 7};
    stacks.intern({&frame, 1});

    StringTable other = strings;
    StackTable others = stacks;
    other.intern("b");

    CHECK(strings.size() == 2);
    CHECK(other.intern("a") == 1);
    CHECK(other[2] == std::string_view("b"));
    CHECK(others.intern({&frame, 1}) == 1);
    CHECK(others[1][0].line == 7);
}

}  // namespace
}  // namespace tidemark
