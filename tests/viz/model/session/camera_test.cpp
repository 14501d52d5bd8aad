// The camera: what zooming, panning, following and going back leave where it was.
#include "viz/model/session/camera.h"

#include <cmath>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/support/property.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

constexpr double kWidth = 1600;

Camera camera_of(Position extent, Window window) {
    Camera camera;
    camera.set_extent(AxisUnit::time, extent);
    camera.show(window);
    return camera;
}

}  // namespace

TEST_CASE("zooming out and back 60 times keeps the pointer's position in its place",
          "[viz][camera]") {
    CHECK(support::counterexample(support::effort(100), [] {
              const Position extent = Position{1} << *rc::gen::inRange(45, 63);
              const Position length = Position{1} << *rc::gen::inRange(12, 20);
              const Position begin = *rc::gen::inRange<Position>(extent / 4, extent / 2);
              Camera camera = camera_of(extent, {begin, begin + length});
              const Window before = camera.window();
              const Position about = begin + *rc::gen::inRange<Position>(0, length);
              const double x = camera.to_x(about, kWidth);
              for (int step = 0; step < 60; ++step) {
                  camera.zoom(1.25, about);
                  RC_ASSERT(std::abs(camera.to_x(about, kWidth) - x) < 1);
              }
              for (int step = 0; step < 60; ++step)
                  camera.zoom(1 / 1.25, about);
              RC_ASSERT(std::abs(camera.to_x(about, kWidth) - x) < 1);
              RC_ASSERT(camera.window() == before);
          }) == "");
}

