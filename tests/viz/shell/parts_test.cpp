// The table of actions, keys as text, and how the window is cut.
#include <map>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "viz/shell/actions.h"
#include "viz/shell/layout.h"

using namespace tidemark;
using namespace tidemark::viz;

TEST_CASE("no key does two things, and each action can be reached by one", "[viz][shell]") {
    std::map<std::string, std::string> owners;
    for (const ActionInfo& info : all_actions()) {
        CHECK_FALSE(keys_text(info).empty());
        CHECK_FALSE(info.title.empty());
        for (const KeyPress& press : info.keys) {
            if (press.key == Key::none)
                continue;
            const std::string name = to_text(press);
            INFO(name << ": " << info.title << ", " << owners[name]);
            CHECK(owners[name].empty());
            owners[name] = info.title;
            REQUIRE(action_of(press));
            CHECK(action_of(press)->action == info.action);
        }
    }
    CHECK_FALSE(action_of({key('q'), false, true, true}));
    CHECK(action_of({key('7')})->digit == 7);
}

TEST_CASE("parts of the window don't overlap and stay inside", "[viz][shell]") {
    CHECK(support::counterexample(support::effort(300), [] {
              Splits splits;
              const auto length = [](int from, int to) {
                  return static_cast<float>(*rc::gen::inRange(from, to));
              };
              splits.side_width = length(-100, 3000);
              splits.table_height = length(-100, 3000);
              splits.first_share = length(-100, 200) / 100;
              splits.has_side = *rc::gen::arbitrary<bool>();
              splits.has_table = *rc::gen::arbitrary<bool>();
              splits.is_split = *rc::gen::arbitrary<bool>();
              splits.strip_height = *rc::gen::element(0.0F, 54.0F);
              const float width = length(64, 4000);
              const float height = length(64, 3000);
              const Layout cut = lay_out(width, height, 1, 14, splits);
              const std::vector<Box> parts{cut.header, cut.tabs,       cut.strip,
                                           cut.first,  cut.second,     cut.side,
                                           cut.table,  cut.table_tabs, cut.status};
              for (std::size_t i = 0; i < parts.size(); ++i) {
                  const Box& a = parts[i];
                  RC_ASSERT(a.left >= 0 && a.right <= width);
                  RC_ASSERT(a.top >= 0 && a.bottom <= height);
                  for (std::size_t j = i + 1; j < parts.size(); ++j) {
                      const Box& b = parts[j];
                      const bool apart = a.right <= b.left || b.right <= a.left ||
                                         a.bottom <= b.top || b.bottom <= a.top ||
                                         a.height() <= 0 || b.height() <= 0 || a.width() <= 0 ||
                                         b.width() <= 0;
                      RC_ASSERT(apart);
                  }
              }
          }) == "");
}

TEST_CASE("a usual window has room for everything", "[viz][shell]") {
    Splits splits;
    splits.is_split = true;
    splits.strip_height = 54;
    const Layout cut = lay_out(1600, 900, 1, 14, splits);
    CHECK(cut.first.height() > 200);
    CHECK(cut.second.height() > 150);
    CHECK(cut.first.width() > 1200);
    CHECK(cut.side.width() == 330);
    CHECK(cut.table.height() == 250);
    // Both views are worth looking at before the table has its height.
    const Layout laptop = lay_out(1280, 720, 1, 16, splits);
    CHECK(laptop.first.height() > 200);
    CHECK(laptop.second.height() > 160);
    CHECK(laptop.table.height() > 150);
    CHECK(lay_out(900, 600, 1, 16, splits).second.height() > 180);
    const Layout least = lay_out(640, 480, 1, 16, splits);
    CHECK(least.first.height() > 150);
    CHECK(least.second.height() > 130);
    CHECK(least.table.height() == 0);
    const Layout small = lay_out(500, 400, 1, 14, splits);
    CHECK(small.second.height() == 0);
    CHECK(small.side.width() == 0);
    CHECK(small.table.height() == 0);
    CHECK(small.first.height() > 100);
}
