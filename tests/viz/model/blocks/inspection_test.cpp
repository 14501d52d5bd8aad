// What the inspector and the lists of leaks and findings say of small histories.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/timeline/fullest_event.h"
#include "replay/timeline/memory_spans.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "tests/viz/model/history_question.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/leaks.h"
#include "viz/model/blocks/peak_summary.h"
#include "viz/model/navigation/findings.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;
using support::SmallHistory;

ViewedRun run_of(std::shared_ptr<const History> history) {
    ViewedRun run;
    run.history = std::move(history);
    return run;
}

std::string fact(const BlockDetails& details, std::string_view label) {
    for (const auto& [name, value] : details.facts)
        if (name == label)
            return value;
    return "(no such fact)";
}

// A segment of 4 KiB: A B _ C, then B is freed and D takes its place.
SmallHistory neighbours() {
    SmallHistory history;
    history.segment(0x1000, 0x1000)
        .allocate(1, 0x400, {.address = 0x1000, .tag = "A"})
        .allocate(2, 0x300, {.address = 0x1400, .tag = "B", .granted = 0x400})
        .allocate(3, 0x400, {.address = 0x1c00, .tag = "C"})
        .free(2)
        .idle()
        .allocate(4, 0x200, {.address = 0x1500, .tag = "D", .stack = {"conv", "main"}});
    return history;
}

TEST_CASE("a moment is the last event at or before a position", "[viz][moment]") {
    const auto history = SmallHistory().at(100).idle().at(100).idle().at(200).idle().build();
    CHECK(event_at(*history, AxisUnit::time, 99) == std::nullopt);
    CHECK(event_at(*history, AxisUnit::time, 100) == 1U);
    CHECK(event_at(*history, AxisUnit::time, 199) == 1U);
    CHECK(event_at(*history, AxisUnit::time, 1'000'000) == 2U);
    CHECK(instant_of(run_of(history), AxisUnit::time, Position{5}) == std::nullopt);
    CHECK(instant_of(run_of(history), AxisUnit::time, std::nullopt)->at_peak);
    const auto span = measured_span(*history, AxisUnit::time, Window{50, 200});
    REQUIRE(span);
    CHECK(span->begin() == 0);
    CHECK(span->end() == 3);
}

TEST_CASE("without a cursor all show the one peak that the overview speaks of", "[viz][moment]") {
    SmallHistory made;
    made.segment(0x1000, 0x1000).allocate(1, 0x1000, {.address = 0x1000}).free(1);
    made.segment(0x8000, 0x1000).allocate(2, 0x400, {.address = 0x8000});
    const auto history = made.build();
    const Cancelled never = false;
    const EventIndex peak = instant_of(run_of(history), AxisUnit::time, std::nullopt)->event;
    CHECK(peak == peak_summary(*history, never).peak);
    CHECK(peak != history->peak_event(Series::allocated));  // another event holds more blocks
}

TEST_CASE("the peak of a growing run is found in what is new", "[viz][moment]") {
    SmallHistory made;
    PeakMemo memo;
    std::uint64_t address = 0x10000;
    for (const Bytes size : {1_KiB, 2_KiB, 32_KiB, 1_KiB, 1_KiB, 64_KiB, 2_KiB}) {
        made.segment(address, 0x2000).allocate(address, size / 8, {.address = address});
        CHECK(memo.of(made.look()) == fullest_event(*made.look()));
        if (size > 4_KiB)
            made.free(address);
        address += 0x10000;
        CHECK(memo.of(made.look()) == fullest_event(*made.look()));
    }
    made.idle().end_segment(0x10000, 0x2000).idle();
    CHECK(memo.of(made.look()) == fullest_event(*made.look()));
    made.allocate(1, 0x200, {.address = 0x20800});
    CHECK(memo.of(made.look()) == fullest_event(*made.look()));
}

