// The sentence about ranks, word by word, and the same in JSON.
#include "replay/report/runs/ranks_report.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tidemark;

namespace {

// Ranks that request 1 MiB, and the last one 129 MiB.
RankReport ranks_of(std::size_t count) {
    RankReport report;
    for (std::size_t rank = 0; rank < count; ++rank)
        report.rows.push_back({.name = fmt::format("rank{}.tml", rank),
                               .allocations = 16,
                               .peak_requested = rank + 1 == count ? 129_MiB : 1_MiB});
    return report;
}

RankReport spread_ranks(std::uint64_t since, Bytes growth) {
    RankReport report = ranks_of(2);
    report.spread = RankSpread{.steps = 8,
                               .step = 8,
                               .most = 1,
                               .least = 0,
                               .most_bytes = 129_MiB,
                               .least_bytes = 1_MiB,
                               .last_most = 1,
                               .last_least = 0,
                               .since = since,
                               .growth_per_step = growth};
    return report;
}

RankDivergence divergence_in(std::uint64_t step) {
    RankDivergence where;
    where.rank = 1;
    where.others = 1;
    where.index = 1;
    where.event = 2;
    where.step = step;
    where.bytes = 16_MiB;
    where.usual_bytes = 1_MiB;
    return where;
}

const std::string kLimit = "rank1.tml sets the limit: it requests 129 MiB at its peak";
const std::string kSpread =
    kLimit +
    "; of the 8 steps that all ranks have, they differ most in step 8: rank1.tml requests "
    "129 MiB at its peak, rank0.tml 1.00 MiB";
const std::string kSame = "; all ranks request the same sizes in the same order";

// What is said of `groups` of ranks that diverge, at the end.
std::string groups_part(std::size_t ranks, std::vector<std::vector<std::size_t>> groups) {
    RankReport report = ranks_of(ranks);
    report.divergence = divergence_in(0);
    report.groups = std::move(groups);
    const std::string text = ranks_sentence(report);
    const std::string before = "rank0.tml 1.00 MiB";
    const std::size_t end = text.find(before);
    REQUIRE(end != std::string::npos);
    return text.substr(end + before.size());
}

}  // namespace

TEST_CASE("a difference between ranks comes with its growth, or its first step", "[report]") {
    CHECK(ranks_sentence(spread_ranks(0, 0)) == kSpread + kSame);
    CHECK(ranks_sentence(spread_ranks(1, 0)) == kSpread + kSame);
    CHECK(ranks_sentence(spread_ranks(5, 0)) ==
          kSpread + "; rank1.tml has requested more than rank0.tml since step 5" + kSame);
    CHECK(ranks_sentence(spread_ranks(1, 16_MiB)) ==
          kSpread +
              "; compared with rank0.tml, rank1.tml grows by 16.0 MiB with each step since step 2" +
              kSame);
    CHECK(ranks_sentence(spread_ranks(5, 16_MiB)) ==
          kSpread +
              "; compared with rank0.tml, rank1.tml grows by 16.0 MiB with each step since step 5" +
              kSame);

    RankReport equal = spread_ranks(5, 16_MiB);
    equal.spread->most_bytes = equal.spread->least_bytes;
    CHECK(ranks_sentence(equal) == kLimit + kSame);
}

TEST_CASE("where ranks diverge comes with the step, if it is in one", "[report]") {
    RankReport report = ranks_of(2);
    report.groups = {{0}, {1}};
    report.divergence = divergence_in(1'360);
    CHECK(ranks_sentence(report) ==
          kLimit +
              "; ranks diverge at allocation 2, in step 1,360 (event 2): rank1.tml requests "
              "16.0 MiB, rank0.tml 1.00 MiB");

    report.divergence = divergence_in(0);
    CHECK(ranks_sentence(report) ==
          kLimit +
              "; ranks diverge at allocation 2 (event 2): rank1.tml requests 16.0 MiB, "
              "rank0.tml 1.00 MiB");
}

TEST_CASE("ranks that request the same are listed where several groups do", "[report]") {
    CHECK(groups_part(8, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}) ==
          "; by the sizes they request, the ranks form 4 groups: rank0.tml and rank4.tml; "
          "rank1.tml and rank5.tml; rank2.tml and rank6.tml; rank3.tml and rank7.tml");
    CHECK(groups_part(10, {{0, 1, 2, 3}, {4}, {5, 6}, {7}, {8}, {9}}) ==
          "; by the sizes they request, the ranks form 6 groups: rank0.tml and 3 others; "
          "rank4.tml; rank5.tml and rank6.tml; rank7.tml; and 2 more");
    CHECK(groups_part(4, {{0, 2, 3}, {1}}).empty());
    CHECK(groups_part(3, {{0}, {1}, {2}}).empty());
}

TEST_CASE("ranks that only end earlier have no groups to be listed", "[report]") {
    RankReport report = ranks_of(4);
    report.rows[1].allocations = 12;
    report.rows[2].allocations = 8;
    report.groups = {{0, 3}, {1}, {2}};
    CHECK(ranks_sentence(report) == "rank3.tml sets the limit: it requests 129 MiB at its peak" +
                                        kSame + ", as far as they go");
}

TEST_CASE("the JSON of ranks has null for what there is not", "[report]") {
    RankReport found = spread_ranks(5, 16_MiB);
    found.divergence = divergence_in(3);
    found.groups = {{0}, {1}};
    const report::Json known = report::ranks_of(found);
    CHECK(known["spread"]["since_step"] == 5);
    CHECK(known["spread"]["growth_per_step_bytes"] == 16_MiB);
    CHECK(known["diverge"]["step"] == 3);
    CHECK(known["groups"].dump() == R"([["rank0.tml"],["rank1.tml"]])");

    RankReport none = spread_ranks(0, 0);
    none.divergence = divergence_in(0);
    none.groups = {{0, 1}};
    const report::Json nulls = report::ranks_of(none);
    CHECK(nulls["spread"]["since_step"].is_null());
    CHECK(nulls["spread"]["growth_per_step_bytes"].is_null());
    CHECK(nulls["diverge"]["step"].is_null());
    CHECK(nulls["groups"].dump() == R"([["rank0.tml","rank1.tml"]])");
}
