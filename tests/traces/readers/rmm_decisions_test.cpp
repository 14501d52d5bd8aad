// rmm-decisions: what the reader makes of logs, whole, odd and broken.
#include <string>

#include <catch2/catch.hpp>

#include "tests/traces/readers/read_text.h"

namespace tidemark::formats {
FormatInfo rmm_decisions();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::strict;

const FormatInfo kDecisions = formats::rmm_decisions();

bool is_decisions(std::string_view text) {
    return kDecisions.recognises(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

TEST_CASE("a log of RMM's decisions becomes what was asked, and what was decided",
          "[reader][rmm]") {
    const auto read = must_read(kDecisions,
                                "U + 1024 7f00\n"
                                "1 0 100 2 7f00 1024\n"
                                "1 1 5000 0 0 1024 oom\n"
                                "2 0 100 1 7f00 1024\n"
                                "2 1 5000 0 0 1024\n"
                                "U - 1024 7f00\n"
                                "3 0 0 0 0 0\n");

    REQUIRE(read.count() == 6);
    CHECK(read.event(0) ==
          TraceEvent{.size = 1024, .address = 0x7f00, .kind = EventKind::segment_alloc});
    CHECK(read.event(1) ==
          TraceEvent{.size = 100, .address = 0x7f00, .slot = 0, .stream = StreamId{3}});
    CHECK(read.event(2) ==
          TraceEvent{
              .time = 1000, .size = 5000, .stream = StreamId{1}, .kind = EventKind::out_of_memory});
    CHECK(read.event(3) == TraceEvent{.time = 2000,
                                      .address = 0x7f00,
                                      .slot = 0,
                                      .stream = StreamId{2},
                                      .kind = EventKind::free});
    CHECK(read.event(4).kind == EventKind::segment_free);
    CHECK(read.event(5).kind == EventKind::synchronize);
    CHECK(read.info->streams == std::vector<std::uint64_t>{0, 1, 2, 3});
    CHECK(read.info->slot_count == 1);
    CHECK(read.info->anomalies == Anomalies{});
    CHECK_FALSE(read.info->cut_off);
}

TEST_CASE("only logs of RMM's decisions are recognised as such", "[reader][rmm]") {
    CHECK(is_decisions("U + 154389504 7f53ec000000\n1 0 1"));
    CHECK(is_decisions("1 0 154389504 0 7f53ec000000 154389504\n"));
    CHECK(is_decisions("1 0 154389504 0 0 2147483648 oom\r\n"));
    CHECK_FALSE(is_decisions("1 0 302000000 0 0\n"));  // the driver's pool
    CHECK_FALSE(is_decisions("1 5 0 512 512 oom\n"));  // CuPy's
    CHECK_FALSE(is_decisions("4 0 1 0 7f00 1\n"));
    CHECK_FALSE(is_decisions("U * 1 7f00\n"));
    CHECK_FALSE(is_decisions(""));
}

TEST_CASE("a log of RMM's decisions that lacks upstream calls is refused", "[reader][rmm]") {
    const std::string log = "U + 1024 7f00\n1 0 100 0 7f00 2048\n";

    CHECK(must_refuse(kDecisions, log).find("2048 bytes are said to be held") != std::string::npos);
    CHECK(must_read(kDecisions, log, lenient()).count() == 2);
}

TEST_CASE("oddities in a log of RMM's decisions are counted, or refused", "[reader][rmm]") {
    const std::string log =
        "2 7 1 0 7f00 0\n"
        "1 0 1 0 7f00 0\n"
        "1 0 1 0 7f10 0\n"
        "2 0 1 0 7f10 0\n"
        "2 0 1 0 7f10 0\n"
        "1 1 0 0 0 0\n";

    const auto read = must_read(kDecisions, log);

    CHECK(read.info->anomalies.unknown_frees == 1);
    CHECK(read.info->anomalies.reused_live == 1);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(read.info->anomalies.zero_sizes == 1);
    must_refuse(kDecisions, log, strict());
}

TEST_CASE("a line that is no operation is an error, or skipped and counted", "[reader][rmm]") {
    const std::string log = "1 0 1 0 7f00 0\n1 1 x 0 7f10 0\n2 0 1 0 7f00 0\n";

    must_refuse(kDecisions, log);
    const auto read = must_read(kDecisions, log, lenient());

    CHECK(read.count() == 2);
    CHECK(read.info->anomalies.bad_records == 1);
}

TEST_CASE("a log of RMM's decisions may end anywhere", "[reader][rmm]") {
    const std::string log = "U + 1024 7f00\n1 0 100 2 7f00 1024\n2 0 100 1 7f00 1024\n";
    for (std::size_t length = 0; length < log.size(); ++length) {
        CAPTURE(length);
        const auto read = must_read(kDecisions, log.substr(0, length));
        CHECK(read.count() <= 3);
    }
}

}  // namespace tidemark
