// The search over settings: what it finds is true, at least as good as trying each key, the same on
// any number of threads, and no change is advised that isn't worth it.
#include "replay/analysis/advise/search.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "replay/analysis/advise/axes.h"
#include "replay/scenario/scenario.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using support::TraceBuilder;

namespace {

const CostProfile& profile() {
    static const CostProfile h200 = load_profile("h200").value();
    return h200;
}

SearchSetup setup_for(const char* policy = "torch", Bytes limit = 0) {
    SearchSetup setup;
    setup.base.policy = parse_policy(policy).value();
    setup.base.profile = &profile();
    setup.base.memory = profile().memory;
    setup.base.limit = limit;
    setup.collects = limit > 0;
    setup.sizes = {1_MiB, 4_MiB, 30_MiB, 60_MiB, 120_MiB};
    return setup;
}

std::unique_ptr<Trace> open(const char* name) {
    Result<std::unique_ptr<Trace>> trace = open_trace(name);
    REQUIRE(trace);
    return std::move(*trace);
}

SearchResult search(const Trace& trace, const SearchSetup& setup) {
    Result<SearchResult> result = search_settings(trace, setup);
    REQUIRE(result);
    return std::move(*result);
}

// The same events a millisecond apart, so that calls of the driver are short beside the run.
support::VectorTrace slowly(const TraceBuilder& builder) {
    std::vector<TraceEvent> events = builder.events();
    for (TraceEvent& event : events)
        event.time *= 1'000'000;
    return support::VectorTrace(std::move(events));
}

// Everything that an answer says.
std::string dump(const SearchResult& result) {
    std::string text = fmt::format("{} {} {}\n", result.improves, result.floor, result.trials);
    const auto add = [&text](const Tried& tried) {
        text += fmt::format("{} {} {} {}\n", tried.policy.text(), tried.result.peak.reserved,
                            tried.result.refusals(), tried.device_time());
    };
    add(result.before);
    add(result.best);
    for (const Tried& other : result.others)
        add(other);
    if (result.dear)
        add(*result.dear);
    return text;
}

Tried tried(Bytes peak, Nanoseconds driver, std::uint64_t refused = 0,
            Nanoseconds makespan = 1'000'000) {
    Tried made;
    made.result.peak.reserved = peak;
    made.result.driver_time = driver;
    made.result.refused = refused;
    made.result.makespan = makespan;
    return made;
}

}  // namespace

TEST_CASE("what a search predicts is what a replay of its answer gives", "[advise]") {
    const auto trace = open("generate:steps:events=30000");
    const SearchResult result = search(*trace, setup_for());

    REQUIRE(result.improves);
    for (const Tried* each : {&result.before, &result.best}) {
        const Run run = tidemark::run(*trace, {.policy = each->policy.text()}).value();
        CHECK(run.measurement("peak_reserved_bytes").whole == each->result.peak.reserved);
        CHECK(run.measurement("retries").whole == each->result.stats.retries);
        CHECK(run.measurement("driver_ns").whole ==
              static_cast<std::uint64_t>(each->result.driver_time));
    }
}

TEST_CASE("no combination of keys does much better than what the search found",
          "[advise][one-thread]") {
    for (const char* name : {"generate:steps:events=6000", "generate:serving:events=6000",
                             "generate:mix:events=6000"}) {
        const auto trace = open(name);
        const SearchSetup setup = setup_for();
        const SearchResult result = search(*trace, setup);
        const SettingAxes axes(setup.sizes, false);
        std::vector<TorchChoice> grid;
        for (TorchChoice choice : axes.along(1, {}))
            for (TorchChoice& split : axes.along(2, choice))
                for (const bool expandable : {false, true}) {
                    split.expandable = expandable;
                    grid.push_back(split);
                }
        CHECK(grid.size() > result.trials / 2);
        for (const TorchChoice& choice : grid) {
            Tried other{choice, with_choice(setup.base.policy, choice).value(), {}};
            TrialSetup trial = setup.base;
            trial.policy = other.policy;
            other.result = run_trial(*trace, trial).value();
            INFO(name << " " << choice.text());
            if (acceptable_price(other, result.before, true))
                CHECK(static_cast<double>(result.best.result.peak.reserved) <=
                      1.02 * static_cast<double>(other.result.peak.reserved));
        }
    }
}

TEST_CASE("the answer is the same on any number of threads, within its budget", "[advise]") {
    const auto trace = open("generate:serving:events=5000");
    SearchSetup setup = setup_for();
    for (const std::size_t budget : {1U, 7U, 60U, 200U}) {
        setup.budget = budget;
        setup.threads = 1;
        std::size_t last = 0;
        setup.progress = [&last, budget](std::size_t done, std::size_t total) {
            CHECK(done <= total);
            CHECK(total == budget);
            last = done;
        };
        const SearchResult alone = search(*trace, setup);
        CHECK(alone.trials <= budget);
        CHECK(last == alone.trials);
        setup.progress = {};
        setup.threads = 3;
        CHECK(dump(search(*trace, setup)) == dump(alone));
    }
}

TEST_CASE("where nothing is wasted nothing is advised", "[advise]") {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 20; ++slot)
        builder.allocate(slot, 20_MiB);
    const auto trace = slowly(builder);
    const SearchResult result = search(trace, setup_for());

    CHECK(!result.improves);
    CHECK(result.best.policy.text() == "torch");
    CHECK(result.others.empty());
    CHECK(result.floor == 400_MiB);
}

