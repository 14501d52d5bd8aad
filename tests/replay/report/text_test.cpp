// Words of reports: printable strings, figures in their units, and groups that miss no metric.
#include "replay/report/text.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

Measurement whole(std::string_view name, Unit unit, std::uint64_t value) {
    Measurement measurement;
    measurement.name = name;
    measurement.unit = unit;
    measurement.whole = value;
    return measurement;
}

Measurement ratio(std::string_view name, double value) {
    Measurement measurement;
    measurement.name = name;
    measurement.unit = Unit::ratio;
    measurement.real = value;
    return measurement;
}

}  // namespace

TEST_CASE("what could drive a terminal is not printed", "[report]") {
    CHECK(printable("plain") == "plain");
    CHECK(printable("größe ▁") == "größe ▁");
    CHECK(printable("a\x1b[2Jb\r\n\tc\x7f") == "a?[2Jb???c?");
    CHECK(printable("\xc2\x9b"
                    "31m") == "?31m");  // an escape in one character
    CHECK(printable("\xff\xfe"
                    "a\xc3") == "??a?");  // no UTF-8
    CHECK(printable("a\nb\x1b", true) == "a\nb?");
}

TEST_CASE("figures are shown in their unit", "[report]") {
    CHECK(figure_text(whole("a_bytes", Unit::bytes, 7_GiB)) == "7.00 GiB");
    CHECK(figure_text(whole("a_ns", Unit::nanoseconds, 310'000)) == "310 us");
    CHECK(figure_text(whole("a", Unit::count, 12345)) == "12,345");
    CHECK(figure_text(ratio("overhead_ratio", 1.34)) == "1.340");
    CHECK(figure_text(ratio("fragmentation", 0.041)) == "4.1 %");
}

TEST_CASE("a metric that no group knows is shown all the same", "[report]") {
    Run run;
    run.scenario.policy = "torch";
    run.measurements = {
        whole("peak_reserved_bytes", Unit::bytes, 2_MiB),
        whole("brand_new", Unit::count, 77),
    };
    const std::string text = run_text("x", run, {}, {});

    CHECK(text.find("reserved   2.00 MiB") != std::string::npos);
    CHECK(text.find("Other\n  brand_new  77\n") != std::string::npos);
}

TEST_CASE("a verified trace says so, and a difference shows both sides", "[report]") {
    VerifyReport report;
    report.policy = "torch";
    report.decisions = 10;
    const std::string good = verify_text("x", report);
    report.mismatches = 2;
    report.first_mismatch = Mismatch{.event = 1234,
                                     .what = {},
                                     .expected = "0x1000",
                                     .actual = "0x2000",
                                     .neighbourhood = {"before", "after"}};
    const std::string bad = verify_text("x", report);

    CHECK(good.find("x: every decision is the recorded one under torch\n") == 0);
    CHECK(bad.find("x: 2 of 10 decisions differ") == 0);
    CHECK(bad.find("First difference: event 1,234") != std::string::npos);
    CHECK(bad.find("  recorded  0x1000\n  replayed  0x2000\n    before\n    after\n") !=
          std::string::npos);
}

TEST_CASE("a file's oddities become notes", "[report]") {
    TraceInfo info;
    info.anomalies.double_frees = 1;
    info.anomalies.zero_sizes = 3;
    info.warnings = {"the file was cut off"};

    CHECK(trace_notes({}).empty());
    CHECK(trace_notes(info) ==
          "note: 1 event freed twice\nnote: 3 events allocated with size 0\n"
          "note: the file was cut off\n");
}
