// A replay's history says what the run's figures say.
#include "replay/scenario/record_history.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/system_limits.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using support::TraceBuilder;

RecordedRun record(const std::string& path, const RecordHistoryOptions& options = {},
                   const std::string& policy = "torch") {
    const auto trace = open_trace(path);
    REQUIRE(trace);
    auto recorded = record_history(**trace, {.trace = path, .policy = policy}, options);
    INFO((recorded ? "" : to_text(recorded.error())));
    REQUIRE(recorded);
    return std::move(*recorded);
}

Bytes peak(const History& history, Series series) {
    return history.values(history.peak_event(series))[series];
}

void check_peaks(const RecordedRun& recorded) {
    const History& history = *recorded.history;
    const auto measured = [&](const char* name) { return recorded.run.measurement(name).whole; };
    CHECK(history.counts().events == recorded.run.summary.events);
    CHECK(peak(history, Series::reserved) == measured("peak_reserved_bytes"));
    CHECK(peak(history, Series::allocated) == measured("peak_allocated_bytes"));
    CHECK(peak(history, Series::requested) == measured("peak_requested_bytes"));
}

// The segments that are alive after an event hold what is reserved, where a device only has those.
Bytes held(const History& history, EventIndex event) {
    Bytes sum = 0;
    for (SegmentIndex i = 0; i < history.counts().segments; ++i) {
        const Segment segment = history.segment(i);
        if (segment.kind != SegmentKind::reservation && segment.born <= event &&
            segment.died > event)
            sum += segment.size;
    }
    return sum;
}

TEST_CASE("Peaks in the history of a real trace are those of its run") {
    const std::string samples = TIDEMARK_SOURCE_DIR "/traces/samples/torch/";
    for (const char* const name : {"gpt2_var.pickle.xz", "multistream.pickle.xz",
                                   "graphs.pickle.xz", "gpt2_var-ring.pickle.xz"}) {
        for (const char* const policy : {"", "torch:expandable_segments=True", "best-fit"}) {
            INFO(name << " " << policy);
            const RecordedRun recorded = record(samples + name, {}, policy);
            check_peaks(recorded);
            const History& history = *recorded.history;
            CHECK(history.complete());
            const auto last = static_cast<EventIndex>(history.counts().events - 1);
            for (const EventIndex event : {last, last / 2, last / 7})
                CHECK(held(history, event) == history.values(event)[Series::reserved]);
        }
    }
}

