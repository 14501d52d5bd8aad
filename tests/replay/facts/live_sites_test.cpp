// live_sites: what lives at an event, against looking at every block.
#include "replay/facts/live_sites.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/plain_history.h"

namespace tidemark {
namespace {

using facts::LiveBlocks;
using support::PlainHistory;
using support::RandomProgram;

// The blocks that the program holds after `event`, the largest first.
std::vector<BlockIndex> held(const PlainHistory& plain, EventIndex event) {
    std::vector<BlockIndex> list;
    for (BlockIndex i = 0; i < plain.blocks.size(); ++i)
        if (plain.blocks[i].born <= event && event < plain.blocks[i].freed)
            list.push_back(i);
    std::ranges::sort(list, {}, [&plain](BlockIndex index) {
        return std::tuple(~plain.blocks[index].size, index);
    });
    return list;
}

template <class Key>
void check_groups(const PlainHistory& plain, const std::vector<BlockIndex>& held,
                  const std::unordered_map<Key, LiveBlocks>& groups, Key BlockLife::*key) {
    std::map<Key, LiveBlocks> expected;
    for (const BlockIndex index : held) {
        const BlockLife& block = plain.blocks[index];
        LiveBlocks& group = expected[block.*key];
        if (group.blocks++ == 0)  // the largest comes first
            group.largest = index;
        group.bytes += block.size;
    }
    REQUIRE(groups.size() == expected.size());
    for (const auto& [name, group] : expected) {
        const LiveBlocks& found = groups.at(name);
        CHECK(std::tuple(found.bytes, found.blocks, found.largest) ==
              std::tuple(group.bytes, group.blocks, group.largest));
    }
}

TEST_CASE("live blocks by site and size are those that every block says", "[live_sites]") {
    const std::atomic<bool> never = false;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        RandomProgram program(seed);
        for (int i = 0; i < 400; ++i)
            program.step();
        REQUIRE(program.builder().finish());
        const PlainHistory& plain = program.plain();
        const auto history = program.builder().history();
        for (EventIndex event = 0; event < plain.events.size(); event += 37) {
            const std::vector<BlockIndex> expected = held(plain, event);
            const facts::LiveSites found = facts::live_sites(*history, event, 5, never);
            CHECK(found.blocks == expected.size());
            CHECK(found.largest ==
                  std::vector(expected.begin(),
                              expected.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min<std::size_t>(5, expected.size()))));
            check_groups(plain, expected, found.by_site, &BlockLife::site);
            check_groups(plain, expected, found.by_size, &BlockLife::size);
        }
    }
}

}  // namespace
}  // namespace tidemark
