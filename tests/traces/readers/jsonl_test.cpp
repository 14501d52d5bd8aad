// jsonl: what every op becomes, and every way in which a line can be wrong.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "tests/traces/readers/read_text.h"
#include "traces/readers/jsonl_line.h"

namespace tidemark::formats {
FormatInfo jsonl();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::ReadText;
using support::strict;

const FormatInfo kJsonl = formats::jsonl();
const std::string kHeader = R"({"type":"header","version":1,"unit":"ns"})"
                            "\n";

// Line 2 of a file whose header says nanoseconds.
ReadText read_line(const std::string& line) {
    return must_read(kJsonl, kHeader + line + "\n");
}

const std::string kAlloc = R"({"t":0,"op":"alloc","id":5,"bytes":100,"stream":0})"
                           "\n";

// An event after an allocation of id 5.
TraceEvent after_alloc(const std::string& line) {
    const ReadText read = must_read(kJsonl, kHeader + kAlloc + line + "\n");
    REQUIRE(read.count() == 2);
    return read.event(1);
}

}  // namespace

TEST_CASE("every op becomes the event that it means", "[reader][jsonl]") {
    using Kind = EventKind;
    const auto check = [](const std::string& line, const TraceEvent& expected) {
        INFO(line);
        CHECK(after_alloc(line) == expected);
    };
    check(R"({"t":7,"op":"alloc","id":9,"bytes":8,"stream":3})",
          {.time = 7, .size = 8, .slot = 1, .stream = StreamId{1}});
    check(R"({"t":7,"op":"alloc","id":9,"bytes":8,"tier":"host","address":4096})",
          {.time = 7, .size = 8, .address = 4096, .slot = 1, .flags = kTierHost});
    check(R"({"t":7,"op":"alloc","id":9,"bytes":8,"tier":"disk","address":"0x1000"})",
          {.time = 7, .size = 8, .address = 4096, .slot = 1, .flags = kTierDisk});
    check(R"({"t":7,"op":"alloc","id":9,"bytes":8,"device":2,"pool":"mine"})",
          {.time = 7, .size = 8, .slot = 1, .aux = 1, .device = 2});
    check(R"({"t":7,"op":"free","id":5})", {.time = 7, .slot = 0, .kind = Kind::free});
    check(R"({"t":7,"op":"use","id":5,"stream":0,"mode":"r","kernel":11})",
          {.time = 7, .slot = 0, .aux = 11, .kind = Kind::use, .flags = kReads});
    check(R"({"t":7,"op":"use","id":5,"mode":"w","kernel":12})",
          {.time = 7, .slot = 0, .aux = 12, .kind = Kind::use, .flags = kWrites});
    check(R"({"t":7,"op":"use","id":5,"mode":"rw","kernel":13})",
          {.time = 7, .slot = 0, .aux = 13, .kind = Kind::use, .flags = kReads | kWrites});
    check(R"({"t":7,"op":"record_use","id":5,"stream":4})",
          {.time = 7, .slot = 0, .stream = StreamId{1}, .kind = Kind::record_use});
    check(R"({"t":7,"op":"event","event":3,"stream":4})",
          {.time = 7, .stream = StreamId{1}, .aux = 3, .kind = Kind::record_event});
    check(R"({"t":7,"op":"wait","event":3})", {.time = 7, .aux = 3, .kind = Kind::wait_event});
    check(R"({"t":7,"op":"sync","stream":0})", {.time = 7, .kind = Kind::synchronize});
    check(R"({"t":7,"op":"sync"})", {.time = 7, .kind = Kind::synchronize, .flags = kWholeDevice});
    check(R"({"t":7,"op":"begin","name":"step 1"})",
          {.time = 7, .aux = 1, .kind = Kind::range_begin});
    check(R"({"t":7,"op":"end","name":"step 1"})", {.time = 7, .aux = 1, .kind = Kind::range_end});
    check(R"({"t":7,"op":"mark","name":"here"})", {.time = 7, .aux = 1, .kind = Kind::mark});
    check(R"({"t":7,"op":"pool_begin","pool":1,"stream":0})",
          {.time = 7, .aux = 1, .kind = Kind::pool_begin});
    check(
        R"({"t":7,"op":"reserve","task":8,"bytes":64,"tier":"host","device":1})",
        {.time = 7, .size = 64, .aux = 8, .device = 1, .kind = Kind::reserve, .flags = kTierHost});
    check(R"({"t":7,"op":"reserve","task":8,"bytes":64,"tier":"gpu,host"})",
          {.time = 7, .size = 64, .aux = 8, .kind = Kind::reserve, .flags = kOrHost});
    check(R"({"t":7,"op":"reserve","task":8,"bytes":64,"tier":"host,gpu,disk"})",
          {.time = 7,
           .size = 64,
           .aux = 8,
           .kind = Kind::reserve,
           .flags = kTierHost | kOrDevice | kOrDisk});
    check(R"({"t":7,"op":"release","task":8,"bytes":64})",
          {.time = 7, .size = 64, .aux = 8, .kind = Kind::release});
    check(R"({"t":7,"op":"move","id":5,"to":"host"})",
          {.time = 7, .slot = 0, .kind = Kind::move, .flags = kTierHost});
    check(R"({"t":7,"op":"oom","bytes":64})", {.time = 7, .size = 64, .kind = Kind::out_of_memory});
}

