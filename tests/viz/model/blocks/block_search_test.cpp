// The search for blocks: its words, the way from hit to hit, and back.
#include "viz/model/blocks/block_search.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/navigation/filter_query.h"
#include "viz/model/navigation/navigation.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;
using support::SmallHistory;

// Eight blocks 100 ns apart, one in four of them an "odd" one; the last two at one time.
SmallHistory eight_blocks() {
    SmallHistory history;
    for (std::uint64_t i = 0; i < 8; ++i)
        history.at(static_cast<Nanoseconds>(i == 7 ? 600 : 100 * i))
            .allocate(i, 512 << i,
                      {.stream = i < 4 ? 0U : 1U,
                       .pool = i == 5 ? 3U : 0U,
                       .tag = i % 4 == 2 || i == 7 ? "odd" : "even"});
    return history;
}

struct SearchedRun {
    explicit SearchedRun(std::shared_ptr<const History> history) {
        ViewedRun run;
        run.history = std::move(history);
        run.state.phase = LoadState::Phase::ready;
        session.runs.push_back(std::move(run));
        camera.set_extent(AxisUnit::time, session.runs[0].history->end(AxisUnit::time));
    }

    void find(std::string_view query) {
        selection.filter = *parse_filter(query);
        search.update(session.runs[0].history, selection.filter);
        search.finish();
        search.update(session.runs[0].history, selection.filter);
    }

    BlockIndex step(bool forward) {
        const auto hit = go_to_hit(search, session, camera, selection, forward);
        wrapped = hit && hit->wrapped;
        return hit ? hit->block : kNoBlock;
    }

    Session session;
    Camera camera;
    Selection selection;
    BlockSearch search;
    bool wrapped = false;
};

Filter filter_of(std::string_view text) {
    const Result<Filter> filter = parse_filter(text);
    INFO(text);
    REQUIRE(filter);
    return *filter;
}

}  // namespace

TEST_CASE("words say what is searched for", "[viz][search]") {
    CHECK(filter_of("") == Filter{});
    CHECK(filter_of("  conv2d   forward ").text == "conv2d forward");
    const Filter all = filter_of("grad >=1MiB stream=7 pool=2 <4MiB");
    CHECK(all.text == "grad");
    CHECK(all.least == 1_MiB);
    CHECK(all.most == 4_MiB - 1);
    CHECK(all.stream == StreamId{7});
    CHECK(all.pool == PoolId{2});
    CHECK(filter_of(">512").least == 513);
    CHECK(filter_of("<=512").most == 512);
    CHECK(filter_of("=64KiB").least == 64_KiB);
    CHECK(filter_of("=64KiB").most == 64_KiB);
    CHECK(filter_of("0x7f2C00 conv").address == Address{0x7f2c00});
    CHECK(filter_of("0x7f2C00 conv").text == "conv");
    CHECK(to_text(filter_of("0x7f2C00 conv")) == "conv 0x7f2c00");
    // Names that look like them.
    CHECK(filter_of("0xyz 0x").text == "0xyz 0x");
    CHECK(filter_of("<module>").text == "<module>");
    CHECK(filter_of("operator<").text == "operator<");
    CHECK(filter_of("a>=1MiB").text == "a>=1MiB");
    CHECK(filter_of("stream=main pool= =").text == "stream=main pool= =");
    CHECK(filter_of("stream=99999999999").text == "stream=99999999999");
    for (const std::string_view wrong : {">1x", "=1.2.3", "<0", ">2MiB <1MiB", ">99999999999GiB"}) {
        INFO(wrong);
        CHECK_FALSE(parse_filter(wrong));
    }
}

