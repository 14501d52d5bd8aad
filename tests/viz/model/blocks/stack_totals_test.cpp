// Totals by stack against plain sums, and the icicle against the tree.
#include "viz/model/blocks/stack_totals.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "tests/viz/model/history_question.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;
using support::SmallHistory;

// By stack, as signed bytes.
std::map<std::uint32_t, std::int64_t> plain_sums(const History& history,
                                                 const TotalsQuestion& question) {
    std::map<std::uint32_t, std::int64_t> sums;
    const auto lives = [](const Block& block, EventIndex event) {
        return event != kNever && block.born <= event && event < block.reused;
    };
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        std::int64_t times = 0;
        if (question.of == TotalsOf::live)
            times = lives(block, question.event) ? 1 : 0;
        else if (question.of == TotalsOf::allocated)
            times = block.born >= question.span.begin() && block.born < question.span.end() ? 1 : 0;
        else
            times = (lives(block, question.span.last) ? 1 : 0) -
                    (lives(block, question.span.first) ? 1 : 0);
        sums[history.site(block.site).stack] += times * static_cast<std::int64_t>(block.size);
    }
    return sums;
}

TotalsQuestion some_question(const History& history) {
    const auto events = static_cast<EventIndex>(history.counts().events);
    TotalsQuestion question;
    question.of = *rc::gen::element(TotalsOf::live, TotalsOf::allocated, TotalsOf::growth);
    question.event = *rc::gen::inRange<EventIndex>(0, events);
    question.span.last = *rc::gen::inRange<EventIndex>(0, events);
    question.span.first = *rc::gen::inRange<EventIndex>(0, question.span.last + 1);
    if (*rc::gen::arbitrary<bool>())
        question.span.first = kNever;
    return question;
}

TEST_CASE("totals by stack are the plain sums over blocks", "[viz][stacks]") {
    CHECK(counterexample(effort(40), [] {
              const auto history = some_history();
              RC_PRE(history->counts().events > 0);
              const TotalsQuestion question = some_question(*history);
              const StackTotals totals = stack_totals(*history, question, kGoOn);
              Bytes grown = 0;
              Bytes shrunk = 0;
              for (const auto& [stack, bytes] : plain_sums(*history, question))
                  (bytes > 0 ? grown : shrunk) += static_cast<Bytes>(std::abs(bytes));
              RC_ASSERT(totals.bytes() == grown);
              RC_ASSERT(totals.shrunk == shrunk);
              Bytes sum = 0;
              for (const SiteTotals& site : totals.call_sites)
                  sum += site.bytes;
              RC_ASSERT(sum == grown);
          }) == "");
}

TEST_CASE("a node of the tree is what ends in it and what is below it", "[viz][stacks]") {
    CHECK(counterexample(effort(40), [] {
              const auto history = some_history();
              RC_PRE(history->counts().events > 0);
              const StackTotals totals = stack_totals(*history, some_question(*history), kGoOn);
              for (std::uint32_t i = 0; i < totals.nodes.size(); ++i) {
                  const TotalsNode& node = totals.nodes[i];
                  Bytes below = node.own;
                  Bytes last = ~Bytes{0};
                  for (std::uint32_t k = 0; k < node.children; ++k) {
                      const TotalsNode& child = totals.nodes[node.first_child + k];
                      RC_ASSERT(child.parent == i);
                      RC_ASSERT(child.depth == node.depth + 1);
                      RC_ASSERT(child.bytes <= last);
                      last = child.bytes;
                      below += child.bytes;
                  }
                  RC_ASSERT(below == node.bytes);
              }
          }) == "");
}

TEST_CASE("an icicle's bars share their row without overlap", "[viz][stacks]") {
    CHECK(counterexample(effort(40), [] {
              const auto history = some_history();
              RC_PRE(history->counts().events > 0);
              const StackTotals totals = stack_totals(*history, some_question(*history), kGoOn);
              const double narrowest = 1.0 / *rc::gen::inRange(1, 300);
              const auto first_row = *rc::gen::inRange<std::uint32_t>(0, 4);
              const auto rows = *rc::gen::inRange<std::uint32_t>(0, 8);
              std::map<std::uint32_t, double> filled;
              std::map<std::uint32_t, std::size_t> bars;
              for (const IcicleBar& bar : icicle(totals, 0, narrowest, first_row, rows)) {
                  RC_ASSERT(bar.row >= first_row);
                  RC_ASSERT(bar.row < first_row + rows);
                  RC_ASSERT(bar.left >= filled[bar.row] - 1e-9);
                  RC_ASSERT(bar.right <= 1 + 1e-9);
                  RC_ASSERT(bar.row == 0 || bar.right - bar.left >= narrowest);
                  filled[bar.row] = bar.right;
                  ++bars[bar.row];
              }
              for (const auto& [row, count] : bars)
                  RC_ASSERT(static_cast<double>(count) <= 2 / narrowest + 1);
          }) == "");
}

// main -> forward -> {conv 3 KiB, linear 1 KiB}, main -> step 4 KiB.
SmallHistory forward_and_step() {
    SmallHistory history;
    history.allocate(1, 3072, {.stack = {"conv", "forward", "main"}})
        .allocate(2, 1024, {.stack = {"linear", "forward", "main"}})
        .allocate(3, 4096, {.stack = {"step", "main"}});
    return history;
}

std::string name(const History& history, const StackTotals& totals, std::uint32_t node) {
    return std::string(history.strings()[totals.nodes[node].frame.name]);
}

