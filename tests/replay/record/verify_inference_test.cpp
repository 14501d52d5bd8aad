// verify's inference: what a record leaves out is found where it explains the record, and only
// there. Each writer is beside one that is changed so that nothing explains it.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/record/verify.h"
#include "tests/replay/record/addresses.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using addresses::kA;
using addresses::kB;
using addresses::kC;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

using Fact = InferredFact::Kind;

// Writes a trace event by event.
class RecordWriter {
  public:
    // A segment that the next request takes, and the request, at its begin.
    RecordWriter& grow(std::uint32_t slot, Bytes size, std::uint64_t address, Bytes segment) {
        trace_.segment(EventKind::segment_alloc, address, segment);
        return take(slot, size, address);
    }

    RecordWriter& take(std::uint32_t slot, Bytes size, std::uint64_t address) {
        trace_.allocate(slot, size, address);
        return *this;
    }

    RecordWriter& map(std::uint64_t address, Bytes size) {
        trace_.segment(EventKind::segment_map, address, size);
        return *this;
    }

    RecordWriter& free(std::uint32_t slot) {
        trace_.free(slot);
        return *this;
    }

    RecordWriter& retire(std::uint32_t slot) {
        trace_.end(EventKind::retire, slot);
        return *this;
    }

    RecordWriter& finish(std::uint32_t slot) {
        trace_.end(EventKind::finish, slot);
        return *this;
    }

    RecordWriter& gone(std::uint64_t address, Bytes size) {
        trace_.segment(EventKind::segment_free, address, size);
        return *this;
    }

    RecordWriter& refused(Bytes size, Bytes device_free = 0) {
        trace_.add({.size = size, .address = device_free, .kind = EventKind::out_of_memory});
        return *this;
    }

    // A segment with one block, free or not, in the snapshot at the end.
    RecordWriter& left(std::uint64_t address, Bytes size, std::uint8_t flags = 0,
                       std::uint32_t pool = 0) {
        const auto small = static_cast<std::uint8_t>(size == 2_MiB ? kSmallPool : 0);
        trace_.add({.size = size,
                    .address = address,
                    .aux = pool,
                    .kind = EventKind::final_segment,
                    .flags = small});
        trace_.add(
            {.size = size, .address = address, .kind = EventKind::final_block, .flags = flags});
        return *this;
    }

    VerifyReport verified(const std::string& policy = "torch", Bytes memory = 0) const {
        VerifyOptions options;
        options.memory = memory;
        TraceInfo info;
        info.pools = {"default"};
        const auto report = verify(trace_.build(info), *parse_policy(policy), options);
        REQUIRE(report);
        return *report;
    }

  private:
    TraceBuilder trace_;
};

std::size_t count(const VerifyReport& report, Fact kind) {
    return static_cast<std::size_t>(
        std::count_if(report.facts.begin(), report.facts.end(),
                      [kind](const InferredFact& fact) { return fact.kind == kind; }));
}

const InferredFact& fact(const VerifyReport& report, Fact kind) {
    const auto found = std::find_if(report.facts.begin(), report.facts.end(),
                                    [kind](const InferredFact& each) { return each.kind == kind; });
    REQUIRE(found != report.facts.end());
    return *found;
}

// A private pool's segment beside a cached one of the default pool that would have served.
RecordWriter beside_a_cached_segment() {
    return RecordWriter().grow(0, 12_MiB, kA, 12_MiB).free(0).grow(1, 12_MiB, kB, 12_MiB);
}

}  // namespace

TEST_CASE("every kind of inferred fact has a name of its own", "[verify]") {
    std::vector<std::string_view> names;
    for (auto kind = Fact::emptied_caches; kind <= Fact::limit;
         kind = static_cast<Fact>(static_cast<int>(kind) + 1)) {
        CHECK_FALSE(to_text(kind).empty());
        names.push_back(to_text(kind));
    }
    CHECK(to_text(Fact::emptied_caches) == "empty_cache");
    CHECK(to_text(Fact::device_full) == "device_full");
    CHECK(to_text(Fact::limit) == "limit");
    std::sort(names.begin(), names.end());
    CHECK(std::unique(names.begin(), names.end()) == names.end());
}

TEST_CASE("emptied caches are noted at their last release", "[verify]") {
    const RecordWriter writer = RecordWriter()
                                    .grow(0, 100, kA, 2_MiB)
                                    .grow(1, 12_MiB, kB, 12_MiB)
                                    .free(0)
                                    .free(1)
                                    .gone(kB, 12_MiB)
                                    .gone(kA, 2_MiB)
                                    .grow(0, 100, kC, 2_MiB)
                                    .left(kC, 2_MiB, kActive);

    const VerifyReport report = RecordWriter(writer).verified();

    CHECK(count(report, Fact::emptied_caches) == 1);
    CHECK(fact(report, Fact::emptied_caches).event == 7);
    CHECK(report.inferred_trims == 1);
    CHECK(report.stats.retries == 0);
}

