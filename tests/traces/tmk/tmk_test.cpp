// .tmk: everything comes back, and the bytes depend on the content alone.
#include "traces/tmk/tmk.h"

#include <optional>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/system_limits.h"
#include "tests/support/test_folder.h"
#include "tests/traces/tmk/random_trace.h"
#include "traces/tmk/wire.h"

using namespace tidemark;
using support::small_info;
using support::write_tmk;

namespace {

std::unique_ptr<Trace> must_open(std::vector<std::byte> bytes) {
    auto trace = open_tmk(std::move(bytes), "test.tmk");
    if (!trace)
        FAIL(to_text(trace.error()));
    return std::move(*trace);
}

}  // namespace

TEST_CASE("events of any kind with any values come back", "[tmk][property]") {
    CHECK(support::counterexample(support::effort(150), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const auto count = *rc::gen::inRange<std::size_t>(0, 20'000);
              const auto events = support::any_events(random, count);

              const auto trace = must_open(write_tmk(events, small_info()));

              RC_ASSERT(support::events_of(*trace) == events);
              RC_ASSERT(trace->info().event_count == count);
          }) == "");
}

TEST_CASE("a trace of several chunks comes back, twice from one file", "[tmk]") {
    Random random(3);
    const auto events = support::plain_events(random, 3 * tmk::kChunkEvents + 5);
    const auto trace = must_open(write_tmk(events, small_info()));

    CHECK(support::events_of(*trace) == events);
    CHECK(support::events_of(*trace) == events);
}

TEST_CASE("the information comes back", "[tmk]") {
    Random random(4);
    const auto events = support::plain_events(random, 5000);
    TraceInfo info = small_info();
    info.preamble_count = 17;

    const auto trace = must_open(write_tmk(events, info));

    const TraceInfo& found = trace->info();
    CHECK(found.format == info.format);
    CHECK(found.source == info.source);
    CHECK(found.event_count == 5000);
    CHECK(found.preamble_count == 17);
    CHECK(found.slot_count > 0);
    CHECK(found.start_time == info.start_time);
    CHECK(found.duration == events.back().time);
    CHECK(found.begins_inside);
    CHECK_FALSE(found.cut_off);
    CHECK(found.devices == info.devices);
    CHECK(found.streams == info.streams);
    CHECK(found.pools == info.pools);
    CHECK(found.settings == info.settings);
    CHECK(found.metadata == info.metadata);
    CHECK(found.warnings == info.warnings);
    CHECK(found.anomalies == info.anomalies);
    REQUIRE(found.strings.size() == info.strings.size());
    for (std::uint32_t i = 0; i < info.strings.size(); ++i)
        CHECK(found.strings[i] == info.strings[i]);
    REQUIRE(found.stacks.size() == info.stacks.size());
    for (std::uint32_t i = 0; i < info.stacks.size(); ++i)
        CHECK(std::ranges::equal(found.stacks[i], info.stacks[i]));
}

TEST_CASE("however events are cut into pieces, the bytes are the same", "[tmk][property]") {
    Random random(5);
    const auto events = support::plain_events(random, tmk::kChunkEvents + 30'000);
    const auto expected = write_tmk(events, small_info());
    const std::size_t piece = GENERATE(std::size_t{1}, std::size_t{4097}, std::size_t{1} << 20);

    CHECK(write_tmk(events, small_info(), piece) == expected);
}

TEST_CASE("the hash is of the content and not of where it came from", "[tmk]") {
    Random random(6);
    auto events = support::plain_events(random, 1000);
    TraceInfo info = small_info();
    const std::uint64_t hash = must_open(write_tmk(events, info))->hash();

    info.format = "another";
    info.source = "another";
    info.warnings.clear();
    CHECK(must_open(write_tmk(events, info))->hash() == hash);

    info.settings.emplace_back("key", "value");
    CHECK(must_open(write_tmk(events, info))->hash() != hash);

    ++events[500].address;
    CHECK(must_open(write_tmk(events, small_info()))->hash() != hash);
}

TEST_CASE("a trace without events is a trace", "[tmk]") {
    const auto trace = must_open(write_tmk({}, TraceInfo{}));

    CHECK(support::events_of(*trace).empty());
    CHECK(trace->info().devices.size() == 1);
    CHECK(trace->info().streams.size() == 1);
    CHECK_FALSE(trace->info().cut_off);
}

TEST_CASE("events that name what the tables lack are refused by the writer", "[tmk]") {
    support::Memory memory;
    TraceEvent event;
    event.stack = 77;
    const auto writer = make_tmk_writer(memory);
    REQUIRE(writer->append(std::span(&event, 1)));

    const auto finished = writer->finish(small_info());

    REQUIRE_FALSE(finished);
    CHECK_THAT(to_text(finished.error()), Catch::Contains("call stack 77"));
}

TEST_CASE("a file on disk is read like memory, and where nothing can be mapped too", "[tmk]") {
    Random random(8);
    const auto events = support::plain_events(random, 2000);
    const auto bytes = write_tmk(events, small_info());
    const support::TestFolder folder;

    const std::string path = folder.write("a.tmk", bytes);
    const auto trace = open_tmk(path);
    std::optional<support::NoMappings> none(std::in_place);
    const auto unmapped = open_tmk(path);
    none.reset();

    REQUIRE(trace);
    REQUIRE(unmapped);
    CHECK((*unmapped)->hash() == (*trace)->hash());
    CHECK(support::events_of(**trace) == events);
    CHECK((*trace)->hash() == must_open(bytes)->hash());
}

TEST_CASE("a usual trace takes few bytes an event", "[tmk]") {
    Random random(9);
    const auto events = support::plain_events(random, tmk::kChunkEvents);

    const auto bytes = write_tmk(events, small_info());

    CHECK(bytes.size() < 5 * events.size());
}
