// What a living program looks like: following a leak, paused, ended, killed; in windows of all
// sizes. Against golden pictures.
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "tests/viz/headless/golden.h"
#include "viz/headless/still_screen.h"

namespace tidemark::viz {
namespace {

constexpr Nanoseconds kStepLength = 500'000'000;

// Two minutes of a training with steps, whose blocks come and go, and 2 MiB of each of which stay.
std::shared_ptr<const History> leaking_training() {
    support::SmallHistory sample;
    sample.names({.capacity = 2_GiB});
    sample.at(0).segment(0x1000000, 512_MiB);
    sample.allocate(1, 200_MiB, {.address = 0x1000000, .tag = "weights"});
    std::uint64_t id = 2;
    std::uint64_t leaked = 0x1000000 + 512_MiB;
    for (std::uint64_t step = 0; step < 240; ++step) {
        const std::string name = "step " + std::to_string(step);
        const auto start = static_cast<Nanoseconds>(step) * kStepLength;
        const std::uint64_t first = id;
        sample.at(start + 1000).begin(name);
        for (std::uint64_t i = 0; i < 4; ++i)
            sample.at(start + static_cast<Nanoseconds>(i + 1) * kStepLength / 6)
                .allocate(id++, 60_MiB,
                          {.address = 0x1000000 + 200_MiB + i * 60_MiB, .tag = "activations"});
        sample.at(start + kStepLength * 5 / 6).segment(leaked, 4_MiB);
        for (std::uint64_t block = first; block < first + 4; ++block)
            sample.free(block);
        sample.allocate(id++, 2_MiB, {.address = leaked, .tag = "losses"});
        leaked += 4_MiB;
        sample.at(start + kStepLength - 1000).end(name);
    }
    return sample.build();
}

struct LiveScene {
    const char* name;
    LiveState live;
    bool dark = true;
    bool follows = false;
    std::uint32_t width = 1200;
    std::uint32_t height = 750;
};

Bitmap drawn(const LiveScene& scene, const std::shared_ptr<const History>& history) {
    Session session;
    ViewedRun run;
    run.label = "trainer (77)";
    run.trace_name = "trainer";
    run.policy = "live";
    run.history = history;
    run.state.phase = LoadState::Phase::ready;
    run.live = scene.live;
    run.live->process = 77;
    run.live->now = history->end(AxisUnit::time);
    session.runs.push_back(std::move(run));
    StillOptions options;
    options.screen = {scene.width, scene.height, 1, FontChoice::built_in};
    options.dark = scene.dark;
    options.views = {"timeline"};
    const auto screen = StillScreen::open(session, options);
    REQUIRE(screen);
    (*screen)->settle();
    if (scene.follows) {
        (*screen)->shell().camera().show(
            {history->end(AxisUnit::time) - 40 * kStepLength, history->end(AxisUnit::time)});
        (*screen)->shell().camera().follow(true);
        (*screen)->settle();
    }
    return (*screen)->frame();
}

}  // namespace

TEST_CASE("living programs look as they did") {
    const auto history = leaking_training();
    const LiveState alive{.events_per_second = 24};
    LiveState paused = alive;
    paused.paused = true;
    LiveState ended;
    ended.alive = false;
    LiveState died = ended;
    died.died = true;
    for (const LiveScene& scene :
         {LiveScene{"live-leak", alive, true, true}, LiveScene{"live-paused", paused, false},
          LiveScene{"live-ended", ended, true, false, 900, 600},
          LiveScene{"live-died", died, false, false, 900, 600}})
        check_golden(scene.name, drawn(scene, history));
}

}  // namespace tidemark::viz
