// verify and infer_missing_events on records that cannot be: an error or mismatches, never a crash,
// never a hang.
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "replay/record/infer_missing_events.h"
#include "replay/record/recorded_policy.h"
#include "replay/record/verify.h"
#include "tests/replay/record/addresses.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using addresses::kA;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

constexpr std::uint64_t kTop = ~std::uint64_t{0};

struct Excerpt {
    TraceInfo info;
    std::vector<TraceEvent> events;
};

// The preamble, about `count` events from `begin` on, and the state at the end of a sample.
Excerpt excerpt(const std::string& name, std::size_t begin, std::size_t count) {
    const auto trace =
        open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/torch/" + name + ".pickle.xz");
    REQUIRE(trace);
    Excerpt sample;
    sample.info = (*trace)->info();
    const auto cursor = (*trace)->cursor();
    std::size_t index = 0;
    for (auto batch = cursor->next(); batch && batch->count != 0; batch = cursor->next()) {
        for (std::size_t i = 0; i < batch->count; ++i, ++index) {
            const TraceEvent event = (*batch)[i];
            const bool at_end =
                event.kind == EventKind::final_segment || event.kind == EventKind::final_block;
            if ((event.flags & kPreamble) != 0 || at_end ||
                (index >= begin && index < begin + count))
                sample.events.push_back(event);
        }
    }
    return sample;
}

template <class Number>
Number odd_number(Random& random, Number now) {
    switch (random.below(8)) {
        case 0:
            return 0;
        case 1:
            return static_cast<Number>(~Number{0});
        case 2:
            return static_cast<Number>(now + 1);
        case 3:
            return static_cast<Number>(now * 2);
        case 4:
            return static_cast<Number>(now ^ Number{1} << random.below(sizeof(Number) * 8));
        case 5:
            return static_cast<Number>(random.next());
        case 6:
            return static_cast<Number>(~Number{0} << random.below(sizeof(Number) * 8));
        default:
            return static_cast<Number>(random.below(4));
    }
}

void mutate(Random& random, std::vector<TraceEvent>& events) {
    TraceEvent& event = events[random.below(events.size())];
    TraceEvent& other = events[random.below(events.size())];
    switch (random.below(10)) {
        case 0:
            event.address = odd_number(random, event.address);
            break;
        case 1:
            event.size = odd_number(random, event.size);
            break;
        case 2:
            event.kind = static_cast<EventKind>(random.below(45));
            break;
        case 3:
            event.slot = random.below(4) == 0 ? kNoSlot : other.slot;
            break;
        case 4:
            event.flags = odd_number(random, event.flags);
            break;
        case 5:
            event.stream = StreamId{odd_number(random, to_integer(event.stream))};
            break;
        case 6:
            event.aux = odd_number(random, event.aux);
            break;
        case 7:
            std::swap(event, other);
            break;
        case 8:
            event.address = other.address;
            break;
        default:
            event.kind = other.kind;
            break;
    }
}

// What may come of any trace at all.
void check_bounded(const Result<VerifyReport>& report, const Trace& trace) {
    if (!report) {
        CHECK_FALSE(to_text(report.error()).empty());
        return;
    }
    CHECK((report->mismatches == 0) == !report->first_mismatch.has_value());
    CHECK(report->events == trace.info().event_count);
    for (const InferredFact& fact : report->facts)
        CHECK(fact.event < report->events);
    for (const PoolChange& change : report->pools)
        CHECK(change.event < report->events);
}

Result<VerifyReport> try_verify(const TraceBuilder& trace, const std::string& policy = "torch") {
    VerifyOptions options;
    options.memory = 64_GiB;
    return verify(trace.build(), *parse_policy(policy), options);
}

TraceBuilder split_at(std::uint64_t address) {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, address, 2_MiB);
    trace.allocate(0, 512, address).allocate(1, 512, address + 512).allocate(2, 512, address);
    trace.free(0).segment(EventKind::segment_free, address, 2_MiB).allocate(0, 2_MiB, kA);
    return trace;
}

}  // namespace

TEST_CASE("damaged records are errors or mismatches", "[verify][hostile]") {
    const auto [name, begin] = GENERATE(table<std::string, std::size_t>({
        {"graphs", 0},
        {"graphs", 300},
        {"multistream", 0},
        {"gpt2_var", 0},
        {"gpt2_var-ring", 0},
    }));
    const Excerpt sample = excerpt(name, begin, 250);
    const auto recorded = recorded_policy(sample.info);
    REQUIRE(recorded);
    Random random(begin + name.size());
    for (int round = 0; round < 120; ++round) {
        std::vector<TraceEvent> events = sample.events;
        const std::uint64_t wounds = 1 + random.below(12);
        for (std::uint64_t i = 0; i < wounds; ++i)
            mutate(random, events);
        const VectorTrace trace(events, sample.info);
        const std::string policy =
            random.below(3) == 0 ? "torch:expandable_segments:True,limit=200MiB" : recorded->text;
        INFO(name << " from " << begin << ", round " << round);
        check_bounded(verify(trace, *parse_policy(policy), {}), trace);
    }
}

TEST_CASE("a damaged record that is explained can be replayed", "[explained][hostile]") {
    const Excerpt sample = excerpt("graphs", 0, 400);
    Random random(5);
    for (int round = 0; round < 40; ++round) {
        std::vector<TraceEvent> events = sample.events;
        mutate(random, events);
        const auto explained =
            infer_missing_events(std::make_unique<VectorTrace>(events, sample.info), {});
        INFO("round " << round);
        if (!explained)
            continue;
        std::size_t count = 0;
        const auto cursor = (*explained)->cursor();
        for (auto batch = cursor->next(); batch && batch->count != 0; batch = cursor->next())
            count += batch->count;
        CHECK(count == events.size());
    }
}

