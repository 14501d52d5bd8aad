// Words of reports: figures in their units, and groups that miss no metric.
#include "replay/report/runs/text.h"

#include <numeric>
#include <sstream>

#include <catch2/catch.hpp>

#include "replay/report/forms/wording.h"

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

    CHECK(good.find("x: every decision matches the recording under torch\n") == 0);
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

namespace {

// A bin for zeros and one for each of `powers` powers of two, each with one allocation.
Histogram powers_of_two(std::size_t powers) {
    Histogram bins{{0, 1, 1}};
    for (std::size_t i = 0; i < powers; ++i)
        bins.push_back({std::uint64_t{1} << i, 1, 1});
    return bins;
}

// The counts of the lines between `title` and the next empty line.
std::vector<std::uint64_t> counts_below(const std::string& text, const std::string& title) {
    std::istringstream lines(text.substr(text.find(title)));
    std::string line;
    std::getline(lines, line);
    std::vector<std::uint64_t> counts;
    while (std::getline(lines, line) && !line.empty()) {
        const std::size_t bar = line.find_last_not_of(" #");
        const std::size_t bytes = line.rfind(' ', line.rfind(' ', bar) - 1);
        const std::size_t end = line.find_last_not_of(' ', bytes) + 1;
        counts.push_back(std::stoull(line.substr(line.rfind(' ', end - 1) + 1, end)));
    }
    return counts;
}

}  // namespace

TEST_CASE("a histogram of any width fits a screen, and loses nothing", "[report]") {
    for (const std::size_t powers : {1U, 15U, 16U, 31U, 32U, 33U, 41U, 64U}) {
        TraceInfo info;
        info.duration = 1;
        TraceSummary summary;
        summary.sizes = summary.lifetime_events = summary.lifetime_times = powers_of_two(powers);
        const std::string text = trace_text("x", info, summary);
        for (const char* title : {"size from", "lifetime, events", "lifetime "}) {
            INFO(powers << ": " << title << "\n" << text);
            const std::vector<std::uint64_t> counts = counts_below(text, title);
            CHECK(counts.size() <= 16);
            CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == powers + 1);
        }
    }
}

TEST_CASE("names of any length make lines that can be read", "[report]") {
    const std::string name(1U << 20U, 'n');
    TraceInfo info;
    info.format = info.source = name;
    info.devices.push_back({.name = name});
    info.settings = {{name, name}};
    info.warnings = {name};
    TraceSummary summary;
    summary.ranges = {{name, 1}};
    CHECK(trace_text("x", info, summary).size() < 5000);
    CHECK(one_line("größe", 3) == "grö\u2026");
    CHECK(one_line("größe", 5) == "größe");
}

TEST_CASE("of many devices a few are named and the rest counted", "[report]") {
    TraceInfo info;
    info.devices.resize(101);
    TraceSummary summary;
    summary.devices.resize(101);
    const std::string text = trace_text("x", info, summary);
    CHECK(text.find("; and 96 more") != std::string::npos);
    CHECK(text.find("Devices: 101") != std::string::npos);
    CHECK(text.size() < 3000);
}

TEST_CASE("sums that ended at the largest number say so", "[report]") {
    TraceSummary summary;
    summary.allocated = ~Bytes{0};
    CHECK(trace_text("x", TraceInfo(), summary).find("16.0 EiB or more in total") !=
          std::string::npos);
}