TEST_CASE("the header's unit scales times, and everything else in it is metadata",
          "[reader][jsonl]") {
    const auto read = must_read(
        kJsonl,
        R"({"type":"header","version":1,"unit":"ms","source":"me","device":"H200","batch":8,)"
        R"("shape":[1,2],"start_time":5,"settings":{"expandable_segments":"True"}})"
        "\n"
        R"({"t":3,"op":"mark","name":"x"})"
        "\n");

    CHECK(read.event(0).time == 3'000'000);
    CHECK(read.info->source == "me");
    CHECK(read.info->devices[0].name == "H200");
    CHECK(read.info->start_time == 5);
    CHECK(read.info->setting("batch") == "8");
    CHECK(read.info->setting("shape") == "[1,2]");
    CHECK(read.info->setting("expandable_segments") == "True");
    CHECK(read.info->metadata.size() == 2);
}

TEST_CASE("streams and pools keep their names, in order of appearance or as the header lists them",
          "[reader][jsonl]") {
    const std::string lines = R"({"t":0,"op":"alloc","id":0,"bytes":1,"stream":2,"pool":2})"
                              "\n"
                              R"({"t":0,"op":"alloc","id":1,"bytes":1,"stream":1,"pool":"b"})"
                              "\n"
                              R"({"t":0,"op":"alloc","id":2,"bytes":1,"stream":9,"pool":"default"})"
                              "\n";

    const auto bare = must_read(kJsonl, kHeader + lines);
    CHECK(bare.event(0).stream == StreamId{1});
    CHECK(bare.info->streams == std::vector<std::uint64_t>{0, 2, 1, 9});
    CHECK(bare.event(0).aux == 1);
    CHECK(bare.event(1).aux == 2);
    CHECK(bare.event(2).aux == 0);
    CHECK(bare.info->pools == std::vector<std::string>{"default", "2", "b"});

    const auto listed = must_read(
        kJsonl,
        R"({"type":"header","version":1,"unit":"ns","streams":[0,70,80],"pools":["main","a","b"]})"
        "\n" +
            lines);
    CHECK(listed.event(0).stream == StreamId{2});
    CHECK(listed.event(1).stream == StreamId{1});
    CHECK(listed.event(2).stream == StreamId{3});
    CHECK(listed.info->streams == std::vector<std::uint64_t>{0, 70, 80, 9});
    CHECK(listed.event(0).aux == 2);
    CHECK(listed.event(1).aux == 2);
    CHECK(listed.info->pools == std::vector<std::string>{"main", "a", "b"});
}

TEST_CASE("allocations between pool_begin and pool_end belong to that pool", "[reader][jsonl]") {
    const auto read = must_read(kJsonl, kHeader +
                                            R"({"t":0,"op":"pool_begin","pool":"g","stream":1}
{"t":0,"op":"alloc","id":0,"bytes":1,"stream":1}
{"t":0,"op":"alloc","id":1,"bytes":1,"stream":0}
{"t":0,"op":"alloc","id":2,"bytes":1,"stream":1,"pool":0}
{"t":0,"op":"pool_end","pool":"g","stream":1}
{"t":0,"op":"alloc","id":3,"bytes":1,"stream":1}
)");

    CHECK(read.event(1).aux == 1);
    CHECK(read.event(2).aux == 0);
    CHECK(read.event(3).aux == 0);
    CHECK(read.event(5).aux == 0);
}