TEST_CASE("a segment at the end of the address space hangs nobody", "[verify][hostile]") {
    const int which = GENERATE(0, 1, 2, 3);
    const std::uint64_t addresses[] = {kTop, kTop - 511, kTop - 2_MiB + 1, 0};
    const auto report = try_verify(split_at(addresses[which]));

    if (report)
        CHECK(report->mismatches > 0);
}

TEST_CASE("new memory that no request follows is a mismatch", "[verify][hostile]") {
    const EventKind kind = GENERATE(EventKind::segment_alloc, EventKind::segment_map);
    const bool at_end = GENERATE(false, true);
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA);
    trace.segment(kind, kA + 1_GiB, 20_MiB);
    if (!at_end)
        trace.free(0);

    const auto report = try_verify(trace);

    REQUIRE(report);
    CHECK(report->mismatches > 0);
}

TEST_CASE("segments that overlap are mismatches at most", "[verify][hostile]") {
    TraceBuilder trace;
    for (std::uint32_t i = 0; i < 40; ++i) {
        trace.segment(EventKind::segment_alloc, kA + i * 512, 20_MiB);
        trace.allocate(i, 12_MiB, kA + i * 512);
        trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(100 + i, 1_MiB, kA);
    }
    for (std::uint32_t i = 0; i < 40; ++i)
        trace.free(i).free(100 + i);
    for (std::uint32_t i = 0; i < 40; ++i)
        trace.segment(EventKind::segment_free, kA, 2_MiB);
    trace.allocate(7, 12_MiB, kA);

    const auto report = try_verify(trace);

    REQUIRE(report);
    CHECK(report->mismatches > 0);
}

TEST_CASE("a preamble whose segments overlap is an error or mismatches", "[verify][hostile]") {
    const bool expandable = GENERATE(false, true);
    TraceBuilder trace;
    for (std::uint32_t i = 0; i < 3; ++i) {
        trace.add({.size = 20_MiB,
                   .address = kA + i * 2_MiB,
                   .kind = expandable ? EventKind::segment_map : EventKind::segment_alloc,
                   .flags = kPreamble});
        trace.add(
            {.size = 2_MiB, .address = kA + 4_MiB, .kind = EventKind::block, .flags = kPreamble});
        trace.add({.size = 2_MiB, .address = kA + 4_MiB, .slot = i, .flags = kPreamble});
    }
    trace.free(0).free(1).free(2).allocate(0, 12_MiB, kA);
    trace.segment(EventKind::segment_free, kA, 20_MiB).allocate(1, 30_MiB, kA);

    const auto report = try_verify(trace);

    if (report)
        CHECK(report->mismatches > 0);
    else
        CHECK(report.error().code == ErrorCode::bad_input);
}

TEST_CASE("ends of what never began count for nothing", "[verify][hostile]") {
    TraceBuilder trace;
    for (std::uint32_t i = 0; i < 50; ++i) {
        trace.end(EventKind::finish, i).end(EventKind::retire, i).free(i);
        trace.free(kNoSlot).end(EventKind::retire, kNoSlot);
    }
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(3, 100, kA);

    const auto report = try_verify(trace);

    REQUIRE(report);
    CHECK(report->mismatches == 0);
    CHECK(report->decisions == 2);
}

TEST_CASE("an allocation that ends twice ends once", "[verify][hostile]") {
    const EventKind first = GENERATE(EventKind::free, EventKind::retire, EventKind::finish);
    const EventKind second = GENERATE(EventKind::free, EventKind::retire, EventKind::finish);
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA);
    trace.end(first, 0).end(second, 0).end(EventKind::finish, 0).end(EventKind::finish, 0);
    trace.allocate(1, 100, kA).allocate(0, 100, kA + 512).free(1);

    const auto report = try_verify(trace);

    REQUIRE(report);
    CHECK(report->mismatches == 0);
    CHECK(report->peak.allocated == 1024);
}

TEST_CASE("sizes from nothing to everything are refused or served", "[verify][hostile]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, kTop).allocate(0, 0, kA);
    std::uint32_t slot = 1;
    for (const Bytes size : {Bytes{0}, kLargestRequest, kTop, kTop / 2, kLargestRequest - 1}) {
        trace.allocate(slot++, size, kA).add({.size = size, .kind = EventKind::out_of_memory});
        trace.segment(EventKind::segment_map, kA + size, size);
        trace.segment(EventKind::segment_unmap, kA + size, size);
        trace.segment(EventKind::segment_free, kA, size);
    }

    for (const std::string policy :
         {"torch", "torch:garbage_collection_threshold=0.01", "torch:expandable_segments:True",
          "torch:max_split_size_mb=20,limit=1GiB"}) {
        INFO(policy);
        const auto report = try_verify(trace, policy);
        REQUIRE(report);
        CHECK(report->mismatches > 0);
    }
}

TEST_CASE("a trace of very many devices is a matter of its events", "[verify][hostile]") {
    TraceInfo info;
    info.devices.resize(5'000);
    TraceBuilder trace;
    for (std::uint16_t device = 0; device < 5'000; device += 100) {
        trace.add(
            {.size = 2_MiB, .address = kA, .device = device, .kind = EventKind::segment_alloc});
        trace.add({.size = 100, .address = kA, .slot = device, .device = device});
    }

    const auto report = verify(trace.build(info), *parse_policy("torch"), {});

    REQUIRE(report);
    CHECK(report->mismatches == 0);
    CHECK(report->decisions == 100);
    CHECK(report->peak.reserved == 50 * 2_MiB);
}
