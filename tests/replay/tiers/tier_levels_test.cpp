// Levels of a replay over tiers: what each space holds after each decision, against a sum of the
// locations that its stage was asked for.
#include <algorithm>
#include <map>

#include "replay/tiers/tier_timeline.h"
#include "replay/tiers/virtual_stage.h"
#include "tests/replay/tiers/programs.h"
#include "tests/support/property.h"

using namespace tidemark;
using support::kReadWrite;
using support::run_on;
using support::small_machine;
using support::TierTrace;

namespace {

// What a space held last at each moment.
using Holdings = std::map<Nanoseconds, Bytes>;

// A virtual stage that adds up its locations.
class SummingStage final : public TierStage, private Transfers {
  public:
    SummingStage(const MachineSpec& machine, TierTimeline& timeline) : inner_(machine, timeline) {}

    std::map<SpaceId, Holdings> held;

    Transfers& transfers() override { return *this; }

    Nanoseconds now() override { return inner_.now(); }

    bool wait_until(Nanoseconds when) override { return inner_.wait_until(when); }

    std::vector<TierLinkUse> links() const override { return inner_.links(); }

  private:
    Result<BlockLocation> allocate(SpaceId space, Bytes size) override {
        held[space][now()] = sums_[space] += size;
        return inner_.transfers().allocate(space, size);
    }

    void free(const BlockLocation& location) override {
        held[location.space][now()] = sums_[location.space] -= location.size;
        inner_.transfers().free(location);
    }

    std::vector<Range> pieces(const BlockLocation& location) const override {
        return const_cast<VirtualStage&>(inner_).transfers().pieces(location);
    }

    Result<UsePoint> record(SpaceId space, StreamId stream, bool wrote) override {
        return inner_.transfers().record(space, stream, wrote);
    }

    Result<void> order(SpaceId space, StreamId stream, std::span<const UsePoint> points) override {
        return inner_.transfers().order(space, stream, points);
    }

    bool passed(const UsePoint& point) override { return inner_.transfers().passed(point); }

    CopyId start(CopyOrder order) override { return inner_.transfers().start(std::move(order)); }

    void cancel(CopyId copy) override { inner_.transfers().cancel(copy); }

    void poll(std::vector<CopyDone>& ended) override { inner_.transfers().poll(ended); }

    VirtualStage inner_;
    std::map<SpaceId, Bytes> sums_;
};

Holdings levels_of(const TierRun& run, std::uint32_t space) {
    Holdings levels;
    for (const TierLevel& level : run.levels)
        if (level.space == space)
            levels[level.time] = level.used;
    return levels;
}

// What was held up to the program's end, without moments at which nothing changed.
Holdings changes(const Holdings& held, Nanoseconds end) {
    Holdings changed;
    Bytes before = 0;
    for (const auto& [time, bytes] : held)
        if (time <= end && std::exchange(before, bytes) != bytes)
            changed[time] = bytes;
    return changed;
}

// One stream; each buffer is written as soon as it is there, then used and freed at random.
TierProgram random_program() {
    TierTrace trace;
    Nanoseconds time = 0;
    std::uint32_t kernel = 0;
    std::vector<std::uint32_t> live;
    const int steps = *rc::gen::inRange(1, 120);
    for (int step = 0; step < steps; ++step) {
        time += *rc::gen::inRange(0, 60);
        const int what = *rc::gen::inRange(0, 4);
        if (what <= 1 && live.size() < 12) {
            std::uint32_t slot = 0;
            while (std::find(live.begin(), live.end(), slot) != live.end())
                ++slot;
            trace.allocate(time, slot, *rc::gen::inRange<Bytes>(1, 60));
            trace.use(time, slot, kWrites, ++kernel);
            live.push_back(slot);
        } else if (!live.empty()) {
            const std::size_t at = *rc::gen::inRange<std::size_t>(0, live.size());
            if (what == 2) {
                trace.use(time, live[at], kReadWrite, ++kernel);
            } else {
                trace.free(time, live[at]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
    }
    return trace.until(time + 10).program();
}

}  // namespace

TEST_CASE("after each decision a level is the sum of what is resident", "[tiers][levels]") {
    CHECK(
        support::counterexample(support::effort(200), [] {
            const TierProgram program = random_program();
            TierScenario scenario;
            scenario.timeline = true;
            const MachineSpec machine = small_machine(100);
            TierTimeline timeline(true);
            SummingStage stage(machine, timeline);
            const auto run = run_tiers_on(stage, timeline, program, machine, scenario);
            RC_ASSERT(run.has_value());
            // What the player gives back when it has ended is no part of the run.
            const Nanoseconds end = run->makespan - 1;
            RC_ASSERT(changes(levels_of(*run, 0), end) == changes(stage.held[{Tier::gpu, 0}], end));
            RC_ASSERT(changes(levels_of(*run, 1), end) ==
                      changes(stage.held[{Tier::host, 0}], end));
        }).empty());
}

TEST_CASE("levels stay within capacity, reach the told peak, and never go back in time",
          "[tiers][levels]") {
    TierTrace trace;
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint32_t stream = i % 3;
        trace.reserve(20 * i, i, 30, stream).allocate(20 * i + 2, i, 25, stream);
        trace.use(20 * i + 5, i, kWrites, i, stream).release(20 * i + 15, i, stream);
        if (i >= 8)
            trace.use(20 * i + 16, i - 8, kReads, 1000 + i, stream);
    }
    TierScenario scenario;
    scenario.timeline = true;
    const TierRun run =
        run_on(trace.until(2000).program(), small_machine(100, 150, 2000), scenario);

    std::vector<Bytes> peaks(run.spaces.size());
    Nanoseconds before = 0;
    bool reserved = false;
    for (const TierLevel& level : run.levels) {
        REQUIRE(level.space < run.spaces.size());
        CHECK(level.used <= run.spaces[level.space].capacity);
        CHECK(level.reserved <= level.used);
        CHECK(level.time >= before);
        CHECK(level.time <= run.makespan);
        before = level.time;
        reserved = reserved || level.reserved > 0;
        peaks[level.space] = std::max(peaks[level.space], level.used);
    }
    CHECK(reserved);
    REQUIRE(run.spaces.size() == 3);
    for (std::size_t space = 0; space < peaks.size(); ++space) {
        CHECK(peaks[space] == run.spaces[space].peak);
        CHECK(peaks[space] > 0);
    }
}

TEST_CASE("nobody's levels are kept unasked", "[tiers][levels]") {
    const TierProgram program =
        TierTrace().allocate(0, 0, 50).use(1, 0, kWrites, 1).until(5).program();
    CHECK(run_on(program, small_machine(100)).levels.empty());
}
