// Strings, stacks and what TraceInfo answers.
#include "traces/model/tables.h"

#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include <catch2/catch.hpp>

#include "traces/model/trace.h"

using namespace tidemark;

TEST_CASE("a string is stored once and keeps its index", "[model]") {
    StringTable strings;

    const std::uint32_t first = strings.intern("forward");
    const std::uint32_t second = strings.intern("backward");

    CHECK(first == 1);
    CHECK(second == 2);
    CHECK(strings.intern("forward") == first);
    CHECK(strings.intern("") == 0);
    CHECK(strings.size() == 3);
    CHECK(strings[second] == "backward");
}

TEST_CASE("a copy of a string table outlives the original", "[model]") {
    StringTable copy;
    {
        StringTable original;
        original.intern("a string too long to be stored inside std::string itself");
        copy = original;
    }

    CHECK(copy.intern("a string too long to be stored inside std::string itself") == 1);
    CHECK(copy.intern("another") == 2);
}

TEST_CASE("a moved string table still finds its strings", "[model]") {
    StringTable original;
    for (int i = 0; i < 1000; ++i)
        original.intern(std::to_string(i));

    StringTable moved = std::move(original);

    CHECK(moved.intern("999") == 1000);
    CHECK(moved.size() == 1001);
}

TEST_CASE("a stack is known again by its frames in their order", "[model]") {
    StackTable stacks;
    const std::array ab{Frame{1, 2, 3}, Frame{4, 5, 6}};
    const std::array ba{Frame{4, 5, 6}, Frame{1, 2, 3}};

    const std::uint32_t first = stacks.intern(ab);
    const std::uint32_t second = stacks.intern(ba);

    CHECK(first == 1);
    CHECK(second == 2);
    CHECK(stacks.intern(ab) == first);
    CHECK(stacks.intern({}) == 0);
    REQUIRE(stacks[second].size() == 2);
    CHECK(stacks[second][1] == Frame{1, 2, 3});
}

TEST_CASE("settings come before metadata when a key is asked for", "[model]") {
    TraceInfo info;
    info.settings = {{"max_split_size", "20MiB"}};
    info.metadata = {{"max_split_size", "?"}, {"host", "h"}};

    CHECK(info.setting("max_split_size") == "20MiB");
    CHECK(info.setting("host") == "h");
    CHECK(info.setting("absent").empty());
}

TEST_CASE("every known kind has a name of its own, every other is unknown", "[model]") {
    std::unordered_map<std::string_view, int> names;
    for (int kind = 0; kind < 256; ++kind)
        ++names[to_text(static_cast<EventKind>(kind))];

    CHECK(names["unknown"] == 256 - 30);
    CHECK(names.size() == 31);
    CHECK(to_text(EventKind::out_of_memory) == "out_of_memory");
    CHECK(to_text(EventKind::snapshot) == "snapshot");
}
