// Growth over steps: what is a leak, a drift, a cache, and what is none of these.
#include "replay/analysis/trace/step_growth.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/analysis/advise/advise.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::VectorTrace;

namespace {

// A training loop written down: each step allocates activations of some sizes and frees them, at
// places of its own.
class Training {
  public:
    explicit Training(bool with_stacks, bool with_ranges)
        : with_stacks_(with_stacks), with_ranges_(with_ranges) {
        for (int i = 0; i < 8; ++i)
            keep("model.py", 10 + i, 8_MiB + static_cast<Bytes>(i) * 1_MiB);
    }

    // Allocates what stays.
    std::uint32_t keep(const std::string& file, int line, Bytes size) {
        const std::uint32_t slot = next_slot_++;
        add({.size = size, .slot = slot, .stack = stack(file, line)});
        return slot;
    }

    void free(std::uint32_t slot) { add({.slot = slot, .kind = EventKind::free}); }

    void begin_step() {
        ++step_;
        if (with_ranges_)
            add({.aux = info_.strings.intern("step " + std::to_string(step_)),
                 .kind = EventKind::range_begin});
    }

    void end_step() {
        if (with_ranges_)
            add({.aux = info_.strings.intern("step " + std::to_string(step_)),
                 .kind = EventKind::range_end});
        time_ += 100'000'000;
    }

    // Forward and backward with activations of about `size`.
    void work(Bytes size) {
        std::vector<std::uint32_t> slots;
        for (int i = 0; i < 10; ++i) {
            slots.push_back(keep("model.py", 30 + i, size + static_cast<Bytes>(i) * 64_KiB));
            // Of a size that no other block has: without stacks it tells the steps.
            free(keep("model.py", 50 + i, 300_KiB + static_cast<Bytes>(i) * 4_KiB));
        }
        for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot)
            free(*slot);
    }

    VectorTrace build() const { return VectorTrace(events_, info_); }

  private:
    std::uint32_t stack(const std::string& file, int line) {
        if (!with_stacks_)
            return 0;
        const Frame frame{info_.strings.intern("f"), info_.strings.intern("/me/" + file),
                          static_cast<std::uint32_t>(line)};
        return info_.stacks.intern({&frame, 1});
    }

    void add(TraceEvent event) {
        event.time = time_ += 1000;
        events_.push_back(event);
    }

    bool with_stacks_;
    bool with_ranges_;
    TraceInfo info_;
    std::vector<TraceEvent> events_;
    std::uint32_t next_slot_ = 0;
    int step_ = 0;
    Nanoseconds time_ = 0;
};

StepReport growths(const Training& training) {
    return advise(training.build(), {.budget = 1, .threads = 1}).value().growth;
}

VectorTrace leaky(bool with_stacks, bool with_ranges) {
    Training training(with_stacks, with_ranges);
    std::mt19937 random(7);
    for (int step = 0; step < 30; ++step) {
        training.begin_step();
        training.work(2_MiB + random() % 8 * 256_KiB);
        training.keep("train.py", 99, 3_MiB);
        training.end_step();
    }
    return training.build();
}

}  // namespace

TEST_CASE("a leak has its place, its slope and its steps", "[advise][steps]") {
    const VectorTrace trace = leaky(true, true);
    const Advice advice = tidemark::advise(trace, {.budget = 1, .threads = 1}).value();
    const StepReport& report = advice.growth;
    REQUIRE_FALSE(report.growths.empty());
    const StepGrowth& leak = report.growths.front();
    CHECK(report.steps.name == "step N");
    CHECK(report.steps.ends.size() == 30);
    CHECK(leak.kind == StepGrowthKind::leak);
    CHECK(leak.site.find("train.py:99") != std::string::npos);
    CHECK(leak.bytes_per_step == Approx(static_cast<double>(3_MiB)));
    CHECK(leak.blocks == 30);
    CHECK(report.step_time == Approx(100e6).epsilon(0.01));
    CHECK(report.growths.size() == 1);
}

TEST_CASE("a leak is found without ranges and without stacks", "[advise][steps]") {
    const VectorTrace trace = leaky(false, false);
    const Advice advice = tidemark::advise(trace, {.budget = 1, .threads = 1}).value();
    REQUIRE_FALSE(advice.growth.growths.empty());
    const StepGrowth& leak = advice.growth.growths.front();
    CHECK(advice.growth.steps.name.empty());
    CHECK(advice.growth.steps.ends.size() >= 29);
    CHECK(leak.kind == StepGrowthKind::leak);
    CHECK(leak.site == "2.00 MiB to 4.00 MiB");
    CHECK(leak.bytes_per_step == Approx(static_cast<double>(3_MiB)).epsilon(0.05));
}

TEST_CASE("reserved memory that grows while what lives doesn't is a drift", "[advise][steps]") {
    Training training(true, true);
    for (int step = 0; step < 20; ++step) {
        training.begin_step();
        training.work(2_MiB);
        training.free(training.keep("model.py", 7, 30_MiB + static_cast<Bytes>(step) * 2_MiB));
        training.end_step();
    }
    const StepReport report = growths(training);
    REQUIRE(report.growths.size() == 1);
    CHECK(report.growths[0].kind == StepGrowthKind::drift);
    CHECK(report.growths[0].bytes_per_step > static_cast<double>(30_MiB));
}

