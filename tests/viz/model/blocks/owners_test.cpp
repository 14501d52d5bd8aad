// Who holds the memory: filters for an owner, what became of each between two moments, and the
// figures of a stretch.
#include "viz/model/blocks/owners.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"
#include "viz/model/blocks/moment_diff.h"
#include "viz/model/blocks/owner_details.h"
#include "viz/model/blocks/owner_follower.h"
#include "viz/model/blocks/range_summary.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

using support::random_history;
using support::SmallHistory;

const Cancelled kOwnersNotCancelled = false;

// Blocks 1 to 5, one an event, in and around two annotations.
std::shared_ptr<const History> five_owners() {
    SmallHistory steps;
    steps.names({.streams = {0, 7}, .pools = {"default", "graph"}});
    steps.allocate(1, 512, {.tag = "weights", .stack = {"aten::empty", "main"}});
    steps.begin("step").allocate(2, 1024, {.tag = "act", .stack = {"aten::relu", "main"}});
    steps.begin("step inner").allocate(3, 2048, {.stream = 1, .pool = 1, .tag = "act"});
    steps.end("step inner").allocate(4, 4096, {.stream = 1}).end("step");
    steps.allocate(5, 8192, {.pool = 1, .tag = "weights", .stack = {"Cell::grow", "main"}});
    return steps.build();
}

// The blocks that a filter for each owner lets through, by the owner's name.
std::map<std::string, std::vector<BlockIndex>> blocks_by_owner(const History& history,
                                                               BlockTrait trait) {
    OwnerGroups groups(history, trait, kOwnersNotCancelled);
    for (BlockIndex i = 0; i < history.counts().blocks; ++i)
        groups.of(history.block(i));
    std::map<std::string, std::vector<BlockIndex>> found;
    for (std::uint32_t i = 0; i < groups.count(); ++i) {
        Filter filter;
        REQUIRE(toggle_owner(filter, trait, groups.group(i)));
        REQUIRE(means_owner(filter, trait, groups.group(i)));
        const BlockFilter blocks(history, filter, kOwnersNotCancelled);
        for (BlockIndex block = 0; block < history.counts().blocks; ++block) {
            const bool passes = blocks.lets_through(history.block(block));
            REQUIRE(passes == (groups.of(history.block(block)) == i));
            if (passes)
                found[groups.group(i).name].push_back(block);
        }
        REQUIRE(toggle_owner(filter, trait, groups.group(i)));
        CHECK_FALSE(hides_something(filter));
    }
    return found;
}

bool lives_at(const Block& block, EventIndex event) {
    return event != kNever && block.born <= event && block.freed > event;
}

}  // namespace

TEST_CASE("a filter for an owner lets its blocks through, those of no owner as well",
          "[viz][owners]") {
    using Found = std::map<std::string, std::vector<BlockIndex>>;
    const auto history = five_owners();
    CHECK(blocks_by_owner(*history, BlockTrait::tag) ==
          Found{{"weights", {0, 4}}, {"act", {1, 2}}, {"no tag", {3}}});
    CHECK(blocks_by_owner(*history, BlockTrait::stack) == Found{{"aten::empty", {0}},
                                                                {"aten::relu", {1}},
                                                                {"Cell::grow", {4}},
                                                                {"no stack", {2, 3}}});
    CHECK(blocks_by_owner(*history, BlockTrait::module) ==
          Found{{"aten", {0, 1}}, {"Cell", {4}}, {"no module", {2, 3}}});
    CHECK(blocks_by_owner(*history, BlockTrait::annotation) ==
          Found{{"no annotation", {0, 4}}, {"step", {1, 3}}, {"step inner", {2}}});
    CHECK(blocks_by_owner(*history, BlockTrait::stream) ==
          Found{{"stream 0", {0, 1, 4}}, {"stream 1", {2, 3}}});
    CHECK(blocks_by_owner(*history, BlockTrait::pool) ==
          Found{{"pool 0: default", {0, 1, 3}}, {"pool 1: graph", {2, 4}}});
    CHECK(blocks_by_owner(*history, BlockTrait::size).size() == 5);
}