TEST_CASE("a filter in words means the same filter", "[viz][search]") {
    CHECK(to_text(filter_of("grad >=1MiB stream=7 pool=2 <4MiB")) ==
          "grad stream=7 pool=2 >=1MiB <4MiB");
    CHECK(to_text(filter_of(">512 <=5000")) == ">=513 <=5000");
    CHECK(to_text(Filter{}).empty());
    CHECK(counterexample(effort(100), [] {
              Filter filter;
              filter.text =
                  *rc::gen::element<std::string>("", "conv", "conv 2d", "<lambda>", "a=b");
              if (*rc::gen::arbitrary<bool>())
                  filter.owner = OwnerName{
                      *rc::gen::element(BlockTrait::tag, BlockTrait::stack, BlockTrait::module,
                                        BlockTrait::annotation),
                      *rc::gen::element<std::string>("", "w", "step 3", "a \"b\\", "\"", "=1")};
              if (*rc::gen::arbitrary<bool>())
                  filter.stream = StreamId{*rc::gen::inRange<std::uint32_t>(0, 9)};
              if (*rc::gen::arbitrary<bool>())
                  filter.pool = PoolId{*rc::gen::inRange<std::uint32_t>(0, 9)};
              const auto unit = *rc::gen::element<Bytes>(1, 1_KiB, 1_MiB);
              filter.least = unit * *rc::gen::inRange<Bytes>(0, 5);
              if (*rc::gen::arbitrary<bool>())
                  filter.most = filter.least + unit * *rc::gen::inRange<Bytes>(0, 3);
              RC_ASSERT(parse_filter(to_text(filter)) == filter);
          }) == "");
}

TEST_CASE("steps go from hit to hit and round the ends", "[viz][search]") {
    SearchedRun opened(eight_blocks().build());
    opened.find("ODD");
    REQUIRE(opened.search.hits() != nullptr);
    CHECK(opened.search.hits()->count() == 3);
    CHECK(opened.step(true) == 2);
    CHECK(opened.selection.cursor == 200);
    CHECK(opened.selection.block == BlockIndex{2});
    CHECK(opened.selection.reveal == BlockIndex{2});
    CHECK(opened.step(true) == 6);
    CHECK(opened.step(true) == 7);  // born at the same time: not left out
    CHECK_FALSE(opened.wrapped);
    CHECK(opened.step(true) == 2);
    CHECK(opened.wrapped);
    CHECK(opened.step(false) == 7);
    CHECK(opened.wrapped);
    CHECK(opened.step(false) == 6);
    CHECK(opened.step(false) == 2);
    CHECK_FALSE(opened.wrapped);

    // From the cursor, once it is somewhere else; what is selected there is no hit.
    opened.selection.cursor = 450;
    CHECK(opened.step(true) == 6);
    opened.selection.cursor = 450;
    opened.selection.block = 4;
    CHECK(opened.step(false) == 2);
}

TEST_CASE("a step begins at the window's edge where there is no cursor", "[viz][search]") {
    SearchedRun opened(eight_blocks().build());
    opened.find("odd");
    opened.camera.show({300, 400});
    CHECK(opened.step(true) == 6);
    opened.selection = {};
    opened.find("odd");
    opened.camera.show({300, 400});
    CHECK(opened.step(false) == 2);
}

TEST_CASE("steps can be undone, also those within the window", "[viz][search]") {
    SearchedRun opened(eight_blocks().build());
    opened.find("odd");
    opened.selection.cursor = 100;
    opened.selection.block = 1;
    opened.step(true);
    opened.step(true);
    CHECK(opened.selection.cursor == 600);
    const auto back = [&](bool forward) {
        return go_back(opened.session, opened.camera, opened.selection, forward);
    };
    CHECK(back(false));
    CHECK(opened.selection.cursor == 200);
    CHECK(opened.selection.block == BlockIndex{2});
    CHECK(back(false));
    CHECK(opened.selection.cursor == 100);
    CHECK(opened.selection.block == BlockIndex{1});
    CHECK_FALSE(back(false));
    CHECK(back(true));
    CHECK(back(true));
    CHECK(opened.selection.cursor == 600);

    // Another run's blocks are others.
    opened.selection.run = 1;
    opened.selection.block = 5;
    CHECK(back(false));
    CHECK(opened.selection.block == BlockIndex{5});
}

