// DeviceRecord: steps, lives of segments, who is assumed to be private, and limits between the
// lines. All on records small enough to be worked out by hand.
#include "replay/record/device_record.h"

#include <catch2/catch.hpp>

#include "replay/record/inferred_limit.h"
#include "tests/replay/record/addresses.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using addresses::kA;
using addresses::kB;
using addresses::kC;
using addresses::kD;
using support::TraceBuilder;

namespace {

TraceInfo unnamed() {
    TraceInfo info;
    info.pools = {"default"};
    return info;
}

DeviceRecord record_of(const TraceBuilder& trace, TraceInfo info = unnamed()) {
    auto records = device_records(trace.build(std::move(info)));
    REQUIRE(records);
    DeviceRecord record = std::move(records->front());
    assume_pools(record);
    return record;
}

TraceBuilder& born(TraceBuilder& trace, std::uint64_t address, Bytes size,
                   std::uint32_t stream = 0) {
    return trace.add({.size = size,
                      .address = address,
                      .stream = StreamId{stream},
                      .kind = EventKind::segment_alloc});
}

TraceBuilder& dies(TraceBuilder& trace, std::uint64_t address, Bytes size,
                   std::uint32_t stream = 0) {
    return trace.add({.size = size,
                      .address = address,
                      .stream = StreamId{stream},
                      .kind = EventKind::segment_free});
}

bool is_private(const DeviceRecord& record, std::size_t life) {
    return record.lives[life].pool != PoolId::default_pool;
}

std::vector<Bytes> limits_of(const TraceBuilder& trace, const std::string& policy = "torch") {
    return infer_limits(record_of(trace), *parse_policy(policy));
}

TraceBuilder& pages(TraceBuilder& trace, EventKind kind, std::uint64_t address, Bytes size,
                    std::uint32_t stream = 0) {
    return trace.add({.size = size, .address = address, .stream = StreamId{stream}, .kind = kind});
}

}  // namespace

TEST_CASE("a record has the steps that matter to an allocator, with their places",
          "[device_record]") {
    TraceBuilder trace;
    trace.add({.kind = EventKind::range_begin}).allocate(0, 100, kA).free(0);
    trace.add({.kind = EventKind::mark}).segment(EventKind::segment_free, kA, 2_MiB);
    trace.add({.kind = EventKind::snapshot});

    const DeviceRecord record = record_of(trace);

    REQUIRE(record.steps.size() == 3);
    CHECK(record.steps[0].index == 1);
    CHECK(record.steps[1].index == 2);
    CHECK(record.steps[2].index == 4);
    CHECK(record.truths == 2);
    CHECK(record.lives.empty());  // what died was born before, or nowhere
}

TEST_CASE("each device has its record, and none but the trace's", "[device_record]") {
    TraceInfo info;
    info.devices.resize(2);
    TraceBuilder trace;
    trace.add({.size = 1, .slot = 0, .device = 1}).add({.size = 2, .slot = 1, .device = 0});
    const auto records = device_records(trace.build(info));
    REQUIRE(records);
    REQUIRE(records->size() == 2);
    CHECK((*records)[0].steps.at(0).event.size == 2);
    CHECK((*records)[1].steps.at(0).event.size == 1);

    trace.add({.size = 1, .slot = 0, .device = 2});
    const auto refused = device_records(trace.build(info));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::bad_input);
}

TEST_CASE("a block of the preamble must lie in a segment and have a slot", "[device_record]") {
    TraceBuilder outside;
    outside.add({.size = 1, .address = kA, .slot = 0, .flags = kPreamble});
    CHECK_FALSE(device_records(outside.build()));

    TraceBuilder slotless;
    slotless.add(
        {.size = 2_MiB, .address = kA, .kind = EventKind::segment_alloc, .flags = kPreamble});
    slotless.add({.size = 1, .address = kA, .flags = kPreamble});
    CHECK_FALSE(device_records(slotless.build()));
}

TEST_CASE("a segment lives from its entry to its entry", "[device_record]") {
    TraceBuilder trace;
    born(trace, kA, 2_MiB).allocate(0, 100, kA);
    born(trace, kB, 20_MiB).allocate(1, 2_MiB, kB + 4_MiB).free(0);
    dies(trace, kA, 2_MiB);
    born(trace, kA, 12_MiB);

    const DeviceRecord record = record_of(trace);

    REQUIRE(record.lives.size() == 3);
    CHECK(record.lives[0].birth == 0);
    CHECK(record.lives[0].death == 5);
    CHECK(record.lives[0].small);
    CHECK(record.lives[0].whole);
    CHECK(record.lives[1].death == SegmentLife::kAlive);
    CHECK_FALSE(record.lives[1].small);
    CHECK_FALSE(record.lives[1].whole);
    CHECK(record.lives[2].birth == 6);  // the same place, another life
    CHECK(record.life_of_request[1] == 0);
    CHECK(record.life_of_request[3] == 1);
}

