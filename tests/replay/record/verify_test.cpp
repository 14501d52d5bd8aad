// verify: finds what differs, where it begins, and infers what the record leaves out.
#include "replay/record/verify.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;

namespace {

constexpr std::uint64_t kSmall = 0x10000000;
constexpr std::uint64_t kLarge = 0x20000000;

VerifyReport verified(const TraceBuilder& trace, const std::string& policy = "torch",
                      VerifyOptions options = {}) {
    const auto spec = parse_policy(policy);
    REQUIRE(spec);
    const auto report = verify(trace.build(), *spec, options);
    REQUIRE(report);
    return *report;
}

TraceBuilder small_program() {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kSmall, 2_MiB).allocate(0, 100, kSmall);
    trace.allocate(1, 1000, kSmall + 512);
    trace.free(0).allocate(2, 512, kSmall);
    return trace;
}

}  // namespace

TEST_CASE("verify counts every decision of a faithful record", "[verify]") {
    const VerifyReport report = verified(small_program());

    CHECK(report.mismatches == 0);
    CHECK(report.decisions == 4);  // three addresses and a segment
    CHECK(report.events == 5);
    CHECK(report.peak.reserved == 2_MiB);
    CHECK_FALSE(report.first_mismatch);
}

TEST_CASE("verify names the first address that differs", "[verify]") {
    TraceBuilder trace = small_program();
    trace.allocate(0, 512, kSmall + 4096);

    const VerifyReport report = verified(trace);

    CHECK(report.mismatches == 1);
    REQUIRE(report.first_mismatch);
    CHECK(report.first_mismatch->event == 5);
    CHECK(report.first_mismatch->expected.find("0x10001000") != std::string::npos);
    CHECK(report.first_mismatch->actual.find("0x10000600") != std::string::npos);
    CHECK_FALSE(report.first_mismatch->neighbourhood.empty());
}

TEST_CASE("verify notices a segment that the record lacks, and one too many", "[verify]") {
    TraceBuilder lacking = small_program();
    lacking.allocate(3, 2_MiB, kLarge);
    CHECK(verified(lacking).mismatches == 2);  // the segment and where the block lies

    TraceBuilder extra = small_program();
    extra.segment(EventKind::segment_alloc, kLarge, 2_MiB).allocate(3, 512, kSmall + 1536);
    CHECK(verified(extra).mismatches == 1);
}

TEST_CASE("verify infers that the caches were emptied", "[verify]") {
    TraceBuilder trace = small_program();
    trace.free(1).free(2).segment(EventKind::segment_free, kSmall, 2_MiB);
    trace.segment(EventKind::segment_alloc, kLarge, 2_MiB).allocate(0, 100, kLarge);

    const VerifyReport report = verified(trace);

    CHECK(report.mismatches == 0);
    CHECK(report.inferred_trims == 1);
    CHECK(report.stats.retries == 0);
}

TEST_CASE("verify prefers a retry where the limit explains the releases", "[verify]") {
    TraceBuilder trace = small_program();
    trace.free(1).free(2).segment(EventKind::segment_free, kSmall, 2_MiB);
    trace.segment(EventKind::segment_alloc, kLarge, 12_MiB).allocate(0, 12_MiB, kLarge);

    const VerifyReport report = verified(trace, "torch:limit=13MiB");

    CHECK(report.mismatches == 0);
    CHECK(report.inferred_trims == 0);
    CHECK(report.stats.retries == 1);
}

TEST_CASE("verify compares refusals", "[verify]") {
    TraceBuilder refused = small_program();
    refused.add({.size = 30_MiB, .address = 1_GiB, .kind = EventKind::out_of_memory});

    CHECK(verified(refused, "torch:limit=20MiB").mismatches == 0);
    CHECK(verified(refused, "torch:limit=100MiB").mismatches >= 1);
}

TEST_CASE("verify starts from a preamble", "[verify]") {
    TraceBuilder trace;
    trace.add(
        {.size = 20_MiB, .address = kLarge, .kind = EventKind::segment_alloc, .flags = kPreamble});
    trace.add(
        {.size = 3_MiB, .address = kLarge + 2_MiB, .kind = EventKind::block, .flags = kPreamble});
    trace.add({.size = 3_MiB - 7, .address = kLarge + 2_MiB, .slot = 0, .flags = kPreamble});
    trace.allocate(1, 2_MiB, kLarge).free(0).allocate(2, 4_MiB, kLarge + 2_MiB);

    const VerifyReport report = verified(trace);

    CHECK(report.mismatches == 0);
    CHECK(report.decisions == 2);
}

TEST_CASE("verify compares the state at the end with the snapshot", "[verify]") {
    TraceBuilder trace = small_program();
    trace.add({.size = 2_MiB, .address = kSmall, .kind = EventKind::final_segment});
    trace.add({.size = 512, .address = kSmall, .kind = EventKind::final_block, .flags = kActive});
    trace.add(
        {.size = 1024, .address = kSmall + 512, .kind = EventKind::final_block, .flags = kActive});
    TraceBuilder wrong = trace;
    trace.add({.size = 2_MiB - 1536, .address = kSmall + 1536, .kind = EventKind::final_block});
    wrong.add({.size = 2_MiB - 1536,
               .address = kSmall + 1536,
               .kind = EventKind::final_block,
               .flags = kActive});

    CHECK(verified(trace).mismatches == 0);
    CHECK(verified(trace).final_blocks == 3);
    CHECK(verified(wrong).mismatches == 1);
}

TEST_CASE("verify says so when there is nothing to compare with", "[verify]") {
    TraceBuilder trace;
    trace.allocate(0, 100).free(0);

    const auto report = verify(trace.build(), *parse_policy("torch"), {});

    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::unsupported);
}