TEST_CASE("a step moves the window only to what is outside of it", "[viz][search]") {
    SearchedRun opened(eight_blocks().build());
    opened.find("odd");
    opened.camera.show({150, 250});
    opened.step(true);
    CHECK(opened.camera.window() == Window{150, 250});
    opened.step(true);
    CHECK(opened.camera.window().begin > 250);
    CHECK(opened.camera.window().length() == 100);
    CHECK(go_back(opened.session, opened.camera, opened.selection, false));
    CHECK(opened.camera.window() == Window{150, 250});
}

TEST_CASE("a frame is found as it is printed, and a block by an address in it", "[viz][search]") {
    SmallHistory history;
    history.allocate(1, 512, {.address = 0x1000, .stack = {"forward", "main"}})
        .allocate(2, 512, {.address = 0x2000, .stack = {"backward", "main"}});
    SearchedRun opened(history.build());
    const History& run = *opened.session.runs[0].history;
    const std::string printed = SiteNames(run).frames(run.site(run.block(0).site).stack).front();
    opened.find(printed);
    CHECK(opened.search.text({}) == "1 of 2 blocks, 50 %");
    opened.find("0x21ff");
    CHECK(opened.search.text({}) == "1 of 2 blocks, 50 %");
    CHECK(opened.step(true) == 1);
    opened.find("0x2200");
    CHECK(opened.search.text({}) == "no match");
}

TEST_CASE("what is found is told in words and ticks", "[viz][search]") {
    SearchedRun opened(eight_blocks().build());
    CHECK(opened.search.text({}).empty());
    CHECK(opened.step(true) == kNoBlock);
    opened.find("odd");
    CHECK(opened.search.text({}) == "3 of 8 blocks, 38 %");
    CHECK(opened.search.text(BlockIndex{6}) == "hit 2 of 3");
    CHECK(opened.search.text(BlockIndex{5}) == "3 of 8 blocks, 38 %");
    CHECK(opened.search.ticks(AxisUnit::time, 0, 800, 4) == std::vector<std::uint32_t>{0, 1, 0, 2});
    const std::uint64_t revision = opened.search.revision();
    opened.find("nowhere");
    CHECK(opened.search.revision() != revision);
    CHECK(opened.search.text({}) == "no match in any tag or call stack");
    CHECK(opened.step(true) == kNoBlock);
    CHECK_FALSE(opened.selection.cursor);
    opened.find("pool=3");
    CHECK(opened.search.text({}) == "1 of 8 blocks, 12 %");
    opened.find("stream=1 >=16KiB");
    CHECK(opened.search.text({}) == "3 of 8 blocks, 38 %");
    opened.find("");
    CHECK(opened.search.hits() == nullptr);
}

TEST_CASE("few among many are not rounded to none", "[viz][search]") {
    SmallHistory many;
    for (std::uint64_t i = 0; i < 3000; ++i)
        many.allocate(i, i == 1 ? 1024 : 512);
    SearchedRun opened(many.build());
    opened.find("=1KiB");
    CHECK(opened.search.text({}) == "1 of 3,000 blocks, < 0.1 %");
}

TEST_CASE("while a run grows, what was found stays until the rest is searched", "[viz][search]") {
    SmallHistory small;
    small.allocate(1, 512, {.tag = "odd"});
    const auto history = small.look();
    const Filter filter = filter_of("odd");
    BlockSearch search;
    search.update(history, filter);
    search.finish();
    search.update(history, filter);
    CHECK(search.hits()->count() == 1);
    for (std::uint64_t i = 2; i < 10'000; ++i)
        small.allocate(i, 512, {.tag = "odd"});
    REQUIRE(small.look() == history);
    search.update(history, filter);
    CHECK(search.hits()->count() == 1);
    CHECK(search.text({}) == "1 of 1 block, 100 %");
    search.finish();
    CHECK(search.hits()->count() == 9'999);
}

}  // namespace tidemark::viz