TEST_CASE("stacks, tags and names are kept, escapes undone, equal ones stored once",
          "[reader][jsonl]") {
    const auto read = must_read(
        kJsonl, kHeader +
                    R"({"t":0,"op":"alloc","id":0,"bytes":1,"tag":"a\tb","stack":["f x.py:1","g"]}
{"t":0,"op":"alloc","id":1,"bytes":1,"tag":"a\tb","stack":["f x.py:1","g"]}
{"t":0,"op":"alloc","id":2,"bytes":1,"tag":"\u00e9","stack":["f \u00e9","g"]}
{"t":0,"op":"alloc","id":3,"bytes":1,"stack":[]}
)");

    const TraceInfo& info = *read.info;
    CHECK(info.strings[read.event(0).tag] == "a\tb");
    CHECK(read.event(1).tag == read.event(0).tag);
    CHECK(info.strings[read.event(2).tag] == "\u00e9");
    CHECK(read.event(1).stack == read.event(0).stack);
    const auto frames = info.stacks[read.event(0).stack];
    REQUIRE(frames.size() == 2);
    CHECK(info.strings[frames[0].name] == "f x.py:1");
    CHECK(info.strings[frames[1].name] == "g");
    CHECK(info.strings[info.stacks[read.event(2).stack][0].name] == "f \u00e9");
    CHECK(read.event(3).stack == 0);
}

TEST_CASE("unknown keys are ignored, whatever they hold", "[reader][jsonl]") {
    const auto read = read_line(
        R"( { "t" : 4 , "op" : "mark" , "name" : "n" , "x" : {"id":[1,{"t":9}]} , "stack" : null } )");

    CHECK(read.event(0).time == 4);
    CHECK(read.event(0).stack == 0);
}

TEST_CASE("a line that the form forbids is refused with its place and the reason",
          "[reader][jsonl]") {
    const auto [line, reason] = GENERATE(table<std::string, std::string>({
        {"hello", "not a JSON object (byte 1)"},
        {"[1]", "not a JSON object"},
        {"7", "not a JSON object"},
        {R"({"t":1,"op":"mark","name":"x"} {})", "not a JSON object"},
        {R"({"t":1,"op":"mark","name":"x",})", "not a JSON object"},
        {R"({"t":01,"op":"mark","name":"x"})", "not a JSON object"},
        {"{\"t\":1,\"op\":\"mark\",\"name\":\"\xff\"}", "not a JSON object"},
        {R"({"op":"mark","name":"x"})", "key 't' is missing"},
        {R"({"t":1})", "key 'op' is missing"},
        {R"({"t":1,"op":3})", "'op' must be a string"},
        {R"({"t":1,"op":"jump"})", "unknown op 'jump'"},
        {R"({"t":1,"op":""})", "unknown op ''"},
        {R"({"t":-1,"op":"sync"})", "'t' must be a whole number"},
        {R"({"t":1.5,"op":"sync"})", "'t' must be a whole number"},
        {R"({"t":"1","op":"sync"})", "'t' must be a whole number"},
        {R"({"t":9223372036854775808,"op":"sync"})", "at most 9223372036854775807"},
        {R"({"t":1,"op":"alloc","bytes":1})", "key 'id' is missing"},
        {R"({"t":1,"op":"alloc","id":1})", "key 'bytes' is missing"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":18446744073709551616})", "'bytes' must be"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"tier":"tape"})", "tier 'tape' is not one of"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"device":1024})", "'device' must be"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"stack":"f"})", "'stack' must be a list"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"stack":["f",1]})", "'stack' must be a list"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"address":"4096"})", "'address' must be"},
        {R"({"t":1,"op":"alloc","id":1,"bytes":1,"pool":true})", "'pool' must be"},
        {R"({"t":1,"op":"alloc","id":5,"bytes":1})", "id 5 is allocated a second time"},
        {R"({"t":1,"op":"free","id":6})", "id 6 was never allocated"},
        {R"({"t":1,"op":"use","id":6,"mode":"r","kernel":1})", "id 6 was never allocated"},
        {R"({"t":1,"op":"use","id":5,"mode":"x","kernel":1})", "mode 'x' is not one of r, w, rw"},
        {R"({"t":1,"op":"use","id":5,"mode":"r"})", "key 'kernel' is missing"},
        {R"({"t":1,"op":"event"})", "key 'event' is missing"},
        {R"({"t":1,"op":"begin"})", "key 'name' is missing"},
        {R"({"t":1,"op":"pool_end","pool":1})", "not the last one begun"},
        {R"({"t":1,"op":"reserve","bytes":1})", "key 'task' is missing"},
        {R"({"t":1,"op":"reserve","task":1,"bytes":1,"tier":"gpu,tape"})",
         "tier 'tape' is not one"},
        {R"({"t":1,"op":"reserve","task":1,"bytes":1,"tier":"gpu,gpu"})", "each tier once"},
        {R"({"t":1,"op":"reserve","task":1,"bytes":1,"tier":"gpu,disk,host"})",
         "from fast to slow"},
        {R"({"t":1,"op":"reserve","task":1,"bytes":1,"tier":"gpu,"})", "tier '' is not one"},
        {R"({"t":1,"op":"move","id":5})", "key 'to' is missing"},
        {R"({"t":1,"op":"oom"})", "key 'bytes' is missing"},
    }));
    const std::string text = kHeader + kAlloc + line + "\n";

    const std::string error = must_refuse(kJsonl, text);
    CHECK(error.find("test:3: ") == 0);
    CHECK_THAT(error, Catch::Contains(reason) && Catch::Contains("--lenient"));

    const auto read = must_read(kJsonl, text, lenient());
    CHECK(read.count() == 1);
    CHECK(read.info->anomalies.total() == 1);
}

