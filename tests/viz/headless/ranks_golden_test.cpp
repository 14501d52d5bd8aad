// The ranks of a training against their golden pictures: eight that go through the same steps, of
// which one has longer sequences from the fourth step on and ends out of memory, one runs slower,
// and one could not be read.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "tests/viz/headless/golden.h"
#include "viz/headless/still.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kRanks = 8;
constexpr std::size_t kFailed = 6;
constexpr std::size_t kLonger = 5;
constexpr std::size_t kSlower = 2;
constexpr int kSteps = 8;
constexpr int kLayers = 12;
constexpr std::uint64_t kGap = 0x100000000;

// Weights, then steps of activations that grow layer by layer and go in reverse. What doesn't fit
// into what is reserved is reserved, and kept.
class Training {
  public:
    explicit Training(std::size_t rank) : rank_(rank) { history_.names({.capacity = 80_GiB}); }

    std::shared_ptr<const History> run() {
        request(0, 22_GiB);
        for (int step = 0; step < kSteps; ++step)
            go_through(step);
        if (rank_ == kLonger)
            history_.at(time_ += 1'000'000).mark(MarkKind::out_of_memory, 6_GiB);
        return history_.build();
    }

  private:
    void go_through(int step) {
        const bool is_longer = rank_ == kLonger && step >= 3;
        for (int layer = 1; layer <= kLayers; ++layer)
            request(layer, is_longer ? 3_GiB : 1920_MiB);
        for (int layer = kLayers; layer >= 1; --layer) {
            held_ -= is_longer ? 3_GiB : 1920_MiB;
            history_.at(time_ += pace()).free(static_cast<std::uint64_t>(layer));
        }
    }

    void request(int number, Bytes size) {
        time_ += pace();
        held_ += size;
        if (held_ > reserved_) {
            history_.at(time_).segment(next_ += kGap, held_ - reserved_);
            reserved_ = held_;
        }
        history_.at(time_).allocate(static_cast<std::uint64_t>(number), size);
    }

    Nanoseconds pace() const { return rank_ == kSlower ? 6'500'000 : 5'000'000; }

    std::size_t rank_;
    support::SmallHistory history_;
    Nanoseconds time_ = 0;
    Bytes held_ = 0;
    Bytes reserved_ = 0;
    std::uint64_t next_ = kGap;
};

Session training() {
    Session session;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        ViewedRun run;
        run.trace_name = run.label = "rank" + std::to_string(rank) + "/snapshot.pickle";
        run.path = "run/" + run.trace_name;
        run.state.phase = LoadState::Phase::ready;
        if (rank == kFailed) {
            run.state.phase = LoadState::Phase::failed;
            run.state.error = {ErrorCode::io, "is cut short", run.path, "write it again"};
        } else {
            run.history = Training(rank).run();
        }
        session.runs.push_back(std::move(run));
    }
    return session;
}

struct RanksScene {
    const char* name;
    std::uint32_t width;
    std::uint32_t height;
    bool dark;
};

}  // namespace

TEST_CASE("ranks look as they did", "[viz][ranks]") {
    for (const RanksScene& scene :
         {RanksScene{"ranks", 1600, 900, true}, RanksScene{"ranks-light", 1600, 900, false},
          RanksScene{"ranks-small", 900, 600, true},
          RanksScene{"ranks-small-light", 900, 600, false}}) {
        Session session = training();
        StillOptions options;
        options.screen = {scene.width, scene.height, 1, FontChoice::built_in};
        options.dark = scene.dark;
        const Result<Bitmap> bitmap = draw_still(session, options);
        REQUIRE(bitmap);
        check_golden(scene.name, *bitmap);
    }
}

}  // namespace tidemark::viz
