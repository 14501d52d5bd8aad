// torch-snapshot: what events a snapshot gives, whole or damaged, hand-made or recorded.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/traces/readers/snapshots.h"
#include "traces/readers/format.h"

namespace tidemark {
namespace {

using Catch::Contains;
using support::error_of;
using support::HandMade;
using support::must_read;
using support::ReadTrace;
namespace pickled = support::pickled;

constexpr std::uint64_t kBase = 0x7f0000000000U;

// "allocate0 free0 retire-": kinds and slots.
std::string kinds(const ReadTrace& trace, std::size_t begin = 0) {
    std::string text;
    for (std::size_t i = begin; i < trace.events.size(); ++i) {
        const TraceEvent& event = trace.events[i];
        text += fmt::format("{}{}", text.empty() ? "" : " ", to_text(event.kind));
        if (event.slot != kNoSlot)
            text += fmt::format("{}", event.slot);
    }
    return text;
}

HandMade one_segment() {
    HandMade snapshot;
    snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "inactive", 0)});
    snapshot.entry("segment_alloc", kBase, 2_MiB);
    return snapshot;
}

TEST_CASE("a snapshot's free is one event when it was complete at once", "[torch]") {
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 100)
        .entry("free_requested", kBase, 100)
        .entry("free_completed", kBase, 100);

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) == "segment_alloc allocate0 free0 final_segment final_block");
    CHECK(trace.events[1].size == 100);
    CHECK(trace.events[1].address == kBase);
    CHECK(trace.events[2].time == 2000);
    CHECK(trace.info.start_time == 1'000'000'000);
    CHECK(trace.info.slot_count == 1);
    CHECK(trace.info.anomalies.total() == 0);
    CHECK(trace.info.warnings.empty());
}

TEST_CASE("a snapshot's free is two events when something lies between", "[torch]") {
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 100)
        .entry("free_requested", kBase, 100)
        .entry("alloc", kBase + 512, 200)
        .entry("free_completed", kBase, 100)
        .entry("free_requested", kBase + 512, 200)
        .entry("free_completed", kBase + 512, 200);

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) ==
          "segment_alloc allocate0 retire0 allocate1 finish0 free1 final_segment final_block");
}

TEST_CASE("what is alive or pending at the dump has its slot in the final state", "[torch]") {
    HandMade snapshot;
    snapshot.segment(kBase, 2_MiB,
                     {support::block(kBase, 512, "active_pending_free", 100),
                      support::block(kBase + 512, 1024, "active_allocated", 600),
                      support::block(kBase + 1536, 2_MiB - 1536, "inactive", 0)});
    snapshot.entry("segment_alloc", kBase, 2_MiB)
        .entry("alloc", kBase, 100)
        .entry("alloc", kBase + 512, 600)
        .entry("free_requested", kBase, 100);

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) ==
          "segment_alloc allocate0 allocate1 retire0 final_segment final_block0 final_block1 "
          "final_block");
    CHECK(trace.events[5].flags == kPending);
    CHECK(trace.events[6].flags == kActive);
    CHECK(trace.events[4].flags == kSmallPool);
    CHECK(trace.info.anomalies.total() == 0);
}

TEST_CASE("the order of keys and keys that nobody knows do not matter", "[torch]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    const std::string address = number(static_cast<std::int64_t>(kBase));
    snapshot.entries.push_back(dict({{"time_us", number(1'000'001)},
                                     {"colour", list({string("red")})},
                                     {"size", number(5)},
                                     {"addr", address},
                                     {"action", string("alloc")}}));
    snapshot.more = {{"host_traces", list({})}, {"novelty", "N"}};

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) == "segment_alloc allocate0 final_segment final_block");
    CHECK(trace.events[1].size == 5);
    CHECK(trace.events[1].time == 1000);
}

TEST_CASE("a dict may come one item at a time", "[torch]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    const std::string address = number(static_cast<std::int64_t>(kBase));
    snapshot.entries.push_back("}" + string("size") + number(7) + "s" + string("addr") + address +
                               "s" + string("action") + string("alloc") + "s");

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(trace.events[1].kind == EventKind::allocate);
    CHECK(trace.events[1].size == 7);
    CHECK(trace.events[1].address == kBase);
}