TEST_CASE("a reservation lives as long as it has pages", "[device_record]") {
    TraceBuilder trace;
    pages(trace, EventKind::segment_map, kA, 20_MiB);
    pages(trace, EventKind::segment_map, kA + 20_MiB, 20_MiB);
    pages(trace, EventKind::segment_unmap, kA, 20_MiB);
    pages(trace, EventKind::segment_map, kA, 20_MiB);
    pages(trace, EventKind::segment_unmap, kA, 40_MiB);
    pages(trace, EventKind::segment_map, kA, 20_MiB);

    const DeviceRecord record = record_of(trace);

    REQUIRE(record.lives.size() == 2);
    CHECK(record.lives[0].death == 4);
    CHECK(record.lives[1].birth == 5);
}

TEST_CASE("pages of another stream are of another reservation", "[device_record]") {
    TraceBuilder trace;
    pages(trace, EventKind::segment_map, kA, 20_MiB, 0);
    pages(trace, EventKind::segment_map, kA + 20_MiB, 20_MiB, 1);

    CHECK(record_of(trace).lives.size() == 2);
}

TEST_CASE("the order of releases says which segments were of private pools", "[device_record]") {
    const std::string what = GENERATE(as<std::string>{}, "large before small: the default pool's",
                                      "small before large at the end of a run: private",
                                      "starts with small ones and has large ones: private");
    INFO(what);
    // Born in the order of their addresses, then given back.
    std::vector<Bytes> sizes{2_MiB, 12_MiB};
    std::vector<std::size_t> releases{1, 0};
    std::vector<bool> expected{false, false};
    if (what.starts_with("small")) {
        sizes = {12_MiB, 2_MiB, 2_MiB, 12_MiB};
        releases = {0, 2, 1, 3};  // default: large, small; private: small (lower), large
        expected = {false, true, false, true};
    } else if (what.starts_with("starts")) {
        releases = {0, 1};
        expected = {true, true};
    }
    const std::uint64_t addresses[] = {kA, kB, kC, kD};
    TraceBuilder trace;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        born(trace, addresses[i], sizes[i]);
    for (const std::size_t i : releases)
        dies(trace, addresses[i], sizes[i]);

    const DeviceRecord record = record_of(trace);

    CHECK(record.has_unknown_pools);  // likely is not known
    std::set<PoolId> pools;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        INFO("segment " << i);
        CHECK(is_private(record, i) == expected[i]);
        CHECK((record.lives[i].instead == PoolId::default_pool) == expected[i]);
        if (expected[i])
            pools.insert(record.lives[i].pool);
    }
    CHECK(pools.size() <= 1);
}

TEST_CASE("releases with a request between them are two runs", "[device_record]") {
    TraceBuilder trace;
    born(trace, kA, 2_MiB);
    born(trace, kB, 12_MiB);
    dies(trace, kA, 2_MiB);
    trace.allocate(0, 2_MiB, kB).free(0);
    dies(trace, kB, 12_MiB);

    const DeviceRecord record = record_of(trace);

    CHECK_FALSE(is_private(record, 0));
    CHECK_FALSE(is_private(record, 1));
    CHECK(record.lives[0].group != record.lives[1].group);
}

TEST_CASE("where graphs are captured other streams are those of captures", "[device_record]") {
    TraceBuilder trace;
    born(trace, kA, 12_MiB, 1);
    born(trace, kB, 12_MiB);
    dies(trace, kB, 12_MiB);
    dies(trace, kA, 12_MiB, 1);
    TraceInfo info;
    info.pools = {"default"};
    CHECK_FALSE(is_private(record_of(trace, info), 0));

    info.pools = {"default", "(1, 0)"};
    const DeviceRecord captured = record_of(trace, info);
    CHECK(is_private(captured, 0));
    CHECK_FALSE(is_private(captured, 1));
    CHECK(to_integer(captured.lives[0].pool) >= 2);  // not one that has a name

    info.pools = {"default", "(0, 1)"};  // a MemPool is no graph
    CHECK_FALSE(is_private(record_of(trace, info), 0));
}

TEST_CASE("the snapshot says the pools of what is alive at the end", "[device_record]") {
    TraceBuilder trace;
    born(trace, kA, 2_MiB).allocate(0, 100, kA);
    trace.add({.size = 2_MiB,
               .address = kA,
               .aux = 3,
               .kind = EventKind::final_segment,
               .flags = kSmallPool});

    const DeviceRecord record = record_of(trace);

    CHECK(record.lives.at(0).known);
    CHECK(record.lives[0].pool == PoolId{3});
    CHECK_FALSE(record.has_unknown_pools);
    const auto changes = changed_pools(record, {});
    REQUIRE(changes.size() == 1);
    CHECK(changes[0] == std::pair(std::size_t{1}, PoolId{3}));
}

