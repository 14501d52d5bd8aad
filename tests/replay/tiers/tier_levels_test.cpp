// Levels of a replay over tiers: what each space holds after each decision, against a naive model
// that hears every decision and adds up what is resident.
#include <algorithm>
#include <map>

#include "tests/replay/tiers/programs.h"
#include "tests/support/property.h"

using namespace tidemark;
using support::kReadWrite;
using support::run_on;
using support::small_machine;
using support::TierTrace;

namespace {

// Keeps a set of resident buffers on the GPU and on the host, and the sum after each change.
class Sums final : public TierExecutor {
  public:
    std::vector<Bytes> gpu;
    std::vector<Bytes> host;

    void begin_life(BufferId id, Bytes size) override { sizes_[id] = size; }

    void end_life(BufferId id) override { leave(gpu_, id, gpu); }

    void reached(std::uint32_t, Nanoseconds) override {}

    void copy_out(BufferId id, CopyNumber) override {
        come(host_, id, host);
        leave(gpu_, id, gpu);
    }

    void copy_in(BufferId id, CopyNumber) override { come(gpu_, id, gpu); }

    void forget(BufferId id) override { leave(host_, id, host); }

    // An allocation's room: told when it has been made.
    void wait_room(std::uint32_t, CopyNumber) override { come(gpu_, newest(), gpu); }

    void wait_content(std::uint32_t, BufferId) override {}

    void kernel(std::uint32_t, std::span<const TierUse>) override {}

  private:
    using Set = std::map<BufferId, Bytes>;

    BufferId newest() const {
        for (const auto& [id, size] : sizes_)
            if (gpu_.count(id) == 0 && host_.count(id) == 0)
                return id;
        FAIL("an allocation of nothing");
        return {};
    }

    void come(Set& where, BufferId id, std::vector<Bytes>& sums) {
        where[id] = sizes_.at(id);
        sums.push_back(sum(where));
    }

    void leave(Set& where, BufferId id, std::vector<Bytes>& sums) {
        const bool there = where.erase(id) > 0;
        if (there)
            sums.push_back(sum(where));
        if (gpu_.count(id) == 0 && host_.count(id) == 0)
            sizes_.erase(id);
    }

    static Bytes sum(const Set& set) {
        Bytes bytes = 0;
        for (const auto& [id, size] : set)
            bytes += size;
        return bytes;
    }

    std::map<BufferId, Bytes> sizes_;
    Set gpu_;
    Set host_;
};

std::vector<Bytes> used_of(const TierRun& run, std::uint32_t space) {
    std::vector<Bytes> used;
    for (const TierLevel& level : run.levels)
        if (level.space == space)
            used.push_back(level.used);
    return used;
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
    CHECK(support::counterexample(support::effort(200), [] {
              const TierProgram program = random_program();
              TierScenario scenario;
              scenario.timeline = true;
              scenario.keep_copies = false;  // what comes back is nowhere else
              Sums sums;
              const auto run = run_tiers(program, small_machine(100), scenario, {}, &sums);
              RC_ASSERT(run.has_value());
              RC_ASSERT(used_of(*run, 0) == sums.gpu);
              RC_ASSERT(used_of(*run, 1) == sums.host);
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
