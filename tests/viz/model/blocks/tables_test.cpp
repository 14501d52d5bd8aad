// Tables of blocks and events and their search, against a look at every block.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "tests/viz/model/history_question.h"
#include "viz/model/blocks/block_search.h"
#include "viz/model/blocks/block_table.h"
#include "viz/model/blocks/event_table.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;
using support::SmallHistory;

// Three blocks of a program with tags and stacks.
SmallHistory small_program() {
    SmallHistory history;
    history.allocate(1, 512, {.stream = 0, .tag = "weights", .stack = {"empty", "load_model"}})
        .allocate(2, 4096, {.stream = 1, .tag = "grad", .stack = {"conv2d", "Forward", "main"}})
        .idle()
        .allocate(3, 1024, {.stream = 1, .tag = "", .stack = {"linear", "forward", "main"}})
        .free(2)
        .free(3);
    return history;
}

bool passes(const History& history, const Filter& filter, const Block& block) {
    if (block.size < filter.least || block.size > filter.most)
        return false;
    const Site& site = history.site(block.site);
    if ((filter.stream && site.stream != *filter.stream) ||
        (filter.pool && site.pool != *filter.pool))
        return false;
    bool matches = contains_text(history.strings()[site.tag], filter.text);
    for (const tidemark::Frame& frame : history.stacks()[site.stack])
        matches = matches || contains_text(history.strings()[frame.name], filter.text) ||
                  contains_text(history.strings()[frame.file], filter.text);
    return matches;
}

// A filter that lets some through: its text is a part of a name that occurs.
Filter some_filter(const History& history) {
    Filter filter;
    const auto name =
        *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(history.strings().size()));
    filter.text = std::string(history.strings()[name].substr(0, 3));
    if (*rc::gen::arbitrary<bool>())
        filter.least = *rc::gen::inRange<Bytes>(0, 5000);
    if (*rc::gen::arbitrary<bool>())
        filter.most = filter.least + *rc::gen::inRange<Bytes>(0, 100000);
    if (*rc::gen::arbitrary<bool>())
        filter.stream = StreamId{*rc::gen::inRange<std::uint32_t>(0, 3)};
    return filter;
}

std::vector<BlockIndex> plainly_live(const History& history, const BlockQuestion& question) {
    std::vector<BlockIndex> live;
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        bool is_there = block.born <= question.event && question.event < block.reused;
        if (question.span)
            is_there = question.span->end() > question.span->begin() &&
                       block.born <= question.span->last && block.reused > question.span->begin();
        if (is_there)
            live.push_back(i);
    }
    return live;
}

TEST_CASE("text is found without case", "[viz][search]") {
    CHECK(contains_text("Conv2d_forward", "conv2D"));
    CHECK(contains_text("anything", ""));
    CHECK_FALSE(contains_text("", "x"));
    CHECK_FALSE(contains_text("conv", "conv2d"));
    CHECK(contains_text(std::string("a\0B", 3), std::string("\0b", 2)));
}

TEST_CASE("a table of blocks has those that live at its instant", "[viz][blocks]") {
    CHECK(
        counterexample(effort(40), [] {
            const auto history = some_history();
            RC_PRE(history->counts().events > 0);
            const auto events = static_cast<EventIndex>(history->counts().events);
            BlockQuestion question;
            question.event = *rc::gen::inRange<EventIndex>(0, events);
            question.filter = some_filter(*history);
            question.order = *rc::gen::element(
                BlockOrder::size, BlockOrder::requested, BlockOrder::age, BlockOrder::address,
                BlockOrder::stream, BlockOrder::site, BlockOrder::lived, BlockOrder::freed);
            question.descending = *rc::gen::arbitrary<bool>();
            if (*rc::gen::arbitrary<bool>())
                question.span = EventSpan{*rc::gen::inRange<EventIndex>(0, events), question.event};
            const BlockRows rows = block_rows(*history, question, kGoOn);
            std::set<BlockIndex> expected;
            std::uint64_t hidden = 0;
            Bytes bytes = 0;
            for (const BlockIndex block : plainly_live(*history, question)) {
                if (passes(*history, question.filter, history->block(block))) {
                    expected.insert(block);
                    bytes += history->block(block).size;
                } else {
                    ++hidden;
                }
            }
            RC_ASSERT(std::set<BlockIndex>(rows.rows.begin(), rows.rows.end()) == expected);
            RC_ASSERT(rows.rows.size() == expected.size());
            RC_ASSERT(rows.bytes == bytes);
            RC_ASSERT(rows.hidden == hidden);
        }) == "");
}

TEST_CASE("a table of blocks is sorted by what was asked for", "[viz][blocks]") {
    SmallHistory small = small_program();
    const auto history = small.build();
    const auto rows = [&](BlockOrder order, bool descending) {
        return block_rows(*history, {.event = 3, .order = order, .descending = descending}, kGoOn)
            .rows;
    };
    const BlockIndex one = small.block(1);
    const BlockIndex two = small.block(2);
    const BlockIndex three = small.block(3);
    using Rows = std::vector<BlockIndex>;
    CHECK(rows(BlockOrder::size, true) == Rows{two, three, one});
    CHECK(rows(BlockOrder::size, false) == Rows{one, three, two});
    CHECK(rows(BlockOrder::age, true) == Rows{one, two, three});
    CHECK(rows(BlockOrder::address, false) == Rows{one, two, three});
    CHECK(rows(BlockOrder::stream, true) == Rows{two, three, one});
    CHECK(rows(BlockOrder::site, false) == Rows{two, three, one});  // grad, linear, weights
}

