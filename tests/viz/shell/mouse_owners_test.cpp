// What the mouse does in the views of owners.
#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"
#include "viz/model/blocks/site_index.h"

using namespace tidemark;
using namespace tidemark::viz;

TEST_CASE("a click on an owner's area shows its blocks alone, another one shows all",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("owners"));
    screen.frames(3);
    const Selection& selection = screen.shell.selection();
    const Box all = screen.layout().first;
    const Box plot{all.left + 100, all.top + 70, all.right - 40, all.bottom - 40};
    const auto over = [&](std::string_view name) {
        return [&, name] { return has(selection.described, name); };
    };
    std::optional<ImVec2> at;
    REQUIRE(screen.until([&] {
        at = screen.sweep(plot, 12, over("weights"));
        return at.has_value();
    }));
    REQUIRE(screen.until(over("in\t1 block")));
    CHECK(has(selection.described, "weights, at "));
    CHECK(has(selection.described, "holds\t4.00 MiB"));
    CHECK(selection.detail == selection.described);
    CHECK(has(selection.described, "matmul"));
    screen.frames(20);
    screen.click(*at);
    CHECK(selection.filter.owner == OwnerName{BlockTrait::tag, "weights"});

    // It lies on the ground now, and what is hidden above it.
    REQUIRE(screen.until([&] {
        at = screen.sweep(plot, 12, over("a click shows all owners again"));
        return at.has_value();
    }));
    screen.frames(20);
    screen.click(*at);
    CHECK_FALSE(hides_something(selection.filter));
}

TEST_CASE("a click on a row of what changed shows its owner's blocks alone",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.go("measure=#5..#40;view=diff"));
    screen.frames(3);
    const Selection& selection = screen.shell.selection();
    const Box all = screen.layout().first;
    const Box rows{all.left + 60, all.top + 70, all.left + 61, all.bottom - 20};
    std::optional<ImVec2> at;
    REQUIRE(screen.until([&] {
        at = screen.sweep(rows, 6, [&] { return has(selection.described, "owner\tcame"); });
        return at.has_value();
    }));
    screen.click(*at);
    REQUIRE(selection.filter.owner);
    CHECK(selection.filter.owner->trait == BlockTrait::tag);
    screen.press({"Esc"});
    CHECK_FALSE(hides_something(selection.filter));
    CHECK(selection.measure);
}

TEST_CASE("a click on a site or a frame of a stack filters by it, chips turn the tree",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("stacks"));
    screen.press({"g"});
    const Selection& selection = screen.shell.selection();
    const Box all = screen.layout().first;
    const float middle = all.left + all.width() * 0.64F;
    const auto over = [&](float top, float bottom, std::string_view name) {
        return screen.sweep({middle + 60, all.top + top, middle + 61, all.top + bottom}, 6,
                            [&, name] { return selection.described.starts_with(name); });
    };
    std::optional<ImVec2> at;
    REQUIRE(screen.until([&] { return (at = over(40, 150, "matmul\n4.00 MiB")).has_value(); }));
    screen.frames(20);
    screen.click(*at);
    CHECK(selection.filter.owner == OwnerName{BlockTrait::stack, "matmul"});
    screen.press({"Esc"});
    CHECK_FALSE(hides_something(selection.filter));

    // Below it stands its stack, innermost first.
    screen.frames(20);
    REQUIRE(screen.until([&] {
        return (at = over(all.height() * 0.6F, all.height() - 5, "matmul\nlayer")).has_value();
    }));
    screen.frames(20);
    screen.click(*at);
    CHECK(selection.filter.text == "matmul");
    screen.press({"Esc"});

    screen.frames(20);
    for (float x = all.left + 330; x < middle && !selection.stacks.inverted; x += 12)
        screen.click(x, all.top + 12);
    CHECK(selection.stacks.inverted);
}

TEST_CASE("blocks are grouped by owner, and a click on a group shows it alone",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g"});
    const Box table = screen.layout().table;
    const auto copied = [&] {
        screen.move(table.left + 200, table.top + 80);
        screen.press({"Ctrl-E"});
        return screen.clipboard;
    };
    for (float x = table.left + 10; x < table.left + 160 && !has(screen.clipboard, "owner");
         x += 15) {
        screen.click(x, table.top + 12);
        copied();
    }
    REQUIRE(screen.until([&] { return has(copied(), "\r\nact,"); }));
    CHECK(screen.clipboard ==
          "owner,bytes,share,blocks,mean size\r\n"
          "act,8.00 MiB,57.1 %,1,8.00 MiB\r\n"
          "weights,4.00 MiB,28.6 %,1,4.00 MiB\r\n"
          "input,2.00 MiB,14.3 %,1,2.00 MiB\r\n");
    screen.frames(20);
    screen.click(row_of(screen, 1));
    CHECK(screen.shell.selection().filter.owner == OwnerName{BlockTrait::tag, "weights"});
}

TEST_CASE("the table under the mouse is copied whole, as CSV", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    screen.press({"g"});
    REQUIRE(screen.until([&] { return block_in_row(screen, 0).has_value(); }));
    screen.press({"Ctrl-E"});
    CHECK(screen.clipboard.starts_with("size,requested,age,lifetime,freed at,address,stream,tag,"));
    CHECK(has(screen.clipboard, "8.00 MiB,8.00 MiB,"));
    CHECK(has(screen.clipboard, ",input,load\r\n"));
    CHECK(std::count(screen.clipboard.begin(), screen.clipboard.end(), '\n') == 4);
    screen.clipboard.clear();
    screen.move(5, 5);
    screen.press({"Ctrl-E"});
    CHECK(screen.clipboard.empty());
    CHECK(has(screen.shell.state().message, "point at a table"));
}
