// The report page: what it promises to readers (hostile texts stay texts, nothing is fetched, the
// same input gives the same bytes, it stays small) and that its charts show what they should.
#include "replay/report/page/html_report.h"

#include <algorithm>
#include <regex>

#include <catch2/catch.hpp>

#include "replay/report/page/html_curves.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/report_facts.h"
#include "tests/support/small_history.h"
#include "tests/support/text.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using namespace support;

constexpr const char* kHostile =
    "</script><script>alert(1)</script><!--\" onload='x' & \x01\x1b[31m \xff\xfe {{title}} ";

// A few blocks whose tag, stack and range are hostile.
VectorTrace hostile_trace() {
    TraceInfo info;
    const std::uint32_t name = info.strings.intern(kHostile);
    const std::uint32_t stack = info.stacks.intern(std::vector<Frame>{{name, name, 7}});
    info.devices = {{kHostile, 0}};
    info.format = kHostile;
    info.warnings = {kHostile};
    TraceBuilder builder;
    builder.add({.aux = name, .kind = EventKind::range_begin});
    for (std::uint32_t slot = 0; slot < 5; ++slot)
        builder.add({.size = 3_MiB * (slot + 1), .slot = slot, .stack = stack, .tag = name});
    for (std::uint32_t slot = 0; slot < 5; ++slot)
        builder.free(slot);
    return builder.build(std::move(info));
}

ReportInput report_of(const Trace& trace, const std::vector<std::string>& policies,
                      const std::string& name) {
    ReportInput input;
    input.title = name;
    input.provenance = {.version = "1", .command = "tidemark report " + name};
    input.traces.push_back({name, &trace, std::nullopt});
    for (const std::string& policy : policies) {
        Scenario scenario;
        scenario.trace = name;
        scenario.policy = policy;
        RecordHistoryOptions options;
        options.keep = false;
        Result<RecordedRun> run = record_history(trace, scenario, options);
        REQUIRE(run);
        input.runs.push_back({0, policy + name, std::move(*run)});
    }
    return input;
}

}  // namespace

TEST_CASE("texts of a trace cannot become markup of a report", "[report]") {
    const VectorTrace trace = hostile_trace();
    ReportInput input = report_of(trace, {"torch", "buddy"}, kHostile);
    const std::string page = html_report(input);
    CHECK(count(page, "<script") == 0);
    CHECK(count(page, "<!--") == 0);
    CHECK(page.find("alert(1)") != std::string::npos);  // it is there, as text
    CHECK(page.find("&lt;script&gt;alert(1)") != std::string::npos);
    CHECK(page.find("onload='") == std::string::npos);
    CHECK(std::ranges::none_of(page, [](char letter) {
        return (letter >= 0 && letter < 32 && letter != '\n') || letter == '\x7f';
    }));
    CHECK(page.find('\xff') == std::string::npos);
    CHECK(text_report(input).find('\x1b') == std::string::npos);
}

TEST_CASE("a report fetches and runs nothing and says so to the browser", "[report]") {
    const VectorTrace trace = hostile_trace();
    const std::string page = html_report(report_of(trace, {"torch"}, "run"));
    CHECK(page.find("http:") == std::string::npos);
    CHECK(page.find("https:") == std::string::npos);
    CHECK_FALSE(std::regex_search(page, std::regex("(src|href)\\s*=|@import|url\\(")));
    CHECK(page.find("default-src 'none'") != std::string::npos);
    CHECK(page.find("script-src") == std::string::npos);
}

TEST_CASE("the same input gives the same report", "[report]") {
    const VectorTrace trace = hostile_trace();
    const ReportInput once = report_of(trace, {"torch", "best-fit"}, "run");
    const ReportInput again = report_of(trace, {"torch", "best-fit"}, "run");
    CHECK(html_report(once) == html_report(again));
    CHECK(text_report(once) == text_report(again));
}

TEST_CASE("a report that did not ask advise doesn't say that nothing needs a hand", "[report]") {
    const VectorTrace trace = hostile_trace();
    ReportInput input = report_of(trace, {"torch"}, "run");
    for (const std::string& text : {html_report(input), text_report(input)}) {
        CHECK(count(text, "Nothing needs attention") == 0);
        CHECK(count(text, "Settings that need less memory were not searched") == 1);
    }
    input.traces[0].advice = advise(trace, {.threads = 1}).value();
    for (const std::string& text : {html_report(input), text_report(input)})
        CHECK(count(text, "were not searched") == 0);
}

TEST_CASE("on paper the swatches of legends keep their colours", "[report]") {
    const VectorTrace trace = hostile_trace();
    const std::string page = html_report(report_of(trace, {"torch"}, "run"));
    const std::size_t paper = page.find("@media print");
    REQUIRE(paper != std::string::npos);
    CHECK(page.find(".legend i, svg, .findings li { -webkit-print-color-adjust: exact", paper) !=
          std::string::npos);
}

TEST_CASE("a report of many events and many runs stays small", "[report]") {
    const auto trace = open_trace("generate:mix:events=150000,live=500,scale=64", {});
    REQUIRE(trace);
    const ReportInput input =
        report_of(**trace, {"torch", "buddy", "best-fit", "torch", "buddy", "best-fit"}, "mix");
    CHECK(html_report(input).size() < kLargestReport);
}

