// Ranks: since when one requests more, whether ever more, in which step they diverge, and which of
// them request the same.
#include "replay/analysis/compare/ranks.h"

#include <functional>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;
using Groups = std::vector<std::vector<std::size_t>>;
using BytesOfStep = std::function<Bytes(int step)>;  // steps count from 1

constexpr int kSteps = 8;

// A recording of a rank. Slot 0 is for what a step frees again.
class RankBuilder {
  public:
    RankBuilder& begin() { return range(EventKind::range_begin); }

    RankBuilder& end() { return range(EventKind::range_end); }

    RankBuilder& request(Bytes size) {
        events_.allocate(0, size).free(0);
        return *this;
    }

    RankBuilder& keep(Bytes size) {
        events_.allocate(++kept_, size);
        return *this;
    }

    RankBuilder& steps(int count, const BytesOfStep& bytes) {
        for (int step = 1; step <= count; ++step)
            begin().request(bytes(step)).end();
        return *this;
    }

    VectorTrace build(std::uint64_t preamble = 0) const {
        TraceInfo info = info_;
        info.preamble_count = preamble;
        return events_.build(std::move(info));
    }

  private:
    RankBuilder& range(EventKind kind) {
        events_.add({.aux = info_.strings.intern("step"), .kind = kind});
        return *this;
    }

    TraceInfo info_;
    TraceBuilder events_;
    std::uint32_t kept_ = 0;
};

Bytes one_mib(int) {
    return 1_MiB;
}

VectorTrace rank_of(const BytesOfStep& bytes, int steps = kSteps) {
    return RankBuilder().steps(steps, bytes).build();
}

// Its step n keeps `kept(n)`.
VectorTrace keeping_rank(const BytesOfStep& kept) {
    RankBuilder builder;
    for (int step = 1; step <= kSteps; ++step) {
        builder.begin().request(1_MiB);
        if (kept(step) > 0)
            builder.keep(kept(step));
        builder.end();
    }
    return builder.build();
}

RankReport report_of(const std::vector<VectorTrace>& traces) {
    std::vector<NamedTrace> named;
    std::vector<RankRow> rows;
    for (const VectorTrace& trace : traces) {
        named.push_back({fmt::format("rank{}.tml", named.size()), &trace});
        rows.push_back({.name = named.back().name});
    }
    Result<RankReport> report = compare_ranks(named, std::move(rows));
    REQUIRE(report);
    return std::move(*report);
}

// Of a rank whose step n keeps `kept(n)`, and one that keeps nothing.
RankSpread spread_of(const BytesOfStep& kept) {
    const RankReport report = report_of({rank_of(one_mib), keeping_rank(kept)});
    REQUIRE(report.spread);
    return *report.spread;
}

TEST_CASE("a rank that keeps more in each step is said to grow", "[ranks]") {
    const RankReport report =
        report_of({rank_of(one_mib), keeping_rank([](int) { return 16_MiB; })});

    REQUIRE(report.spread);
    CHECK(report.spread->most == 1);
    CHECK(report.spread->step == kSteps);
    CHECK(report.spread->most_bytes == kSteps * 16_MiB);
    CHECK(report.spread->since == 1);
    CHECK(report.spread->growth_per_step == 16_MiB);
    CHECK(report.spread->grows_from() == 2);
    REQUIRE(report.divergence);
    CHECK(report.divergence->rank == 1);
    CHECK(report.divergence->step == 1);
    CHECK(report.groups == Groups{{0}, {1}});
}

TEST_CASE("growth is seen beside another rank's largest step", "[ranks]") {
    const RankReport report =
        report_of({rank_of([](int step) { return step == 2 ? 900_MiB : 1_MiB; }),
                   keeping_rank([](int) { return 16_MiB; })});

    REQUIRE(report.spread);
    CHECK(report.spread->step == 2);
    CHECK(report.spread->most == 0);
    CHECK(report.spread->last_most == 1);
    CHECK(report.spread->last_least == 0);
    CHECK(report.spread->since == 3);
    CHECK(report.spread->growth_per_step == 16_MiB);
}

TEST_CASE("growth is steady from the second step on, or from where the difference begins",
          "[ranks]") {
    // What the first two steps keep doesn't matter: the rises after the second one do.
    CHECK(spread_of([](int step) { return step <= 2 ? 99_MiB : 16_MiB; }).growth_per_step ==
          16_MiB);
    CHECK(spread_of([](int step) { return step % 2 == 0 ? 17_MiB : 16_MiB; }).growth_per_step ==
          16_MiB + 512_KiB);

    const RankSpread late = spread_of([](int step) { return step >= 5 ? 16_MiB : 0; });
    CHECK(late.since == 5);
    CHECK(late.growth_per_step == 16_MiB);
    CHECK(late.grows_from() == 5);
}

