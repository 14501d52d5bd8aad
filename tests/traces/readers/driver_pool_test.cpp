// driver-pool: what the reader makes of logs, whole, odd and broken.
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/traces/readers/read_text.h"

namespace tidemark::formats {
FormatInfo driver_pool();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::strict;

const FormatInfo kPoolCalls = formats::driver_pool();

bool is_pool_log(std::string_view text) {
    return kPoolCalls.recognises(std::as_bytes(std::span(text.data(), text.size())));
}

constexpr Bytes kHeld = 33554432;

// `calls` allocations of one byte and their frees, after the last of which `reserved` is held.
std::string long_log(int calls, Bytes reserved) {
    std::string log;
    for (int i = 0; i < calls / 2; ++i) {
        log += fmt::format("1 {} 302000000 {} 1\n", i, kHeld);
        log += fmt::format("2 {} 302000000 {} 0\n", i, i + 1 == calls / 2 ? reserved : kHeld);
    }
    return log;
}

std::size_t waits_of(const support::ReadText& read) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < read.count(); ++i)
        count += read.event(i).kind == EventKind::synchronize ? 1U : 0U;
    return count;
}

}  // namespace

TEST_CASE("a log of the driver's pool becomes what was asked, and what was decided",
          "[reader][cuda-async]") {
    const auto read = must_read(kPoolCalls,
                                "1 0 302000000 33554432 100 stream=1\n"
                                "1 1 302000200 33554432 5100\n"
                                "2 0 302000000 33554432 5000 stream=1\n"
                                "3 0 0 33554432 5000\n");

    REQUIRE(read.count() == 8);
    CHECK(read.event(0) ==
          TraceEvent{.size = 100, .address = 0x302000000, .slot = 0, .stream = StreamId{2}});
    CHECK(read.event(1) == TraceEvent{.size = kHeld, .kind = EventKind::pool_held});
    CHECK(read.event(2).size == 5000);
    CHECK(read.event(2).stream == StreamId{1});
    CHECK(read.event(4) == TraceEvent{.time = 2000,
                                      .address = 0x302000000,
                                      .slot = 0,
                                      .stream = StreamId{2},
                                      .kind = EventKind::free});
    CHECK(read.event(6) ==
          TraceEvent{.time = 3000, .kind = EventKind::synchronize, .flags = kWholeDevice});
    CHECK(read.info->streams == std::vector<std::uint64_t>{0, 1, 2});
    CHECK(read.info->setting("release_threshold") == "max");
    CHECK(read.info->anomalies == Anomalies{});
}

TEST_CASE("only logs of the driver's pool are recognised as such", "[reader][cuda-async]") {
    CHECK(is_pool_log("1 0 302000000 33554432 2662143\n1 1 30"));
    CHECK(is_pool_log("1 0 302000000 33554432 26 stream=3\r\n"));
    CHECK(is_pool_log("1 0 0 33554432 0 oom\n"));
    CHECK_FALSE(is_pool_log("1 0 7ff498a00000 512 512\n"));  // CuPy's
    CHECK_FALSE(is_pool_log("1 0 7f6cd4000000 67108864 67108864\n1 1 7f6 112197632 112197632\n"));
    CHECK_FALSE(is_pool_log("1 0 154389504 0 7f53ec000000 154389504\n"));  // RMM's
    CHECK_FALSE(is_pool_log("1 0 302000000 33554432 26 stream=x\n"));
    CHECK_FALSE(is_pool_log(""));
}

TEST_CASE("waits that a log of the driver's pool doesn't show are put in where memory goes back",
          "[reader][cuda-async]") {
    CHECK(waits_of(must_read(kPoolCalls, long_log(1000, kHeld))) == 0);
    const auto read = must_read(kPoolCalls, long_log(1000, 0));
    CHECK(waits_of(read) == 2);
    CHECK(read.info->setting("release_threshold") == "0");
    CHECK(must_refuse(kPoolCalls, long_log(998, 0)).find("nobody waits") != std::string::npos);
    CHECK(waits_of(must_read(kPoolCalls, long_log(998, 0), lenient())) == 0);
}

TEST_CASE("oddities in a log of the driver's pool are counted, or refused",
          "[reader][cuda-async]") {
    const std::string log =
        "2 7 302000000 0 0\n"
        "1 0 302000000 33554432 1\n"
        "1 0 302000200 33554432 2\n"
        "2 0 302000200 33554432 1\n"
        "2 0 302000200 33554432 1\n"
        "1 1 0 33554432 1 oom\n";

    const auto read = must_read(kPoolCalls, log);

    CHECK(read.info->anomalies.unknown_frees == 1);
    CHECK(read.info->anomalies.reused_live == 1);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(read.info->warnings.size() == 1);
    must_refuse(kPoolCalls, log, strict());
    must_refuse(kPoolCalls, "1 0 302000000 33554432 5\n1 1 302000200 33554432 4\n");
}

TEST_CASE("a log of the driver's pool may end anywhere", "[reader][cuda-async]") {
    const std::string log = "1 0 302000000 33554432 100\n2 0 302000000 33554432 0 stream=0\n";
    for (std::size_t length = 0; length < log.size(); ++length) {
        CAPTURE(length);
        CHECK(must_read(kPoolCalls, log.substr(0, length)).count() <= 4);
    }
    must_refuse(kPoolCalls, "1 0 302000000 33554432 100\n1 x 302000200 33554432 4\n");
}

}  // namespace tidemark