TEST_CASE("frees of what never lived or died before are counted", "[torch][anomalies]") {
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 100)
        .entry("free_requested", kBase, 100)
        .entry("free_completed", kBase, 100)
        .entry("free_requested", kBase, 100)
        .entry("free_completed", kBase, 100)
        .entry("free_requested", kBase + 512, 100)
        .entry("free_completed", kBase + 512, 100)
        .entry("free_completed", kBase + 1024, 100);

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) ==
          "segment_alloc allocate0 free0 free free finish final_segment final_block");
    CHECK(trace.info.anomalies.double_frees == 1);
    CHECK(trace.info.anomalies.unknown_frees == 2);
    CHECK(trace.info.anomalies.total() == 3);
    CHECK(trace.info.preamble_count == 0);
    CHECK_THAT(error_of(snapshot.file(), support::strict()),
               Contains("freed already") && Contains("entry 4 of device 0"));
}

TEST_CASE("an allocation where another lives closes that one", "[torch][anomalies]") {
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 100)
        .entry("alloc", kBase, 200)
        .entry("free_requested", kBase, 200)
        .entry("alloc", kBase, 300)
        .entry("free_requested", kBase, 300)
        .entry("free_completed", kBase, 300);

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) ==
          "segment_alloc allocate0 free0 allocate0 retire0 finish0 allocate0 free0 final_segment "
          "final_block");
    CHECK(trace.info.anomalies.reused_live == 2);
    CHECK(trace.info.anomalies.total() == 2);
}

TEST_CASE("sizes, clocks and actions out of the ordinary are counted", "[torch][anomalies]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 0)
        .entry("alloc", kBase + 512, std::uint64_t{1} << 60U)
        .entry("dance", kBase, 1)
        .entry("alloc", kBase + 1024, 8, {{"time_us", number(5)}});

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(trace.info.anomalies.zero_sizes == 1);
    CHECK(trace.info.anomalies.giant_sizes == 1);
    CHECK(trace.info.anomalies.unknown_actions == 1);
    CHECK(trace.info.anomalies.backward_times == 1);
    CHECK(trace.info.anomalies.total() == 4);
    CHECK(trace.events[3].time == 3000);
    REQUIRE(trace.info.warnings.size() == 1);
    CHECK_THAT(trace.info.warnings[0], Contains("3 allocations are neither freed nor live"));
}

TEST_CASE("an entry without address or size is an error, or skipped if lenient", "[torch]") {
    HandMade snapshot = one_segment();
    snapshot.entries.push_back(pickled::dict({{"action", pickled::string("alloc")},
                                              {"addr", pickled::string("here")},
                                              {"size", pickled::number(-5)}}));

    CHECK_THAT(error_of(snapshot.file()), Contains("entry 1 of device 0"));
    const ReadTrace trace = must_read(snapshot.file(), support::lenient());
    CHECK(trace.info.anomalies.bad_records == 1);
    CHECK(trace.count(EventKind::allocate) == 0);
}

TEST_CASE("a pool is that of the segment at the time", "[torch][pools]") {
    using namespace support::pickled;
    const std::string pool = number(0) + number(1) + "\x86";
    HandMade snapshot;
    // The same range is first a segment of the default pool, then one of a private pool.
    snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "inactive", 0)},
                     {{"segment_pool_id", pool}});
    for (int i = 0; i < 2; ++i) {
        snapshot.entry("segment_alloc", kBase, 2_MiB)
            .entry("alloc", kBase, 100)
            .entry("free_requested", kBase, 100)
            .entry("free_completed", kBase, 100);
        if (i == 0)
            snapshot.entry("segment_free", kBase, 2_MiB);
    }

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(trace.info.pools == std::vector<std::string>{"default", "(0, 1)"});
    CHECK(trace.events[0].aux == 0);
    CHECK(trace.events[1].aux == 0);
    CHECK(trace.events[4].kind == EventKind::segment_alloc);
    CHECK(trace.events[4].aux == 1);
    CHECK(trace.events[5].aux == 1);
    CHECK(trace.events[7].kind == EventKind::final_segment);
    CHECK(trace.events[7].aux == 1);
}

