// cupy-pool: what the reader makes of logs, whole, odd and broken.
#include <string>

#include <catch2/catch.hpp>

#include "tests/traces/readers/read_text.h"

namespace tidemark::formats {
FormatInfo cupy_pool();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::strict;

const FormatInfo kCupy = formats::cupy_pool();

bool is_cupy(std::string_view text) {
    return kCupy.recognises(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

TEST_CASE("a log of CuPy's pool becomes requests, and the segments that its totals tell of",
          "[reader][cupy]") {
    const auto read = must_read(kCupy,
                                "1 0 100 1 7f0000 512 512\n"
                                "1 1 2000 0 7f1000 2560 2560\n"
                                "2 0 100 0 7f0000 2560 2048\n"
                                "1 2 3000 0 7f2000 5120 5120\n"  // 512 given back, 3072 taken
                                "1 3 9999 0 0 5120 5120 oom\n"
                                "2 3 9999 0 0 5120 5120\n"
                                "3 0 0 0 0 5120 5120\n");

    REQUIRE(read.count() == 10);
    CHECK(read.event(0) == TraceEvent{.size = 512,
                                      .address = 0x7f0000,
                                      .stream = StreamId{2},
                                      .kind = EventKind::segment_alloc});
    CHECK(read.event(1) ==
          TraceEvent{.size = 100, .address = 0x7f0000, .slot = 0, .stream = StreamId{2}});
    CHECK(read.event(3).size == 2000);
    CHECK(read.event(4).kind == EventKind::free);
    CHECK(read.event(5) ==
          TraceEvent{
              .time = 3000, .size = 512, .address = 0x7f0000, .kind = EventKind::segment_free});
    CHECK(read.event(6).size == 3072);
    CHECK(read.event(7).size == 3000);
    CHECK(read.event(8) ==
          TraceEvent{
              .time = 4000, .size = 9999, .stream = StreamId{1}, .kind = EventKind::out_of_memory});
    CHECK(read.event(9).kind == EventKind::synchronize);
    CHECK(read.info->streams == std::vector<std::uint64_t>{0, 1, 2});
    CHECK(read.info->slot_count == 2);
    CHECK(read.info->warnings.empty());
}

TEST_CASE("a log of CuPy's pool without sizes has those that the totals give", "[reader][cupy]") {
    const auto read = must_read(kCupy,
                                "1 0 7f0000 1024 1024\n"
                                "2 0 7f0000 1024 0\n"
                                "1 1 7f0000 1024 512\n"
                                "1 2 7f0200 1024 1024\n"
                                "1 3 0 1024 1024 oom\n");

    REQUIRE(read.count() == 5);
    CHECK(read.event(0).kind == EventKind::segment_alloc);
    CHECK(read.event(1).size == 1024);
    CHECK(read.event(3).size == 512);
    CHECK(read.event(4).address == 0x7f0200);
    REQUIRE(read.info->warnings.size() == 2);
    CHECK(read.info->warnings[1].find("1 requests were refused") == 0);
}

TEST_CASE("a log of CuPy's pool is told from one of the driver's by what the pool takes",
          "[reader][cupy]") {
    CHECK(is_cupy("1 0 7f33daa00000 1024 1024\n1 1 7f33daa00400 157696 15"));
    CHECK(is_cupy("1 0 575 0 7f33daa00000 1024 1024\r\n"));
    CHECK(is_cupy("3 0 0 0 0\n1 0 0 0 0 oom\n"));
    CHECK_FALSE(is_cupy("1 0 302000000 33554432 8388608\n"));
    CHECK_FALSE(is_cupy("1 0 302000000 33554432 33554432\n1 1 304000000 67108864 33554944\n"));
    CHECK_FALSE(is_cupy("1 0 302000000 33554432 1\n"));
    CHECK_FALSE(is_cupy("1 0 154389504 0 7f53ec000000 154389504\n"));  // RMM's
    CHECK_FALSE(is_cupy("3 0 0 0 0\n"));
    CHECK_FALSE(is_cupy("1 0 7f33daa00000 1024 10"));
    CHECK_FALSE(is_cupy(""));
}

TEST_CASE("a log of CuPy's pool whose totals don't add up is refused", "[reader][cupy]") {
    const auto complaint = [](const std::string& log) { return must_refuse(kCupy, log); };

    CHECK(complaint("1 0 7f0000 1024 512\n")
              .find("grows from 0 to 1024 bytes for a request of "
                    "512") != std::string::npos);
    CHECK(complaint("1 0 7f0000 1024 1024\n2 0 7f0000 512 0\n")
              .find("falls by 512 bytes, its unused segments have 0") != std::string::npos);
    CHECK(complaint("1 0 7f0000 1024 1024\n2 0 7f0000 2048 0\n").find("without a request") !=
          std::string::npos);
    CHECK(complaint("1 0 7f0000 1024 1024\n1 1 7f0200 2048 2048\n").find("lies in another") !=
          std::string::npos);
    CHECK(complaint("1 0 9 0 7f0000 1024 1024\n").find("9 bytes uses 1024") != std::string::npos);
    CHECK(complaint("1 0 7f0000 512 512\n1 0 7f0200 1024 1024\n").find("still live") !=
          std::string::npos);
}

TEST_CASE("oddities in a log of CuPy's pool are counted, or refused", "[reader][cupy]") {
    const std::string log =
        "2 7 7f0000 0 0\n"
        "1 0 7f0000 512 512\n"
        "2 0 7f0000 512 0\n"
        "2 0 7f0000 512 0\n"
        "1 1 0 512 0\n";

    const auto read = must_read(kCupy, log);

    CHECK(read.info->anomalies.unknown_frees == 1);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(read.info->anomalies.zero_sizes == 1);
    must_refuse(kCupy, log, strict());
}

TEST_CASE("a line that is no operation of CuPy's pool is an error, or skipped and counted",
          "[reader][cupy]") {
    const std::string log = "1 0 7f0000 512 512\n4 0 0 512 512\n2 0 7f0000 512 0\n";

    must_refuse(kCupy, log);
    const auto read = must_read(kCupy, log, lenient());

    CHECK(read.count() == 3);
    CHECK(read.info->anomalies.bad_records == 1);
}

TEST_CASE("a log of CuPy's pool may end anywhere", "[reader][cupy]") {
    const std::string log = "1 0 100 2 7f0000 512 512\n2 0 100 1 7f0000 512 0\n";
    for (std::size_t length = 0; length < log.size(); ++length) {
        CAPTURE(length);
        CHECK(must_read(kCupy, log.substr(0, length)).count() <= 2);
    }
}

}  // namespace tidemark