TEST_CASE("zooming in stops at the shortest window, out at the extent", "[viz][camera]") {
    Camera camera = camera_of(1'000'000, {0, 1'000'000});
    for (int step = 0; step < 200; ++step)
        camera.zoom(0.5, 333'333);
    CHECK(camera.window().length() == Camera::kShortest);
    CHECK(camera.window().begin <= 333'333);
    CHECK(camera.window().end >= 333'333);
    for (int step = 0; step < 200; ++step)
        camera.zoom(2, 333'333);
    CHECK(camera.window() == Window{0, 1'000'000});
    camera.zoom(0, 5);
    camera.zoom(-1, 5);
    camera.zoom(std::nan(""), 5);
    CHECK(camera.window() == Window{0, 1'000'000});
}

TEST_CASE("whatever is done, the window lies within the extent", "[viz][camera]") {
    CHECK(support::counterexample(support::effort(100), [] {
              const Position extent = *rc::gen::inRange<Position>(1, Position{1} << 62U);
              Camera camera = camera_of(extent, {0, extent});
              for (int step = 0; step < 50; ++step) {
                  const Position about = *rc::gen::arbitrary<Position>() / 2;
                  switch (*rc::gen::inRange(0, 6)) {
                      case 0:
                          camera.zoom(*rc::gen::element(0.1, 0.8, 1.25, 1e6, 1e-6), about);
                          break;
                      case 1:
                          camera.pan(*rc::gen::element(-1e9, -0.1, 0.3, 1e9));
                          break;
                      case 2:
                          camera.show({about, about + 100});
                          break;
                      case 3:
                          camera.follow(*rc::gen::arbitrary<bool>());
                          break;
                      case 4:
                          camera.undo();
                          break;
                      default:
                          camera.settle();
                  }
                  const Window window = camera.window();
                  RC_ASSERT(window.begin >= 0);
                  RC_ASSERT(window.begin < window.end);
                  RC_ASSERT(window.end <= extent);
              }
          }) == "");
}

TEST_CASE("pixels and positions are inverse to within half of either", "[viz][camera]") {
    CHECK(support::counterexample(support::effort(100), [] {
              const Position extent = Position{1} << 62U;
              const Position begin = *rc::gen::inRange<Position>(0, extent / 2);
              const Position length = *rc::gen::inRange<Position>(16, extent / 4);
              const Camera camera = camera_of(extent, {begin, begin + length});
              const double x = *rc::gen::inRange(0, 1600);
              const double back = camera.to_x(camera.to_position(x, kWidth), kWidth);
              RC_ASSERT(std::abs(back - x) <= kWidth / static_cast<double>(length) / 2 + 1e-6);
          }) == "");
}

TEST_CASE("a growing run keeps the window, unless it follows or shows all", "[viz][camera]") {
    Camera camera = camera_of(1000, {100, 300});
    camera.set_extent(AxisUnit::time, 5000);
    CHECK(camera.window() == Window{100, 300});

    camera.follow(true);
    CHECK(camera.window() == Window{4800, 5000});
    camera.set_extent(AxisUnit::time, 9000);
    CHECK(camera.window() == Window{8800, 9000});
    camera.pan(-0.5);
    CHECK_FALSE(camera.follows());

    camera.fit();
    camera.set_extent(AxisUnit::time, 12'000);
    CHECK(camera.window() == Window{0, 12'000});
}

TEST_CASE("movements are undone in their order, and done again", "[viz][camera]") {
    Camera camera = camera_of(100'000, {0, 100'000});
    camera.settle();
    const Window all = camera.window();
    camera.show({100, 900});
    camera.settle();
    camera.settle();  // nothing new
    camera.show({300, 500});

    REQUIRE(camera.undo());  // what has not settled yet counts as well
    CHECK(camera.window() == Window{100, 900});
    REQUIRE(camera.undo());
    CHECK(camera.window() == all);
    CHECK_FALSE(camera.undo());
    REQUIRE(camera.redo());
    REQUIRE(camera.redo());
    CHECK(camera.window() == Window{300, 500});
    CHECK_FALSE(camera.redo());

    camera.undo();
    camera.show({40, 80});  // a new way: the old one is gone
    camera.settle();
    CHECK_FALSE(camera.redo());
    camera.undo();
    CHECK(camera.window() == Window{100, 900});
}

TEST_CASE("undo remembers no more than so many steps, and growing is none of them",
          "[viz][camera]") {
    Camera camera = camera_of(1'000'000, {0, 1000});
    for (Position begin = 0; begin < 1000; ++begin) {
        camera.show({begin, begin + 1000});
        camera.settle();
    }
    std::size_t steps = 0;
    while (camera.undo())
        ++steps;
    CHECK(steps == Camera::kSteps - 1);

    Camera growing = camera_of(100, {0, 100});
    growing.settle();
    for (Position end = 200; end < 2000; end += 100) {
        growing.set_extent(AxisUnit::time, end);
        growing.settle();
    }
    CHECK_FALSE(growing.undo());
}

TEST_CASE("undo leads back to the other axis", "[viz][camera]") {
    Camera camera = camera_of(1'000'000, {500, 900});
    camera.settle();
    camera.set_unit(AxisUnit::events, 70'000, {3000, 9000});
    camera.settle();
    REQUIRE(camera.undo());
    CHECK(camera.unit() == AxisUnit::time);
    CHECK(camera.window() == Window{500, 900});
    CHECK(camera.extent() == 1'000'000);
    REQUIRE(camera.redo());
    CHECK(camera.unit() == AxisUnit::events);
    CHECK(camera.window() == Window{3000, 9000});
}

TEST_CASE("addresses are zoomed about a point and stay between bottom and top", "[viz][camera]") {
    Camera camera;
    for (int step = 0; step < 30; ++step)
        camera.zoom_addresses(0.8, 0.7);
    const AddressWindow seen = camera.addresses();
    CHECK((0.7 - seen.begin) / (seen.end - seen.begin) == Approx(0.7));
    camera.pan_addresses(1e6);
    CHECK(camera.addresses().end == Approx(1));
    camera.zoom_addresses(1e9, 0.2);
    CHECK(camera.addresses() == AddressWindow{});
}