TEST_CASE("an entry's own pool counts more than that of the segment", "[torch][pools]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 100, {{"pool_id", number(7) + number(0) + "\x86"}});

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(trace.info.pools == std::vector<std::string>{"default", "(7, 0)"});
    CHECK(trace.events[1].aux == 1);
    CHECK(trace.info.source == "torch 2.12 or newer");
}

TEST_CASE("stacks, metadata and compile contexts are kept", "[torch]") {
    using namespace support::pickled;
    const std::string frames = list(
        {dict({{"name", string("inner")}, {"filename", string("a.py")}, {"line", number(3)}}),
         dict({{"name", string("outer")}, {"filename", string("a.py")}, {"line", number(9)}})});
    HandMade snapshot = one_segment();
    snapshot
        .entry("alloc", kBase, 1,
               {{"frames", frames + "\x94"},
                {"compile_context", string("N/A")},
                {"user_metadata", string("step 1")}})
        .entry("alloc", kBase + 512, 1, {{"frames", std::string("h\0", 2)}})
        .entry("alloc", kBase + 1024, 1, {{"compile_context", string("graph 2")}})
        .entry("alloc", kBase + 1536, 1,
               {{"compile_context", string("graph 2")}, {"user_metadata", string("step 1")}});

    const ReadTrace trace = must_read(snapshot.file());

    const TraceInfo& info = trace.info;
    REQUIRE(info.stacks.size() == 2);
    CHECK(trace.events[1].stack == 1);
    CHECK(trace.events[2].stack == 1);
    CHECK(trace.events[3].stack == 0);
    REQUIRE(info.stacks[1].size() == 2);
    CHECK(info.strings[info.stacks[1][0].name] == "inner");
    CHECK(info.strings[info.stacks[1][1].file] == "a.py");
    CHECK(info.stacks[1][1].line == 9);
    CHECK(info.strings[trace.events[1].tag] == "step 1");
    CHECK(info.strings[trace.events[3].tag] == "graph 2");
    CHECK(info.strings[trace.events[4].tag] == "step 1 | graph 2");
}

TEST_CASE("annotations become ranges between the entries of their time", "[torch]") {
    using namespace support::pickled;
    const auto annotation = [](const char* stage, const char* name, std::int64_t time) {
        return dict({{"stage", string(stage)},
                     {"name", string(name)},
                     {"device", number(0)},
                     {"time_us", number(time)}});
    };
    HandMade snapshot = one_segment();
    snapshot.entry("alloc", kBase, 1).entry("alloc", kBase + 512, 1);
    snapshot.more = {{"external_annotations",
                      list({annotation("START", "past", 10), annotation("END", "past", 20),
                            annotation("START", "step", 30), annotation("END", "step", 1'000'001),
                            annotation("START", "late", 1'000'007)})}};

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) ==
          "range_begin segment_alloc range_end allocate0 allocate1 range_begin final_segment "
          "final_block");
    CHECK(trace.info.strings[trace.events[0].aux] == "step");
    CHECK(trace.events[0].time == 0);
    CHECK(trace.events[5].time == 7000);
    CHECK(trace.info.duration == 7000);
    CHECK(trace.info.source == "torch 2.7");
}

TEST_CASE("settings are flattened to text", "[torch]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    snapshot.more = {
        {"allocator_settings",
         dict(
             {{"PYTORCH_CUDA_ALLOC_CONF", string("a:b")},
              {"max_split_size", number(-1)},
              {"garbage_collection_threshold", std::string("G\x3f\xe3\x33\x33\x33\x33\x33\x33", 9)},
              {"expandable_segments", "\x89"},
              {"roundup_power2_divisions", dict({{"1", number(0)}, {"2", number(4)}})}})}};

    const TraceInfo info = must_read(snapshot.file()).info;

    CHECK(info.setting("PYTORCH_CUDA_ALLOC_CONF") == "a:b");
    CHECK(info.setting("max_split_size") == "-1");
    CHECK(info.setting("garbage_collection_threshold") == "0.6");
    CHECK(info.setting("expandable_segments") == "False");
    CHECK(info.setting("roundup_power2_divisions") == "1:0,2:4");
}