TEST_CASE("a filter for an owner leaves alone what it says of text", "[viz][owners]") {
    Filter filter;
    filter.text = "conv";
    BlockClass owner;
    owner.name = "act";
    REQUIRE(toggle_owner(filter, BlockTrait::tag, owner));
    CHECK(filter.owner == OwnerName{BlockTrait::tag, "act"});
    owner.name = "weights";
    REQUIRE(toggle_owner(filter, BlockTrait::tag, owner));
    CHECK(filter.owner == OwnerName{BlockTrait::tag, "weights"});
    CHECK(filter.text == "conv");
    owner.rest = true;
    CHECK_FALSE(toggle_owner(filter, BlockTrait::tag, owner));
}

TEST_CASE("owners are told apart by what the history says", "[viz][owners]") {
    const auto traits = [](const History& history) {
        std::vector<BlockTrait> found;
        for (const OwnerChoice& choice : owner_choices(history))
            found.push_back(choice.trait);
        return found;
    };
    CHECK(traits(*five_owners()).size() == kOwnerChoices.size());
    SmallHistory plain;
    plain.allocate(1, 512);
    CHECK(traits(*plain.build()) == std::vector{BlockTrait::size});
}

TEST_CASE("an owner that is followed grows with its history, and knows its stack",
          "[viz][owners]") {
    SmallHistory steps;
    OwnerFollower follower;
    steps.allocate(1, 512, {.tag = "a", .stack = {"f", "main"}});
    auto series = follower.look(steps.look(), BlockTrait::tag, {}, true);
    REQUIRE(series);
    CHECK(series->events() == 1);
    steps.allocate(2, 2048, {.tag = "b"}).allocate(3, 1024, {.tag = "a", .stack = {"g", "main"}});
    const auto history = steps.build();
    series = follower.look(history, BlockTrait::tag, {}, true);
    CHECK(series->events() == 3);
    CHECK_FALSE(follower.busy());
    REQUIRE(series->owners() == 3);
    const std::size_t a = series->classes().all()[0].name == "a" ? 0 : 1;
    const OwnerDetails details = owner_details(*history, {series, 2, a}, kOwnersNotCancelled);
    CHECK(details.bytes == 1536);
    CHECK(details.blocks == 2);
    CHECK(details.of_stack == 1024);
    CHECK(details.stack == history->site(history->block(2).site).stack);

    Filter filter;
    filter.owner = OwnerName{BlockTrait::tag, "b"};
    series = follower.look(history, BlockTrait::tag, filter, true);
    std::vector<Bytes> bytes(series->owners());
    series->at(2, bytes);
    CHECK(bytes[a] == 0);
    CHECK(bytes[1 - a] == 2048);
    CHECK(bytes[series->not_shown()] == 1536);
}

