// BackgroundSink: the same file as without it, and the target's errors.
#include "traces/tmk/background_sink.h"

#include <catch2/catch.hpp>

#include "tests/traces/tmk/random_trace.h"

using namespace tidemark;

namespace {

// Refuses whatever comes after the first `capacity` events.
class Narrow final : public TraceSink {
  public:
    explicit Narrow(std::size_t capacity) : left_(capacity) {}

    Result<void> append(std::span<const TraceEvent> events) override {
        if (events.size() > left_)
            return fail(ErrorCode::io, "no space left");
        left_ -= events.size();
        return {};
    }

    Result<void> finish(const TraceInfo& /*info*/) override {
        finished = true;
        return {};
    }

    bool finished = false;

  private:
    std::size_t left_;
};

}  // namespace

TEST_CASE("a trace written in the background has the same bytes", "[tmk]") {
    Random random(1);
    const auto events = support::plain_events(random, 200'000);
    support::Memory memory;
    const auto writer = make_tmk_writer(memory);
    {
        BackgroundSink sink(*writer);
        for (std::size_t i = 0; i < events.size(); i += 777) {
            const std::size_t count = std::min<std::size_t>(777, events.size() - i);
            REQUIRE(sink.append(std::span(events).subspan(i, count)));
        }
        REQUIRE(sink.finish(support::small_info()));
    }

    CHECK(memory.bytes == support::write_tmk(events, support::small_info()));
}

TEST_CASE("the target's error comes back through the background sink", "[tmk]") {
    const std::vector<TraceEvent> events(10'000);
    Narrow narrow(100'000);
    BackgroundSink sink(narrow);

    Result<void> outcome;
    for (int i = 0; i < 1000 && outcome; ++i)
        outcome = sink.append(events);

    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what == "no space left");
    CHECK_FALSE(sink.finish({}));
    CHECK_FALSE(narrow.finished);
}

TEST_CASE("an error in the last piece is seen by finish", "[tmk]") {
    const std::vector<TraceEvent> events(10);
    Narrow narrow(0);
    BackgroundSink sink(narrow);
    REQUIRE(sink.append(events));

    CHECK_FALSE(sink.finish({}));
    CHECK_FALSE(narrow.finished);
}

TEST_CASE("a background sink that is given up goes away quietly", "[tmk]") {
    const std::vector<TraceEvent> events(100'000);
    Narrow narrow(1'000'000);
    {
        BackgroundSink sink(narrow);
        REQUIRE(sink.append(events));
    }

    CHECK_FALSE(narrow.finished);
}