TEST_CASE("a difference that rises unevenly, seldom or not always is no growth", "[ranks]") {
    const RankSpread uneven = spread_of([](int step) { return step == 6 ? 20_MiB : 16_MiB; });
    CHECK(uneven.since == 1);
    CHECK(uneven.growth_per_step == 0);

    const RankSpread paused = spread_of([](int step) { return step == 6 ? 0 : 16_MiB; });
    CHECK(paused.since == 1);
    CHECK(paused.growth_per_step == 0);

    const RankSpread only_two_rises = spread_of([](int step) { return step >= 6 ? 16_MiB : 0; });
    CHECK(only_two_rises.since == 6);
    CHECK(only_two_rises.growth_per_step == 0);
}

TEST_CASE("a rank that is larger from the fifth step on is larger since then", "[ranks]") {
    const RankReport report =
        report_of({rank_of(one_mib), rank_of([](int step) { return step >= 5 ? 3_MiB : 1_MiB; })});

    REQUIRE(report.spread);
    CHECK(report.spread->most == 1);
    CHECK(report.spread->step == 5);
    CHECK(report.spread->since == 5);
    CHECK(report.spread->growth_per_step == 0);
    REQUIRE(report.divergence);
    CHECK(report.divergence->index == 4);
    CHECK(report.divergence->step == 5);
}

TEST_CASE("a rank that is larger in one step, or no longer, is larger since none", "[ranks]") {
    const auto since = [](const BytesOfStep& bytes) {
        const RankReport report = report_of({rank_of(one_mib), rank_of(bytes)});
        REQUIRE(report.spread);
        return report.spread->since;
    };
    CHECK(since([](int step) { return step == 5 ? 3_MiB : 1_MiB; }) == 0);
    CHECK(since([](int step) { return step < kSteps ? 3_MiB : 1_MiB; }) == 0);
    // The lead is interrupted; and in the end it is the other one's.
    CHECK(since([](int step) { return step == 5 ? 1_MiB : 3_MiB; }) == 6);
    CHECK(since([](int step) { return step == 5 ? 3_MiB : 512_KiB; }) == 6);
}

TEST_CASE("an allocation between two steps belongs to the later one", "[ranks]") {
    const auto step = [](const RankBuilder& odd, const RankBuilder& usual) {
        const RankReport report = report_of({usual.build(), odd.build(), usual.build()});
        REQUIRE(report.divergence);
        CHECK(report.divergence->rank == 1);
        return report.divergence->step;
    };
    const auto rank = [](Bytes before, Bytes between, Bytes after) {
        RankBuilder builder;
        builder.request(before).steps(6, one_mib).request(between).steps(2, one_mib);
        return builder.request(after);
    };
    const RankBuilder usual = rank(1_MiB, 1_MiB, 1_MiB);
    CHECK(step(rank(2_MiB, 1_MiB, 1_MiB), usual) == 1);
    CHECK(step(rank(1_MiB, 2_MiB, 1_MiB), usual) == 7);
    CHECK(step(rank(1_MiB, 1_MiB, 2_MiB), usual) == 0);  // after the last
}

TEST_CASE("ranks without steps diverge in none", "[ranks]") {
    const RankReport report = report_of({RankBuilder().request(1_MiB).request(2_MiB).build(),
                                         RankBuilder().request(1_MiB).request(3_MiB).build()});

    CHECK_FALSE(report.spread);
    REQUIRE(report.divergence);
    CHECK(report.divergence->index == 1);
    CHECK(report.divergence->step == 0);
    CHECK(report.groups == Groups{{0}, {1}});
}

TEST_CASE("equal ranks are one group without a difference", "[ranks]") {
    const RankReport report = report_of({rank_of(one_mib), rank_of(one_mib), rank_of(one_mib)});

    REQUIRE(report.spread);
    CHECK(report.spread->since == 0);
    CHECK(report.spread->growth_per_step == 0);
    CHECK_FALSE(report.divergence);
    CHECK(report.groups == Groups{{0, 1, 2}});
}

TEST_CASE("the ranks of a pipeline's stage are a group", "[ranks]") {
    std::vector<VectorTrace> traces;
    for (Bytes rank = 0; rank < 8; ++rank)
        traces.push_back(rank_of([rank](int) { return (1 + rank % 4) * 1_MiB; }));

    CHECK(report_of(traces).groups == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

TEST_CASE("ranks of a group request the same in the same order, up to the end", "[ranks]") {
    const auto rising = [](int step) { return static_cast<Bytes>(step) * 1_MiB; };
    const auto falling = [](int step) { return static_cast<Bytes>(kSteps + 1 - step) * 1_MiB; };
    const RankReport report =
        report_of({rank_of(rising), rank_of(falling), rank_of(rising, kSteps - 1), rank_of(rising),
                   rank_of(falling)});

    CHECK(report.groups == Groups{{0, 3}, {1, 4}, {2}});
    CHECK(report.rows[2].allocations == kSteps - 1);
}

TEST_CASE("what a rank had before its recording is not compared", "[ranks]") {
    const auto rank = [](Bytes before) {
        return RankBuilder().keep(before).steps(kSteps, one_mib).build(1);
    };
    const RankReport report = report_of({rank(5_MiB), rank(7_MiB)});

    CHECK(report.groups == Groups{{0, 1}});
    CHECK(report.rows[0].allocations == kSteps);
}

}  // namespace
}  // namespace tidemark
