// A gate's files: baselines read from any bytes, JUnit that any reader takes.
#include "replay/report/gate/gate_report.h"

#include <catch2/catch.hpp>

#include "replay/report/gate/baseline.h"

namespace tidemark {
namespace {

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* kWhole =
    R"({"spec": "torch", "profile": "h200", "memory_bytes": 80, "limit_bytes": 0, "scale": 0.5,
        "peak_reserved_bytes": 12, "overhead_ratio": 1.25, "later_key": [1], "more": null,
        "provenance": {"version": "0.1"}})";

TEST_CASE("a baseline has the numbers of its object", "[gate]") {
    const Result<Baseline> baseline = read_baseline(kWhole, "base.json");
    REQUIRE(baseline);
    CHECK(baseline->figure("peak_reserved_bytes") == 12.0);
    CHECK(baseline->figure("overhead_ratio") == 1.25);
    CHECK_FALSE(baseline->figure("later_key"));
    CHECK_FALSE(baseline->figure("more"));
    CHECK(baseline->policy == "torch");
    CHECK(baseline->scale == 0.5);
    CHECK(baseline->memory == 80);
    CHECK(baseline->version == "0.1");
}

TEST_CASE("what is no run is no baseline, and the file is named", "[gate]") {
    for (
        const char* text :
        {"", "{", "[]", "3", "\xff", "{}", R"({"spec": "torch"})", R"({"runs": []})",
         R"({"spec": 1, "profile": "h200", "memory_bytes": 80, "limit_bytes": 0})",
         R"({"spec": "a", "profile": "h200", "memory_bytes": -80, "limit_bytes": 0})",
         R"({"spec": "a", "profile": "b", "memory_bytes": 8, "limit_bytes": 0, "provenance": 3})"}) {
        INFO(text);
        const Result<Baseline> baseline = read_baseline(text, "base.json");
        REQUIRE_FALSE(baseline);
        CHECK(baseline.error().code == ErrorCode::bad_input);
        CHECK(baseline.error().where == "base.json");
        CHECK(contains(baseline.error().hint, "--write-baseline"));
    }
    CHECK_FALSE(read_baseline(std::string(100'000, '['), "base.json"));
}

TEST_CASE("names of traces can't break JUnit's markup or a line of the log", "[gate]") {
    Run run;
    run.scenario.policy = "torch";
    GateReport report;
    Budget budget{.condition = {.text = "retries > 0", .metric = "retries"}};
    budget.figure = metrics::count("retries", "", 3);
    budget.broken = true;
    report.budgets.push_back(budget);
    const std::string name = "a\"<b>\n&";
    const std::string xml = gate_junit(name, run, report);
    CHECK(contains(xml, "tests=\"1\" failures=\"1\""));
    CHECK(contains(xml, "name=\"retries &gt; 0\""));
    CHECK(contains(xml, "<failure message=\"retries is 3\"/>"));
    CHECK(contains(xml, "a&quot;&lt;b&gt;"));
    CHECK_FALSE(contains(xml, "<b>"));
    CHECK(contains(gate_text(name, run, report), "broken: retries > 0: 3\n"));
}

TEST_CASE("figures that read the same are written out where one breaks the other", "[gate]") {
    Run run;
    GateReport report;
    Budget budget{.condition = {.text = "peak_reserved > +0%",
                                .metric = "peak_reserved_bytes",
                                .relation = Relation::by_share}};
    budget.figure = metrics::bytes("peak_reserved_bytes", "", 7'000'000'512);
    budget.before = 7e9;
    budget.bound = 7e9;
    budget.broken = true;
    report.budgets.push_back(budget);
    const std::string text = gate_text("t", run, report);
    CHECK(contains(text, "7,000,000,512 bytes"));
    CHECK(contains(text, "the bound is 7,000,000,000 bytes"));
}

}  // namespace
}  // namespace tidemark
