// Findings: what is told of a run, how urgent it is, and in which words.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/findings/find.h"
#include "replay/report/advise/advise_report.h"
#include "replay/report/findings/finding_text.h"
#include "replay/timeline/fullest_event.h"
#include "tests/support/small_history.h"
#include "tests/support/vector_trace.h"

namespace tidemark::findings {
namespace {

using support::SmallHistory;
using support::TraceBuilder;
using support::VectorTrace;

const Finding* of_kind(const std::vector<Finding>& list, Kind kind) {
    const auto found =
        std::ranges::find_if(list, [kind](const Finding& each) { return each.kind == kind; });
    return found == list.end() ? nullptr : &*found;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("waste is a problem from a fifth on and a warning from a twentieth", "[findings]") {
    CHECK(severity_of_waste(20, 100) == Severity::problem);
    CHECK(severity_of_waste(19, 100) == Severity::warning);
    CHECK(severity_of_waste(5, 100) == Severity::warning);
    CHECK(severity_of_waste(4, 100) == Severity::note);
    CHECK(severity_of_waste(0, 0) == Severity::note);
}

TEST_CASE("findings stand by severity, then by kind", "[findings]") {
    std::vector<Finding> list(3);
    list[0].kind = Kind::remark;
    list[1].kind = Kind::rounding;
    list[1].severity = Severity::warning;
    list[2].kind = Kind::leak;
    list[2].severity = Severity::problem;
    put_in_order(list);
    CHECK(list[0].kind == Kind::leak);
    CHECK(list[1].kind == Kind::rounding);
    CHECK(list[2].kind == Kind::remark);
}

TEST_CASE("where too much lives at once nothing is suggested", "[findings][advise]") {
    TraceBuilder builder;
    for (std::uint32_t slot = 0; slot < 6; ++slot)
        builder.allocate(slot, 30_MiB);
    const VectorTrace trace = builder.build();
    const Advice advice =
        tidemark::advise(trace, {.limit = 100_MiB, .budget = 20, .threads = 1}).value();
    REQUIRE(advice.no_fit);
    CHECK_FALSE(advice.search.improves);
    CHECK(advice.search.others.empty());
    CHECK(advice.no_fit->available == 100_MiB);
    CHECK(advice.no_fit->excess == 80_MiB);
    const std::vector<Finding> list = find({.info = &trace.info(), .advice = &advice, .runs = {}});
    const Finding* const lack = of_kind(list, Kind::does_not_fit);
    REQUIRE(lack != nullptr);
    CHECK(lack->figure("requested_bytes") == 180_MiB);
    REQUIRE(lack->parts.size() == 1);
    CHECK(lack->parts[0].bytes == 180_MiB);
    CHECK(of_kind(list, Kind::setting) == nullptr);
    const std::string text = advice_text("t", trace.info(), advice);
    CHECK(contains(text, "No setting can help: 180 MiB live at once, 100 MiB available"));
    CHECK(contains(text, "80.0 MiB would have to go"));
    CHECK_FALSE(contains(text, "export "));
}

TEST_CASE("what waits for other streams has its stream and place", "[findings][advise]") {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.streams = {0, 0x70};
    const Frame frame{info.strings.intern("gather"), info.strings.intern("/me/fsdp.py"), 12};
    const std::uint32_t stack = info.stacks.intern({&frame, 1});
    std::vector<TraceEvent> events{
        {.size = 40_MiB, .slot = 0, .stream = StreamId{1}, .stack = stack},
        {.slot = 0, .stream = StreamId{1}, .kind = EventKind::retire},
        {.size = 40_MiB, .slot = 1, .stack = stack},
        {.slot = 0, .kind = EventKind::finish},
    };
    const VectorTrace trace(events, info);
    const Advice advice = tidemark::advise(trace, {.budget = 1, .threads = 1}).value();
    const std::vector<Finding> list = from_advice(trace.info(), advice);
    const Finding* const waiting = of_kind(list, Kind::waiting);
    REQUIRE(waiting != nullptr);
    CHECK(waiting->figure("pending_free_bytes") == 40_MiB);
    CHECK(waiting->figure("waiting_bytes") == 40_MiB);
    REQUIRE(waiting->parts.size() == 1);
    CHECK(waiting->parts[0].name == "stream 1 (0x70)");
    CHECK(contains(waiting->parts[0].note, "fsdp.py:12"));
    CHECK(contains(waiting->parts[0].note, "record_stream"));
    CHECK(contains(finding_text(*waiting).detail, "record_stream"));
}

TEST_CASE("another graph's pool is a pool", "[findings]") {
    TraceInfo info;
    info.pools = {"default", "(0, 1)", "(3, 0)"};
    CHECK(pool_text(info, PoolId{0}) == "default pool");
    CHECK(pool_text(info, PoolId{1}) == "pool (0, 1)");
    CHECK(pool_text(info, PoolId{2}) == "graph pool (3, 0)");
    CHECK(pool_text(info, PoolId{7}) == "pool 7");
}

TEST_CASE("what advice says of a run's policy replaces what its history shows", "[findings]") {
    TraceBuilder builder;
    builder.allocate(0, 100_MiB).free(0).allocate(1, 4_MiB).allocate(2, 100_MiB);
    const VectorTrace trace = builder.build();
    const Advice advice = tidemark::advise(trace, {.budget = 1, .threads = 1}).value();
    const auto history = SmallHistory()
                             .segment(0x100000, 0x100000)
                             .allocate(1, 0x200, {.address = 0x180000})
                             .segment(0x200000, 0x100000)
                             .build();
    REQUIRE(of_kind(find({.runs = std::vector<FoundRun>{{"r", "torch", history.get(), nullptr}}}),
                    Kind::pinned) != nullptr);
    const std::vector<FoundRun> runs{{"r", advice.policy, history.get(), nullptr}};
    const std::vector<Finding> list =
        find({.info = &trace.info(), .advice = &advice, .runs = runs});
    CHECK(std::ranges::count_if(
              list, [](const Finding& each) { return each.kind == Kind::pinned; }) == 1);
    CHECK(of_kind(list, Kind::pinned)->figure("segments") == 1);
}

TEST_CASE("the peak is where, of reserved memory at its most, most is in use", "[findings]") {
    SmallHistory small;
    small.segment(0x1000, 0x100000);
    for (std::uint64_t i = 0; i < 400; ++i)
        small.allocate(i, 0x100, {.address = 0x1000 + i * 0x100});
    for (std::uint64_t i = 0; i < 300; ++i)
        small.free(i);
    const auto history = small.build();
    CHECK(history->peak_event(Series::reserved) == 0);
    CHECK(fullest_event(*history) == history->peak_event(Series::active));
}

}  // namespace
}  // namespace tidemark::findings