TEST_CASE("a cache that warms up is no leak", "[advise][steps]") {
    Training training(true, true);
    for (int step = 0; step < 20; ++step) {
        training.begin_step();
        training.work(2_MiB);
        if (step < 4)
            training.keep("cache.py", 5, 10_MiB);
        training.end_step();
    }
    const StepReport report = growths(training);
    REQUIRE(report.growths.size() == 1);
    CHECK(report.growths[0].kind == StepGrowthKind::cache);
    CHECK(report.growths[0].site.find("cache.py:5") != std::string::npos);
    CHECK(report.worst() == nullptr);
}

TEST_CASE("healthy training with lengths that vary shows no growth", "[advise][steps]") {
    for (const bool with_ranges : {true, false}) {
        for (unsigned seed = 0; seed < 8; ++seed) {
            Training training(seed % 2 == 0, with_ranges);
            std::mt19937 random(seed);
            std::uint32_t state = ~0U;
            for (int step = 0; step < 24; ++step) {
                training.begin_step();
                training.work(1_MiB + random() % 64 * 128_KiB);
                if (step == 0)
                    state = training.keep("optimizer.py", 3, 64_MiB);
                training.end_step();
            }
            training.free(state);
            const StepReport report = growths(training);
            INFO("seed " << seed);
            CHECK(report.worst() == nullptr);
        }
    }
}

TEST_CASE("numbers at the end of range names are folded", "[advise][steps]") {
    CHECK(range_family("step 3") == "step N");
    CHECK(range_family("ProfilerStep#12") == "ProfilerStep#N");
    CHECK(range_family("Optimizer.step#AdamW.step") == "Optimizer.step#AdamW.step");
    CHECK(range_family("conv2") == "conv2");
    CHECK(range_family("7") == "7");
    CHECK(range_family("").empty());
}

TEST_CASE("growth is judged by most of the steps and by their end", "[advise][steps]") {
    const auto series = [](auto f) {
        std::vector<Bytes> x;
        for (Bytes i = 0; i < 40; ++i)
            x.push_back(f(i));
        return x;
    };
    CHECK(judge_growth(series([](Bytes i) { return 3_MiB * i; }), 1_MiB).grows);
    CHECK(judge_growth(series([](Bytes i) { return 3_MiB * i + i * 7919 % 13 * 1_MiB; }), 1_MiB)
              .grows);
    CHECK_FALSE(judge_growth(series([](Bytes) { return 3_MiB; }), 0).grows);
    CHECK_FALSE(
        judge_growth(series([](Bytes i) { return std::min<Bytes>(i, 9) * 5_MiB; }), 1_MiB).grows);
    CHECK(
        judge_growth(series([](Bytes i) { return std::min<Bytes>(i, 9) * 5_MiB; }), 1_MiB).settled);
    CHECK_FALSE(judge_growth(series([](Bytes i) { return i % 10 * 5_MiB; }), 1_MiB).grows);
    CHECK_FALSE(judge_growth(series([](Bytes i) { return 1_GiB - i * 5_MiB; }), 1_MiB).grows);
    CHECK_FALSE(judge_growth({1_MiB, 2_MiB, 3_MiB}, 0).grows);
}

namespace {

// A server: requests of random sizes come and go, and one in twenty-five keeps a block, if it
// leaks.
VectorTrace server(bool leaks, bool tagged, unsigned seed) {
    std::mt19937 random(seed);
    TraceInfo info;
    const std::uint32_t tag = tagged ? info.strings.intern("session cache") : 0;
    std::vector<TraceEvent> events;
    std::vector<std::uint32_t> live;
    std::uint32_t next = 0;
    const auto add = [&](TraceEvent event) {
        event.time = static_cast<Nanoseconds>(events.size()) * 100'000;
        events.push_back(event);
    };
    for (int i = 0; i < 4000; ++i) {
        add({.size = 1_MiB + random() % 64 * 1_MiB, .slot = next});
        live.push_back(next++);
        if (leaks && i % 25 == 0)
            add({.size = 3_MiB, .slot = next++, .tag = tag});
        while (live.size() > 4 + random() % 8) {
            const std::size_t which = random() % live.size();
            add({.slot = live[which], .kind = EventKind::free});
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    return VectorTrace(std::move(events), std::move(info));
}

StepReport growth_of(const VectorTrace& trace) {
    return tidemark::advise(trace, {.policy = "rmm-pool"}).value().growth;
}

}  // namespace

TEST_CASE("a program without steps leaks where its floor rises, and only there",
          "[advise][steps]") {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        INFO("seed " << seed);
        const StepReport healthy = growth_of(server(false, false, seed));
        CHECK(healthy.worst() == nullptr);
        const StepReport leaking = growth_of(server(true, false, seed));
        CHECK(leaking.parts);
        REQUIRE(leaking.worst() != nullptr);
        CHECK(leaking.worst()->kind == StepGrowthKind::leak);
        CHECK(leaking.worst()->site == "2.00 MiB to 4.00 MiB");
        // 160 blocks of 3 MiB, in sixteen parts.
        CHECK(leaking.worst()->bytes_per_step > 0.8 * 30_MiB);
        CHECK(leaking.worst()->bytes_per_step < 1.2 * 30_MiB);
        const StepReport tagged = growth_of(server(true, true, seed));
        REQUIRE(tagged.worst() != nullptr);
        CHECK(tagged.worst()->site == "session cache");
    }
}

TEST_CASE("who only fills its memory doesn't leak", "[advise][steps]") {
    std::vector<TraceEvent> events;
    for (std::uint32_t i = 0; i < 400; ++i)
        events.push_back({.size = 1_MiB + i * 1_KiB, .slot = i});
    CHECK(growth_of(VectorTrace(std::move(events))).worst() == nullptr);
}
