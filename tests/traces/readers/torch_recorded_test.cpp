// torch-snapshot on what was really recorded: nothing is lost, nothing is added, and no damage to
// such a file does more than an error.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/random.h"
#include "tests/traces/readers/snapshots.h"

namespace tidemark {
namespace {

using Catch::Contains;
using support::error_of;
using support::HandMade;
using support::must_read;
using support::ReadTrace;

const std::string kSamples = TIDEMARK_SOURCE_DIR "/traces/samples/";

TEST_CASE("a file cut off anywhere is an error, never a crash", "[torch][hostile]") {
    const auto bytes = support::file_bytes(kSamples + "torch/multistream.pickle.xz");
    REQUIRE(bytes);
    const std::size_t size = bytes->size();
    for (std::size_t cut = 0; cut < size; cut += cut < 2000 || cut > size - 2000 ? 1 : 97) {
        INFO("cut at " << cut);
        const std::string part = bytes->substr(0, cut);
        CHECK_THAT(error_of(part), Contains(fmt::format("test.pickle:{:#x}", cut)));
        const Result<ReadTrace> kept = support::read_snapshot(part, support::lenient());
        if (kept)
            CHECK(kept->info.cut_off);
    }
}

TEST_CASE("what is whole of a cut-off file is kept when asked", "[torch][hostile]") {
    const auto bytes = support::file_bytes(kSamples + "torch/gpt2_var.pickle.xz");
    REQUIRE(bytes);
    const std::string part = bytes->substr(0, bytes->size() * 3 / 4);

    const ReadTrace trace = must_read(part, support::lenient());

    const auto all = support::plain_entries(*bytes)[0];
    const auto kept = support::entries_from_events(trace)[0];
    REQUIRE(kept.size() > all.size() / 2);
    REQUIRE(kept.size() < all.size());
    // A free whose second half lies behind the cut counts as pending.
    CHECK(std::equal(kept.begin(), kept.end(), all.begin()));
    CHECK(trace.info.cut_off);
    CHECK(trace.info.preamble_count == 0);
    CHECK(trace.info.anomalies.total() == 0);
    CHECK(trace.count(EventKind::final_segment) == 0);
    REQUIRE_FALSE(trace.info.warnings.empty());
    CHECK_THAT(trace.info.warnings[0], Contains("cut off"));
}

TEST_CASE("damaged bytes give an error or a trace, never a crash", "[torch][hostile]") {
    const auto bytes = support::file_bytes(kSamples + "torch/graphs.pickle.xz");
    REQUIRE(bytes);
    Random random(7);
    std::size_t readable = 0;
    for (int round = 0; round < 1500; ++round) {
        std::string damaged = *bytes;
        const std::uint64_t faults = 1 + random.below(4);
        for (std::uint64_t i = 0; i < faults; ++i)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        const Result<ReadTrace> trace = support::read_snapshot(
            damaged, random.below(2) == 0 ? support::lenient() : ReadOptions{});
        if (!trace)
            continue;
        ++readable;
        CHECK(std::is_sorted(
            trace->events.begin(), trace->events.end(),
            [](const TraceEvent& a, const TraceEvent& b) { return a.time < b.time; }));
    }
    CHECK(readable > 0);
}

// Every slot is taken once between its allocate and its end, and below slot_count.
void check_slots(const ReadTrace& trace) {
    std::set<std::uint32_t> live;
    std::size_t wrong = 0;
    for (const TraceEvent& event : trace.events) {
        if (event.kind == EventKind::allocate)
            wrong += live.insert(event.slot).second && event.slot < trace.info.slot_count ? 0U : 1U;
        else if (event.kind == EventKind::free || event.kind == EventKind::finish)
            wrong += live.erase(event.slot) == 1 ? 0U : 1U;
        else if (event.kind == EventKind::retire)
            wrong += live.count(event.slot) == 1 ? 0U : 1U;
    }
    CHECK(wrong == 0);
    std::size_t alive = 0;
    for (const TraceEvent& event : trace.events)
        alive += event.kind == EventKind::final_block && event.slot != kNoSlot ? 1U : 0U;
    CHECK(alive == live.size());
}

// Blocks lie apart, inside what is mapped, and a free ends the block at its address.
void check_truth(const ReadTrace& trace) {
    std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> live;  // address -> size
    std::map<std::uint32_t, std::uint64_t> addresses;
    std::size_t wrong = 0;
    for (const TraceEvent& event : trace.events) {
        if (event.kind == EventKind::allocate) {
            addresses[event.slot] = event.address;
            const auto next = live.lower_bound({event.device, event.address});
            if (next != live.end() && next->first.first == event.device)
                wrong += next->first.second < event.address + event.size ? 1U : 0U;
            if (next != live.begin() && std::prev(next)->first.first == event.device)
                wrong += std::prev(next)->first.second + std::prev(next)->second > event.address;
            live[{event.device, event.address}] = event.size;
        } else if (event.kind == EventKind::free || event.kind == EventKind::finish) {
            wrong += addresses[event.slot] == event.address ? 0U : 1U;
            wrong += live.erase({event.device, event.address}) == 1 ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

void check_recorded(const std::string& path) {
    INFO(path);
    const auto bytes = support::file_bytes(path);
    REQUIRE(bytes);
    const ReadTrace trace = must_read(*bytes, support::strict());

    CHECK(support::entries_from_events(trace) == support::plain_entries(*bytes));
    CHECK(trace.info.anomalies.total() == 0);
    CHECK(trace.info.event_count == trace.events.size());
    CHECK(trace.info.duration == trace.events.back().time);
    CHECK(std::is_sorted(trace.events.begin(), trace.events.end(),
                         [](const TraceEvent& a, const TraceEvent& b) { return a.time < b.time; }));
    check_slots(trace);
    check_truth(trace);
}

TEST_CASE("the samples give their recorded sequence back", "[torch][truth]") {
    for (const char* name : {"gpt2_var", "gpt2_var-ring", "graphs", "multistream"})
        check_recorded(kSamples + "torch/" + name + ".pickle.xz");
}

struct Counts {
    const char* name;
    std::size_t allocate, free, retire, finish, segments, maps, ooms;  // as Python counts them
};

TEST_CASE("all recorded traces give their sequence back", "[torch][truth]") {
    const std::vector<Counts> known = {
        {"torch/gpt2_var", 8975, 8972, 0, 0, 128, 0, 0},
        {"torch/gpt2_var-exp", 8975, 8972, 0, 0, 0, 118, 0},
        {"torch/resnet", 5954, 5951, 0, 0, 127, 0, 0},
        {"torch/resnet-frames", 5968, 5965, 0, 0, 116, 0, 0},
        {"torch/moe", 17421, 17418, 0, 0, 1043, 0, 0},
        {"torch/multistream", 243, 163, 78, 76, 56, 0, 0},
        {"torch/multistream-exp", 243, 162, 79, 77, 0, 35, 0},
        {"torch/graphs", 331, 287, 0, 0, 46, 0, 0},
        {"torch/churn", 20762, 20762, 0, 0, 126, 0, 5},
        {"torch/churn-gc", 20966, 20966, 0, 0, 608, 0, 4},
        {"torch-edges/everything", 6068, 4726, 1206, 1206, 689, 0, 0},
        {"torch-edges/streams-exp", 6149, 4873, 1187, 1187, 0, 603, 5},
        {"torch-edges/toggle", 6115, 5975, 0, 0, 90, 24, 2},
        {"torch-edges/two-devices", 6062, 5938, 0, 0, 147, 0, 0},
    };
    for (const Counts& counts : known) {
        const std::string path = kSamples + counts.name + ".pickle.xz";
        INFO(path);
        const Result<ReadTrace> trace = support::read_snapshot_file(path);
        REQUIRE(trace);
        CHECK(trace->count(EventKind::allocate) == counts.allocate);
        CHECK(trace->count(EventKind::free) == counts.free);
        CHECK(trace->count(EventKind::retire) == counts.retire);
        CHECK(trace->count(EventKind::finish) == counts.finish);
        CHECK(trace->count(EventKind::segment_alloc) == counts.segments);
        CHECK(trace->count(EventKind::segment_map) == counts.maps);
        CHECK(trace->count(EventKind::out_of_memory) == counts.ooms);
        CHECK(trace->info.preamble_count == 0);
        check_recorded(path);
    }
    for (const char* name :
         {"boundaries", "boundaries-exp", "capture", "gc-exp", "gc-only", "pools", "pools-exp",
          "round-list", "split-exp", "split21", "split64", "streams", "unlimited", "unlimited-exp"})
        check_recorded(kSamples + "torch-edges/" + name + ".pickle.xz");
}

TEST_CASE("a ring buffer's preamble fits its first entries", "[torch][ring][truth]") {
    const auto trace = support::read_snapshot_file(kSamples + "torch/gpt2_var-ring.pickle.xz");
    REQUIRE(trace);

    CHECK(trace->info.begins_inside);
    CHECK(trace->info.anomalies.total() == 0);
    CHECK(trace->count(EventKind::block) == 605);
    CHECK(trace->count(EventKind::finish) == 1);
    CHECK(trace->events[trace->info.preamble_count].kind != EventKind::allocate);
    // Each allocation lies in a gap between blocks of their full sizes; check_truth knows only
    // what was requested.
    std::map<std::uint64_t, std::uint64_t> blocks;
    std::map<std::uint32_t, std::uint64_t> addresses;
    std::size_t overlaps = 0;
    for (const TraceEvent& event : trace->events) {
        if (event.kind == EventKind::block) {
            blocks[event.address] = event.size;
        } else if (event.kind == EventKind::allocate) {
            addresses[event.slot] = event.address;
            if ((event.flags & kPreamble) != 0)
                continue;
            const auto next = blocks.upper_bound(event.address);
            const bool below = next != blocks.begin() &&
                               std::prev(next)->first + std::prev(next)->second > event.address;
            const bool above = next != blocks.end() && next->first < event.address + event.size;
            overlaps += below || above ? 1U : 0U;
            blocks[event.address] = (event.size + 511) / 512 * 512;
        } else if (event.kind == EventKind::free || event.kind == EventKind::finish) {
            CHECK(blocks.erase(addresses[event.slot]) == 1);
        }
    }
    CHECK(overlaps == 0);
}

// A shorter recording of the same run: the state at the dump, and the last `count` entries.
std::string last_entries(const ReadTrace& whole, const std::vector<support::PlainEntry>& entries,
                         std::size_t count) {
    HandMade snapshot;
    std::map<std::uint32_t, std::uint64_t> requested;
    std::vector<std::string> blocks;
    for (std::size_t i = 0; i < whole.events.size(); ++i) {
        const TraceEvent& event = whole.events[i];
        if (event.kind == EventKind::allocate)
            requested[event.slot] = event.size;
        if (event.kind != EventKind::final_segment)
            continue;
        blocks.clear();
        for (std::size_t k = i + 1;
             k < whole.events.size() && whole.events[k].kind == EventKind::final_block; ++k) {
            const TraceEvent& block = whole.events[k];
            const bool live = (block.flags & kActive) != 0;
            blocks.push_back(support::block(block.address, block.size,
                                            live ? "active_allocated" : "inactive",
                                            live ? requested[block.slot] : 0));
        }
        snapshot.segment(event.address, event.size, blocks);
    }
    for (std::size_t i = entries.size() - count; i < entries.size(); ++i)
        snapshot.entry(entries[i].action, entries[i].address, entries[i].size);
    return snapshot.file();
}

TEST_CASE("what lived before a cut is what the whole trace has there", "[torch][ring][truth]") {
    const auto bytes = support::file_bytes(kSamples + "torch/gpt2_var.pickle.xz");
    REQUIRE(bytes);
    const ReadTrace whole = must_read(*bytes);
    const auto entries = support::plain_entries(*bytes)[0];
    for (const std::size_t count : {20'000U, 9'001U, 1'000U, 3U}) {
        INFO("the last " << count << " entries");
        std::map<std::uint64_t, std::uint64_t> live;
        std::map<std::uint64_t, std::uint64_t> segments;
        for (std::size_t i = 0; i < entries.size() - count; ++i) {
            const support::PlainEntry& entry = entries[i];
            if (entry.action == "alloc")
                live[entry.address] = entry.size;
            else if (entry.action == "free_completed")
                live.erase(entry.address);
            else if (entry.action == "segment_alloc")
                segments[entry.address] = entry.size;
        }

        const ReadTrace part = must_read(last_entries(whole, entries, count), support::strict());

        std::map<std::uint64_t, std::uint64_t> early;
        std::map<std::uint64_t, std::uint64_t> early_segments;
        for (std::size_t i = 0; i < part.info.preamble_count; ++i) {
            const TraceEvent& event = part.events[i];
            if (event.kind == EventKind::allocate)
                early[event.address] = event.size;
            else if (event.kind == EventKind::segment_alloc)
                early_segments[event.address] = event.size;
        }
        CHECK(early == live);
        CHECK(early_segments == segments);
        check_slots(part);
        check_truth(part);
    }
}

TEST_CASE("recorded stacks resolve to names of functions", "[torch][truth]") {
    const auto trace = support::read_snapshot_file(kSamples + "torch/resnet-frames.pickle.xz");
    REQUIRE(trace);
    const TraceInfo& info = trace->info;
    CHECK(info.stacks.size() == 55);
    const TraceEvent& event = *std::find_if(
        trace->events.begin(), trace->events.end(),
        [](const TraceEvent& candidate) { return candidate.kind == EventKind::allocate; });
    const auto frames = info.stacks[event.stack];
    REQUIRE(frames.size() == 6);
    CHECK(info.strings[frames[0].name] == "convert");
    CHECK(frames[0].line == 1370);
    CHECK_THAT(std::string(info.strings[frames[0].file]), Contains("nn/modules/module.py"));
    CHECK(info.strings[frames[5].name] == "<module>");
}

}  // namespace
}  // namespace tidemark