TEST_CASE("a table of blocks says what its filter hides", "[viz][blocks]") {
    SmallHistory small = small_program();
    const auto history = small.build();
    Filter filter;
    filter.text = "forward";
    const BlockRows rows = block_rows(*history, {.event = 3, .filter = filter}, kGoOn);
    CHECK(totals_text(rows) == "2 blocks, 5.00 KiB (hidden by the filter: 1 block, 512 B)");
    filter.text.clear();
    filter.hides_freed = true;
    CHECK(block_rows(*history, {.event = 4, .filter = filter}, kGoOn).rows.size() == 2);
}

TEST_CASE("a table of blocks answers in the background and keeps the old rows", "[viz][blocks]") {
    SmallHistory small = small_program();
    const auto history = small.build();
    BlockTable table;
    CHECK(table.answer() == nullptr);
    table.ask(history, BlockQuestion{.event = 0}, 0, block_rows);
    table.finish();
    REQUIRE(table.answer() != nullptr);
    CHECK(table.answer()->rows.size() == 1);
    table.ask(history, BlockQuestion{.event = 3}, 3, block_rows);
    CHECK(table.answer() != nullptr);
    table.finish();
    CHECK(table.answer()->rows.size() == 3);
    CHECK_FALSE(table.running());
    table.ask(nullptr, BlockQuestion{}, 0, block_rows);
    CHECK(table.answer() == nullptr);
}

TEST_CASE("a table over a growing history is asked again at its end only", "[viz][blocks]") {
    SmallHistory small;
    small.allocate(1, 512).allocate(2, 512);
    const auto history = small.look();
    BlockTable table;
    const BlockQuestion question{.event = 3};
    table.ask(history, question, 3, block_rows);
    table.finish();
    CHECK(table.answer()->rows.size() == 2);
    small.allocate(3, 512).allocate(4, 512).look();
    table.ask(history, question, 3, block_rows);
    CHECK(table.running());
    table.finish();
    CHECK(table.answer()->rows.size() == 4);
    small.allocate(5, 512).look();
    table.ask(history, question, 3, block_rows);
    CHECK_FALSE(table.running());
}

TEST_CASE("rows of events are all of them, or those about blocks let through", "[viz][events]") {
    CHECK(counterexample(effort(40), [] {
              const auto history = some_history();
              const Filter filter = some_filter(*history);
              EventTable table;
              table.ask(history, filter);
              table.finish();
              std::vector<EventIndex> expected;
              for (EventIndex event = 0; event < history->counts().events; ++event) {
                  const BlockIndex block = history->block_at(event);
                  if (!hides_something(filter) ||
                      (block != kNoBlock && passes(*history, filter, history->block(block))))
                      expected.push_back(event);
              }
              RC_ASSERT(table.rows() == expected.size());
              for (std::size_t row = 0; row < expected.size(); ++row) {
                  RC_ASSERT(table.event(row) == expected[row]);
                  RC_ASSERT(table.row_from(expected[row]) == row);
              }
          }) == "");
}

TEST_CASE("an event's row tells what it is about", "[viz][events]") {
    SmallHistory small = small_program();
    const auto history = small.build();
    SiteNames names(*history);
    const EventRow row = event_row(*history, 1, names);
    CHECK(row.index == "1");
    CHECK(row.kind == "+ allocate");
    CHECK(row.size == "4.00 KiB");
    CHECK(row.tag == "grad");
    CHECK(row.call_site == "conv2d");
    CHECK(event_row(*history, 2, names).size.empty());
    CHECK(exact_time(1'234'567'890) == "1.234 567 890 s");
    CHECK(exact_time(-5) == "-0.000 000 005 s");
}

TEST_CASE("a search of many blocks marks the same as a look at each", "[viz][search]") {
    CHECK(counterexample(effort(40), [] {
              const auto history = some_history();
              Filter filter = some_filter(*history);
              filter.least = std::max<Bytes>(filter.least, 1);
              BlockSearch search;
              search.update(history, filter);
              search.finish();
              for (BlockIndex i = 0; i < history->counts().blocks; ++i)
                  RC_ASSERT(search.hits()->contains(i) ==
                            passes(*history, filter, history->block(i)));
              std::uint32_t sum = 0;
              for (const std::uint32_t tick :
                   search.ticks(AxisUnit::events, 0, history->end(AxisUnit::events), 7))
                  sum += tick;
              RC_ASSERT(sum == search.hits()->count());
          }) == "");
}

TEST_CASE("frames and places are brief where there is little room", "[viz][names]") {
    CHECK(brief_call_site("torchvision/models/resnet.py:155 forward") == "resnet.py:155 forward");
    CHECK(brief_call_site("no stack recorded") == "no stack recorded");
    SmallHistory small;
    small.allocate(1, 512, {.stack = {"void run(int, float)"}});
    const auto history = small.build();
    SiteNames names(*history);
    CHECK(brief_call_site(names.frame(history->stacks()[1][0])) == "void run");
    CHECK_FALSE(names.has_tags());
}

TEST_CASE("hostile names become harmless names", "[viz][names]") {
    const std::string huge(100000, 'x');
    SmallHistory small;
    small.allocate(1, 512, {.tag = "\x1b[31m\n\xff", .stack = {huge, "\x01"}});
    const auto history = small.build();
    SiteNames names(*history);
    const Site& site = history->site(history->block(0).site);
    CHECK(names.tag(site) == "\\x1b[31m\\n\\xff");
    CHECK(names.call_site(site.stack).size() < 250);
    CHECK(names.frames(site.stack).at(1) == "\\x01");
    CHECK(names.frames(999).empty());
    CHECK(one_line("\u00e4\u00e4\u00e4", 2) == "\u00e4\u00e4\u2026");
    CHECK(one_line(std::string(1000, '\xff'), 3) == "\\xf\u2026");
}

}  // namespace
}  // namespace tidemark::viz
