// Writers: what is written says the same as what was there.
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/checking_sink.h"
#include "tests/support/test_folder.h"
#include "tests/support/vector_trace.h"
#include "traces/generators/generators.h"
#include "traces/readers/format.h"
#include "traces/writers/writer.h"

namespace tidemark::formats {
FormatInfo jsonl();
FormatInfo rmm_csv();
}  // namespace tidemark::formats

namespace tidemark {
namespace {

using support::CheckingSink;
using support::TraceBuilder;
using support::VectorTrace;

struct Written {
    std::string text;
    WriteSummary summary;
};

Written write(const char* writer, const Trace& trace) {
    const support::TestFolder folder;
    const auto found = find_writer(writer);
    REQUIRE(found);
    const auto file = OutputFile::create(folder.file("written"));
    REQUIRE(file);
    const auto summary = (*found)->write(trace, **file);
    REQUIRE(summary);
    REQUIRE((*file)->commit());
    return {folder.read("written"), *summary};
}

struct Read {
    TraceInfo info;
    std::vector<TraceEvent> events;

    VectorTrace trace() const { return VectorTrace(events, info); }
};

Read read(const FormatInfo& format, std::string_view text) {
    const auto source = open_memory(std::as_bytes(std::span(text.data(), text.size())), "written");
    REQUIRE(source);
    CheckingSink sink;
    auto info = format.read(**source, sink, {});
    if (!info)
        FAIL(to_text(info.error()));
    REQUIRE(sink.finish(*info));
    REQUIRE(sink.problem() == "");
    return {std::move(*info), sink.events()};
}

// A stack as a person reads it.
std::string stack_text(const TraceInfo& info, std::uint32_t stack) {
    std::string text;
    for (const Frame& frame : info.stacks[stack]) {
        text += std::string(info.strings[frame.name]);
        if (frame.file != 0)
            text += " " + std::string(info.strings[frame.file]) + ":" + std::to_string(frame.line);
        text += "\n";
    }
    return text;
}

// What of an event must survive; numbers of strings and stacks may differ, what they say may not.
void check_same(const TraceInfo& info, TraceEvent event, const TraceInfo& info_read,
                TraceEvent read) {
    CHECK(info.strings[event.tag] == info_read.strings[read.tag]);
    CHECK(stack_text(info, event.stack) == stack_text(info_read, read.stack));
    if (event.kind >= EventKind::range_begin && event.kind <= EventKind::mark) {
        CHECK(info.strings[event.aux] == info_read.strings[read.aux]);
        event.aux = read.aux = 0;
    }
    event.tag = read.tag = event.stack = read.stack = 0;
    CHECK(event == read);
}

// One of everything that the form can say.
VectorTrace everything() {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.source = "torch \"2\"";
    info.devices = {{"H200", 1'000}, {"H100", 500}};
    info.streams = {0, 0x7f0000001234};
    info.pools = {"default", "graph 1"};
    info.settings = {{"max_split_size_mb", "64"}};
    info.metadata = {{"batch", "8"}};
    info.start_time = 1'700'000'000'000'000'123;
    info.preamble_count = 1;
    const std::uint32_t step = info.strings.intern("step \"1\"\n\xc3\xa9");
    const std::uint32_t file = info.strings.intern("a.py");
    const Frame frames[] = {{step, file, 7}, {file, 0, 0}};
    const std::uint32_t stack = info.stacks.intern(frames);

    TraceBuilder builder;
    const auto add = [&builder](TraceEvent event) { builder.add(event); };
    using Kind = EventKind;
    const StreamId side{1};
    add({.size = 9, .address = 0x900, .slot = 0, .flags = kPreamble});
    add({.aux = step, .kind = Kind::range_begin});
    add({.size = 5,
         .address = 0x500,
         .slot = 1,
         .stream = side,
         .stack = stack,
         .aux = 1,
         .tag = step});
    add({.aux = 1, .kind = Kind::pool_begin});
    add({.size = 0, .slot = 2, .device = 1});
    add({.aux = 1, .kind = Kind::pool_end});
    add({.slot = 1, .aux = 77, .kind = Kind::use, .flags = kReads});
    add({.slot = 1, .aux = 77, .kind = Kind::use, .flags = kWrites});
    add({.slot = 1, .stream = side, .aux = 78, .kind = Kind::use, .flags = kReads | kWrites});
    add({.slot = 1, .stream = side, .kind = Kind::record_use});
    add({.stream = side, .aux = 3, .kind = Kind::record_event});
    add({.aux = 3, .kind = Kind::wait_event});
    add({.stream = side, .kind = Kind::synchronize});
    add({.kind = Kind::synchronize, .flags = kWholeDevice});
    add({.address = 0x900, .slot = 0, .stack = stack, .kind = Kind::retire});
    add({.aux = step, .kind = Kind::mark});
    add({.address = 0x900, .slot = 0, .kind = Kind::finish});
    add({.size = 6, .slot = 0, .flags = kTierHost});
    add({.slot = 0, .kind = Kind::move, .flags = kTierDisk});
    add({.size = 64, .aux = 4, .kind = Kind::reserve, .flags = kTierHost});
    add({.size = 64, .aux = 6, .kind = Kind::reserve, .flags = kTierHost | kOrDevice | kOrDisk});
    add({.size = 64, .aux = 4, .kind = Kind::release});
    add({.size = 1'000'000, .address = 12, .kind = Kind::out_of_memory});
    add({.kind = Kind::trim});
    add({.address = 0x500, .slot = 1, .stream = side, .kind = Kind::free});
    add({.aux = step, .kind = Kind::range_end});
    return builder.build(std::move(info));
}

}  // namespace

TEST_CASE("everything that the program did survives JSONL", "[writer][jsonl]") {
    const VectorTrace trace = everything();
    const TraceInfo& info = trace.info();

    const Written written = write("jsonl", trace);

    CHECK(written.summary.written == info.event_count);
    CHECK(written.summary.left_out_truth == 0);
    CHECK(written.summary.left_out_events == 0);
    const Read back = read(formats::jsonl(), written.text);
    const std::vector<TraceEvent> events = support::events_of(trace);
    REQUIRE(back.events.size() == events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        INFO("event " << i);
        check_same(info, events[i], back.info, back.events[i]);
    }
    CHECK(back.info.source == info.source);
    CHECK(back.info.devices == info.devices);
    CHECK(back.info.streams == info.streams);
    CHECK(back.info.pools == info.pools);
    CHECK(back.info.settings == info.settings);
    CHECK(back.info.metadata == info.metadata);
    CHECK(back.info.start_time == info.start_time);
    CHECK(back.info.preamble_count == 1);
    CHECK(back.info.begins_inside);
}

TEST_CASE("writing what was read from JSONL gives the same text", "[writer][jsonl]") {
    const std::string once = write("jsonl", everything()).text;

    const std::string twice = write("jsonl", read(formats::jsonl(), once).trace()).text;

    CHECK(once == twice);
}

TEST_CASE("generated traces survive JSONL event by event", "[writer][jsonl]") {
    const std::string spec = GENERATE("mix:events=20000,streams=3", "steps:events=5000",
                                      "serving:events=5000,growth=block", "query:events=5000",
                                      "training:events=5000,variable=true", "kv-cache:events=5000",
                                      "adversarial:events=5000,pattern=gang");
    CheckingSink sink;
    const auto info = generate(spec, sink);
    REQUIRE(info);

    const Written written = write("jsonl", VectorTrace(sink.events(), *info));

    const Read back = read(formats::jsonl(), written.text);
    CHECK(back.events == sink.events());
    CHECK(back.info.slot_count == info->slot_count);
}

TEST_CASE("truth, and events about what the trace never introduced, are left out and counted",
          "[writer]") {
    const std::string name = GENERATE("jsonl", "rmm-csv");
    const VectorTrace trace = TraceBuilder()
                                  .segment(EventKind::segment_alloc, 0x1000, 4096)
                                  .free(kNoSlot)
                                  .free(3)
                                  .allocate(0, 5, 0x1000)
                                  .free(0)
                                  .free(0)
                                  .build();

    const Written written = write(name.c_str(), trace);

    CHECK(written.summary.written == 2);
    CHECK(written.summary.left_out_truth == 1);
    CHECK(written.summary.left_out_events == 3);
}

TEST_CASE("a slot that is taken while live becomes a free and an allocation", "[writer]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 5, 0x10).allocate(0, 6, 0x20).build();

    const Read json = read(formats::jsonl(), write("jsonl", trace).text);
    REQUIRE(json.events.size() == 3);
    CHECK(json.events[1].kind == EventKind::free);
    CHECK(json.events[2].size == 6);

    const Read csv = read(formats::rmm_csv(), write("rmm-csv", trace).text);
    REQUIRE(csv.events.size() == 3);
    CHECK(csv.events[1].kind == EventKind::free);
    CHECK(csv.info.anomalies == Anomalies{});
}

TEST_CASE("text that is not UTF-8 is repaired, so that the result is JSON", "[writer][jsonl]") {
    TraceInfo info;
    info.source = "\xff\xfe";
    info.metadata = {{"k\x80", "v\xc3"}};
    const std::uint32_t name = info.strings.intern("a\xff\x01\"\\");
    const VectorTrace trace =
        TraceBuilder().add({.aux = name, .kind = EventKind::mark}).build(std::move(info));

    const Read back = read(formats::jsonl(), write("jsonl", trace).text);

    CHECK(back.info.strings[back.events[0].aux] == "a\xef\xbf\xbd\x01\"\\");
    CHECK(back.info.metadata.size() == 1);
}

TEST_CASE("metadata cannot break the header", "[writer][jsonl]") {
    TraceInfo info;
    info.metadata = {{"type", "x"}, {"unit", "ms"}, {"streams", "[]"}, {"a", "1"}, {"a", "2"}};

    const Read back =
        read(formats::jsonl(), write("jsonl", TraceBuilder().build(std::move(info))).text);

    CHECK(back.info.metadata == std::vector<std::pair<std::string, std::string>>{{"a", "2"}});
}

TEST_CASE("allocations, frees and refusals survive an RMM log", "[writer][rmm]") {
    TraceInfo info;
    info.streams = {0, 0x5581};
    const VectorTrace trace = TraceBuilder()
                                  .allocate(0, 100, 0x7f00)
                                  .allocate(1, 200, 0, 1)
                                  .add({.size = 7, .kind = EventKind::out_of_memory})
                                  .end(EventKind::retire, 0)
                                  .end(EventKind::finish, 0)
                                  .allocate(2, 300, 0x7f00)
                                  .free(1)
                                  .build(std::move(info));

    const Written written = write("rmm-csv", trace);

    CHECK(written.summary.written == 6);
    CHECK(written.summary.left_out_events == 1);
    CHECK(written.text.find("Thread,Time,Action,Pointer,Size,Stream\n"
                            "0,00:00:00.000000,allocate,0x7f00,100,0x0\n") == 0);
    const Read back = read(formats::rmm_csv(), written.text);
    CHECK(back.info.anomalies == Anomalies{});
    REQUIRE(back.events.size() == 6);
    CHECK(back.events[1].stream == StreamId{1});
    CHECK(back.events[2].kind == EventKind::out_of_memory);
    CHECK(back.events[3].slot == back.events[0].slot);
    CHECK(back.events[5].slot == back.events[1].slot);
    CHECK(back.info.streams[1] == 0x5581);
}

TEST_CASE("the time of day in an RMM log is the recording's, past midnight too", "[writer][rmm]") {
    TraceInfo info;
    info.start_time = (86'399 * 1'000'000'000LL) + 999'999'000;
    std::vector<TraceEvent> events{{.size = 1, .address = 16, .slot = 0},
                                   {.time = 2'000, .slot = 0, .kind = EventKind::free}};

    const std::string text = write("rmm-csv", VectorTrace(std::move(events), std::move(info))).text;

    CHECK_THAT(text, Catch::Contains("0,23:59:59.999999,allocate"));
    CHECK_THAT(text, Catch::Contains("0,00:00:00.000001,free"));
    CHECK(read(formats::rmm_csv(), text).events[1].time == 2'000);
}

TEST_CASE("a writer is found by its name or by a path's extension", "[writer]") {
    CHECK((*find_writer("jsonl"))->name == "jsonl");
    CHECK((*find_writer("out/run.jsonl"))->name == "jsonl");
    CHECK((*find_writer("log.csv"))->name == "rmm-csv");
    const auto unknown = find_writer("trace.xml");
    REQUIRE_FALSE(unknown);
    CHECK_THAT(to_text(unknown.error()),
               Catch::Contains("jsonl (.jsonl)") && Catch::Contains("rmm-csv (.csv)"));
}

}  // namespace tidemark