TEST_CASE("A history without a thread is the same, without a mapping an error") {
    const std::string path = TIDEMARK_SOURCE_DIR "/traces/samples/torch/graphs.pickle.xz";
    const HistoryCounts with = record(path).history->counts();
    {
        const support::ThreadLimit limit(0);
        const RecordedRun without = record(path);
        check_peaks(without);
        CHECK((without.history->counts() == with));
    }
    const auto trace = open_trace(path);
    REQUIRE(trace);
    const support::NoMappings none;
    const auto refused = record_history(**trace, {.trace = path, .policy = "torch"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::unsupported);
}

// Bytes that are taken and never overlap: the map must not lie.
TEST_CASE("What allocators give back after the run is no part of it") {
    const std::string path = TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz";
    for (const char* const policy : {"torch", "torch:expandable_segments:True", "vpmm", "bump"}) {
        INFO(policy);
        const RecordedRun recorded = record(path, {}, policy);
        const History& history = *recorded.history;
        const auto last = static_cast<EventIndex>(history.counts().events - 1);
        // vpmm also holds memory that isn't mapped.
        CHECK(held(history, last) <= history.values(last)[Series::reserved]);
        CHECK(held(history, last) > history.values(last)[Series::reserved] / 10 * 9);
        for (SegmentIndex i = 0; i < history.counts().segments; ++i) {
            const EventIndex died = history.segment(i).died;
            CHECK((died == kNever || died <= last));
        }
    }
}

TEST_CASE("No two blocks of a history have the same bytes at the same time") {
    for (const char* const path : {"generate:mix:events=20000,streams=4", TIDEMARK_SOURCE_DIR
                                   "/traces/samples/torch/multistream.pickle.xz"}) {
        const RecordedRun recorded = record(path);
        const History& history = *recorded.history;
        for (EventIndex event = 0; event < history.counts().events; event += 997) {
            std::set<std::pair<std::uint64_t, std::uint64_t>> taken;
            Bytes active = 0;
            history.for_each_live(event, [&](BlockIndex index) {
                const Block block = history.block(index);
                taken.insert({to_integer(block.address), to_integer(block.address) + block.size});
                active += block.size;
            });
            std::uint64_t end = 0;
            for (const auto& [first, last] : taken) {
                REQUIRE(end <= first);
                end = last;
            }
            REQUIRE(active == history.values(event)[Series::active]);
        }
    }
}

TEST_CASE("Refusals, retries and ranges are in the history") {
    TraceInfo info;
    const std::uint32_t step = info.strings.intern("step");
    info.devices.push_back({"small", Bytes{64} << 20U});
    constexpr Bytes kMiB = Bytes{1} << 20U;
    TraceBuilder builder;
    builder.add({.aux = step, .kind = EventKind::range_begin});
    builder.allocate(0, 20 * kMiB).allocate(1, 30 * kMiB).free(1);
    builder.allocate(2, 40 * kMiB);   // only when the 30 are given back
    builder.allocate(3, 100 * kMiB);  // never
    builder.free(3).free(2);
    builder.add({.size = 90 * kMiB, .kind = EventKind::out_of_memory});
    builder.add({.kind = EventKind::trim});
    builder.add({.aux = step, .kind = EventKind::range_end});
    const auto trace = builder.build(info);
    const auto recorded = record_history(trace, {.policy = "torch"});
    REQUIRE(recorded);
    const History& history = *recorded->history;
    std::vector<std::pair<MarkKind, EventIndex>> marks;
    for (std::size_t i = 0; i < history.counts().marks; ++i)
        marks.emplace_back(history.mark(i).kind, history.mark(i).event);
    const auto has = [&](MarkKind kind, EventIndex event) {
        return std::count(marks.begin(), marks.end(), std::pair(kind, event)) == 1;
    };
    CHECK(has(MarkKind::retry, 4));
    CHECK(has(MarkKind::retry, 5));
    CHECK(has(MarkKind::out_of_memory, 5));
    CHECK(has(MarkKind::recorded_out_of_memory, 8));
    CHECK(has(MarkKind::out_of_memory, 8));
    CHECK(has(MarkKind::trim, 9));
    CHECK(std::is_sorted(marks.begin(), marks.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
    CHECK(history.block_at(5) == kNoBlock);
    CHECK(history.values(5)[Series::requested] == 160 * kMiB);
    CHECK(history.values(6)[Series::requested] == 60 * kMiB);
    REQUIRE(history.counts().annotations == 1);
    CHECK(history.annotation(0).begin == 0);
    CHECK(history.annotation(0).end == 10);
    CHECK(history.strings()[history.annotation(0).name] == "step");
    CHECK(history.capacity() == 64 * kMiB);
}

TEST_CASE("Launches last until their stream's next event") {
    TraceInfo info;
    info.streams = {0, 7};
    const std::uint32_t name = info.strings.intern("axpy");
    const auto use = [&](std::uint32_t slot, std::uint32_t stream, std::uint32_t launch,
                         std::uint8_t flags) {
        return TraceEvent{.slot = slot,
                          .stream = StreamId{stream},
                          .aux = launch,
                          .tag = name,
                          .kind = EventKind::use,
                          .flags = flags};
    };
    const auto trace = TraceBuilder()
                           .allocate(0, 1000)
                           .allocate(1, 1000)
                           .add(use(0, 0, 1, kReads))
                           .add(use(1, 0, 1, kWrites | kPerhaps))
                           .add(use(1, 1, 2, kReads))
                           .free(0)
                           .add(use(kNoSlot, 0, 3, kPerhaps))
                           .add({.size = 40,
                                 .address = 25,
                                 .stream = StreamId{1},
                                 .aux = 2,
                                 .tag = name,
                                 .kind = EventKind::execution})
                           .build(info);
    const auto recorded = record_history(trace, {.policy = "torch"});
    REQUIRE(recorded);
    const History& history = *recorded->history;
    REQUIRE(history.counts().executions == 1);
    CHECK(history.execution(0).launch == 1);
    CHECK(history.execution(0).begin == 25);
    CHECK(history.execution(0).end() == 65);
    REQUIRE(history.counts().launches == 3);
    CHECK(history.launch(0).begin == 2);
    CHECK(history.launch(0).end == 5);
    CHECK(history.strings()[history.launch(0).tag] == "axpy");
    CHECK(history.uses(0).blocks == std::vector<BlockIndex>{0, 1});
    CHECK(history.uses(0).possible == 1);
    CHECK(history.launch(1).stream == 1);
    CHECK(history.launch(1).end == kNever);
    CHECK(history.uses(2).unknown);
}

TEST_CASE("What the device still awaits is taken until it is done") {
    const auto trace = TraceBuilder()
                           .allocate(0, 1000)
                           .end(EventKind::retire, 0)
                           .allocate(1, 1000)
                           .end(EventKind::finish, 0)
                           .build();
    const auto recorded = record_history(trace, {.policy = "torch"});
    REQUIRE(recorded);
    const Block block = recorded->history->block(0);
    CHECK(block.freed == 1);
    CHECK(block.reused == 3);
    CHECK(recorded->history->block(1).reused == kNever);
    CHECK(recorded->history->values(2)[Series::active] == 2048);
    CHECK(recorded->history->values(2)[Series::allocated] == 1024);
}

TEST_CASE("A trace of no known system is shown under a policy that many use") {
    const auto recorded = record_history(TraceBuilder().allocate(0, 1).build(), {});
    REQUIRE(recorded);
    CHECK(recorded->run.policy_name == "torch");
    REQUIRE(!recorded->run.warnings.empty());
    CHECK(recorded->run.warnings.back().find("torch") != std::string::npos);
}

TEST_CASE("A run that is cancelled says so") {
    const std::atomic<bool> cancel = true;
    const auto recorded = record_history(TraceBuilder().allocate(0, 1).build(), {.policy = "torch"},
                                         {.cancel = &cancel});
    REQUIRE(!recorded);
    CHECK(recorded.error().code == ErrorCode::cancelled);
}

}  // namespace
}  // namespace tidemark