TEST_CASE("choices decide about groups and single lives, not about what is known",
          "[device_record]") {
    TraceBuilder trace;
    born(trace, kA, 12_MiB);
    born(trace, kB, 14_MiB);
    born(trace, kC, 14_MiB);
    dies(trace, kA, 12_MiB);
    dies(trace, kB, 14_MiB);
    const DeviceRecord record = record_of(trace);
    const SegmentLife& a = record.lives[0];
    const SegmentLife& b = record.lives[1];
    const SegmentLife& c = record.lives[2];
    REQUIRE(a.group == b.group);

    CHECK(pool_of(record, a, {}) == PoolId::default_pool);
    const PoolChoices instead{{group_key(a), PoolChoice::instead}};
    CHECK(pool_of(record, a, instead) == a.instead);
    CHECK(pool_of(record, b, instead) == a.instead);
    CHECK(pool_of(record, c, instead) == PoolId::default_pool);

    const PoolChoices mixed{{group_key(a), PoolChoice::instead},
                            {life_key(record, b), PoolChoice::own}};
    CHECK(pool_of(record, a, mixed) == a.instead);
    CHECK(pool_of(record, b, mixed) != a.instead);
    CHECK(to_integer(pool_of(record, b, mixed)) >= record.first_own_pool);
}

TEST_CASE("pools in which small requests never share a segment do not split", "[device_record]") {
    const auto trace = [](std::uint64_t second) {
        TraceBuilder pool;
        for (std::uint64_t i = 0; i < 3; ++i) {
            pool.add({.size = 2_MiB,
                      .address = kA + i * 2_MiB,
                      .aux = 1,
                      .kind = EventKind::segment_alloc});
            pool.add({.size = 100,
                      .address = kA + i * 2_MiB,
                      .slot = static_cast<std::uint32_t>(i),
                      .aux = 1});
        }
        pool.add({.size = 100, .address = kA + second, .slot = 9, .aux = 1});
        return pool;
    };

    CHECK(record_of(trace(0)).whole_pools == std::set{PoolId{1}});
    CHECK(record_of(trace(512)).whole_pools.empty());
}

TEST_CASE("the limit lies between what was granted and what was refused", "[limit]") {
    struct Case {
        const char* what;
        Bytes granted;
        Bytes refused;
        Bytes device_free;
        std::vector<Bytes> limits;
    };

    const std::vector<Case> cases{
        {"in [30, 42) MiB", 30_MiB, 12_MiB, 1_GiB, {32_MiB}},
        {"in [34, 54) MiB: the refused request needed a segment of 20",
         34_MiB,
         2_MiB,
         1_GiB,
         {48_MiB}},
        {"the device was full", 30_MiB, 12_MiB, 11_MiB, {}},
    };
    for (const Case& each : cases) {
        INFO(each.what);
        TraceBuilder trace;
        born(trace, kA, each.granted).allocate(0, each.granted, kA);
        CHECK(limits_of(trace).empty());  // nothing was refused
        trace.add(
            {.size = each.refused, .address = each.device_free, .kind = EventKind::out_of_memory});
        CHECK(limits_of(trace) == each.limits);
        CHECK(limits_of(trace, "cuda-malloc").empty());
    }
}

TEST_CASE("releases before new memory point to a limit, if they repeat", "[limit]") {
    TraceBuilder trace;
    born(trace, kA, 30_MiB).allocate(0, 30_MiB, kA).free(0);
    dies(trace, kA, 30_MiB);
    born(trace, kB, 34_MiB).allocate(0, 34_MiB, kB).free(0);
    CHECK(limits_of(trace).empty());

    dies(trace, kB, 34_MiB);
    born(trace, kC, 30_MiB).allocate(0, 30_MiB, kC).free(0);
    CHECK(limits_of(trace) == std::vector<Bytes>{48_MiB});  // in [34, 64) MiB
}

TEST_CASE("garbage collection points to the limit through its threshold", "[limit]") {
    TraceBuilder trace;
    born(trace, kA, 30_MiB).allocate(0, 30_MiB, kA).free(0);
    born(trace, kB, 40_MiB).allocate(1, 40_MiB, kB);
    dies(trace, kA, 30_MiB);
    born(trace, kC, 10_MiB).allocate(2, 10_MiB, kC);

    CHECK(limits_of(trace).empty());
    const std::vector<Bytes> limits = limits_of(trace, "torch:garbage_collection_threshold=0.5");

    REQUIRE_FALSE(limits.empty());  // the threshold lies in [30, 70) MiB, and 70 were granted
    CHECK(limits[0] >= 70_MiB);
    CHECK(limits[0] < 140_MiB);
}
