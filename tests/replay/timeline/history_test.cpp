// A history answers as one would who looks at everything.
#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/plain_history.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"

namespace tidemark {
namespace {

using support::PlainHistory;
using support::RandomProgram;
using support::SmallHistory;

bool same(const BlockLife& a, const BlockLife& b) {
    return a.address == b.address && a.size == b.size && a.requested == b.requested &&
           a.born == b.born && a.freed == b.freed && a.reused == b.reused && a.site == b.site;
}

bool same(const SeriesColumn& a, const SeriesColumn& b) {
    return a.min == b.min && a.max == b.max && a.last == b.last && a.events == b.events &&
           a.first_event == b.first_event;
}

void check_elements(const History& history, const PlainHistory& plain) {
    REQUIRE(history.counts().events == plain.events.size());
    REQUIRE(history.counts().blocks == plain.blocks.size());
    bool equal = true;
    for (EventIndex i = 0; i < plain.events.size(); ++i) {
        const PlainHistory::Event& event = plain.events[i];
        equal = equal && history.time(i) == event.time && history.kind(i) == event.kind &&
                history.block_at(i) == event.block && history.values(i) == event.values;
    }
    REQUIRE(equal);
    for (BlockIndex i = 0; i < plain.blocks.size(); ++i)
        equal = equal && same(history.block(i), plain.blocks[i]);
    REQUIRE(equal);
}

// At every event, as ends are met at their very event only.
void check_live(const History& history, const PlainHistory& plain) {
    const std::size_t step = 1 + plain.events.size() / 500;
    bool equal = true;
    for (EventIndex event = 0; event < plain.events.size();
         event += static_cast<EventIndex>(step)) {
        std::vector<BlockIndex> found;
        history.for_each_live(event, [&](BlockIndex block) { found.push_back(block); });
        equal = equal && found == plain.within(event, event);
    }
    REQUIRE(equal);
}

void check_blocks(const History& history, const PlainHistory& plain, Random& random) {
    const auto event_below = [&] {
        return static_cast<EventIndex>(random.below(plain.events.size()));
    };
    for (int i = 0; i < 20; ++i) {
        const EventIndex begin = event_below();
        const EventIndex end = std::min<EventIndex>(
            begin + static_cast<EventIndex>(i % 2 == 0 ? 0 : random.below(100)),
            static_cast<EventIndex>(plain.events.size() - 1));
        std::vector<BlockIndex> found;
        history.for_each_within(begin, end, [&](BlockIndex block) { found.push_back(block); });
        REQUIRE(found == plain.within(begin, end));
        const auto born = std::count_if(plain.blocks.begin(), plain.blocks.end(),
                                        [&](const BlockLife& b) { return b.born < begin; });
        REQUIRE(history.born_before(begin) == static_cast<BlockIndex>(born));
    }
    for (int i = 0; i < 20 && !plain.blocks.empty(); ++i) {
        const auto block = static_cast<BlockIndex>(random.below(plain.blocks.size()));
        REQUIRE(history.before(block) == plain.before(block));
        REQUIRE(history.after(block) == plain.after(block));
        const BlockLife& life = plain.blocks[block];
        const EventIndex event = i % 2 == 0 ? life.born : event_below();
        const std::uint16_t device = static_cast<std::uint16_t>(random.below(2));
        for (const std::uint64_t byte :
             {to_integer(life.address), to_integer(life.address) + life.size - 1,
              to_integer(life.address) + life.size})
            REQUIRE(history.find(device, Address{byte}, event) == plain.find(device, byte, event));
    }
}

void check_series(const History& history, const PlainHistory& plain, Random& random) {
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        REQUIRE(history.peak_event(Series{static_cast<std::uint8_t>(s)}) ==
                plain.peak_event(Series{static_cast<std::uint8_t>(s)}));
    for (int i = 0; i < 30; ++i) {
        const AxisUnit unit = i % 2 == 0 ? AxisUnit::time : AxisUnit::events;
        const auto some = [&] {
            return plain.position(unit, random.below(plain.events.size())) +
                   static_cast<Position>(random.below(3)) - 1;
        };
        Position begin = i < 4 ? plain.position(unit, 0) - 100 * (i % 3) : some();
        Position end = i < 6 ? history.end(unit) + 100 * (i % 3) : some();
        if (begin > end)
            std::swap(begin, end);
        REQUIRE(history.event_from(unit, begin) == plain.event_from(unit, begin));
        const std::size_t columns = 1 + random.below(i % 3 == 0 ? 7 : 90);
        std::vector<SeriesColumn> found(columns);
        history.series(unit, begin, end, found);
        const auto expected = plain.series(unit, begin, end, columns);
        REQUIRE(std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                           [](const auto& a, const auto& b) { return same(a, b); }));
    }
}

void check(const History& history, const PlainHistory& plain, Random& random) {
    check_elements(history, plain);
    check_live(history, plain);
    check_blocks(history, plain, random);
    check_series(history, plain, random);
}

TEST_CASE("A history answers as one who looks at everything") {
    const support::Effort effort = support::effort(60);
    for (int i = 0; i < effort.cases; ++i) {
        const std::uint64_t seed = effort.seed * 1000 + static_cast<std::uint64_t>(i);
        INFO("seed " << seed);
        RandomProgram program(seed);
        Random random(seed);
        const std::size_t events = 1 + random.below(i % 8 == 0 ? 6000 : 700);
        for (std::size_t event = 0; event < events; ++event)
            program.step();
        REQUIRE(program.builder().publish());
        check(*program.builder().history(), program.plain(), random);
    }
}

}  // namespace
}  // namespace tidemark