TEST_CASE("a segment in use cannot have been given back", "[verify]") {
    const VerifyReport report =
        RecordWriter().grow(0, 100, kA, 2_MiB).gone(kA, 2_MiB).grow(1, 100, kB, 2_MiB).verified();

    CHECK(report.mismatches > 0);
    REQUIRE(report.first_mismatch);
    CHECK(report.first_mismatch->event >= 2);
}

TEST_CASE("a pool of its own explains a segment that nobody needed", "[verify]") {
    const VerifyReport report = beside_a_cached_segment()
                                    .free(1)
                                    .gone(kB, 12_MiB)
                                    .take(2, 12_MiB, kA)
                                    .left(kA, 12_MiB, kActive)
                                    .verified();

    CHECK(report.mismatches == 0);
    const InferredFact& ended = fact(report, Fact::ended_pool);
    CHECK(ended.event == 6);
    CHECK(ended.pool != PoolId::default_pool);
    CHECK(fact(report, Fact::pool_of_segment).event == 3);
    CHECK(fact(report, Fact::pool_of_segment).pool == ended.pool);
    REQUIRE(report.pools.size() == 1);
    CHECK(report.pools[0].event == 4);
    CHECK(report.pools[0].pool == ended.pool);
    CHECK(report.inferred_trims == 0);
}

TEST_CASE("no pool explains a segment that the snapshot has in the default one", "[verify]") {
    const VerifyReport report =
        beside_a_cached_segment().left(kA, 12_MiB).left(kB, 12_MiB, kActive).verified();

    CHECK(report.mismatches > 0);
    CHECK(count(report, Fact::pool_of_segment) == 0);
}

TEST_CASE("no pool explains an address inside a new segment", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .grow(0, 2_MiB, kA, 20_MiB)
                                    .free(0)
                                    .grow(1, 2_MiB, kB, 20_MiB)
                                    .take(2, 2_MiB, kB + 4_MiB)  // 2 MiB too high
                                    .free(1)
                                    .free(2)
                                    .gone(kB, 20_MiB)
                                    .left(kA, 20_MiB)
                                    .verified();

    CHECK(report.mismatches > 0);
}

TEST_CASE("pools whose names the record has can end too", "[verify]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 12_MiB).allocate(0, 12_MiB, kA).free(0);
    trace.add({.size = 12_MiB, .address = kB, .aux = 1, .kind = EventKind::segment_alloc});
    trace.add({.size = 12_MiB, .address = kB, .slot = 1, .aux = 1}).free(1);
    trace.add({.size = 12_MiB, .address = kB, .aux = 1, .kind = EventKind::segment_free});
    trace.allocate(2, 12_MiB, kA);
    TraceInfo info;
    info.pools = {"default", "(0, 1)"};

    const auto report = verify(trace.build(info), *parse_policy("torch"), {});

    REQUIRE(report);
    CHECK(report->mismatches == 0);
    CHECK(fact(*report, Fact::ended_pool).pool == PoolId{1});
}

TEST_CASE("a retry's wait may complete a free, too late for its own request", "[verify]") {
    const auto writer = [] {
        return RecordWriter().grow(0, 12_MiB, kA, 12_MiB).retire(0).finish(0).gone(kA, 12_MiB);
    };

    // Its request would have fitted into what was freed, had it been there in time.
    const VerifyReport report = writer().grow(1, 12_MiB, kB, 12_MiB).verified("torch:limit=20MiB");
    CHECK(report.mismatches == 0);
    CHECK(report.stats.retries == 1);
    CHECK(fact(report, Fact::late_completions).count == 1);

    // With room for both there was no reason to retry, and emptied caches leave the same.
    const VerifyReport roomy = writer().grow(1, 12_MiB, kB, 12_MiB).verified("torch:limit=30MiB");
    CHECK(roomy.stats.retries == 0);
    CHECK(roomy.inferred_trims == 1);
}

TEST_CASE("a completed free is not left lying by the next request", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .grow(0, 12_MiB, kA, 12_MiB)
                                    .retire(0)
                                    .finish(0)
                                    .grow(1, 12_MiB, kB, 12_MiB)
                                    .left(kA, 12_MiB)
                                    .left(kB, 12_MiB, kActive)
                                    .verified("torch:limit=64MiB");

    CHECK(report.mismatches > 0);
}

