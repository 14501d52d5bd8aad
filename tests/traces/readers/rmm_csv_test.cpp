// rmm-csv: what the reader makes of logs, whole, odd and broken.
#include <string>

#include <catch2/catch.hpp>

#include "tests/traces/readers/read_text.h"

namespace tidemark::formats {
FormatInfo rmm_csv();
}

namespace tidemark {
namespace {

using support::lenient;
using support::must_read;
using support::must_refuse;
using support::strict;

const FormatInfo kRmm = formats::rmm_csv();
const std::string kColumns = "Thread,Time,Action,Pointer,Size,Stream\n";

bool recognised(std::string_view text) {
    return kRmm.recognises(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

TEST_CASE("an RMM log becomes allocations and frees in the order of its rows", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "30,10:20:30.000100,allocate,0x7f00,1000,0x0\n"
                                          "31,10:20:30.000150,allocate,0x8f00,2000,0x5581\n"
                                          "30,10:20:31.000100,free,0x7f00,1000,0x0\n");

    REQUIRE(read.count() == 3);
    CHECK(read.event(0) == TraceEvent{.time = 0, .size = 1000, .address = 0x7f00, .slot = 0});
    CHECK(read.event(1) ==
          TraceEvent{
              .time = 50'000, .size = 2000, .address = 0x8f00, .slot = 1, .stream = StreamId{1}});
    CHECK(read.event(2) ==
          TraceEvent{.time = 1'000'000'000, .address = 0x7f00, .slot = 0, .kind = EventKind::free});
    CHECK(read.info->streams == std::vector<std::uint64_t>{0, 0x5581});
    CHECK(read.info->setting("threads") == "2");
    CHECK(read.info->anomalies == Anomalies{});
    CHECK_FALSE(read.info->cut_off);
    CHECK(read.info->warnings.empty());
}

TEST_CASE("a slot is used again after its allocation is freed", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "1,00:00:00.0,allocate,0x10,1,0\n"
                                          "1,00:00:00.0,free,0x10,1,0\n"
                                          "1,00:00:00.0,allocate,0x10,2,0\n");

    CHECK(read.event(2).slot == 0);
    CHECK(read.info->slot_count == 1);
}

TEST_CASE("columns are found by name, through quotes, spaces, a byte order mark and CRLF",
          "[reader][rmm]") {
    const auto read = must_read(kRmm,
                                "\xef\xbb\xbfSize, \"Action\",Stream,Pointer,Time,Extra\r\n"
                                "7,\"allocate\",0x2, 0x40 ,01:02:03,x\r\n"
                                "\r\n"
                                "7, free ,2,0x40,01:02:04,y\r\n");

    REQUIRE(read.count() == 2);
    CHECK(read.event(0).size == 7);
    CHECK(read.event(0).address == 0x40);
    CHECK(read.event(1).kind == EventKind::free);
    CHECK(read.event(1).stream == StreamId{1});
    CHECK(read.event(1).time == 1'000'000'000);
    CHECK(read.info->streams == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("every spelling of the null stream is the default stream", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "1,00:00:00.0,allocate,0x10,1,0\n"
                                          "1,00:00:00.0,allocate,0x20,1,0x0\n"
                                          "1,00:00:00.0,allocate,0x30,1,\n"
                                          "1,00:00:00.0,allocate,0x40,1,(nil)\n"
                                          "1,00:00:00.0,allocate,0x50,1,0x1\n");

    for (std::size_t i = 0; i < 4; ++i)
        CHECK(read.event(i).stream == StreamId::default_stream);
    CHECK(read.event(4).stream == StreamId{1});
}

TEST_CASE("a refused allocation is an out of memory event, however its pointer is written",
          "[reader][rmm]") {
    const std::string pointer = GENERATE("(nil)", "", "0x0", "0");

    const auto read =
        must_read(kRmm, kColumns + "1,00:00:00.0,allocate failure," + pointer + ",99,0x0\n");

    REQUIRE(read.count() == 1);
    CHECK(read.event(0) == TraceEvent{.size = 99, .kind = EventKind::out_of_memory});
}

TEST_CASE("midnight adds a day, also when rows of both days are mixed", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "1,23:59:59.9,allocate,0x10,1,0\n"
                                          "1,00:00:00.1,allocate,0x20,1,0\n"
                                          "2,23:59:59.95,allocate,0x30,1,0\n"
                                          "1,00:00:00.2,allocate,0x40,1,0\n");

    CHECK(read.event(1).time == 200'000'000);
    CHECK(read.event(2).time == 200'000'000);
    CHECK(read.event(3).time == 300'000'000);
    CHECK(read.info->anomalies.backward_times == 1);
}

TEST_CASE("a small step back in time is clamped and counted", "[reader][rmm]") {
    const std::string text = kColumns +
                             "1,10:00:00.000200,allocate,0x10,1,0\n"
                             "2,10:00:00.000100,allocate,0x20,1,0\n"
                             "1,10:00:00.000300,allocate,0x30,1,0\n";

    const auto read = must_read(kRmm, text);

    CHECK(read.event(1).time == 0);
    CHECK(read.event(2).time == 100'000);
    CHECK(read.info->anomalies.backward_times == 1);
    CHECK(must_refuse(kRmm, text, strict()).find("test:3: time runs backwards") == 0);
}

TEST_CASE("the number of midnights in an absurd log stays bounded", "[reader][rmm]") {
    std::string text = kColumns;
    for (int i = 0; i < 120'000; ++i)
        text += i % 2 == 0 ? "1,23:59:59.0,free,,0,0\n" : "1,00:00:00.0,free,,0,0\n";
    text += "1,12:00:00.0,allocate,0x10,1,0\n";

    const auto read = must_read(kRmm, text);

    CHECK(read.event(0).time > 0);
    CHECK(read.info->anomalies.backward_times > 0);
}

TEST_CASE("frees of what is not live are kept, counted, and refused when strict", "[reader][rmm]") {
    const std::string text = kColumns +
                             "1,00:00:00.0,free,0x99,1,0\n"
                             "1,00:00:00.0,allocate,0x10,1,0\n"
                             "1,00:00:00.0,free,0x10,1,0\n"
                             "1,00:00:00.0,free,0x10,1,0\n";

    const auto read = must_read(kRmm, text);

    CHECK(read.info->anomalies.unknown_frees == 1);
    CHECK(read.info->anomalies.double_frees == 1);
    CHECK(read.event(0).slot == kNoSlot);
    CHECK(read.event(3).slot == kNoSlot);
    CHECK(read.info->begins_inside);
    CHECK(read.info->warnings.size() == 1);
    CHECK(must_refuse(kRmm, text, strict()).find("test:2: 0x99 is freed but was never") == 0);
}

TEST_CASE("an allocation at a live pointer ends the older one", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "1,00:00:00.0,allocate,0x10,1,0\n"
                                          "1,00:00:00.0,allocate,0x10,2,0\n"
                                          "1,00:00:00.0,free,0x10,2,0\n");

    REQUIRE(read.count() == 4);
    CHECK(read.event(1).kind == EventKind::free);
    CHECK(read.event(1).slot == read.event(0).slot);
    CHECK(read.event(3).slot == read.event(2).slot);
    CHECK(read.info->anomalies.reused_live == 1);
}

TEST_CASE("zero and giant sizes are counted", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns +
                                          "1,00:00:00.0,allocate,(nil),0,0\n"
                                          "1,00:00:00.0,free,(nil),0,0\n"
                                          "1,00:00:00.0,allocate,0x10,0,0\n"
                                          "1,00:00:00.0,allocate,0x20,1152921504606846976,0\n");

    CHECK(read.count() == 2);
    CHECK(read.info->anomalies.zero_sizes == 2);
    CHECK(read.info->anomalies.giant_sizes == 1);
    CHECK(read.info->warnings.size() == 1);
}

TEST_CASE("an unknown action is counted and skipped", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns + "1,00:00:00.0,reallocate,0x10,1,0\n");

    CHECK(read.count() == 0);
    CHECK(read.info->anomalies.unknown_actions == 1);
}

TEST_CASE("a malformed row is refused with its line and the reason, or skipped when lenient",
          "[reader][rmm]") {
    const auto [row, reason] = GENERATE(table<std::string, std::string>({
        {"1,00:00:00.0,allocate,0x10,1", "a row of 5 columns where the header has 6"},
        {"1,00:00:00.0,allocate,0x10,1,0,", "a row of 7 columns where the header has 6"},
        {"1,25:00:00.0,allocate,0x10,1,0", "'25:00:00.0' is not a time"},
        {"1,00:00,allocate,0x10,1,0", "'00:00' is not a time"},
        {"1,00:00:00.,allocate,0x10,1,0", "is not a time"},
        {"1,00:00:00.1234567890,allocate,0x10,1,0", "is not a time"},
        {"1,00:00:00.0,allocate,10,1,0", "'10' is not a pointer, expected 0x..."},
        {"1,00:00:00.0,allocate,0x,1,0", "'0x' is not a pointer"},
        {"1,00:00:00.0,allocate,0x11112222333344445,1,0", "is not a pointer"},
        {"1,00:00:00.0,allocate,0x10,-1,0", "'-1' is not a size"},
        {"1,00:00:00.0,allocate,0x10,18446744073709551616,0", "is not a size"},
        {"1,00:00:00.0,allocate,0x10,1,default", "'default' is not a stream"},
        {"1,00:00:00.0,allocate,(nil),8,0", "an allocation of 8 bytes at a null pointer"},
        {"1,00:00:00.0,allocate,0x\x01\xff,1,0", "'0x\\x01\\xff' is not a pointer"},
    }));
    const std::string text = kColumns + "1,00:00:00.0,allocate,0x1,1,0\n" + row + "\n";

    const std::string error = must_refuse(kRmm, text);
    CHECK(error.find("test:3: ") == 0);
    CHECK_THAT(error, Catch::Contains(reason) && Catch::Contains("--lenient"));

    const auto read = must_read(kRmm, text, lenient());
    CHECK(read.count() == 1);
    CHECK(read.info->anomalies.bad_records == 1);
}

TEST_CASE("a time is not taken from a broken row before it", "[reader][rmm]") {
    const auto read = must_read(kRmm,
                                kColumns +
                                    "1,00:00:07.0,allocate,0x10,1,0\n"
                                    "1,00:99:00.0,allocate,0x20,1,0\n"
                                    "1,00:00:07.5,allocate,0x30,1,0\n",
                                lenient());

    CHECK(read.event(1).time == 500'000'000);
}

TEST_CASE("a last row that the end of the file cuts is dropped with a warning", "[reader][rmm]") {
    const std::string whole = kColumns + "1,00:00:00.0,allocate,0x10,1,0\n";
    const std::string row = "1,00:00:00.0,allocate,0x20,1";  // the stream is missing
    const std::size_t kept = GENERATE_COPY(range<std::size_t>(1, 28));

    const auto read = must_read(kRmm, whole + row.substr(0, kept));

    CHECK(read.count() == 1);
    CHECK(read.info->cut_off);
    REQUIRE(read.info->warnings.size() == 1);
    CHECK_THAT(read.info->warnings[0], Catch::Contains("line 3"));
}

TEST_CASE("a last row without a newline is kept if it is whole", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns + "1,00:00:00.0,allocate,0x10,1,0x0");

    CHECK(read.count() == 1);
    CHECK_FALSE(read.info->cut_off);
}

TEST_CASE("RMM logs are recognised by their header", "[reader][rmm]") {
    CHECK(recognised(kColumns));
    CHECK(recognised("\xef\xbb\xbfTime,Stream,Size,Pointer,Action\r\n"));
    CHECK_FALSE(recognised("id,lower,upper,size\n"));
    CHECK_FALSE(recognised("{\"type\":\"header\"}\n"));
    CHECK_FALSE(recognised(""));
}

TEST_CASE("the layout from before 2020 is read, with times in seconds", "[reader][rmm]") {
    const std::string old =
        "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,"
        "Current Allocs,Start,End,Elapsed,Location\n"
        "Alloc,0,0x7f1000000000,0,4096,0,0,1,1.10,1.11,0.01,program.py:1\n"
        "Free,0,0x7f1000000000,0,0,0,0,0,1.25,1.26,0.01,program.py:2\n";

    CHECK(recognised(old));
    const auto read = must_read(kRmm, old);
    REQUIRE(read.count() == 2);
    CHECK(read.info->duration == 150'000'000);
    CHECK(read.info->start_time == 0);
}

TEST_CASE("times since 1970 pass no midnight", "[reader][rmm]") {
    const auto read = must_read(kRmm, kColumns + std::string("1,1700000000.1,allocate,0x10,8,0x0\n"
                                                             "1,1700086399.1,free,0x10,8,0x0\n"));
    REQUIRE(read.count() == 2);
    CHECK(read.info->start_time == 1'700'000'000'100'000'000);
    CHECK(read.info->duration == 86'399'000'000'000);
    CHECK_THAT(must_refuse(kRmm, kColumns + std::string("1,1700000000.1,allocate,0x10,8,0x0\n"
                                                        "1,10:20:30,free,0x10,8,0x0\n")),
               Catch::Contains("expected seconds"));
}

TEST_CASE("a header without a needed column is refused by the column's name", "[reader][rmm]") {
    CHECK_THAT(must_refuse(kRmm, "Thread,Time,Action,Pointer,Size\n"),
               Catch::Contains("no column 'Stream'"));
    CHECK_THAT(must_refuse(kRmm, ""), Catch::Contains("empty"));
    CHECK(must_read(kRmm, kColumns).count() == 0);
}

}  // namespace tidemark
