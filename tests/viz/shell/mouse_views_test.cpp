// What the mouse does in the views: address map, stacks, minimap, comparison, links, and at other
// sizes of the window.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "replay/timeline/fullest_event.h"
#include "tests/viz/shell/sample_session.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

// The address map alone, and the part of it that shows addresses.
Box show_map(Screen& screen) {
    REQUIRE(screen.shell.show("address-map"));
    screen.frames(3);
    const Box all = screen.layout().first;
    const Box plot{all.left + 72, all.top + 60, all.right - 12, all.bottom - 24};
    REQUIRE(screen.until([&] {
        return screen
            .sweep({plot.left + 300, plot.top, plot.left + 301, plot.bottom}, 8,
                   [&] { return screen.shell.selection().hot_block.has_value(); })
            .has_value();
    }));
    return plot;
}

ImVec2 position_of(Screen& screen, const Box& plot, BlockIndex block) {
    const auto found =
        screen.sweep(plot, 12, [&] { return screen.shell.selection().hot_block == block; });
    REQUIRE(found);
    return *found;
}

}  // namespace

TEST_CASE("over the address map a card tells of the block, and a click selects it",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box plot = show_map(screen);
    const ImVec2 at = position_of(screen, plot, screen.matmul);
    const std::string& card = screen.shell.selection().described;
    CHECK(has(card, "4.00 MiB"));
    CHECK(has(card, fmt::format("{:#x}", kBase + 8_MiB)));
    CHECK(has(card, "matmul"));
    screen.press({"Ctrl-C"});
    CHECK(screen.clipboard == card);

    screen.click(at);
    CHECK(screen.shell.selection().block == screen.matmul);
    CHECK(screen.shell.selection().cursor == screen.shell.selection().hover);
    // Where nothing lies, nothing is selected; the card says what there is.
    const auto empty = screen.sweep(plot, 12, [&] { return has(card, "Free memory"); });
    REQUIRE(empty);
    screen.frames(20);
    screen.click(*empty);
    CHECK_FALSE(screen.shell.selection().block);

    screen.double_click(at.x, at.y);
    CHECK(screen.shell.selection().block == screen.matmul);
    CHECK(screen.shell.camera().addresses().end < 1);
}

