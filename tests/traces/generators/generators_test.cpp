// Generators: what all of them promise, and what each of them is for.
#include "traces/generators/generators.h"

#include <algorithm>
#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "tests/support/checking_sink.h"
#include "traces/generators/alias_table.h"

namespace tidemark {
namespace {

using support::CheckingSink;

TraceInfo must_generate(const std::string& spec, CheckingSink& sink) {
    auto info = generate(spec, sink);
    if (!info)
        FAIL(to_text(info.error()));
    REQUIRE(sink.finish(*info));
    INFO(spec);
    REQUIRE(sink.problem() == "");
    return std::move(*info);
}

// Live allocations, on average over the events in [begin, end).
double mean_live(const CheckingSink& sink, std::size_t begin, std::size_t end) {
    double live = 0;
    double sum = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const EventKind kind = sink.events()[i].kind;
        live += kind == EventKind::allocate ? 1 : (kind == EventKind::free ? -1 : 0);
        sum += i >= begin ? live : 0;
    }
    return sum / static_cast<double>(end - begin);
}

std::uint64_t count_of(const CheckingSink& sink, EventKind kind) {
    return static_cast<std::uint64_t>(
        std::count_if(sink.events().begin(), sink.events().end(),
                      [kind](const TraceEvent& event) { return event.kind == kind; }));
}

}  // namespace