TEST_CASE("an id is dead after its free, and is never used again", "[reader][jsonl]") {
    const std::string text = kHeader + kAlloc + R"({"t":0,"op":"free","id":5})" + "\n";

    CHECK_THAT(must_refuse(kJsonl, text + R"({"t":0,"op":"free","id":5})" + "\n"),
               Catch::Contains("test:4: id 5 has been freed already"));
    CHECK_THAT(must_refuse(kJsonl, text + kAlloc),
               Catch::Contains("test:4: id 5 is allocated a second time"));
    const auto read = must_read(
        kJsonl, text + R"({"t":0,"op":"free","id":5})" + "\n" + kAlloc + kHeader, lenient());
    CHECK(read.count() == 2);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(read.info->anomalies.bad_records == 2);
}

TEST_CASE("time that runs backwards is refused, or clamped and counted when lenient",
          "[reader][jsonl]") {
    const std::string text =
        kHeader + R"({"t":9,"op":"sync"})" + "\n" + R"({"t":8,"op":"sync"})" + "\n";

    CHECK_THAT(must_refuse(kJsonl, text), Catch::Contains("test:3: time runs backwards"));
    const auto read = must_read(kJsonl, text, lenient());
    CHECK(read.event(1).time == 9);
    CHECK(read.info->anomalies.backward_times == 1);
}

TEST_CASE("zero and giant sizes are counted, and refused when strict", "[reader][jsonl]") {
    const std::string text = kHeader + R"({"t":0,"op":"alloc","id":0,"bytes":0})" + "\n" +
                             R"({"t":0,"op":"alloc","id":1,"bytes":18446744073709551615})" + "\n";

    const auto read = must_read(kJsonl, text);
    CHECK(read.count() == 2);
    CHECK(read.info->anomalies.zero_sizes == 1);
    CHECK(read.info->anomalies.giant_sizes == 1);
    CHECK_THAT(must_refuse(kJsonl, text, strict()), Catch::Contains("test:2: "));
}

TEST_CASE("a time that overflows in nanoseconds is refused", "[reader][jsonl]") {
    CHECK_THAT(must_refuse(kJsonl, R"({"type":"header","version":1,"unit":"us"})"
                                   "\n"
                                   R"({"t":9223372036854776,"op":"sync"})"
                                   "\n"),
               Catch::Contains("'t' must be a whole number of at most 9223372036854775"));
}