TEST_CASE("recorded settings that do harm are taken back", "[advise]") {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 20; ++slot)
        builder.allocate(slot, 40_MiB);
    const auto trace = slowly(builder);
    const SearchResult result = search(trace, setup_for("torch:roundup_power2_divisions=2"));

    CHECK(result.improves);
    CHECK(result.best.policy.text() == "torch");
    CHECK(torch_conf(result.before.policy) == "roundup_power2_divisions:2");
}

TEST_CASE("to survive comes before everything else", "[advise]") {
    // The small block sits in the large one's segment, unless that is not split or is paged.
    TraceBuilder builder;
    builder.allocate(0, 100_MiB).free(0).allocate(1, 4_MiB).allocate(2, 100_MiB);
    const auto trace = slowly(builder);
    const SearchResult roomy = search(trace, setup_for("torch", 250_MiB));
    const SearchResult tight = search(trace, setup_for("torch", 150_MiB));

    CHECK(roomy.before.result.refusals() == 0);
    CHECK(tight.before.result.refusals() == 1);
    CHECK(tight.improves);
    CHECK(tight.best.result.refusals() == 0);
    CHECK(tight.best.choice.family() != 0);
}

TEST_CASE("where no setting survives none is better", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 100_MiB).free(0).allocate(1, 4_MiB).allocate(2, 100_MiB);
    builder.allocate(3, 500_MiB);
    const SearchResult result = search(slowly(builder), setup_for("torch", 150_MiB));

    CHECK(result.before.result.refusals() == 2);
    CHECK(!result.improves);
    CHECK(result.others.empty());
    CHECK(!result.dear);
}

TEST_CASE("time is saved where memory cannot be", "[advise]") {
    // Each large block is given back and taken again, because the limit has no room for both.
    TraceBuilder builder;
    for (int i = 0; i < 200; ++i)
        builder.allocate(0, 90_MiB).free(0).allocate(0, 80_MiB).allocate(1, 9_MiB).free(0).free(1);
    const auto trace = builder.build();
    const SearchResult result = search(trace, setup_for("torch", 120_MiB));

    CHECK(result.best.result.refusals() == 0);
    CHECK(result.best.device_time() <= result.before.device_time());
}

TEST_CASE("driver time is a price that may not exceed what it buys", "[advise]") {
    const Tried before = tried(1000, 10'000);  // 1 % of the run
    CHECK(acceptable_price(tried(990, 9'000), before, true));
    CHECK(acceptable_price(tried(990, 20'000), before, true));  // no more than its own again
    CHECK(!acceptable_price(tried(990, 20'001), before, true));
    CHECK(acceptable_price(tried(800, 59'999), before, true));  // 5 % of the run for 20 %
    CHECK(!acceptable_price(tried(800, 60'100), before, true));

    const Tried busy = tried(1000, 100'000);                   // 10 % of the run: it may not double
    CHECK(acceptable_price(tried(990, 110'000), busy, true));  // but 1 % is nothing
    CHECK(!acceptable_price(tried(990, 110'001), busy, true));

    CHECK(acceptable_price(tried(990, 20'000), before, false));
    CHECK(!acceptable_price(tried(900, 20'001), before, false));
    CHECK(acceptable_price(tried(990, 900'000), tried(1000, 10, 1), true));  // to run at all
}

TEST_CASE("an improvement is 1 % of memory, 1 % of time, or a refusal less", "[advise]") {
    const Tried before = tried(1000, 20'000);
    CHECK(is_improvement(tried(990, 20'000), before, true));
    CHECK(!is_improvement(tried(991, 20'000), before, true));
    CHECK(!is_improvement(tried(990, 90'000), before, true));  // too dear
    CHECK(is_improvement(tried(1000, 10'000), before, true));
    CHECK(!is_improvement(tried(1000, 10'001), before, true));
    CHECK(!is_improvement(tried(1001, 0), before, true));
    CHECK(!is_improvement(tried(1000, 0), before, false));  // without times nobody knows
    CHECK(is_improvement(tried(2000, 90'000), tried(1000, 20'000, 1), true));
    CHECK(!is_improvement(tried(10, 0, 1), before, true));
}

TEST_CASE("thresholds are where requests would notice them", "[advise]") {
    const SettingAxes none({}, false);
    CHECK(none.along(3, {}).empty());  // max_non_split_rounding_mb without max_split_size_mb
    CHECK(none.along(4, {}).empty());  // garbage collection without a limit
    CHECK(none.octaves().empty());

    const SettingAxes axes({1_MiB, 3_MiB, 40_MiB}, true);
    CHECK(axes.octaves() == std::vector<std::size_t>{0, 1, 5});
    std::vector<std::uint64_t> splits;
    for (const TorchChoice& choice : axes.along(2, {}))
        splits.push_back(choice.max_split_mb);
    CHECK(splits == std::vector<std::uint64_t>{0, 21, 32, 40, 64});
    CHECK(axes.along(4, {}).size() == 6);

    TorchChoice from;
    from.max_split_mb = 64;
    TorchChoice below = from;
    below.max_split_mb = 32;
    TorchChoice other = from;
    other.max_split_mb = 60;
    other.expandable = true;
    const auto between = SettingAxes::between(from, {from, below, other});
    REQUIRE(between.size() == 2);
    CHECK(between[0].max_split_mb == 48);
    CHECK(between[1].max_split_mb == 96);
}