TEST_CASE("every generator keeps the model's promises, frees all, and says what it is",
          "[generator]") {
    for (const GeneratorInfo& generator : all_generators()) {
        for (const int events : {2, 3, 1000, 50'000}) {
            const std::string spec = fmt::format("{}:events={}", generator.name, events);
            CheckingSink sink;

            const TraceInfo info = must_generate(spec, sink);

            INFO(spec);
            CHECK(count_of(sink, EventKind::allocate) == count_of(sink, EventKind::free));
            CHECK(info.format == "generated");
            CHECK(info.source == "generate:" + spec);
            CHECK(info.setting("generator") == generator.name);
            CHECK(info.setting("events") == fmt::format("{}", events));
            CHECK(info.setting("seed") == "1");
            CHECK(info.slot_count == sink.most_live());
            if (events == 50'000) {
                CHECK(sink.events().size() <= 50'000);
                CHECK(sink.events().size() > 40'000);
            }
        }
    }
}

TEST_CASE("a generator gives the same events for the same text, others for another seed",
          "[generator]") {
    for (const GeneratorInfo& generator : all_generators()) {
        const std::string spec = fmt::format("{}:events=20000,seed=", generator.name);
        CheckingSink first;
        CheckingSink again;
        CheckingSink other;

        must_generate(spec + "7", first);
        must_generate(spec + "7", again);
        must_generate(spec + "8", other);

        INFO(spec);
        CHECK(first.events() == again.events());
        CHECK(first.events() != other.events());
    }
}

TEST_CASE("generated events are the same on every machine", "[generator]") {
    CheckingSink sink;
    must_generate("mix:events=1000,streams=3", sink);
    std::uint64_t sum = 0;
    for (const TraceEvent& event : sink.events())
        sum = sum * 31 + event.size + event.slot + to_integer(event.stream) +
              static_cast<std::uint64_t>(event.time) + static_cast<std::uint64_t>(event.kind);

    CHECK(sum == 0x78aeecc0ada03f27U);
}

TEST_CASE("mix gives exactly the events asked for, in memory of the live set", "[generator]") {
    CheckingSink sink;

    const TraceInfo info = must_generate("mix:events=300000,live=500", sink);

    CHECK(info.event_count == 300'000);
    CHECK(info.slot_count < 2 * 500);
}

TEST_CASE("mix has as many live allocations as asked for, in every shape", "[generator]") {
    const std::string shape = GENERATE("training", "churn", "uniform");
    const std::size_t live = GENERATE(20UL, 300UL, 3000UL);
    CheckingSink sink;

    must_generate(fmt::format("mix:events=600000,live={},shape={}", live, shape), sink);

    const double mean = mean_live(sink, 300'000, 500'000);
    INFO(shape << " live " << live);
    CHECK(mean == Approx(static_cast<double>(live)).epsilon(0.15));
}

TEST_CASE("mix uses all streams, half of the time the first", "[generator]") {
    CheckingSink sink;

    const TraceInfo info = must_generate("mix:events=100000,streams=4", sink);

    CHECK(info.streams == std::vector<std::uint64_t>{0, 1, 2, 3});
    std::map<std::uint32_t, double> share;
    double all = 0;
    for (const TraceEvent& event : sink.events()) {
        if (event.kind == EventKind::allocate)
            share[to_integer(event.stream)] += 1, all += 1;
    }
    REQUIRE(share.size() == 4);
    CHECK(share[0] / all == Approx(0.5).margin(0.02));
    CHECK(share[3] / all == Approx(1.0 / 6).margin(0.02));
    CHECK(static_cast<double>(count_of(sink, EventKind::record_use)) / all ==
          Approx(0.125).margin(0.01));
}

TEST_CASE("mix asks for the sizes of training runs as often as they do", "[generator]") {
    CheckingSink sink;

    must_generate("mix:events=400000", sink);

    double all = 0;
    double below_1_mib = 0;
    double commonest = 0;
    for (const TraceEvent& event : sink.events()) {
        if (event.kind != EventKind::allocate)
            continue;
        all += 1;
        below_1_mib += event.size <= 1_MiB ? 1 : 0;
        commonest += event.size == 16_MiB ? 1 : 0;
    }
    // As in the three snapshots that the tables come from. A class's rare sizes count towards its
    // frequent ones, so the latter have a margin.
    CHECK(below_1_mib / all == Approx(0.456).margin(0.01));
    CHECK(commonest / all == Approx(0.055).margin(0.02));
}

TEST_CASE("mix divides sizes by its scale, never down to nothing", "[generator]") {
    CheckingSink sink;

    must_generate("mix:events=10000,shape=uniform,scale=1024", sink);

    Bytes largest = 0;
    for (const TraceEvent& event : sink.events()) {
        if (event.kind == EventKind::allocate)
            CHECK(event.size >= 1);
        largest = std::max(largest, event.size);
    }
    CHECK(largest == 64_KiB);
}

TEST_CASE("steps frees activations in reverse and keeps parameters", "[generator]") {
    CheckingSink sink;

    const TraceInfo info = must_generate("steps:events=1,layers=2,width=64,tokens=128", sink);

    const std::uint64_t parameters = 2 * 3 * 5;
    for (std::size_t i = 1; i <= parameters; ++i)
        CHECK(sink.events()[i].kind == EventKind::allocate);
    for (std::size_t i = 0; i < parameters; ++i)
        CHECK(sink.events()[sink.events().size() - 1 - i].slot == i);
    CHECK(count_of(sink, EventKind::range_begin) == 5);
    CHECK(info.strings.size() == 6);
}

TEST_CASE("serving's caches grow as told", "[generator]") {
    const auto allocations = [](const std::string& growth) {
        CheckingSink sink;
        must_generate("serving:events=30000,requests=4,layers=1,token_bytes=1KiB,growth=" + growth,
                      sink);
        std::map<Bytes, std::uint64_t> sizes;
        for (const TraceEvent& event : sink.events()) {
            if (event.kind == EventKind::allocate && event.size % 32000 != 0)
                ++sizes[event.size];
        }
        return sizes;
    };

    for (const auto& [size, count] : allocations("double"))
        CHECK((is_power_of_two(size / 1024) || size % 4096 == 0));
    const auto exact = allocations("exact");
    CHECK(exact.size() > 100);
    const auto blocks = allocations("block");
    CHECK(blocks.at(16 * 1024) > 100);
}

TEST_CASE("a wrong name or option is refused with the nearest one", "[generator]") {
    CheckingSink sink;
    const auto refuse = [&sink](const char* spec) {
        const auto info = generate(spec, sink);
        REQUIRE_FALSE(info);
        CHECK(info.error().code == ErrorCode::bad_option);
        return to_text(info.error());
    };

    CHECK_THAT(refuse("mox"), Catch::Contains("did you mean 'mix'?"));
    CHECK_THAT(refuse(""), Catch::Contains("there is no generator ''"));
    CHECK_THAT(refuse("mix:event=3"), Catch::Contains("did you mean 'events'?"));
    CHECK_THAT(refuse("mix:events=1"), Catch::Contains("below its least value"));
    CHECK_THAT(refuse("mix:shape=round"), Catch::Contains("'round' is not a choice"));
    CHECK(sink.events().empty());
}

TEST_CASE("the sink's error ends the generation", "[generator]") {
    class Full final : public TraceSink {
      public:
        Result<void> append(std::span<const TraceEvent> /*events*/) override {
            return fail(ErrorCode::io, "no space");
        }

        Result<void> finish(const TraceInfo& /*info*/) override { return {}; }
    };

    for (const GeneratorInfo& generator : all_generators()) {
        Full sink;
        const auto info = generate(fmt::format("{}:events=1000000000", generator.name), sink);
        REQUIRE_FALSE(info);
        CHECK(info.error().code == ErrorCode::io);
    }
}

TEST_CASE("an alias table draws each index by its weight", "[generator]") {
    const std::vector<std::uint32_t> weights{1, 0, 7, 100, 3, 0, 9};
    const generators::AliasTable table(weights);
    Random random(3);
    std::vector<double> drawn(weights.size());

    constexpr int kDraws = 1'000'000;
    for (int i = 0; i < kDraws; ++i)
        drawn[table.pick(random.next())] += 1;

    for (std::size_t i = 0; i < weights.size(); ++i) {
        CHECK(drawn[i] / kDraws == Approx(weights[i] / 120.0).margin(0.002));
        CHECK((drawn[i] == 0) == (weights[i] == 0));
    }
}

}  // namespace tidemark
