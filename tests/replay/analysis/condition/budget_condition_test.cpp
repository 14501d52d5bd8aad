// Conditions: every form that the guide names is read, and nothing else.
#include "replay/analysis/condition/budget_condition.h"

#include <catch2/catch.hpp>

#include "replay/analysis/gate/gate.h"

namespace tidemark {
namespace {

BudgetCondition must_parse(const char* text) {
    const std::vector<Measurement> figures = gate_figures();
    Result<BudgetCondition> condition = parse_budget(text, figures);
    INFO(text << ": " << (condition ? "" : to_text(condition.error())));
    REQUIRE(condition);
    return *condition;
}

Error refused(const char* text) {
    const std::vector<Measurement> figures = gate_figures();
    const Result<BudgetCondition> condition = parse_budget(text, figures);
    INFO(text);
    REQUIRE_FALSE(condition);
    CHECK(condition.error().code == ErrorCode::bad_option);
    return condition.error();
}

TEST_CASE("a condition names its metric in full or without its unit", "[gate]") {
    CHECK(must_parse("peak_reserved_bytes > 1GiB").metric == "peak_reserved_bytes");
    CHECK(must_parse("peak_reserved>1GiB").metric == "peak_reserved_bytes");
    CHECK(must_parse("  driver  >=  1.5s ").metric == "driver_ns");
    CHECK(must_parse("retries > 0").metric == "retries");
    CHECK(must_parse("hazard_count != 0").metric == "hazard_count");
}

TEST_CASE("a condition's value is in its metric's unit", "[gate]") {
    CHECK(must_parse("peak_reserved > 1.5GiB").amount == 1.5 * 1024 * 1024 * 1024);
    CHECK(must_parse("driver > 300ms").amount == 300e6);
    CHECK(must_parse("device_calls > 1,000").amount == 1000);
    CHECK(must_parse("overhead_ratio > 1.05").amount == 1.05);
    CHECK(must_parse("external_fragmentation_at_peak > 5%").amount == Approx(0.05));
    CHECK(must_parse("external_fragmentation_at_peak > 5%").relation == Relation::absolute);
    CHECK(must_parse("peak_reserved > 80G").note == "80G taken as 80 GiB");
}

TEST_CASE("a sign counts from the baseline, by amount or by share", "[gate]") {
    const BudgetCondition share = must_parse("peak_reserved > +2%");
    CHECK(share.relation == Relation::by_share);
    CHECK(share.bound(1000) == 1020);
    CHECK_FALSE(share.holds(1020, 1000));
    CHECK(share.holds(1021, 1000));
    const BudgetCondition more = must_parse("peak_reserved >= + 2MiB");
    CHECK(more.relation == Relation::by_amount);
    CHECK(more.holds(static_cast<double>(3_MiB), static_cast<double>(1_MiB)));
    const BudgetCondition less = must_parse("driver > -10 %");
    CHECK(less.bound(200) == 180);
    CHECK(must_parse("retries > +0").bound(7) == 7);
}

TEST_CASE("operators mean what they say", "[gate]") {
    const auto holds = [](const char* text) {
        const BudgetCondition condition = must_parse(text);
        return std::string{condition.holds(2, 0) ? '1' : '0', condition.holds(3, 0) ? '1' : '0',
                           condition.holds(4, 0) ? '1' : '0'};
    };
    CHECK(holds("retries > 3") == "001");
    CHECK(holds("retries >= 3") == "011");
    CHECK(holds("retries < 3") == "100");
    CHECK(holds("retries <= 3") == "110");
    CHECK(holds("retries == 3") == "010");
    CHECK(holds("retries != 3") == "101");
}

TEST_CASE("what is no condition is refused with what would be one", "[gate]") {
    CHECK(refused("").hint.find("peak_reserved > +2%") != std::string::npos);
    CHECK(refused("peak_reserved").hint.find("retries > 0") != std::string::npos);
    CHECK(refused("peak_reservd > 1GiB").hint == "did you mean peak_reserved?");
    CHECK(refused("peak_reserved > 2%").hint.find("'+2%'") != std::string::npos);
    for (const char* text : {"> 3", "retries = 3", "retries > ", "retries > many", "retries > 1.5",
                             "peak_reserved > 80", "driver > 5", "overhead_ratio > x",
                             "retries > +-3", "retries > 3 > 4", "peak_reserved > +%"})
        refused(text);
}

}  // namespace
}  // namespace tidemark