TEST_CASE("the list of segments that PyTorch 1.13 wrote is a state", "[torch][versions]") {
    using namespace support::pickled;
    const auto segment = [](const std::string& blocks) {
        return dict({{"device", number(0)},
                     {"address", number(static_cast<std::int64_t>(kBase))},
                     {"total_size", number(2 << 20)},
                     {"stream", number(0)},
                     {"segment_type", string("small")},
                     {"blocks", blocks}});
    };
    const std::string history = list({dict({{"addr", number(0)}, {"real_size", number(300)}})});
    const std::string blocks = list(
        {dict({{"size", number(512)}, {"state", string("inactive")}}),
         dict(
             {{"size", number(1024)}, {"state", string("active_allocated")}, {"history", history}}),
         dict({{"size", number((2 << 20) - 1536)}, {"state", string("active_allocated")}})});

    const ReadTrace trace = must_read(file(list({segment(blocks)})));

    CHECK(kinds(trace) == "segment_alloc block allocate0 block allocate1");
    CHECK(trace.events[1].address == kBase + 512);
    CHECK(trace.events[1].size == 1024);
    CHECK(trace.events[2].size == 300);
    CHECK(trace.events[4].size == (2 << 20) - 1536);
    CHECK(trace.info.preamble_count == 5);
    CHECK(trace.info.source == "torch 1.13");
}

TEST_CASE("the free of PyTorch 2.0 and entries without times are read", "[torch][versions]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    const std::string address = number(static_cast<std::int64_t>(kBase));
    for (const char* action : {"alloc", "free"})
        snapshot.entries.push_back(
            dict({{"action", string(action)}, {"addr", address}, {"size", number(9)}}));

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(kinds(trace) == "segment_alloc allocate0 free0 final_segment final_block");
    CHECK(trace.info.anomalies.total() == 0);
}

TEST_CASE("frees stay whole when one half was left out of the recording", "[torch][versions]") {
    HandMade requested = one_segment();
    requested.entry("alloc", kBase, 9).entry("free_requested", kBase, 9);
    HandMade completed = one_segment();
    completed.entry("alloc", kBase, 9).entry("free_completed", kBase, 9);

    CHECK(kinds(must_read(requested.file())) ==
          "segment_alloc allocate0 free0 final_segment final_block");
    CHECK(kinds(must_read(completed.file())) ==
          "segment_alloc allocate0 free0 final_segment final_block");
    CHECK(must_read(completed.file()).info.warnings.size() == 1);
}

TEST_CASE("blocks before the first entry get the sizes that PyTorch gave them", "[torch][ring]") {
    HandMade snapshot;
    const std::uint64_t large = kBase + 32_MiB;
    const std::uint64_t other = kBase + 64_MiB;
    snapshot.segment(kBase, 2_MiB, {support::block(kBase, 2_MiB, "inactive", 0)});
    snapshot.segment(large, 20_MiB, {support::block(large, 20_MiB, "inactive", 0)});
    snapshot.segment(other, 20_MiB,
                     {support::block(other, 3_MiB, "active_allocated", 2_MiB + 1),
                      support::block(other + 3_MiB, 17_MiB, "inactive", 0)});
    const auto free = [&](std::uint64_t address, std::uint64_t size) {
        snapshot.entry("free_requested", address, size).entry("free_completed", address, size);
    };
    snapshot.entry("free_completed", kBase + 4096, 700);  // was requested before
    snapshot.entry("alloc", large + 2_MiB + 512_KiB, 2_MiB);
    free(large, 2_MiB);                    // the allocation shows that it had 512 KiB more
    free(large + 2_MiB + 512_KiB, 2_MiB);  //
    free(large + 6_MiB, 2_MiB);            // nothing shows: as rounded
    free(large + 17_MiB, 2_MiB + 1000);    // less than 1 MiB behind it: all its own
    free(kBase, 1);                        // small pool: as rounded

    const ReadTrace trace = must_read(snapshot.file());

    std::map<std::uint64_t, std::uint64_t> sizes;
    for (std::size_t i = 0; i < trace.info.preamble_count; ++i) {
        if (trace.events[i].kind == EventKind::block)
            sizes[trace.events[i].address] = trace.events[i].size;
    }
    const std::map<std::uint64_t, std::uint64_t> expected = {
        {kBase, 512},           {kBase + 4096, 1024},    {large, 2_MiB + 512_KiB},
        {large + 6_MiB, 2_MiB}, {large + 17_MiB, 3_MiB}, {other, 3_MiB}};
    CHECK(sizes == expected);
    CHECK(trace.info.begins_inside);
    CHECK(trace.info.anomalies.total() == 0);
    CHECK(
        kinds(trace).starts_with("segment_alloc block allocate0 block allocate1 retire1 "
                                 "segment_alloc block allocate2"));
    CHECK(trace.events[3].flags == (kPreamble | kPending));
}

