// Rings: order, wrapping around, dropping and merging, against lists.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/property.h"
#include "traces/live/merge.h"
#include "traces/live/ring_names.h"
#include "traces/live/ring_writer.h"

namespace tidemark {
namespace {

using live::Record;
using live::RecordKind;

constexpr std::uint32_t kSlots = 2048;

// A ring in ordinary memory, and its end where records are taken out.
struct TestRing {
    explicit TestRing(std::atomic<std::uint64_t>& sequence)
        : writer(control, slots.data(), kSlots, sequence, false) {}

    live::RingSpan span() {
        return {slots.data(), kSlots - 1, control.tail.load(), control.head.load()};
    }

    live::RingControl control;
    std::vector<Record> slots = std::vector<Record>(kSlots);
    live::RingWriter writer;
};

// What was put, in order: an event's address, or for lost events their number.
struct Item {
    RecordKind kind = RecordKind::none;
    std::uint64_t value = 0;

    friend bool operator==(const Item&, const Item&) = default;
};

std::vector<Item> items_of(const std::vector<Record>& records) {
    std::vector<Item> items;
    for (std::size_t at = 0; at < records.size(); at += 1 + live::payload_slots(records[at])) {
        const Record& record = records[at];
        items.push_back(
            {record.kind, record.kind == RecordKind::lost ? record.size : record.address});
    }
    return items;
}

void drain(std::vector<std::unique_ptr<TestRing>>& rings, live::Merger& merger,
           std::vector<Record>& out) {
    std::vector<live::RingSpan> spans;
    for (const auto& ring : rings)
        spans.push_back(ring->span());
    const bool gap = merger.merge(spans, {}, ~std::size_t{0}, out);
    RC_ASSERT(!gap);
    for (std::size_t i = 0; i < rings.size(); ++i)
        rings[i]->control.tail.store(spans[i].begin);
}

void check_rings(std::size_t ring_count) {
    std::atomic<std::uint64_t> sequence = 0;
    std::vector<std::unique_ptr<TestRing>> rings;
    for (std::size_t i = 0; i < ring_count; ++i)
        rings.push_back(std::make_unique<TestRing>(sequence));
    live::Merger merger;
    std::vector<Record> merged;
    std::vector<Item> expected;
    std::vector<std::uint64_t> dropped(ring_count);  // that no record has reported
    std::uint64_t event = 0;
    const auto steps = *rc::gen::inRange<std::size_t>(0, 60);
    for (std::size_t step = 0; step < steps; ++step) {
        const auto which = *rc::gen::inRange<std::size_t>(0, ring_count);
        const auto count = *rc::gen::element<std::uint64_t>(1, 3, 700, 2500);
        for (std::uint64_t i = 0; i < count; ++i) {
            ++event;
            if (rings[which]->writer.put({.address = event, .kind = RecordKind::allocate})) {
                if (dropped[which] != 0)
                    expected.push_back({RecordKind::lost, std::exchange(dropped[which], 0)});
                expected.push_back({RecordKind::allocate, event});
            } else {
                ++dropped[which];
            }
        }
        std::vector<live::RecordPart> parts(*rc::gen::element<std::size_t>(0, 1, 10, 600, 3000));
        for (live::RecordPart& part : parts)
            part.address = ++event;
        if (parts.empty())
            continue;
        if (rings[which]->writer.put(Record{.kind = RecordKind::use}, parts)) {
            if (dropped[which] != 0)
                expected.push_back({RecordKind::lost, std::exchange(dropped[which], 0)});
            for (const live::RecordPart& part : parts)
                expected.push_back({RecordKind::use, part.address});
        } else {
            dropped[which] += parts.size();
        }
        if (*rc::gen::inRange(0, 3) == 0)
            drain(rings, merger, merged);
    }
    drain(rings, merger, merged);
    for (std::size_t i = 0; i < ring_count; ++i) {
        rings[i]->writer.report_dropped();
        if (dropped[i] != 0)
            expected.push_back({RecordKind::lost, dropped[i]});
    }
    drain(rings, merger, merged);
    RC_ASSERT(items_of(merged) == expected);
    for (std::size_t i = 1; i < merged.size(); ++i)
        RC_ASSERT(merged[i].sequence == merged[i - 1].sequence + 1);
}

}  // namespace

TEST_CASE("what comes out of rings is what went in, in order, and what didn't fit is counted",
          "[live][property]") {
    for (const std::size_t rings : {1U, 2U, 5U}) {
        INFO(rings);
        CHECK(support::counterexample(support::effort(60), [rings] { check_rings(rings); }) == "");
    }
}

TEST_CASE("a ring that is never emptied keeps its first events and the number of the others",
          "[live]") {
    std::atomic<std::uint64_t> sequence = 0;
    TestRing ring(sequence);
    std::uint64_t kept = 0;
    for (int i = 0; i < 10'000; ++i)
        kept += ring.writer.put({.kind = RecordKind::mark}) ? 1U : 0U;

    CHECK(kept > kSlots / 2);
    CHECK(ring.writer.dropped() == 10'000 - kept);
    CHECK(ring.control.dropped == 10'000 - kept);
    CHECK(sequence == kept);
}

TEST_CASE("merging waits for a record that is on its way, and skips it when told", "[live]") {
    std::atomic<std::uint64_t> sequence = 0;
    TestRing a(sequence);
    TestRing b(sequence);
    a.writer.put({.address = 1, .kind = RecordKind::free});
    ++sequence;  // a thread took this number and has not written yet
    b.writer.put({.address = 3, .kind = RecordKind::free});

    std::vector<live::RingSpan> spans = {a.span(), b.span()};
    live::Merger merger;
    std::vector<Record> out;
    CHECK(merger.merge(spans, {}, 100, out));
    CHECK(out.size() == 1);
    CHECK(merger.merge(spans, {}, 100, out));
    CHECK(out.size() == 1);
    merger.skip_gap(spans);
    CHECK_FALSE(merger.merge(spans, {}, 100, out));
    REQUIRE(out.size() == 2);
    CHECK(out[1].address == 3);
    CHECK(merger.missing() == 1);

    SECTION("and leaves it out when it comes too late") {
        a.slots[1] = {.sequence = 1, .kind = RecordKind::free};
        a.control.head = 2;
        spans = {{a.slots.data(), kSlots - 1, 1, 2}, b.span()};
        spans[1].begin = spans[1].end;
        CHECK_FALSE(merger.merge(spans, {}, 100, out));
        CHECK(out.size() == 2);
        CHECK(spans[0].empty());
    }
}

TEST_CASE("names are defined once, before what uses them", "[live]") {
    std::atomic<std::uint64_t> sequence = 0;
    TestRing ring(sequence);
    live::NameBudget budget(1_MiB);
    live::RingNames names(ring.writer, budget, 3);
    const std::string longest(10'000, 'x');
    const std::vector<live::LiveFrame> stack = {{"f", "a.cpp", 7}, {"main", "a.cpp", 20}};

    const std::uint32_t tag = names.string("weights");
    CHECK(names.string("weights") == tag);
    CHECK(names.string(longest) == names.string(longest.substr(0, live::kMostText)));
    const std::uint32_t id = names.stack(stack);
    CHECK(names.stack(stack) == id);
    const std::uint32_t site = names.site(tag, id, PoolId{2});
    CHECK(names.site(tag, id, PoolId{2}) == site);
    CHECK(names.site(tag, id, PoolId{3}) != site);
    CHECK(names.stream(9) == 1);
    CHECK(names.stream(0) == 0);
    CHECK(names.string("") == names.nothing());
    CHECK(names.site(names.nothing(), names.nothing(), {}) == names.nothing());
    CHECK(tag >> live::kNumberBits == 3);

    std::vector<live::RingSpan> spans = {ring.span()};
    live::Merger merger;
    std::vector<Record> out;
    CHECK_FALSE(merger.merge(spans, {}, 10'000, out));
    std::vector<RecordKind> kinds;
    for (const Item& word : items_of(out))
        kinds.push_back(word.kind);
    std::vector<RecordKind> expected(5, RecordKind::string);
    expected.insert(expected.end(),
                    {RecordKind::stack, RecordKind::site, RecordKind::site, RecordKind::stream});
    CHECK(kinds == expected);
}

TEST_CASE("a name that finds no room is not taken for defined", "[live]") {
    std::atomic<std::uint64_t> sequence = 0;
    TestRing ring(sequence);
    live::NameBudget budget(1_MiB);
    live::RingNames names(ring.writer, budget, 0);
    for (int i = 0; names.string("name " + std::to_string(i)) != names.nothing(); ++i) {
    }

    CHECK(names.string("late") == names.nothing());
    ring.control.tail = ring.control.head.load();
    CHECK(names.string("late") != names.nothing());
}

TEST_CASE("names that are too many are called so, with their pools and known ones kept", "[live]") {
    std::atomic<std::uint64_t> sequence = 0;
    TestRing ring(sequence);
    live::NameBudget budget(20 * 96);  // of a short string each
    live::RingNames names(ring.writer, budget, 3);
    const std::uint32_t known = names.string("known");
    const std::uint32_t site = names.site(known, names.nothing(), PoolId{1});
    std::set<std::uint32_t> tags;
    for (int i = 0; i < 100; ++i)
        tags.insert(names.string(fmt::format("tag {}", i)));
    CHECK(tags.size() == 19);
    const std::uint32_t other = names.string("another");
    CHECK(tags.contains(other));
    CHECK(names.string("known") == known);
    CHECK(names.site(known, names.nothing(), PoolId{1}) == site);

    const std::vector<live::LiveFrame> stack = {{"f", "a.cpp", 7}};
    const std::uint32_t any_stack = names.stack(stack);
    CHECK(any_stack != names.nothing());
    CHECK(names.stack(std::vector<live::LiveFrame>{{"g", "a.cpp", 8}}) == any_stack);
    const std::uint32_t second = names.site(other, any_stack, PoolId{2});
    CHECK(second != names.nothing());
    CHECK(names.site(known, any_stack, PoolId{2}) == second);
    CHECK(names.site(known, any_stack, PoolId{3}) != second);

    CHECK(names.passing_string("known") == known);
    const std::uint32_t passing = names.passing_string("step 1");
    CHECK(live::RingNames::is_passing(passing));
    CHECK(names.passing_string("step 2") == passing);
    CHECK_FALSE(live::RingNames::is_passing(other));
}

}  // namespace tidemark
