// nsight-sqlite: what the reader makes of databases, whole, of other kinds and damaged. They are
// made by scripts/make_profiler_samples.py.
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "tests/traces/readers/read_text.h"
#include "traces/open.h"

namespace tidemark::formats {
FormatInfo nsight_sqlite();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::read_text;

const FormatInfo kNsight = formats::nsight_sqlite();

std::string database(const std::string& name) {
    std::ifstream file(TIDEMARK_SOURCE_DIR "/tests/fuzz/corpus/nsight_sqlite/" + name,
                       std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A build without SQLite refuses every database, and says what it lacks.
bool reads_databases() {
    const auto read = read_text(kNsight, database("whole"));
    if (read.info)
        return true;
    CHECK(read.info.error().code == ErrorCode::unsupported);
    CHECK(read.info.error().hint.find("libsqlite3-dev") != std::string::npos);
    WARN("this build has no SQLite");
    return false;
}

}  // namespace

TEST_CASE("memory events of Nsight Systems become a trace", "[reader][nsight]") {
    if (!reads_databases())
        return;
    const auto read = must_read(kNsight, database("whole"));
    constexpr Bytes kMiB = 1 << 20;
    REQUIRE(read.count() == 7);
    CHECK(read.event(0) == TraceEvent{.size = 64 * kMiB,
                                      .address = 0x7000000,
                                      .slot = 0,
                                      .stream = StreamId{1},
                                      .flags = kPreamble});
    CHECK(read.event(1).kind == EventKind::free);
    CHECK(read.event(2) == TraceEvent{.time = 1'000,
                                      .size = 2 * kMiB,
                                      .address = 0x1000000,
                                      .slot = 0,
                                      .stream = StreamId{1}});
    CHECK(read.event(3).stream == StreamId{2});
    CHECK(read.event(5).size == 48 * kMiB);
    const TraceInfo& info = *read.info;
    CHECK(info.streams == std::vector<std::uint64_t>{0, 7, 13});
    CHECK(info.devices == std::vector<TraceDevice>{{"NVIDIA H200", 150109880320}});
    CHECK(info.start_time == 1'700'000'000'000'001'000);
    CHECK(info.begins_inside);
    CHECK(info.anomalies == Anomalies{});
    REQUIRE_FALSE(info.warnings.empty());
    CHECK(info.warnings[0] == "2 events about host or managed memory left out");
}

TEST_CASE("events without times keep the order of the table, with a warning", "[reader][nsight]") {
    if (!reads_databases())
        return;
    const auto read = must_read(kNsight, database("no_times"));
    REQUIRE(read.count() == 2);
    CHECK(read.event(0).size == 2 << 20);
    CHECK(read.info->warnings.back().find("time 0") != std::string::npos);
}

TEST_CASE("databases of other content are refused with what to record", "[reader][nsight]") {
    if (!reads_databases())
        return;
    CHECK(must_refuse(kNsight, database("no_table")).find("--cuda-memory-usage=true") !=
          std::string::npos);
    CHECK(must_refuse(kNsight, database("empty")).find("--cuda-memory-usage=true") !=
          std::string::npos);
    CHECK(must_refuse(kNsight, database("other_columns")).find("no column address") !=
          std::string::npos);
    CHECK(must_refuse(kNsight, database("bad_row")).find("row 4") != std::string::npos);
    CHECK(must_read(kNsight, database("bad_row"), support::lenient()).info->anomalies.bad_records ==
          1);
    CHECK(must_refuse(kNsight, "SQLite format 3").find("SQLite") != std::string::npos);
}

TEST_CASE("a view in the place of the table isn't asked", "[reader][nsight]") {
    if (!reads_databases())
        return;
    CHECK(must_refuse(kNsight, database("view")).find("no table") != std::string::npos);
}

TEST_CASE("a damaged database is read or refused", "[reader][nsight]") {
    const std::string whole = database("whole");
    for (std::size_t length = 0; length < whole.size(); length += 37)
        read_text(kNsight, whole.substr(0, length));
    for (std::size_t at = 0; at < whole.size(); at += 3) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        read_text(kNsight, damaged);
    }
    SUCCEED();
}

TEST_CASE("an export is recognised by content", "[reader][nsight]") {
    const std::string whole = database("whole");
    CHECK(kNsight.recognises(std::as_bytes(std::span(whole.data(), whole.size()))));
    CHECK_FALSE(kNsight.recognises({}));
    if (!reads_databases())
        return;
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/profilers/nsight.sqlite");
    REQUIRE(trace);
    CHECK((*trace)->info().format == "nsight-sqlite");
}

}  // namespace tidemark
