// What the mouse does in tables: titles, rows, and the chips above them.
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/viz/shell/sample_session.h"

using namespace tidemark;
using namespace tidemark::viz;

// Where the chips of the filter begin, behind the choice of what a row is.
constexpr float kBehindRows = 130;

TEST_CASE("a click on a column's title sorts by it, another one the other way round",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g"});  // the peak: while one of the 8 MiB lives
    REQUIRE(screen.until([&] { return block_in_row(screen, 0) == screen.first; }));
    CHECK(block_in_row(screen, 1) == screen.matmul);
    CHECK(block_in_row(screen, 2) == screen.load);
    CHECK_FALSE(block_in_row(screen, 3));
    const float y = titles_of(screen) + row_height() / 2;

    screen.click(30, y);  // size, which they are sorted by already: the smallest first
    REQUIRE(screen.until([&] { return block_in_row(screen, 0) == screen.load; }));
    CHECK(block_in_row(screen, 2) == screen.first);

    std::set<std::vector<BlockIndex>> orders;
    for (float x = 30; x < 700; x += 30) {
        screen.click(x, y);
        screen.until([&] { return !screen.shell.busy(); });
        std::vector<BlockIndex> order;
        for (int row = 0; row < 3; ++row)
            order.push_back(block_in_row(screen, row).value_or(kNoBlock));
        orders.insert(order);
    }
    // By size, age and stream both ways: these differ.
    CHECK(orders.size() >= 4);
    CHECK(orders.count({screen.matmul, screen.load, screen.first}) == 1);  // by age
}

TEST_CASE("a click on a row selects, a double click shows the block's life",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g"});
    REQUIRE(screen.until([&] { return block_in_row(screen, 0) == screen.first; }));
    const ImVec2 second = row_of(screen, 1);
    screen.click(second);
    CHECK(screen.shell.selection().block == screen.matmul);
    CHECK(screen.shell.camera().window() == Window{0, screen.shell.camera().extent()});
    const ImVec2 first = row_of(screen, 0);
    screen.double_click(first.x, first.y);
    CHECK(screen.shell.selection().block == screen.first);
    const Window life = screen.shell.camera().window();
    const Block block = screen.history().block(screen.first);
    CHECK(life.begin <= screen.at(block.born));
    CHECK(life.end >= screen.at(block.freed));
    CHECK(life.length() < screen.shell.camera().extent() / 2);
}

TEST_CASE("a click on an event puts the cursor there and selects its block",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("events"));
    screen.frames(3);
    const ImVec2 row = row_of(screen, 3);  // segment, matmul, load, relu
    screen.move(row.x, row.y);
    screen.press({"Ctrl-C"});
    CHECK(has(screen.clipboard, fmt::format("{:#x}", kBase)));
    CHECK(has(screen.clipboard, "relu"));
    screen.click(row);
    CHECK(screen.shell.selection().cursor == screen.at(3));
    CHECK(screen.shell.selection().block == screen.first);
}

TEST_CASE("chips above a table filter what all views show, and take it back",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g"});
    REQUIRE(screen.until([&] { return block_in_row(screen, 0) == screen.first; }));
    const Filter& filter = screen.shell.selection().filter;
    const float y = screen.layout().table.top + 3 + ImGui::GetFrameHeight() / 2;

    // Everything that the chips offer, each chosen once from its list.
    const auto choose_all = [&](float x) {
        std::set<std::tuple<Bytes, Bytes, std::uint32_t>> met;
        for (float down = 0; down < 220; down += 6) {
            screen.click(x, y);
            screen.click(x, y + 16 + down);
            met.insert(
                {filter.least, filter.most, filter.stream ? to_integer(*filter.stream) + 1 : 0});
            screen.frames(20);
            screen.press({"Esc"});  // a list that is still open, or what was chosen
        }
        return met.size();
    };
    CHECK(choose_all(kBehindRows + 60) >= 6);   // sizes
    CHECK(choose_all(kBehindRows + 210) >= 3);  // streams: all, 0, 1
}

TEST_CASE("a search that a table names is ended by a click on it", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g", "f"});
    screen.type("matmul");
    REQUIRE(screen.until(
        [&] { return block_in_row(screen, 0) == screen.matmul && !block_in_row(screen, 1); }));
    screen.click(kBehindRows + 40, screen.layout().table.top + 3 + ImGui::GetFrameHeight() / 2);
    CHECK(screen.shell.selection().filter == Filter{});
    CHECK(screen.until([&] { return block_in_row(screen, 0) == screen.first; }));
}

TEST_CASE("a finding is gone to by a click", "[viz][shell][mouse]") {
    SampleSession sample;
    ViewedRun& run = sample.session.runs[0];
    run.findings = {{Finding::Weight::problem, "one", "at the begin", 10, kNoBlock},
                    {Finding::Weight::warning, "two", "in the middle", 40, sample.second},
                    {Finding::Weight::note, "three", "nowhere", kNever, kNoBlock}};
    run.findings_state.phase = LoadState::Phase::ready;
    Screen screen(sample.session);
    REQUIRE(screen.shell.show("findings"));
    screen.frames(3);
    const auto click_row = [&](int row) {
        screen.frames(20);
        screen.click(200,
                     screen.layout().table.top + row_height() * (static_cast<float>(row) + 1.5F));
    };
    click_row(1);
    CHECK(screen.shell.selection().cursor == sample.at(40));
    CHECK(screen.shell.selection().block == sample.second);
    CHECK(has(screen.shell.selection().described, "in the middle"));
    click_row(0);
    CHECK(screen.shell.selection().cursor == sample.at(10));
    click_row(2);
    CHECK(screen.shell.selection().cursor == sample.at(10));
}

TEST_CASE("what leaks is selected by a click", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("leaks"));
    REQUIRE(screen.until([&] { return block_in_row(screen, 0) == screen.third; }));
    screen.click(row_of(screen, 0));
    CHECK(screen.shell.selection().block == screen.third);
}