TEST_CASE("a file without a proper header is refused", "[reader][jsonl]") {
    const auto [header, reason] = GENERATE(table<std::string, std::string>({
        {"", "empty"},
        {R"({"t":0,"op":"sync"})", "the header is missing"},
        {R"({"type":"header","unit":"ns"})", "no version"},
        {R"({"type":"header","version":2,"unit":"ns"})", "version 2"},
        {R"({"type":"header","version":1})", "no unit"},
        {R"({"type":"header","version":1,"unit":"s"})", "unit 's' is not one of"},
        {R"({"type":"header","version":1,"unit":"ns","streams":[-1]})", "'streams'"},
        {R"({"type":"header","version":1,"unit":"ns","pools":7})", "'pools'"},
        {R"({"type":"header","version":1,"unit":"ns","devices":[7]})", "'devices'"},
        {R"({"type":"header",)", "not a JSON object"},
        {"{" + std::string(100'000, '['), "not a header"},
    }));

    CHECK_THAT(must_refuse(kJsonl, header), Catch::Contains(reason));
}

TEST_CASE("a last line that the end of the file cuts is dropped with a warning",
          "[reader][jsonl]") {
    const std::string last = R"({"t":1,"op":"mark","name":"x"})";
    const std::size_t kept = GENERATE_COPY(range<std::size_t>(1, 30));

    const auto cut = must_read(kJsonl, kHeader + kAlloc + last.substr(0, kept));
    CHECK(cut.count() == 1);
    CHECK(cut.info->cut_off);
    CHECK(cut.info->warnings.size() == 1);

    const auto whole = must_read(kJsonl, kHeader + kAlloc + last);
    CHECK(whole.count() == 2);
    CHECK_FALSE(whole.info->cut_off);
}

TEST_CASE("what an event cannot hold is left out with a warning", "[reader][jsonl]") {
    const auto read = read_line(R"({"t":0,"op":"alloc","id":0,"bytes":1,"align":256,"task":3})");

    CHECK(read.count() == 1);
    CHECK(read.info->warnings.size() == 2);
}

TEST_CASE("jsonl is recognised by its header, or by an event whose header is missing",
          "[reader][jsonl]") {
    const auto recognised = [](std::string_view text) {
        return kJsonl.recognises(std::as_bytes(std::span(text.data(), text.size())));
    };
    CHECK(recognised(kHeader));
    CHECK(recognised("\xef\xbb\xbf  " + kHeader));
    CHECK(recognised(kAlloc));
    CHECK_FALSE(recognised("{\"traceEvents\":[]}"));
    CHECK_FALSE(recognised("Thread,Time,Action,Pointer,Size,Stream\n"));
    CHECK_FALSE(recognised(""));
}

TEST_CASE("deep nesting and long lists in a line cost no more than the line", "[reader][jsonl]") {
    std::string deep = R"({"t":0,"op":"sync","x":)";
    deep += std::string(500'000, '[') + std::string(500'000, ']') + "}";

    CHECK(read_line(deep).count() == 1);
}

TEST_CASE("the fast way to read a line and the careful one agree", "[reader][jsonl]") {
    CHECK(rc::check("on any mixture of pieces of JSON", [] {
        const std::vector<std::string> pieces{"{",         "}",
                                              "[",         "]",
                                              ",",         ":",
                                              "\"t\"",     "\"op\"",
                                              "\"id\"",    "12",
                                              "0",         "-3",
                                              "1.5",       "1e3",
                                              "\"a\"",     "\"\"",
                                              "\"stack\"", "null",
                                              " ",         "\t",
                                              "\"\\n\"",   "true",
                                              "false",     "\"b c\"",
                                              "\"x\"",     "18446744073709551615"};
        std::string line = "{";
        const bool tidy = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
        const int count = *rc::gen::inRange(0, 8);
        for (int i = 0; i < count; ++i) {
            const auto piece = [&] { return *rc::gen::elementOf(pieces); };
            line += tidy ? fmt::format("{}{}:{}", i == 0 ? "" : ",",
                                       *rc::gen::element<std::string>("\"t\"", "\"id\"", "\"op\"",
                                                                      "\"stack\"", "\"z\""),
                                       *rc::gen::element<std::string>(
                                           "1", "12", "\"a\"", "[\"f\",\"g\"]", "[]", "null",
                                           "true", "-1", "[1]", "\"\\u0041\"", "{\"t\":4}"))
                         : piece();
        }
        line += "}";
        JsonlLine fast;
        JsonlLine careful;
        const bool read = fast.parse(line);
        RC_ASSERT(read == careful.parse(line, true));
        for (std::size_t i = 0; read && i < kJsonlKeys; ++i) {
            const JsonlValue& a = fast[static_cast<JsonlKey>(i)];
            const JsonlValue& b = careful[static_cast<JsonlKey>(i)];
            RC_ASSERT(a.type == b.type);
            RC_ASSERT(a.number == b.number);
            RC_ASSERT(a.text == b.text);
            if (a.type == JsonlValue::Type::list)
                RC_ASSERT(fast.stack() == careful.stack());
        }
    }));
}

TEST_CASE("the recorded traces with uses are read whole", "[reader][jsonl][truth]") {
    const std::string name = GENERATE("gpt_activations", "gpt_var", "query", "resnet", "serve");
    const auto source =
        open_bytes(TIDEMARK_SOURCE_DIR "/traces/samples/uses/" + name + ".jsonl.xz");
    REQUIRE(source);
    support::CheckingSink sink;

    const auto info = kJsonl.read(**source, sink, strict());

    REQUIRE(info);
    REQUIRE(sink.finish(*info));
    CHECK(sink.problem() == "");
    CHECK(info->source == "torch 2.11.0+cu130");
    CHECK(info->devices[0].name == "NVIDIA H200");
    CHECK(info->setting("workload") == name);
    CHECK(info->event_count > 500);
    CHECK(info->anomalies == Anomalies{});
    CHECK(info->warnings.empty());
}

}  // namespace tidemark