TEST_CASE("a free that waits is not reused before its end", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .grow(0, 12_MiB, kA, 12_MiB)
                                    .retire(0)
                                    .take(1, 12_MiB, kA)
                                    .finish(0)
                                    .left(kA, 12_MiB, kActive)
                                    .verified();

    CHECK(report.mismatches > 0);
}

TEST_CASE("a request refused in a scope leaves the caches alone", "[verify]") {
    const auto writer = [] { return RecordWriter().grow(0, 40_MiB, kA, 40_MiB).free(0); };

    const VerifyReport report = writer().refused(50_MiB, 64_GiB).verified("torch:limit=64MiB");
    CHECK(report.mismatches == 0);
    CHECK(count(report, Fact::refused_in_scope) == 1);
    CHECK(report.stats.retries == 0);

    // Where a cached block fits there is no refusal, in whatever scope.
    CHECK(
        writer().refused(30_MiB, 64_GiB).left(kA, 40_MiB).verified("torch:limit=64MiB").mismatches >
        0);
}

TEST_CASE("a device may be full for reasons of its own", "[verify]") {
    const auto writer = [] { return RecordWriter().grow(0, 40_MiB, kA, 40_MiB); };

    const VerifyReport report = writer().refused(100_MiB).verified();
    CHECK(report.mismatches == 0);
    CHECK(fact(report, Fact::device_full).event == 2);
    CHECK(report.stats.retries == 1);

    CHECK(count(writer().refused(100_MiB).verified("torch", 100_MiB), Fact::device_full) == 0);
    CHECK(writer().free(0).refused(30_MiB).left(kA, 40_MiB).verified().mismatches > 0);
}

TEST_CASE("a retry on a full device is told from caches that the program emptied", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .grow(0, 40_MiB, kA, 40_MiB)
                                    .free(0)
                                    .gone(kA, 40_MiB)
                                    .refused(80_MiB)
                                    .verified("torch", 70_MiB);

    CHECK(report.mismatches == 0);
    CHECK(report.stats.retries == 1);
    CHECK(report.inferred_trims == 0);
}

TEST_CASE("a switch of expandable_segments shows in the next memory taken", "[verify]") {
    const auto writer = [](Bytes pages) {
        return RecordWriter().grow(0, 12_MiB, kA, 12_MiB).map(kB, pages).take(1, 12_MiB, kB);
    };

    const VerifyReport report = writer(20_MiB).verified();
    CHECK(report.mismatches == 0);
    CHECK(count(report, Fact::switched_segments) == 1);
    CHECK(fact(report, Fact::switched_segments).event == 2);
    CHECK(report.stats.maps == 1);

    CHECK(writer(40_MiB).verified().mismatches > 0);  // one page would have been enough
}

TEST_CASE("switches are inferred both ways", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .map(kB, 20_MiB)
                                    .take(0, 20_MiB, kB)
                                    .grow(1, 12_MiB, kA, 12_MiB)
                                    .map(kB + 20_MiB, 20_MiB)
                                    .take(2, 13_MiB, kB + 20_MiB)
                                    .verified("torch:expandable_segments:True");

    CHECK(report.mismatches == 0);
    CHECK(count(report, Fact::switched_segments) == 2);
}

TEST_CASE("a limit that nobody recorded is found between what went and what didn't", "[verify]") {
    const auto writer = [](Bytes device_free) {
        return RecordWriter()
            .grow(0, 40_MiB, kA, 40_MiB)
            .grow(1, 12_MiB, kB, 12_MiB)
            .refused(30_MiB, device_free);
    };

    const VerifyReport report = writer(64_GiB).verified();
    CHECK(report.mismatches == 0);
    const Bytes limit = fact(report, Fact::limit).count;
    CHECK(limit >= 52_MiB);
    CHECK(limit < 82_MiB);
    CHECK(limit == 64_MiB);  // the roundest

    CHECK(count(writer(64_GiB).verified("torch:limit=70MiB"), Fact::limit) == 0);
    CHECK(count(writer(10_MiB).verified(), Fact::limit) == 0);  // the device was full
}

TEST_CASE("no limit explains that more was granted later than was refused", "[verify]") {
    const VerifyReport report = RecordWriter()
                                    .grow(0, 40_MiB, kA, 40_MiB)
                                    .refused(30_MiB, 64_GiB)
                                    .grow(1, 60_MiB, kB, 60_MiB)
                                    .verified();

    CHECK(count(report, Fact::limit) == 0);
}