TEST_CASE("a run that is over has ended behind its last event", "[viz][moment]") {
    SmallHistory made;
    made.at(100).idle().at(200).idle();
    const auto growing = made.look();
    CHECK_FALSE(instant_of(run_of(growing), AxisUnit::time, Position{500})->has_ended);
    const auto history = made.build();
    CHECK_FALSE(instant_of(run_of(history), AxisUnit::time, Position{200})->has_ended);
    CHECK(instant_of(run_of(history), AxisUnit::time, Position{201})->has_ended);
}

TEST_CASE("details tell size, life, site and neighbours", "[viz][details]") {
    SmallHistory small = neighbours();
    const auto history = small.build();
    const BlockDetails details = block_details(*history, small.block(2), 3, kGoOn);
    CHECK(details.title == "1.00 KiB at 0x1400");
    CHECK(fact(details, "Requested") == "768 B, rounded up by 256 B (25.0 %)");
    CHECK(fact(details, "Tag") == "B");
    CHECK(fact(details, "Before it") == "no block had these bytes");
    CHECK(details.after == small.block(4));
    CHECK(fact(details, "After it").find("512 B, D") == 0);
    CHECK(fact(details, "After it").find("free for") != std::string::npos);
    CHECK(details.left == small.block(1));
    CHECK(details.right == small.block(3));
    CHECK(fact(details, "Right of it") == "1.00 KiB free, then 1.00 KiB, C");
    CHECK(fact(details, "Segment") == "4.00 KiB at 0x1000");
    const BlockDetails last = block_details(*history, small.block(3), 3, kGoOn);
    CHECK(fact(last, "Right of it") == "the segment's edge");
    CHECK(fact(last, "Freed") == "not in this run");
    CHECK(block_details(*history, 999, 0, kGoOn).block == kNoBlock);
}

TEST_CASE("details say what is a second mapping, and what one takes beside a block",
          "[viz][details]") {
    SmallHistory small;
    small.map(0x1000, 0x1000).view(0x9000, 0x800, 0x1800);
    small.allocate(1, 0x400, {.address = 0x1000}).allocate(2, 0x400, {.address = 0x9100});
    const auto history = small.build();

    const BlockDetails home = block_details(*history, small.block(1), 3, kGoOn);
    CHECK(home.right == small.block(2));
    CHECK(fact(home, "Right of it").starts_with("1.25 KiB free, then 1.00 KiB"));
    const BlockDetails view = block_details(*history, small.block(2), 3, kGoOn);
    CHECK(fact(view, "Segment") == "second mapping of memory at 0x1900");
    CHECK(view.left == kNoBlock);
    CHECK(fact(view, "Right of it") == "(no such fact)");
}

TEST_CASE("details are text that can be copied", "[viz][details]") {
    SmallHistory small = neighbours();
    const auto history = small.build();
    const std::string text = to_text(block_details(*history, small.block(4), 6, kGoOn));
    CHECK(text.find("512 B at 0x1500\n") == 0);
    CHECK(text.find("Stack, innermost first:\n  conv\n  main\n") != std::string::npos);
}

TEST_CASE("a waiting block's details tell for how long", "[viz][details]") {
    SmallHistory small;
    const auto history = small.allocate(1, 512).retire(1).idle().finish(1).build();
    const BlockDetails details = block_details(*history, small.block(1), 2, kGoOn);
    CHECK(fact(details, "Pending free") == "20 ns, 2 events until the device finished");
}

TEST_CASE("memory spans add up to what lives and what is free", "[viz][spans]") {
    SmallHistory small = neighbours();
    const auto history = small.segment(0x10000, 0x800).build();
    const std::vector<MemorySpan> spans = memory_spans(*history, 3, kGoOn);
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].blocks == 3);
    CHECK(spans[0].taken == 0xc00);
    CHECK(spans[0].largest_gap == 0x400);
    const FreeSpace later = free_space(
        memory_spans(*history, static_cast<EventIndex>(history->counts().events - 1), kGoOn));
    CHECK(later.held == 0x1800);
    CHECK(later.cached == 0x800);
    CHECK(later.blocks == 3);
    CHECK(later.free == 0x1800 - 0x400 - 0x200 - 0x400);
}

