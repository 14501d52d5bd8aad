// torch-profiler: what the reader makes of Chrome traces, whole, odd and broken.
#include <string>

#include <catch2/catch.hpp>

#include "tests/traces/readers/read_text.h"
#include "traces/open.h"

namespace tidemark::formats {
FormatInfo torch_profiler();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::read_text;
using support::strict;

const FormatInfo kProfiler = formats::torch_profiler();

std::string memory(const std::string& time, const std::string& args) {
    return R"({"ph":"i","name":"[memory]","ts":)" + time + R"(,"args":{"Device Type":1,)" + args +
           "}}";
}

std::string profile(const std::string& events) {
    return R"({"schemaVersion":1,"deviceProperties":[{"id":1,"name":"GPU one","totalGlobalMem":77}],)"
           R"("baseTimeNanoseconds":1700000000000000000,"traceEvents":[)" +
           events + "]}";
}

bool is_profile(std::string_view text) {
    return kProfiler.recognises(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

TEST_CASE("a profile's memory events become a trace in order of time", "[reader][profiler]") {
    const auto read = must_read(
        kProfiler,
        profile(memory("30.5", R"("Device Id":1,"Addr":4096,"Bytes":-512)") + "," +
                R"({"ph":"X","name":"[memory","ts":1,"args":{"deep":[{"Bytes":[1,{}]}]}},)" +
                memory("10.001", R"("Bytes":512,"Addr":4096,"Device Id":1)") + "," +
                memory("20", R"("Device Id":0,"Addr":4096,"Bytes":1024,"Other":{"Addr":[7]})")));
    REQUIRE(read.count() == 3);
    CHECK(read.event(0) == TraceEvent{.size = 512, .address = 4096, .slot = 0, .device = 1});
    CHECK(read.event(1) ==
          TraceEvent{.time = 9'999, .size = 1024, .address = 4096, .slot = 1, .device = 0});
    CHECK(read.event(2) ==
          TraceEvent{
              .time = 20'499, .address = 4096, .slot = 0, .device = 1, .kind = EventKind::free});
    REQUIRE(read.info->devices.size() == 2);
    CHECK(read.info->devices[1] == TraceDevice{"GPU one", 77});
    CHECK(read.info->start_time == 1'700'000'000'000'010'001);
    CHECK(read.info->anomalies == Anomalies{});
}

TEST_CASE("what was freed without having been allocated lived before", "[reader][profiler]") {
    const auto read = must_read(kProfiler, profile(memory("1", R"("Addr":8,"Bytes":-64)") + "," +
                                                   memory("2", R"("Addr":8,"Bytes":32)") + "," +
                                                   memory("3", R"("Addr":8,"Bytes":-32)") + "," +
                                                   memory("4", R"("Addr":8,"Bytes":-32)")));
    REQUIRE(read.count() == 5);
    CHECK(read.event(0) == TraceEvent{.size = 64, .address = 8, .slot = 0, .flags = kPreamble});
    CHECK(read.info->preamble_count == 1);
    CHECK(read.info->begins_inside);
    CHECK(read.event(4).slot == kNoSlot);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(support::must_refuse(kProfiler,
                               profile(memory("1", R"("Addr":8,"Bytes":1)") + "," +
                                       memory("2", R"("Addr":8,"Bytes":1)")),
                               strict())
              .find("still live") != std::string::npos);
}

TEST_CASE("out of memory is kept, memory of the host is left out", "[reader][profiler]") {
    const auto read =
        must_read(kProfiler,
                  profile(memory("1", R"("Addr":8,"Bytes":64)") + "," +
                          R"({"name":"[OutOfMemory]","ts":2,"args":{"Device Type":1,"Device Id":0,)"
                          R"("Bytes":1000}},{"name":"[memory]","ts":3,"args":{"Device Type":0,)"
                          R"("Device Id":-1,"Addr":9,"Bytes":5}})"));
    REQUIRE(read.count() == 2);
    CHECK(read.event(1) ==
          TraceEvent{.time = 1'000, .size = 1000, .kind = EventKind::out_of_memory});
    CHECK(read.info->warnings.size() == 2);
    const std::string host = must_refuse(
        kProfiler,
        profile(R"({"name":"[memory]","ts":3,"args":{"Device Type":0,"Addr":9,"Bytes":5}})"));
    CHECK(host.find("host") != std::string::npos);
    CHECK(host.find("profile_memory=True") != std::string::npos);
}

TEST_CASE("times are exact, whether absolute or whole; those with an exponent are rounded",
          "[reader][profiler]") {
    const auto read = must_read(
        kProfiler, R"({"traceEvents":[)" + memory("1700000000123456.789", R"("Addr":1,"Bytes":1)") +
                       "," + memory("1700000000123457", R"("Addr":2,"Bytes":1)") + "]}");
    CHECK(read.info->start_time == 1'700'000'000'123'456'789);
    CHECK(read.event(1).time == 211);
    const auto rounded = must_read(kProfiler, profile(memory("0", R"("Addr":1,"Bytes":1)") + "," +
                                                      memory("1.5e2", R"("Addr":2,"Bytes":1)")));
    CHECK(rounded.event(1).time == 150'000);
}

TEST_CASE("an event without what it needs is an error, or skipped and counted",
          "[reader][profiler]") {
    const std::string good = memory("1", R"("Addr":1,"Bytes":1)");
    for (const char* const args :
         {R"("Addr":2)", R"("Bytes":2)", R"("Addr":2,"Bytes":18446744073709551615)",
          R"("Addr":2,"Bytes":2,"Device Id":-3)", R"("Addr":2,"Bytes":2,"Device Id":256)",
          R"("Addr":2,"Bytes":-9223372036854775808)"}) {
        INFO(args);
        const std::string text = profile(good + "," + memory("2", args));
        CHECK(must_refuse(kProfiler, text).find("--lenient") != std::string::npos);
        const auto read = must_read(kProfiler, text, lenient());
        CHECK(read.count() == 1);
        CHECK(read.info->anomalies.bad_records == 1);
    }
    for (const char* const time : {"-1", "1e300", "9223372036854775807", "-0.5", "\"1\"", "null"})
        must_refuse(kProfiler, profile(memory(time, R"("Addr":1,"Bytes":1)")));
}

TEST_CASE("what is no profile is refused with a position and what to do", "[reader][profiler]") {
    CHECK(must_refuse(kProfiler, R"({"traceEvents":[1,}]})").find("test:0x") != std::string::npos);
    CHECK(must_refuse(kProfiler, "{}").find("traceEvents") != std::string::npos);
    CHECK(must_refuse(kProfiler, R"({"traceEvents":[]})").find("no [memory]") != std::string::npos);
    CHECK(must_refuse(kProfiler, profile(memory("1", R"("Addr":1,"Bytes":1)")) + "x")
              .find("not JSON") != std::string::npos);
    must_refuse(kProfiler, R"({"traceEvents":{"name":"[memory]"}})");
    must_refuse(kProfiler, R"([{"traceEvents":[)");
    must_refuse(kProfiler, std::string(200'000, '['));
}

TEST_CASE("a profile that is cut off anywhere keeps what was whole", "[reader][profiler]") {
    const std::string whole = profile(memory("1", R"("Addr":1,"Bytes":64)") + "," +
                                      memory("2", R"("Addr":1,"Bytes":-64)"));
    std::size_t kept = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto read = read_text(kProfiler, std::string_view(whole).substr(0, length));
        if (!read.info)
            continue;
        CHECK(read.info->cut_off);
        CHECK(read.count() >= kept);
        kept = read.count();
    }
    CHECK(kept == 2);
}

TEST_CASE("profiles are recognised, other JSON isn't", "[reader][profiler]") {
    CHECK(is_profile(" \n {\n  \"schemaVersion\": 1,\n \"deviceProperties\": ["));
    CHECK(is_profile(R"({"traceEvents":[)"));
    CHECK_FALSE(is_profile(""));
    CHECK_FALSE(is_profile(R"({"type":"header","version":1,"unit":"ns"})"));
    CHECK_FALSE(is_profile(R"(["traceEvents"])"));
}

TEST_CASE("the sample is read through gzip", "[reader][profiler]") {
    const auto trace =
        open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/profilers/torch_profiler.json.gz");
    REQUIRE(trace);
    const TraceInfo& info = (*trace)->info();
    CHECK(info.format == "torch-profiler");
    CHECK(info.devices[0].name == "NVIDIA H200");
    CHECK(info.event_count == 7);
    CHECK(info.preamble_count == 1);
}

}  // namespace tidemark