TEST_CASE("between two moments blocks came, went or stayed, and nothing else", "[viz][owners]") {
    for (std::uint64_t seed = 1; seed <= 11; seed += 2) {  // of even ones curves are invented
        const auto history = random_history(seed, 600);
        const auto events = static_cast<EventIndex>(history->counts().events);
        Random random(seed);
        for (int i = 0; i < 12; ++i) {
            const auto last = static_cast<EventIndex>(random.below(events));
            const auto first = i == 0 ? kNever : static_cast<EventIndex>(random.below(last + 1));
            INFO("seed " << seed << " from " << first << " to " << last);
            const DiffQuestion question{{first, last}, BlockTrait::stream, {}};
            const MomentDiff diff = moment_diff(*history, question, kOwnersNotCancelled);
            std::map<std::string, std::array<BlockSum, 3>> plain;
            for (BlockIndex index = 0; index < history->counts().blocks; ++index) {
                const Block block = history->block(index);
                const bool before = lives_at(block, first);
                const bool after = lives_at(block, last);
                if (!before && !after)
                    continue;
                const auto stream = to_integer(history->site(block.site).stream);
                auto& sums = plain["stream " + std::to_string(stream)];
                BlockSum& sum = sums[before && after ? 2 : after ? 0 : 1];
                sum.bytes += block.size;
                ++sum.blocks;
            }
            REQUIRE(diff.owners.size() == plain.size());
            for (const OwnerDiff& owner : diff.owners) {
                const auto& sums = plain.at(owner.owner.name);
                CHECK(owner.came == sums[0]);
                CHECK(owner.went == sums[1]);
                CHECK(owner.stayed == sums[2]);
            }
            CHECK(std::ranges::is_sorted(diff.owners, std::greater(), [](const OwnerDiff& owner) {
                return std::abs(owner.change());
            }));
            const Bytes before = first == kNever ? 0 : history->values(first)[Series::allocated];
            CHECK(diff.all.before() == before);
            CHECK(diff.all.after() == history->values(last)[Series::allocated]);
        }
    }
}

TEST_CASE("a difference is copied as a table", "[viz][owners]") {
    SmallHistory steps;
    steps.allocate(1, 512, {.tag = "a"}).allocate(2, 1024, {.tag = "b"}).free(1);
    steps.allocate(3, 64, {.tag = "b"});
    const auto history = steps.build();
    MomentDiff diff = moment_diff(*history, {{1, 3}, BlockTrait::tag, {}}, kOwnersNotCancelled);
    CHECK(diff_text(*history, diff) ==
          "from event 1 (10 ns) to event 3 (30 ns)\n"
          "owner\tcame\tblocks\twent\tblocks\tstayed\tblocks\n"
          "a\t0\t0\t512\t1\t0\t0\nb\t64\t1\t0\t0\t1024\t1\nall\t64\t1\t512\t1\t1024\t1\n");
    sort_owners(diff, DiffOrder::stayed);
    CHECK(diff.owners.front().owner.name == "b");
}

TEST_CASE("a stretch has the least, the most and the mean of what held in it", "[viz][range]") {
    SmallHistory steps;
    steps.at(0).allocate(1, 1000, {}).at(100).allocate(2, 3000, {}).at(150).free(1);
    steps.at(400).allocate(3, 64, {}).at(500).free(2);
    const auto history = steps.build();
    const RangeSummary summary =
        range_summary(*history, {AxisUnit::time, {50, 450}, {0, 3}, {}}, kOwnersNotCancelled);
    CHECK(summary.events == 3);
    const SeriesRange& allocated = summary.series[static_cast<std::size_t>(Series::allocated)];
    CHECK(allocated.min == 1000);
    CHECK(allocated.max == 4000);
    CHECK(allocated.mean == (1000 * 50 + 4000 * 50 + 3000 * 250 + 3064 * 50) / 400);
    CHECK(summary.blocks == 2);
    CHECK(summary.bytes == 3064);
    CHECK(summary.unfreed_blocks == 1);
    CHECK(summary.sizes.front() == HistogramBin{64, 1, 64});
    CHECK(summary.sizes.back() == HistogramBin{2048, 1, 3000});
    CHECK(summary.lifetimes == Histogram{{256, 1, 3000}});

    Filter large;
    large.least = 1024;
    CHECK(range_summary(*history, {AxisUnit::time, {50, 450}, {0, 3}, large}, kOwnersNotCancelled)
              .blocks == 1);
    // By events each counts once, from the state after the first to that after the third.
    const RangeSummary by_events =
        range_summary(*history, {AxisUnit::events, {0, 2000}, {0, 2}, {}}, kOwnersNotCancelled);
    CHECK(by_events.events == 2);
    CHECK(by_events.series[static_cast<std::size_t>(Series::allocated)].mean == 2500);
}

}  // namespace tidemark::viz
