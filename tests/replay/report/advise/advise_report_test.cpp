// advise's screens and objects: the figures of the analysis in them, and nothing of a file that
// could drive a terminal.
#include "replay/report/advise/advise_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/report/advise/advice_verdict.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using nlohmann::json;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A large block comes and goes, a small one settles in its segment, and the large one comes again.
VectorTrace wasteful() {
    TraceInfo info;
    const Frame frame{info.strings.intern("evil\x1b[2J"), info.strings.intern("/me/train.py"), 7};
    const std::uint32_t stack = info.stacks.intern({&frame, 1});
    const std::uint32_t step = info.strings.intern("step\n\x1b");
    std::vector<TraceEvent> events{
        {.aux = step, .kind = EventKind::range_begin}, {.size = 100_MiB, .slot = 0, .stack = stack},
        {.slot = 0, .kind = EventKind::free},          {.size = 4_MiB, .slot = 1, .stack = stack},
        {.size = 100_MiB, .slot = 2, .stack = stack},  {.aux = step, .kind = EventKind::range_end},
    };
    for (std::size_t i = 0; i < events.size(); ++i)
        events[i].time = static_cast<Nanoseconds>(i) * 1'000'000'000;
    return VectorTrace(events, info);
}

}  // namespace

TEST_CASE("the screen says where, why and what to do", "[advise]") {
    const VectorTrace trace = wasteful();
    const Advice advice = tidemark::advise(trace, {.threads = 1}).value();
    const std::string text = advice_text("a\x1b.pickle", trace.info(), advice);

    CHECK(!contains(text, "\x1b"));
    CHECK(contains(text, "Where it went: 200 MiB reserved at the peak"));
    CHECK(contains(text, "requested by the program, and live"));
    CHECK(contains(text, "104 MiB  52.0 %"));
    CHECK(contains(text, "me/train.py:7 evil\\x1b[2J"));
    CHECK(contains(text, "in step\\n\\x1b (1 of 1)"));
    CHECK(contains(text, "100 MiB was requested"));
    CHECK(contains(text, "96.0 MiB of it usable for such requests, in 1 gap"));
    REQUIRE(advice.search.improves);
    CHECK(contains(text, "\n  export PYTORCH_ALLOC_CONF="));
    CHECK(contains(text, "\n  " + advice.search.best.line + "\n"));
    CHECK(contains(text, "Offline bound: "));
    CHECK(text.starts_with(advice_verdict(trace.info(), advice) + "\n  export "));
    CHECK(contains(text, "doesn't say what managed its memory: this is what PyTorch's allocator"));
}

TEST_CASE("the object holds the figures of the analysis", "[advise]") {
    const VectorTrace trace = wasteful();
    const Advice advice = tidemark::advise(trace, {.threads = 1}).value();
    const json object = json::parse(advice_json("t", trace, advice, {"1", "tidemark"}));

    CHECK(object["before"]["policy"] == "torch");
    CHECK(object["before"]["conf"] == "");
    CHECK(object["before"]["peak_reserved_bytes"] == 200_MiB);
    CHECK(object["best"]["peak_reserved_bytes"] == advice.search.best.result.peak.reserved);
    CHECK(object["best"]["export"] == advice.search.best.line);
    CHECK(object["verdict"] == advice_verdict(trace.info(), advice));
    CHECK(object["improves"] == true);
    CHECK(object["floor_bytes"] == 104_MiB);
    CHECK(object["memory"]["in_use_bytes"] == 104_MiB);
    CHECK(object["memory"]["fragmentation_bytes"] == 96_MiB);
    CHECK(object["holders"][0]["by"] == "place");
    CHECK(object["holders"][0]["reserved_peak_bytes"] == 104_MiB);
    CHECK(object["pins"][0]["free_bytes"] == 96_MiB);
    CHECK(object["pins"][0]["ends_event"].is_null());
    CHECK(object["pins"][0]["stack"][0] == "evil\x1b[2J /me/train.py:7");
    CHECK(object["steps"]["reserved"]["inside"][0]["visit"] == 1);
    CHECK(object["offline_lower_bytes"] == advice.offline.lower);
}

TEST_CASE("if nothing helps the screen says so", "[advise]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 20_MiB).build();
    const Advice advice = tidemark::advise(trace, {.threads = 1}).value();
    const std::string text = advice_text("t", trace.info(), advice);

    CHECK(!advice.search.improves);
    CHECK(contains(text, "Nothing helps"));
    CHECK(!contains(text, "export "));
}

TEST_CASE("a trace without memory has a screen", "[advise]") {
    const VectorTrace trace = TraceBuilder().build();
    const Advice advice = tidemark::advise(trace, {.threads = 1}).value();
    const json object = json::parse(advice_json("t", trace, advice, {}));

    CHECK(contains(advice_text("t", trace.info(), advice), "Nothing was allocated."));
    CHECK(object["steps"]["reserved"]["event"].is_null());
    CHECK(object["gaps"]["event"].is_null());
}

TEST_CASE("two traces have a screen and an object", "[advise]") {
    const VectorTrace before = TraceBuilder().allocate(0, 20_MiB).build();
    const VectorTrace after = TraceBuilder().allocate(0, 20_MiB).allocate(1, 3_MiB).build();
    const Growth growth = find_growth(before, after, 10).value();
    const std::string text = growth_text("a", "b\x1b", growth);
    const json object = json::parse(growth_json("a", "b", growth, {}));

    CHECK(contains(text, "a -> b\\x1b"));
    CHECK(contains(text, "+3.00 MiB"));
    CHECK(contains(text, "added"));
    CHECK(contains(text, "2.00 MiB to 4.00 MiB"));
    CHECK(object["by"] == "size");
    CHECK(object["entries"][0]["change"] == "added");
    CHECK(object["entries"][0]["end_after"]["bytes"] == 3_MiB);
    CHECK(contains(growth_text("a", "a", find_growth(before, before, 10).value()),
                   "Nothing differs"));
}