TEST_CASE("mapped memory before the first entry is put together", "[torch][ring]") {
    using namespace support::pickled;
    HandMade snapshot;
    snapshot.segment(kBase, 40_MiB, {support::block(kBase, 40_MiB, "inactive", 0)},
                     {{"is_expandable", "\x88"}, {"segment_type", string("large")}});
    // Before: [0, 20) and [40, 60); 20 to 40 is mapped, 40 to 60 unmapped in the trace.
    snapshot.entry("segment_map", kBase + 20_MiB, 20_MiB);
    snapshot.entry("segment_unmap", kBase + 40_MiB, 20_MiB);

    const ReadTrace trace = must_read(snapshot.file());

    REQUIRE(trace.info.preamble_count == 2);
    CHECK(trace.events[0].kind == EventKind::segment_map);
    CHECK(trace.events[0].flags == (kPreamble | kExpandable));
    CHECK(trace.events[0].address == kBase);
    CHECK(trace.events[0].size == 20_MiB);
    CHECK(trace.events[1].address == kBase + 40_MiB);
    CHECK(trace.events[1].size == 20_MiB);
    CHECK(trace.info.warnings.size() == 1);
}

TEST_CASE("a list that several devices share is refused", "[torch][hostile]") {
    using namespace support::pickled;
    HandMade snapshot = one_segment();
    const std::string entries = list(snapshot.entries) + "\x94";
    const std::string again("h\0", 2);

    const std::string bytes = file(dict({{"device_traces", list({entries, again, again})}}));

    CHECK_THAT(error_of(bytes), Contains("share the same trace entries"));
}

TEST_CASE("a pickle of something else is told apart", "[torch][hostile]") {
    using namespace support::pickled;
    CHECK_THAT(error_of(file(dict({{"weights", list({})}}))),
               Contains("holds no PyTorch memory snapshot") && Contains("_dump_snapshot"));
    CHECK_THAT(error_of(file("N")), Contains("holds no PyTorch memory snapshot"));
    CHECK_THAT(error_of(file("cos\nsystem\n")), Contains("would import os.system"));
}

TEST_CASE("segments and blocks that cannot be are left out", "[torch][hostile]") {
    HandMade snapshot;
    snapshot.segment(kBase, 0, {});
    snapshot.segment(~std::uint64_t{0} - 100, 2_MiB, {});
    snapshot.segment(kBase, 2_MiB,
                     {support::block(kBase, 4_MiB, "active_allocated", 1),
                      support::block(kBase - 512, 512, "active_allocated", 1),
                      support::block(kBase, 2_MiB, "active_allocated", 1)});
    snapshot.segment(kBase + 1_MiB, 2_MiB, {});

    const ReadTrace trace = must_read(snapshot.file());

    CHECK(trace.count(EventKind::block) == 1);
    CHECK(trace.count(EventKind::segment_alloc) == 1);
}

TEST_CASE("torch-snapshot recognises pickles and nothing else", "[torch]") {
    const FormatInfo* format = nullptr;
    for (const FormatInfo& candidate : all_formats()) {
        if (candidate.name == "torch-snapshot")
            format = &candidate;
    }
    REQUIRE(format != nullptr);
    const auto recognises = [&](std::string_view head) {
        return format->recognises(std::as_bytes(std::span(head.data(), head.size())));
    };

    CHECK(recognises("\x80\x04\x95"));
    CHECK(recognises("\x80\x02}"));
    CHECK_FALSE(recognises("Thread,Time"));
    CHECK_FALSE(recognises("\x80"));
    CHECK_FALSE(recognises(""));
    CHECK_FALSE(recognises("\x28\xb5\x2f\xfd"));
}

}  // namespace
}  // namespace tidemark