TEST_CASE("pages that touch are one span, segments are not", "[viz][spans]") {
    const auto pages = SmallHistory()
                           .reserve(0x10000, 0x10000)
                           .map(0x10000, 0x1000)
                           .map(0x11000, 0x1000)
                           .map(0x14000, 0x1000)
                           .build();
    const FreeSpace mapped = free_space(memory_spans(*pages, 3, kGoOn));
    CHECK(mapped.spans == 2);
    CHECK(mapped.largest == 0x2000);
    const auto segments = SmallHistory().segment(0x10000, 0x1000).segment(0x11000, 0x1000).build();
    CHECK(free_space(memory_spans(*segments, 1, kGoOn)).largest == 0x1000);
}

TEST_CASE("free space is what a bitmap of the memory says", "[viz][spans]") {
    CHECK(counterexample(effort(40), [] {
              const auto seed = *rc::gen::arbitrary<std::uint64_t>();
              const auto history = support::random_history(seed, 200);
              RC_PRE(history->counts().events > 0);
              const auto event = *rc::gen::inRange<EventIndex>(
                  0, static_cast<EventIndex>(history->counts().events));
              Bytes live = 0;
              std::uint64_t blocks = 0;
              const std::vector<MemorySpan> spans = memory_spans(*history, event, kGoOn);
              for (const MemorySpan& span : spans) {
                  RC_ASSERT(span.taken <= span.size);
                  RC_ASSERT(span.largest_gap <= span.free());
                  RC_ASSERT((span.gaps == 0) == (span.free() == 0));
                  live += span.taken;
                  blocks += span.blocks;
              }
              Bytes plain = 0;
              std::uint64_t plainly = 0;
              history->for_each_live(event, [&](BlockIndex index) {
                  const Block block = history->block(index);
                  for (const MemorySpan& span : spans)
                      if (span.device == history->site(block.site).device &&
                          block.address >= span.begin && block.address < span.begin + span.size) {
                          plain += block.size;
                          plainly += block.size > 0 ? 1 : 0;
                      }
              });
              RC_ASSERT(blocks == plainly);
              RC_ASSERT(live <= plain);
          }) == "");
}

TEST_CASE("leaks are what a stretch allocated and did not let go of", "[viz][leaks]") {
    CHECK(counterexample(effort(40), [] {
              const auto seed = *rc::gen::arbitrary<std::uint64_t>();
              const auto history = support::random_history(seed, 200);
              RC_PRE(history->counts().events > 0);
              const auto events = static_cast<EventIndex>(history->counts().events);
              EventSpan span;
              span.last = *rc::gen::inRange<EventIndex>(0, events);
              if (*rc::gen::arbitrary<bool>())
                  span.first = *rc::gen::inRange<EventIndex>(0, span.last + 1);
              Bytes bytes = 0;
              std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> groups;
              for (BlockIndex i = 0; i < history->counts().blocks; ++i) {
                  const Block block = history->block(i);
                  if (block.born < span.begin() || block.born > span.last ||
                      block.freed <= span.last)
                      continue;
                  bytes += block.size;
                  ++groups[{history->site(block.site).stack, history->site(block.site).tag}];
              }
              const Leaks leaks = find_leaks(*history, span, {}, kGoOn);
              RC_ASSERT(leaks.bytes == bytes);
              RC_ASSERT(leaks.groups.size() == groups.size());
              for (const LeakGroup& group : leaks.groups)
                  RC_ASSERT(group.blocks == (groups[{group.stack, group.tag}]));
          }) == "");
}

TEST_CASE("leaks say when events are missing", "[viz][leaks]") {
    const auto history =
        SmallHistory().allocate(1, 512).mark(MarkKind::lost, 40).allocate(2, 512).build();
    CHECK(find_leaks(*history, {kNever, 2}, {}, kGoOn).lost == 40);
    CHECK(find_leaks(*history, {1, 2}, {}, kGoOn).lost == 0);
    CHECK(leaks_text(*history, find_leaks(*history, {kNever, 2}, {}, kGoOn))
              .find("40 events are missing") != std::string::npos);
}

