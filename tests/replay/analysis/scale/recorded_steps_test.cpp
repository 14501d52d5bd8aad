// Steps that come once more: lifetimes from step to step, leaks, caches that grow.
#include "replay/analysis/scale/recorded_steps.h"

#include <array>
#include <map>

#include <catch2/catch.hpp>

#include "replay/analysis/scale/scale.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

// A program of marked steps: weights that stay, and what each step does.
class Program {
  public:
    Program() {
        name_ = info_.strings.intern("step");
        allocate(kWeights, 40_MiB);
    }

    void begin_step() { trace_.add({.aux = name_, .kind = EventKind::range_begin}); }

    void end_step() { trace_.add({.aux = name_, .kind = EventKind::range_end}); }

    void allocate(std::uint32_t slot, Bytes size) { trace_.allocate(slot, size); }

    void free(std::uint32_t slot) { trace_.free(slot); }

    VectorTrace build() const { return trace_.build(info_); }

    static constexpr std::uint32_t kWeights = 0, kFirst = 1;

  private:
    TraceInfo info_;
    std::uint32_t name_ = 0;
    TraceBuilder trace_;
};

// Each step makes activations, and an output that the next step lets go after its own activations.
VectorTrace training(std::initializer_list<Bytes> sizes, bool leaks) {
    Program program;
    std::uint32_t next = Program::kFirst, output = 0;
    for (const Bytes size : sizes) {
        program.begin_step();
        const std::uint32_t activation = next++;
        program.allocate(activation, size * 8);
        if (output != 0)
            program.free(output);
        output = next++;
        program.allocate(output, size);
        program.free(activation);
        if (leaks)
            program.allocate(next++, 2_MiB);
        program.end_step();
    }
    return program.build();
}

// What lives at the end, and the most that ever did; every slot must be used as slots are.
struct Live {
    Bytes end = 0, peak = 0;
    std::uint64_t allocations = 0;
};

Live live_of(const Trace& trace) {
    Live found;
    std::map<std::uint32_t, Bytes> live;
    std::uint64_t events = 0;
    Nanoseconds time = 0;
    for (const TraceEvent& event : support::events_of(trace)) {
        ++events;
        REQUIRE(event.time >= time);
        time = event.time;
        if (event.slot != kNoSlot)
            REQUIRE(event.slot < trace.info().slot_count);
        if (event.kind == EventKind::allocate) {
            REQUIRE(live.emplace(event.slot, event.size).second);
            found.end += event.size;
            ++found.allocations;
            found.peak = std::max(found.peak, found.end);
        } else if (event.kind == EventKind::free) {
            REQUIRE(live.contains(event.slot));
            found.end -= live[event.slot];
            live.erase(event.slot);
        }
    }
    CHECK(events == trace.info().event_count);
    CHECK(time == trace.info().duration);
    return found;
}

Live grown(const VectorTrace& trace, const GrowthQuestion& question) {
    const Result<ScaleModel> model = find_scale(trace);
    REQUIRE(model);
    const Result<GrowthPlan> plan = plan_growth(*model, question);
    REQUIRE(plan);
    return live_of(GrownTrace(trace, model->requests, model->laws, model->steps, *plan));
}

}  // namespace

TEST_CASE("one larger step comes after the recorded ones, which let go in it as in others") {
    const VectorTrace trace = training({4_MiB, 6_MiB, 8_MiB, 4_MiB}, false);
    const Live before = live_of(trace);
    CHECK(before.peak == 40_MiB + 9 * 8_MiB);
    const Live after = grown(trace, {.growth = {2, 1}, .one_more = true});
    // The output of the last step, 4 MiB, is let go before the new one is made.
    CHECK(after.peak == 40_MiB + 9 * 16_MiB);
    CHECK(after.end == 40_MiB + 16_MiB);
    CHECK(after.allocations == before.allocations + 2);
}

TEST_CASE("more steps need no more, but what they leave") {
    for (const bool leaks : {false, true}) {
        const VectorTrace trace = training({4_MiB, 6_MiB, 8_MiB, 4_MiB}, leaks);
        const Live before = live_of(trace);
        const Live after = grown(trace, {.steps = 100});
        CHECK(after.allocations == 1 + 100 * (leaks ? 3 : 2));
        // The last is the fourth one again, of 4 MiB.
        CHECK(after.end == 40_MiB + 4_MiB + (leaks ? 100 * 2_MiB : 0));
        if (!leaks)
            CHECK(after.peak == before.peak);
    }
}

TEST_CASE("steps of one size can come more often, and grow in batch alone") {
    const VectorTrace trace = training({4_MiB, 4_MiB, 4_MiB}, true);
    CHECK(grown(trace, {.steps = 10}).end == 40_MiB + 4_MiB + 10 * 2_MiB);
    const Result<ScaleModel> model = find_scale(trace);
    REQUIRE(model);
    CHECK_FALSE(model->laws.has_sizes);
    CHECK_FALSE(plan_growth(*model, {.growth = {1, 2}}));
}

TEST_CASE("a cache that grows by as much in each step goes on growing") {
    Program program;
    std::uint32_t next = Program::kFirst, cache = 0;
    for (Bytes length = 16; length < 24; ++length) {
        program.begin_step();
        const std::uint32_t longer = next++, scores = next++;
        program.allocate(longer, length * 64_KiB);
        program.allocate(scores, length * 1_KiB);
        if (cache != 0)
            program.free(cache);
        cache = longer;
        program.free(scores);
        program.end_step();
    }
    const Live after = grown(program.build(), {.steps = 100});
    CHECK(after.end == 40_MiB + (16 + 99) * 64_KiB);
    CHECK(after.peak == 40_MiB + (15 + 99) * 64_KiB + (16 + 99) * 65_KiB);
}

TEST_CASE("a step that has grown does what the recorded step of that size does") {
    Program program;
    std::uint32_t next = Program::kFirst;
    for (const Bytes size : {4_MiB, 4_MiB, 6_MiB, 9_MiB, 4_MiB}) {
        program.begin_step();
        for (unsigned i = 0; i < 6; ++i) {
            program.allocate(next, size * std::array<Bytes, 3>{1, 5, 25}[i % 3]);
            program.free(next++);
        }
        if (size > 8_MiB) {  // larger steps take something more
            program.allocate(next, 3_MiB);
            program.free(next++);
        }
        program.end_step();
    }
    const VectorTrace trace = program.build();
    CHECK(live_of(trace).allocations == 1 + 5 * 6 + 1);
    // The second, third and fifth step come to 8, 12 and 8 MiB: nearest to the fourth.
    CHECK(grown(trace, {.growth = {2, 1}}).allocations == 1 + 5 * 6 + 4);
    CHECK(grown(trace, {}).allocations == 1 + 5 * 6 + 1);
}

TEST_CASE("fewer steps than were recorded are refused") {
    const VectorTrace trace = training({4_MiB, 6_MiB, 8_MiB, 4_MiB}, false);
    const Result<ScaleModel> model = find_scale(trace);
    REQUIRE(model);
    for (const unsigned steps : {3U, kMostRunSteps + 1})
        CHECK_FALSE(plan_growth(*model, {.steps = steps}));
}