TEST_CASE("an icicle begins where stacks part and merges what is narrow", "[viz][stacks]") {
    const auto history = forward_and_step().build();
    const StackTotals totals = stack_totals(*history, {.event = 2}, kGoOn);
    CHECK(totals.bytes() == 8192);
    CHECK(totals.blocks() == 3);
    CHECK(totals.depth == 3);
    const std::uint32_t top = where_stacks_part(totals);
    CHECK(name(*history, totals, top) == "main");
    const std::vector<IcicleBar> all = icicle(totals, top, 0.01, 0, 10);
    REQUIRE(all.size() == 5);
    CHECK(all[1].right - all[1].left == Approx(0.5));
    const std::vector<IcicleBar> coarse = icicle(totals, top, 0.2, 2, 1);
    REQUIRE(coarse.size() == 1);  // linear's eighth is too narrow to show
    CHECK(name(*history, totals, coarse[0].node) == "conv");
    const std::vector<IcicleBar> coarser = icicle(totals, top, 0.4, 2, 1);
    REQUIRE(coarser.size() == 1);
    CHECK(coarser[0].merged == 2);
    CHECK(coarser[0].bytes == 4096);
    const std::vector<std::uint32_t> path = path_to(totals, coarse[0].node);
    REQUIRE(path.size() == 4);
    CHECK(name(*history, totals, path[2]) == "forward");
    CHECK(icicle(totals, 99, 0.01, 0, 10).empty());
}

TEST_CASE("what ends in a frame takes no room below it", "[viz][stacks]") {
    const auto history = SmallHistory()
                             .allocate(1, 4096, {.stack = {"main"}})
                             .allocate(2, 1024, {.stack = {"a", "main"}})
                             .allocate(3, 1024, {.stack = {"b", "main"}})
                             .build();
    const StackTotals totals = stack_totals(*history, {.event = 2}, kGoOn);
    const std::vector<IcicleBar> below = icicle(totals, where_stacks_part(totals), 0.2, 1, 1);
    REQUIRE(below.size() == 1);
    CHECK(below[0].merged == 2);
    CHECK(below[0].bytes == 2048);
    CHECK(below[0].right - below[0].left == Approx(1.0 / 3));
}

TEST_CASE("blocks without a stack have a place in the tree", "[viz][stacks]") {
    SmallHistory small = forward_and_step();
    const auto history = small.allocate(4, 512).build();
    const StackTotals totals = stack_totals(*history, {.event = 3}, kGoOn);
    CHECK(totals.unknown == 512);
    CHECK(totals.nodes[0].children == 2);
    CHECK(where_stacks_part(totals) == 0);
    CHECK(totals.call_sites.back().name == "no stack recorded");
}

// Frames with files, innermost first, which SmallHistory has no words for.
std::shared_ptr<const History> python_stack(const std::vector<std::string>& files) {
    SmallHistory history;
    HistoryBuilder& builder = history.builder();
    std::vector<tidemark::Frame> frames;
    for (const std::string& file : files)
        frames.push_back({builder.strings().intern("f" + std::to_string(frames.size())),
                          builder.strings().intern(file), 7});
    Site site;
    site.stack = builder.stacks().intern(frames);
    REQUIRE(builder.make_room(1));
    builder.allocate(0, {Address{0x1000}, 512, 512, builder.site(site)});
    return history.build();
}

std::vector<std::string> chain(const History& history, const TotalsQuestion& question) {
    const StackTotals totals = stack_totals(history, question, kGoOn);
    std::vector<std::string> names;
    for (std::uint32_t node = 0; totals.nodes[node].children == 1;) {
        node = totals.nodes[node].first_child;
        names.push_back(name(history, totals, node));
    }
    return names;
}

TEST_CASE("frames are folded by rules, and the tree stands either way", "[viz][stacks]") {
    using Names = std::vector<std::string>;
    const auto history = python_stack({"alloc.cpp", "/x/site-packages/torch/nn/module.py",
                                       "/home/me/model.py", "/usr/lib/python3.11/threading.py",
                                       "/x/site-packages/transformers/trainer.py"});
    const auto folded = [](std::string rules) {
        TotalsQuestion question;
        question.folded = std::move(rules);
        return question;
    };
    CHECK(chain(*history, {}) == Names{"f4", "f3", "f2", "f1", "f0"});
    CHECK(chain(*history, folded("torch python c++")) == Names{"f4", "f2"});
    CHECK(chain(*history, folded(" transformers/  c++")) == Names{"f3", "f2", "f1"});
    TotalsQuestion inverted = folded("torch python c++");
    inverted.inverted = true;
    CHECK(chain(*history, inverted) == Names{"f2", "f4"});
    // Nothing would be left: then all of it is.
    CHECK(chain(*history, folded("c++ /")).size() == 5);
}

TEST_CASE("a very deep stack is cut, its bytes are not", "[viz][stacks]") {
    std::vector<std::string> frames;
    for (int i = 0; i < 3000; ++i)
        frames.push_back("f" + std::to_string(i));
    const auto history = SmallHistory().allocate(1, 512, {.stack = frames}).build();
    const StackTotals totals = stack_totals(*history, {.event = 0}, kGoOn);
    CHECK(totals.depth == kDeepestStack);
    CHECK(totals.nodes.back().own == 512);
}

}  // namespace
}  // namespace tidemark::viz
