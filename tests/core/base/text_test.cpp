// Text for people and from people: sizes, counts, durations, near misses.
#include "core/base/text.h"

#include <limits>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace tidemark {
namespace {

struct SizeCase {
    std::string_view text;
    Bytes bytes;
};

TEST_CASE("a size is read with any unit people write", "[base][text]") {
    const SizeCase example =
        GENERATE(SizeCase{"0", 0}, SizeCase{"512", 512}, SizeCase{"512B", 512},
                 SizeCase{"512 b", 512}, SizeCase{"64k", 65536}, SizeCase{"64KiB", 65536},
                 SizeCase{"64kib", 65536}, SizeCase{"64KB", 64000}, SizeCase{"2M", 2097152},
                 SizeCase{"2 MB", 2000000}, SizeCase{"80GiB", Bytes{80} << 30},
                 SizeCase{"80GB", 80000000000}, SizeCase{"1.5 GB", 1500000000},
                 SizeCase{"1.5GiB", Bytes{3} << 29}, SizeCase{"3T", Bytes{3} << 40},
                 SizeCase{"1PiB", Bytes{1} << 50}, SizeCase{"1PB", 1000000000000000},
                 SizeCase{"007", 7}, SizeCase{"1.0", 1}, SizeCase{"1.000B", 1});
    CAPTURE(example.text);

    CHECK(parse_bytes(example.text) == example.bytes);
}

TEST_CASE("a fraction of a unit is rounded to the nearest byte", "[base][text]") {
    CHECK(parse_bytes("0.1KiB") == 102);     // 102.4
    CHECK(parse_bytes("0.999KiB") == 1023);  // 1022.976
    CHECK(parse_bytes("1.1GiB") == 1181116006);
    CHECK(parse_bytes("1.00000000000000000000000001KiB") == 1024);
}

TEST_CASE("a size at the limit of 2^63 bytes is read and one above is refused", "[base][text]") {
    CHECK(parse_bytes("9223372036854775808") == Bytes{1} << 63);
    CHECK(parse_bytes("8192PiB") == Bytes{1} << 63);
    CHECK_FALSE(parse_bytes("9223372036854775809"));
    CHECK_FALSE(parse_bytes("8192.0001PiB"));
    CHECK_FALSE(parse_bytes("18446744073709551616"));
    CHECK_FALSE(parse_bytes("99999999999999999999999999999999999999999999P"));
}

TEST_CASE("what is not a size is refused with the text and a hint", "[base][text]") {
    const std::string_view text = GENERATE(
        as<std::string_view>{}, "", " ", "B", "GiB", "-1", "+1", "-1GiB", "0x10", "1e3", "1e3B",
        "1.", ".5G", "1..5G", "1,000", "1_000", "12X", "12KK", "12iB", "12KiBs", "12Ki", "1 2",
        " 12", "12 ", "12  K", "none", "inf", "nan", "1.5", "0.3B", "0.0001K", "1EiB", "\xff");
    CAPTURE(text);

    const Result<Bytes> size = parse_bytes(text);

    REQUIRE_FALSE(size);
    CHECK(size.error().code == ErrorCode::bad_option);
    CHECK(size.error().what.find(text) != std::string::npos);
    CHECK_FALSE(size.error().hint.empty());
}

TEST_CASE("a typed size with a bare letter says which unit it was taken for", "[base][text]") {
    CHECK(parse_typed_size("80G")->bytes == 80_GiB);
    CHECK(parse_typed_size("80G")->note == "80G taken as 80 GiB");
    CHECK(parse_typed_size("1.5 t")->note == "1.5 t taken as 1.5 TiB");
    const std::string_view sure =
        GENERATE(as<std::string_view>{}, "80GB", "80gb", "80Gb", "80GiB", "80gib", "512B", "0");
    CAPTURE(sure);
    CHECK(parse_typed_size(sure)->note.empty());
    CHECK(parse_typed_size(sure)->bytes == parse_bytes(sure));
}

TEST_CASE("a typed size without a unit is bytes only where it can be", "[base][text]") {
    CHECK(parse_typed_size("85899345920")->bytes == 80_GiB);
    CHECK(parse_typed_size("1048576")->bytes == 1_MiB);
    const Result<TypedSize> size = parse_typed_size("80");
    REQUIRE_FALSE(size);
    CHECK(size.error().what == "'80' has no unit");
    CHECK(size.error().hint == "80GiB? Bytes are written as 80B");
    CHECK_FALSE(parse_typed_size("1048575"));
    CHECK_FALSE(parse_typed_size("80X"));
}

TEST_CASE("counted things have their plural only when there are several", "[base][text]") {
    CHECK(format_counted(1, "segment") == "1 segment");
    CHECK(format_counted(0, "segment") == "0 segments");
    CHECK(format_counted(12345, "segment") == "12,345 segments");
    CHECK(format_counted(2, "retry", "retries") == "2 retries");
    CHECK(format_times(1) == "once");
    CHECK(format_times(2000) == "2,000 times");
    CHECK(format_percent(0.248) == "24.8 %");
    CHECK(share_of(1, 0) == 0);
    CHECK(share_of(1, 4) == 0.25);
}

TEST_CASE("times are read with their unit", "[base][text]") {
    CHECK(parse_duration("7ns") == 7);
    CHECK(parse_duration("20 us") == 20'000);
    CHECK(parse_duration("300ms") == 300'000'000);
    CHECK(parse_duration("1.5s") == 1'500'000'000);
    CHECK(parse_duration("0s") == 0);
    for (const char* const text : {"", "s", "7", "-1s", "1e300s", "nans", "3 minutes", "1.5.5s"}) {
        INFO(text);
        CHECK_FALSE(parse_duration(text).has_value());
    }
}

TEST_CASE("a refusal shows only the beginning of a long text", "[base][text]") {
    const std::string text(1'000'000, 'x');

    CHECK(parse_bytes(text).error().what.size() < 200);
    CHECK(parse_count(text).error().what.size() < 200);
    CHECK(parse_real(text).error().what.size() < 200);
}

TEST_CASE("a count is read with separators between its digits", "[base][text]") {
    CHECK(parse_count("0") == 0);
    CHECK(parse_count("12345678") == 12345678);
    CHECK(parse_count("12_345_678") == 12345678);
    CHECK(parse_count("12,345,678") == 12345678);
    CHECK(parse_count("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("what is not a whole number is refused", "[base][text]") {
    const std::string_view text =
        GENERATE(as<std::string_view>{}, "", "-1", "+1", "1.0", "1e3", "0x10", "_1", "1_", "1__2",
                 " 1", "1 ", "ten", "18446744073709551616", "184467440737095516150");
    CAPTURE(text);

    CHECK_FALSE(parse_count(text));
}

TEST_CASE("a real number is read in decimal and scientific form", "[base][text]") {
    CHECK(parse_real("0.8") == 0.8);
    CHECK(parse_real("-2") == -2.0);
    CHECK(parse_real("1e3") == 1000.0);
}

TEST_CASE("times are read with their units", "[base]") {
    CHECK(parse_duration("12ns") == 12);
    CHECK(parse_duration("1.5 us") == 1500);
    CHECK(parse_duration("300ms") == 300'000'000);
    CHECK(parse_duration("1.5s") == 1'500'000'000);
    CHECK(parse_duration("2 min") == 120'000'000'000);
    CHECK(parse_duration("1h") == 3'600'000'000'000);
    CHECK(parse_duration("0") == 0);
    for (const char* text : {"", "s", "5", "-1s", "1.5.2s", "1 d", "1e9s", "99999999999h", " 1s"}) {
        INFO(text);
        CHECK_FALSE(parse_duration(text));
    }
}

TEST_CASE("what is not a finite number is refused", "[base][text]") {
    const std::string_view text = GENERATE(as<std::string_view>{}, "", "inf", "-inf", "nan",
                                           "1e999", "0.8x", " 1", "1 ", "0x10", "+1", "--1", "one");
    CAPTURE(text);

    CHECK_FALSE(parse_real(text));
}

TEST_CASE("bytes are shown with three significant digits", "[base][text]") {
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(512) == "512 B");
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(format_bytes(1024) == "1.00 KiB");
    CHECK(format_bytes(13'314'398'618) == "12.4 GiB");
    CHECK(format_bytes(10235) == "10.0 KiB");  // 9.995: not "9.99" and not "10.00"
    CHECK(format_bytes(1_MiB - 1) == "1.00 MiB");
    CHECK(format_bytes(1000_KiB) == "1000 KiB");
    CHECK(format_bytes(80_GiB) == "80.0 GiB");
    CHECK(format_bytes(std::numeric_limits<Bytes>::max()) == "16.0 EiB or more");
    CHECK(format_bytes(std::numeric_limits<Bytes>::max() - 1) == "16.0 EiB");
}

TEST_CASE("durations are shown in the unit that fits", "[base][text]") {
    CHECK(format_duration(0) == "0 ns");
    CHECK(format_duration(12) == "12 ns");
    CHECK(format_duration(999) == "999 ns");
    CHECK(format_duration(1000) == "1.00 us");
    CHECK(format_duration(310'000) == "310 us");
    CHECK(format_duration(999'499) == "999 us");
    CHECK(format_duration(999'500) == "1.00 ms");
    CHECK(format_duration(1'240'000'000) == "1.24 s");
    CHECK(format_duration(3'000'000'000'000) == "50.0 min");
    CHECK(format_duration(360'000'000'000'000) == "100 h");
    CHECK(format_duration(-1500) == "-1.50 us");
    CHECK(format_duration(std::numeric_limits<Nanoseconds>::min()) == "-2562048 h");
}

TEST_CASE("counts are shown in groups of three", "[base][text]") {
    CHECK(format_count(0) == "0");
    CHECK(format_count(999) == "999");
    CHECK(format_count(1000) == "1,000");
    CHECK(format_count(12'345'678) == "12,345,678");
    CHECK(format_count(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("a shown count reads back as the same number", "[base][text]") {
    CHECK(rc::check(
        [](std::uint64_t count) { RC_ASSERT(parse_count(format_count(count)) == count); }));
}

TEST_CASE("shown bytes read back within half a per cent", "[base][text]") {
    CHECK(rc::check([] {
        const Bytes bytes = *rc::gen::inRange<Bytes>(0, Bytes{1} << *rc::gen::inRange(1, 60));
        const std::string shown = format_bytes(bytes);
        const Result<Bytes> read = parse_bytes(shown);
        RC_ASSERT(read.has_value());
        const Bytes error = *read > bytes ? *read - bytes : bytes - *read;
        RC_ASSERT(error <= bytes / 200 + 1);
    }));
}

TEST_CASE("the nearest word is found within a third of the length", "[base][text]") {
    const std::string_view names[] = {"cuda-malloc", "bump", "best-fit", "buddy", "torch"};

    CHECK(nearest("torhc", names) == "torch");
    CHECK(nearest("bestfit", names) == "best-fit");
    CHECK(nearest("cudamaloc", names) == "cuda-malloc");
    CHECK(nearest("bum", names) == "bump");
    CHECK(nearest("buddi", names) == "buddy");
    CHECK(nearest("torch", names) == "torch");
}

TEST_CASE("no word is suggested when none is near", "[base][text]") {
    const std::string_view names[] = {"torch", "ab"};

    CHECK(nearest("arena", names).empty());
    CHECK(nearest("", names).empty());
    CHECK(nearest("xy", names).empty());  // two edits, but nothing in common
    CHECK(nearest(std::string(1'000'000, 't'), names).empty());
    CHECK(nearest("torch", {}).empty());
}

TEST_CASE("of equally near names the first is suggested", "[base][text]") {
    const std::string_view names[] = {"size_a", "size_b"};

    CHECK(nearest("size_c", names) == "size_a");
}

}  // namespace
}  // namespace tidemark