TEST_CASE("over the address map the wheel zooms time, with Ctrl or over the labels addresses",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box plot = show_map(screen);
    Camera& camera = screen.shell.camera();
    const ImVec2 middle{(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2};
    screen.move(middle.x, middle.y);
    const Window all = camera.window();
    screen.wheel(2);
    CHECK(camera.window().length() < all.length());
    CHECK(camera.addresses() == AddressWindow{0, 1});
    const Window near = camera.window();
    screen.wheel(2, true);
    CHECK(camera.window() == near);
    const AddressWindow close = camera.addresses();
    CHECK(close.end - close.begin < 0.8);
    screen.move(plot.left - 30, middle.y);
    screen.wheel(-8);
    CHECK(camera.window() == near);
    CHECK(camera.addresses() == AddressWindow{0, 1});
}

TEST_CASE("the address map is dragged both ways; Shift-drag measures and moves nothing",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box plot = show_map(screen);
    Camera& camera = screen.shell.camera();
    camera.show({camera.extent() / 4, camera.extent() / 2});
    camera.show_addresses({0.25, 0.5});
    screen.frames(3);
    const Window before = camera.window();
    const ImVec2 from{(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2};
    screen.drag(from, {from.x - 100, from.y + 60}, true);
    REQUIRE(screen.shell.selection().measure);
    CHECK(camera.window() == before);
    CHECK(camera.addresses() == AddressWindow{0.25, 0.5});
    screen.drag(from, {from.x - 100, from.y + 60});
    CHECK(camera.window().length() == before.length());
    CHECK(camera.window().begin > before.begin);
    // Down: the lower addresses, which lie above, come into sight.
    CHECK(camera.addresses().begin < 0.25);
    CHECK(camera.addresses().end - camera.addresses().begin == Approx(0.25));
    CHECK_FALSE(screen.shell.selection().cursor);
}

TEST_CASE("under the timeline a card tells of a launch, and a click shows its blocks",
          "[viz][shell][mouse]") {
    Session session;
    support::SmallHistory sample;
    sample.segment(kBase, kPool);
    sample.at(1000).allocate(1, 8_MiB, {.address = kBase});
    sample.at(2000).allocate(2, 4_MiB, {.address = kBase + 8_MiB});
    sample.at(3000).use(1, {1, 0, "axpy<float>"}).use(2, {1, 0, "axpy<float>", true});
    sample.at(6000).use_unknown({2, 0, "graph"});
    sample.at(9000).idle();
    ViewedRun run;
    run.history = sample.build();
    run.state.phase = LoadState::Phase::ready;
    session.runs.push_back(std::move(run));
    Screen screen(session);
    REQUIRE(screen.shell.show("timeline"));
    screen.frames(3);
    const Box all = screen.layout().first;
    const Selection& selection = screen.shell.selection();
    const auto find = [&](std::string_view name) {
        const float x = all.left + all.width() * (name == "graph" ? 0.8F : 0.5F);
        return screen.sweep({x, all.top, x + 1, all.bottom}, 6,
                            [&] { return has(selection.described, name); });
    };
    const auto axpy = find("axpy<float>");
    REQUIRE(axpy);
    CHECK(has(selection.described, "2 blocks, 12.0 MiB"));
    CHECK(has(selection.described, "of these, possibly\t1 block"));
    screen.click(*axpy);
    CHECK(selection.used == std::vector<BlockIndex>{0, 1});
    screen.press({"Esc"});
    CHECK(selection.used.empty());
    screen.click(*axpy);
    const auto graph = find("graph");
    REQUIRE(graph);
    CHECK(has(selection.described, "uses\tunknown"));
    screen.click(*graph);
    CHECK(selection.used.empty());
}

TEST_CASE("blocks are coloured by what is clicked above the map", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box plot = show_map(screen);
    std::set<ColourBy> met;
    for (float x = plot.left; x < plot.left + 420; x += 10) {
        screen.click(x, screen.layout().first.top + 10);
        met.insert(screen.shell.selection().colour_by);
    }
    CHECK(met.size() == 5);
}

TEST_CASE("the icicle of stacks: a click looks closer, the way back is the bar on top",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("stacks"));
    screen.press({"g"});
    const Box all = screen.layout().first;
    const std::string& under = screen.shell.selection().described;
    // The bar of that function: the first word of what is told about it.
    const auto bar = [&](std::string_view name) {
        return screen.sweep({all.left + 20, all.top + 30, all.left + 700, all.bottom - 10}, 10,
                            [&] { return under.starts_with(name); });
    };
    REQUIRE(screen.until([&] { return bar("main").has_value(); }));
    REQUIRE(bar("load"));
    const auto layer = bar("layer");
    REQUIRE(layer);
    screen.click(*layer);
    CHECK_FALSE(bar("load"));
    CHECK_FALSE(bar("main"));
    REQUIRE(bar("relu"));
    REQUIRE(bar("matmul"));
    const auto top = bar("layer");
    REQUIRE(top);
    screen.frames(20);
    screen.click(*top);
    CHECK(bar("load"));
    REQUIRE(bar("main"));
    // And by the path above it: its first word is all stacks.
    const auto again = bar("layer");
    screen.frames(20);
    screen.click(*again);
    screen.frames(20);
    screen.click(all.left + 30, all.top + ImGui::GetFrameHeight() + 6 + 10);
    CHECK(bar("all stacks"));
}

TEST_CASE("the minimap's box is dragged, pulled by its edges, and comes to a click",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box strip = screen.layout().strip;
    const float left = strip.left + 72;
    const float width = strip.right - 12 - left;
    const float y = (strip.top + strip.bottom) / 2;
    Camera& camera = screen.shell.camera();
    const auto x = [&](Position at) {
        return left + width * static_cast<float>(at) / static_cast<float>(camera.extent());
    };
    const Position tenth = camera.extent() / 10;
    camera.show({4 * tenth, 6 * tenth});
    screen.frames(2);
    screen.drag({x(5 * tenth), y}, {x(7 * tenth), y});
    CHECK(camera.window().length() == 2 * tenth);
    CHECK(std::abs(camera.window().begin - 6 * tenth) < tenth / 10);
    CHECK_FALSE(screen.shell.selection().cursor);

    const Window moved = camera.window();
    screen.drag({x(moved.begin) + 1, y}, {x(moved.begin - tenth), y});
    CHECK(camera.window().end == moved.end);
    CHECK(std::abs(camera.window().begin - (moved.begin - tenth)) < tenth / 10);

    screen.click(x(2 * tenth), y);
    const Window jumped = camera.window();
    CHECK(std::abs(jumped.begin + jumped.length() / 2 - 2 * tenth) < tenth / 10);
}

TEST_CASE("the inspector leads to a block's life and neighbours", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    const Box side = screen.layout().side;
    std::set<BlockIndex> selected;
    bool showed_life = false;
    for (float y = side.top; y < side.bottom; y += 8) {
        screen.shell.camera().fit();
        screen.shell.selection().block = screen.second;
        screen.shell.selection().cursor = screen.at(40);
        REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
        screen.click(side.left + 40, y);
        selected.insert(*screen.shell.selection().block);
        showed_life = showed_life ||
                      screen.shell.camera().window().length() < screen.shell.camera().extent() / 2;
    }
    CHECK(showed_life);
    CHECK(selected.count(screen.first) == 1);   // before it
    CHECK(selected.count(screen.third) == 1);   // after it
    CHECK(selected.count(screen.matmul) == 1);  // beside it
    CHECK(selected.count(screen.load) == 0);
}

TEST_CASE("two runs are compared: where they part is a click away, and the difference is told",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen(2U);
    REQUIRE(screen.shell.show("compare"));
    const Box all = screen.layout().first;
    const Position parted = screen.at(30);
    const auto leads_there = [&] {
        screen.click(all.right - 60, all.top + 34);  // what parts them is the largest difference
        return screen.shell.selection().cursor == parted;
    };
    CHECK(screen.until(leads_there));
    const Window near = screen.shell.camera().window();
    CHECK(near.length() < screen.shell.camera().extent() / 4);
    CHECK(near.begin < parted);
    CHECK(near.end > parted);
    screen.press({"Home"});
    screen.move(all.right - 40, all.top + 120);
    CHECK(has(screen.shell.selection().described, "-16.0 MiB"));
    screen.press({"Ctrl-C"});
    CHECK(has(screen.clipboard, "-16.0 MiB"));
    // The upper part of the difference is equal: before they part.
    screen.move(all.left + 100, all.top + 120);
    CHECK(has(screen.shell.selection().described, "A - B, reserved"));
    CHECK_FALSE(has(screen.shell.selection().described, "16.0 MiB"));
}

TEST_CASE("at twice the size everything lies where twice the position is", "[viz][shell][mouse]") {
    SampleSession sample;
    Screen screen(sample.session, {}, 2);
    const Layout layout = screen.layout();
    CHECK(layout.side.width() == 660);
    screen.press({"e"});
    const Box plot = screen.layout().first;
    const ImVec2 middle{(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2};
    screen.move(middle.x, middle.y);
    REQUIRE(screen.shell.selection().hover);
    screen.click(middle);
    CHECK(screen.shell.selection().cursor == screen.shell.selection().hover);
    screen.drag(middle, {middle.x + 200, middle.y}, true);
    CHECK(screen.shell.selection().measure);
    screen.click(40, 24);
    CHECK(screen.shell.state().popup == "menu");
    screen.click(1500, 1500);
    CHECK(screen.shell.state().popup.empty());
}

TEST_CASE("a program that has ended stays to be looked at; its successor is attached by a click",
          "[viz][shell][mouse]") {
    SampleSession sample;
    ViewedRun& run = sample.session.runs[0];
    run.trace_name = "trainer";
    run.live = LiveState{.process = 77};
    std::vector<AttachableProgram> living{{"trainer", 77, ""}, {"another", 78, ""}};
    ShellHost host;
    host.programs = [&] { return living; };
    host.attach = [&](const AttachableProgram& program) {
        ViewedRun next;
        next.label = next.trace_name = program.name;
        next.history = sample.session.runs[0].history;
        next.live = LiveState{.process = program.process};
        sample.session.runs.push_back(std::move(next));
    };
    Screen screen(sample.session, std::move(host));
    CHECK(screen.shell.state().live == "live");
    CHECK_FALSE(screen.shell.look_for_programs());
    const float y = screen.layout().status.top + 8;
    const auto click_status = [&] {
        for (float x = 400; x < 1590 && sample.session.runs.size() == 1; x += 12)
            if (x < 1340)  // not the axis and the theme
                screen.click(x, y);
    };
    click_status();
    CHECK(sample.session.runs.size() == 1);

    sample.session.runs[0].live->alive = false;
    living.erase(living.begin());
    screen.frames(100);  // it is asked for now and then only
    CHECK(screen.shell.state().live == "ended");
    CHECK(screen.shell.state().page == "views");
    CHECK_FALSE(screen.shell.look_for_programs());
    click_status();
    CHECK(sample.session.runs.size() == 1);

    living.push_back({"trainer", 79, ""});
    CHECK(screen.shell.look_for_programs());
    CHECK_FALSE(screen.shell.look_for_programs());
    screen.frames();
    click_status();
    REQUIRE(sample.session.runs.size() == 2);
    CHECK(sample.session.runs[1].live->process == 79);
    CHECK(screen.shell.selection().run == 1);
    CHECK(screen.shell.state().live == "live");
}

TEST_CASE("in a low window two views or a view and a table are shown, whichever was wanted last",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    screen.io().DisplaySize = {900, 600};
    screen.frames(2);
    CHECK(screen.shell.state().main.size() == 2);
    CHECK(screen.layout().table.height() == 0);
    screen.press({"b"});
    CHECK(screen.shell.state().main.size() == 1);
    CHECK(screen.shell.state().table == "blocks");
    CHECK(screen.layout().table.height() > 150);
    screen.press({"e"});
    CHECK(screen.layout().second.height() > 150);
    screen.press({"Tab"});
    CHECK(screen.shell.state().table == "blocks");
    CHECK(screen.layout().table.height() > 150);
    screen.press({"b"});
    CHECK(screen.shell.state().table.empty());
}

TEST_CASE("in the overview the way to the peak is a click", "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("overview"));
    REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
    const Box all = screen.layout().first;
    const EventIndex peak = fullest_event(screen.history());
    bool is_there = false;
    for (float y = all.top; y < all.bottom && !is_there; y += 8) {
        screen.click(all.left + 60, y);
        is_there = screen.shell.selection().cursor == screen.at(peak);
    }
    CHECK(is_there);
}

TEST_CASE("in the memory at the cursor a block is told of and selected by a click",
          "[viz][shell][mouse]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("memory-now"));
    screen.press({"g"});
    REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
    Box area = screen.layout().first;
    area.top += 60;  // below the choices
    const auto matmul =
        screen.sweep(area, 10, [&] { return screen.shell.selection().hot_block == screen.matmul; });
    REQUIRE(matmul);
    CHECK(has(screen.shell.selection().described, "4.00 MiB"));
    screen.click(*matmul);
    CHECK(screen.shell.selection().block == screen.matmul);
}