TEST_CASE("what waits for the device is not listed among what is allocated", "[report]") {
    TraceInfo info;
    const std::uint32_t waits = info.strings.intern("waits");
    const std::uint32_t lives = info.strings.intern("lives");
    TraceBuilder builder;
    builder.add({.size = 4_MiB, .slot = 0, .tag = waits});
    builder.end(EventKind::retire, 0);
    builder.add({.size = 6_MiB, .slot = 1, .tag = lives});
    builder.end(EventKind::finish, 0);
    builder.free(1);
    const VectorTrace trace = builder.build(std::move(info));
    const ReportInput input = report_of(trace, {"best-fit"}, "wait.tmk");
    const report::PeakContent content = report::peak_content(input.runs[0], 10);
    CHECK(content.live == 1);
    REQUIRE(content.tags.size() == 1);
    CHECK(content.tags[0].name == "lives");
    CHECK(content.tags[0].bytes == content.values[Series::allocated]);
}

TEST_CASE("a run without events has a report", "[report]") {
    const VectorTrace trace({});
    const ReportInput input = report_of(trace, {"torch"}, "nothing");
    CHECK(html_report(input).find("reserved no memory") != std::string::npos);
    CHECK(text_report(input).find("reserved no memory") != std::string::npos);
}

TEST_CASE("a chart has each run's peak, in bytes, where it is", "[report]") {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        builder.add({.size = 32_MiB, .slot = slot});
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        builder.free(slot);
    const VectorTrace trace = builder.build(TraceInfo{});
    const std::string page = html_report(report_of(trace, {"best-fit", "buddy"}, "run"));
    CHECK(count(page, "<svg class=\"chart\"") == 1);
    CHECK(count(page, "<circle class=\"peak run") == 2);
    CHECK(count(page, ">peak 256 MiB</text>") == 1);  // both, once
    CHECK(count(page, "role=\"img\" aria-label=\"") >= 3);
    CHECK(count(page, ">256 MiB</text>") == 1);  // of the axis
    CHECK(count(page, "In each tenth of the run, it peaked at") == 2);
}

TEST_CASE("a peak of one event among many has its height in the chart", "[report]") {
    TraceBuilder builder;
    for (std::uint32_t i = 0; i < 20000; ++i) {
        builder.add({.size = i == 9999 ? 1024_MiB : 2_MiB, .slot = 0});
        builder.free(0);
    }
    const VectorTrace trace = builder.build(TraceInfo{});
    const std::string page = html_report(report_of(trace, {"cuda-malloc"}, "run"));
    const std::size_t line = page.find("<path class=\"line allocated\"");
    REQUIRE(line != std::string::npos);
    const std::string path = page.substr(line, page.find("/>", line) - line);
    CHECK(count(path, "V0H") == 1);  // up to the axis' end
}

TEST_CASE("where a time axis hides most events there is one of events too", "[report]") {
    SmallHistory even;
    SmallHistory crowded;
    for (std::uint64_t i = 0; i < 400; ++i) {
        even.at(static_cast<Nanoseconds>(1000 * i)).allocate(i, 512);
        crowded.at(static_cast<Nanoseconds>(i == 0 ? 0 : 1'000'000 + i)).allocate(i, 512);
    }
    CHECK(report::chart_axes(*even.build()) == std::vector{AxisUnit::time});
    CHECK(report::chart_axes(*crowded.build()) == std::vector{AxisUnit::time, AxisUnit::events});
    SmallHistory timeless;
    timeless.at(0).allocate(1, 512);
    CHECK(report::chart_axes(*timeless.build()) == std::vector{AxisUnit::events});
}

TEST_CASE("refusals are marked, the first of them across the chart", "[report]") {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        builder.add({.size = 32_MiB, .slot = slot});
    for (std::uint32_t slot = 0; slot < 8; ++slot)
        builder.free(slot);
    const VectorTrace trace = builder.build(TraceInfo{});
    ReportInput input = report_of(trace, {}, "run");
    Scenario scenario;
    scenario.policy = "best-fit";
    scenario.limit = 128_MiB;
    RecordHistoryOptions options;
    options.keep = false;
    Result<RecordedRun> run = record_history(trace, scenario, options);
    REQUIRE(run);
    input.runs.push_back({0, "best-fit", std::move(*run)});
    const std::string page = html_report(input);
    CHECK(count(page, "<line class=\"refusal\"") == 4);
    CHECK(count(page, "y2=\"100%\"/>\n<line class=\"refusal\"") == 1);
    CHECK(count(page, ">out of memory</text>") == 1);
    CHECK(count(page, ">limit 128 MiB</text>") == 1);
}

TEST_CASE("the peak's parts add up to what is reserved", "[report]") {
    const VectorTrace trace = hostile_trace();
    const std::string bars = report::parts_markup(report_of(trace, {"torch"}, "run"));
    CHECK(count(bars, "<svg class=\"parts\"") == 1);
    CHECK(count(bars, "in use: 45.0 MiB") == 1);
    static const std::regex width("width=\"([0-9.]+)%\"");
    double whole = 0;
    for (std::sregex_iterator at(bars.begin(), bars.end(), width), end; at != end; ++at)
        whole += std::stod((*at)[1]);
    CHECK(whole == Approx(100).margin(0.01));
}

TEST_CASE("a page is filled in once, not again with what was put in", "[report]") {
    CHECK(report::filled_in("a {{x}} b {{y}}", {{"x", "{{y}}"}, {"y", "2"}}) == "a {{y}} b 2");
}

}  // namespace tidemark