TEST_CASE("a quiet run has no findings", "[viz][findings]") {
    CHECK(findings_of_history(*SmallHistory().build(), kGoOn).empty());
    SmallHistory small;
    small.segment(0x1000, 0x1000).allocate(1, 0x1000, {.address = 0x1000});
    for (int i = 0; i < 100; ++i)
        small.idle();
    CHECK(findings_of_history(*small.build(), kGoOn).empty());
}

TEST_CASE("a refusal while enough lies free in pieces is a finding", "[viz][findings]") {
    const auto history = SmallHistory()
                             .segment(0x1000, 0x1000)
                             .allocate(1, 0x400, {.address = 0x1400})
                             .mark(MarkKind::out_of_memory, 0xa00)
                             .build();
    const std::vector<Finding> found = findings_of_history(*history, kGoOn);
    REQUIRE_FALSE(found.empty());
    CHECK(found[0].weight == Finding::Weight::problem);
    CHECK(found[0].title == "Out of memory: 2.50 KiB requested, though more was free");
    CHECK(found[0].event == 2);
}

TEST_CASE("what a history shows by itself is found at its event", "[viz][findings]") {
    HistoryNames names;
    names.capacity = 4096;
    SmallHistory refusals;
    for (int i = 0; i < 50; ++i)
        refusals.mark(MarkKind::out_of_memory, 512);
    SmallHistory full;
    full.names(names).segment(0x1000, 4096).allocate(1, 4096, {.address = 0x1000});
    SmallHistory wrong;
    wrong.names(names).segment(0x1000, 8192).allocate(1, 8192, {.address = 0x1000});
    SmallHistory late;  // at the peak there was no pin yet
    for (std::uint64_t i = 0; i < 4; ++i)
        late.segment(0x10000 * (i + 1), 0x10000);
    late.allocate(1, 0x200, {.address = 0x18000, .tag = "pin"});
    SmallHistory pinned;
    pinned.segment(0x10000, 0x10000)
        .allocate(1, 0x200, {.address = 0x18000, .tag = "pin"})
        .segment(0x20000, 0x10000);
    SmallHistory grown;
    grown.segment(0x1000, 0x1000).allocate(1, 0x400, {.address = 0x1400});
    SmallHistory idle;
    idle.segment(0x1000, 0x10000).allocate(1, 0x10000, {.address = 0x1000}).free(1);
    for (int i = 0; i < 100; ++i)
        idle.idle();
    const auto long_idle = idle.mark(MarkKind::retry).mark(MarkKind::lost, 7).build();

    struct Case {
        std::shared_ptr<const History> history;
        std::string_view title;  // a part of it
        EventIndex event;
        bool found = true;
    };

    for (const Case& each : {Case{refusals.build(), "Out of memory 45 times more", 49},
                             {full.build(), "100.0 % of the device memory", 0},
                             {wrong.build(), "More is allocated", 1},
                             {late.build(), "pinned by blocks of pin", 3, false},
                             {pinned.build(), "pinned by blocks of pin", 2},
                             {grown.build(), "grew to its peak while", 1, false},
                             {long_idle, "of reserved memory is free", 2},
                             {long_idle, "One retry to make room", 103},
                             {long_idle, "7 events missing", 104}}) {
        INFO(each.title);
        const std::vector<Finding> found = findings_of_history(*each.history, kGoOn);
        CHECK(std::ranges::any_of(found, [&](const Finding& finding) {
                  return finding.title.find(each.title) != std::string::npos &&
                         finding.event == each.event;
              }) == each.found);
        if (each.title.starts_with("Out of memory"))
            CHECK(found.size() == 6);
    }
}

TEST_CASE("who has given up gets nothing", "[viz][cancel]") {
    SmallHistory small = neighbours();
    const auto history = small.build();
    const Cancelled given_up = true;
    CHECK(memory_spans(*history, 3, given_up).empty());
    CHECK(findings_of_history(*history, given_up).empty());
    CHECK(find_leaks(*history, {kNever, 3}, {}, given_up).groups.empty());
}

}  // namespace
}  // namespace tidemark::viz
