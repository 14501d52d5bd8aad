// What views say of the moment that they show, and paragraphs that have no room.
#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "viz/headless/offscreen.h"
#include "viz/views/inspection.h"
#include "viz/views/overview_writer.h"

namespace tidemark::viz {

TEST_CASE("what is at the cursor isn't called between two", "[viz][texts]") {
    support::SmallHistory made;
    made.at(1000).idle().at(2000).idle().at(3000).idle();
    const auto history = made.build();
    Session session;
    session.runs.emplace_back().history = history;
    Camera camera;
    camera.set_extent(AxisUnit::time, history->end(AxisUnit::time));
    Selection selection;
    selection.cursor = 2000;
    selection.measure = Window{1000, 3000};
    const BlockSearch search;
    const Frame frame{session, camera, selection, search, Canvas(nullptr, dark_theme(), 1),
                      {},      true};
    CHECK(cursor_text(*history, frame) == "at the cursor, 2.00 us");
    CHECK(when_text(*history, frame) == "between the two cursors");
    selection.cursor = 5000;
    CHECK(cursor_text(*history, frame) == "at the run's end, 3.00 us");
}

TEST_CASE("a paragraph is there whole or not at all", "[viz][texts]") {
    Offscreen offscreen({400, 300, 1, FontChoice::built_in});
    offscreen.begin(dark_theme());
    Canvas canvas(ImGui::GetForegroundDrawList(), dark_theme(), 1);
    const std::string text = "393 MiB is lost to rounding, which is more than a line has room for.";
    Writer low{canvas, {0, 0, 150, 20}};
    low.paragraph(text, dark_theme().text);
    CHECK(low.box.top == 0);
    CHECK(ImGui::GetForegroundDrawList()->VtxBuffer.Size == 0);
    Writer high{canvas, {0, 0, 150, 200}};
    high.paragraph(text, dark_theme().text);
    CHECK(high.box.top > 2 * high.line());
    offscreen.skip();
}

}  // namespace tidemark::viz
