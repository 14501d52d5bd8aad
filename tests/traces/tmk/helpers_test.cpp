// Encoding on several threads: the same file whatever their number, and the target's errors.
#include <catch2/catch.hpp>

#include "tests/support/system_limits.h"
#include "tests/traces/tmk/random_trace.h"

using namespace tidemark;

namespace {

// Refuses whatever comes after the first `capacity` bytes.
class Narrow final : public ByteSink {
  public:
    explicit Narrow(std::size_t capacity) : left_(capacity) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        if (bytes.size() > left_)
            return fail(ErrorCode::io, "no space left");
        left_ -= bytes.size();
        return {};
    }

  private:
    std::size_t left_;
};

}  // namespace

TEST_CASE("a trace encoded by several threads has the same bytes", "[tmk]") {
    Random random(1);
    const auto events = support::plain_events(random, 700'000);
    const auto alone = support::write_tmk(events, support::small_info());
    const auto encoded = [&events](unsigned helpers, std::size_t piece) {
        support::Memory memory;
        const auto writer = make_tmk_writer(memory, helpers);
        for (std::size_t i = 0; i < events.size(); i += piece) {
            const std::size_t count = std::min(piece, events.size() - i);
            REQUIRE(writer->append(std::span(events).subspan(i, count)));
        }
        REQUIRE(writer->finish(support::small_info()));
        return std::move(memory.bytes);
    };
    for (const unsigned helpers : {0U, 1U, 2U, 5U})
        for (const std::size_t piece : {std::size_t{777}, events.size()})
            for (const int threads : {1, 1000}) {
                const support::ThreadLimit limit(threads);
                INFO(helpers << " helpers, pieces of " << piece << ", " << threads << " threads");
                CHECK((encoded(helpers, piece) == alone));
            }
}

TEST_CASE("the target's error comes back while helpers encode", "[tmk]") {
    const std::vector<TraceEvent> events(100'000);
    Narrow narrow(2'000);
    const auto writer = make_tmk_writer(narrow, 2);

    Result<void> outcome;
    for (int i = 0; i < 1000 && outcome; ++i)
        outcome = writer->append(events);

    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what == "no space left");
}

TEST_CASE("an error in the last chunk is seen by finish", "[tmk]") {
    const std::vector<TraceEvent> events(10);
    Narrow narrow(0);
    const auto writer = make_tmk_writer(narrow, 2);
    REQUIRE(writer->append(events));

    CHECK_FALSE(writer->finish(support::small_info()));
}

TEST_CASE("events beyond the tables are noticed whichever thread encoded them", "[tmk]") {
    std::vector<TraceEvent> events(400'000);
    events[70'000].stream = StreamId{9};
    support::Memory memory;
    const auto writer = make_tmk_writer(memory, 2);
    REQUIRE(writer->append(events));

    CHECK_FALSE(writer->finish(support::small_info()));
}

TEST_CASE("a writer that is given up goes away quietly, with its threads", "[tmk]") {
    Random random(2);
    const auto events = support::plain_events(random, 400'000);
    support::Memory memory;
    {
        const auto writer = make_tmk_writer(memory, 3);
        REQUIRE(writer->append(events));
    }

    CHECK(memory.bytes.size() < support::write_tmk(events, support::small_info()).size());
}
