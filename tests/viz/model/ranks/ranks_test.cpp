// Ranks: which runs they are, who needs most, and where they diverge, against the plain meaning:
// request by request, nanosecond by nanosecond.
#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "core/base/text.h"
#include "replay/timeline/first_above.h"
#include "tests/support/small_history.h"
#include "viz/model/ranks/divergence_text.h"
#include "viz/model/ranks/rank_divergence.h"
#include "viz/model/ranks/rank_names.h"
#include "viz/model/ranks/rank_table.h"

using namespace tidemark;
using namespace tidemark::viz;
using tidemark::support::SmallHistory;

namespace {

constexpr std::uint64_t kSegments = 0x10000000;

Session session_of(const std::vector<std::string>& paths) {
    Session session;
    for (const std::string& path : paths) {
        ViewedRun run;
        run.path = run.trace_name = run.label = path;
        run.state.phase = LoadState::Phase::ready;
        session.runs.push_back(std::move(run));
    }
    return session;
}

std::vector<std::string> numbers_in(const Session& session, std::size_t shown = 0) {
    Selection selection;
    selection.run = shown;
    std::vector<std::string> numbers;
    for (const NamedRank& rank : find_ranks(session, selection))
        numbers.push_back(rank.number);
    CHECK(has_ranks(session, selection) == !numbers.empty());
    return numbers;
}

using Numbers = std::vector<std::string>;

// A rank that is asked for `sizes`, a request each `pace` nanoseconds, and reserves a MiB more at
// some of them.
struct MadeRank {
    std::vector<Bytes> sizes;
    std::vector<Bytes> grows;  // reserved with that request; 0 = nothing
    Nanoseconds pace = 10;
};

std::shared_ptr<const History> history_of(const MadeRank& rank) {
    SmallHistory history;
    Nanoseconds time = 0;
    std::uint64_t address = kSegments;
    for (std::size_t i = 0; i < rank.sizes.size(); ++i) {
        time += rank.pace;
        if (rank.grows[i] > 0)
            history.at(time).segment(address, rank.grows[i]);
        address += rank.grows[i];
        history.at(time).allocate(i, rank.sizes[i]);
        if (i % 3 == 2)
            history.at(time + rank.pace / 2).free(i);
    }
    return history.build();
}

MadeRank random_rank(std::mt19937& random, std::size_t requests) {
    MadeRank rank;
    for (std::size_t i = 0; i < requests; ++i) {
        rank.sizes.push_back(512 * (1 + random() % 4));
        rank.grows.push_back(random() % 4 == 0 ? Bytes{1_MiB} * (1 + random() % 3) : 0);
    }
    return rank;
}

// --- the plain meanings --------------------------------------------------------------------------

std::vector<std::optional<RequestDivergence>> plain_requests(const std::vector<MadeRank>& ranks,
                                                             const std::vector<RankHistory>& all) {
    std::vector<std::optional<RequestDivergence>> left(ranks.size());
    std::vector<bool> together(ranks.size(), true);
    for (std::size_t at = 0; at < 1000; ++at) {
        std::map<Bytes, std::vector<std::size_t>> groups;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            together[rank] = together[rank] && at < ranks[rank].sizes.size();
            if (together[rank])
                groups[ranks[rank].sizes[at]].push_back(rank);
        }
        std::pair<Bytes, std::vector<std::size_t>> best;
        for (const auto& group : groups)
            if (group.second.size() > best.second.size() ||
                (group.second.size() == best.second.size() &&
                 group.second.front() < best.second.front()))
                best = group;
        for (const auto& [size, members] : groups)
            for (const std::size_t rank : members) {
                if (size == best.first)
                    continue;
                together[rank] = false;
                const History& history = *all[rank].history;
                left[rank] = {at, history.block(static_cast<BlockIndex>(at)).born, size,
                              best.first};
            }
    }
    return left;
}

Bytes plain_reserved(const History& history, Nanoseconds time) {
    Bytes bytes = 0;
    for (EventIndex event = 0; event < history.counts().events; ++event)
        if (history.time(event) <= time)
            bytes = history.values(event)[Series::reserved];
    return bytes;
}

std::optional<ReservedDivergence> plain_reserved_divergence(const History& a, const History& b,
                                                            std::uint64_t alike, Bytes threshold) {
    const auto apart = [](Bytes x, Bytes y) {
        return static_cast<std::int64_t>(x) - static_cast<std::int64_t>(y);
    };
    Nanoseconds begin = 0;
    for (BlockIndex i = 0; i < alike; ++i) {
        const EventIndex of_a = a.block(i).born;
        const EventIndex of_b = b.block(i).born;
        const std::int64_t more =
            apart(a.values(of_a)[Series::reserved], b.values(of_b)[Series::reserved]);
        if (static_cast<Bytes>(std::abs(more)) > threshold)
            return ReservedDivergence{a.time(of_a), more, true};
        begin = std::max(a.time(of_a), b.time(of_b));
    }
    const Nanoseconds end = std::min(a.end(AxisUnit::time), b.end(AxisUnit::time));
    for (Nanoseconds time = begin; time < end; ++time) {
        const std::int64_t more = apart(plain_reserved(a, time), plain_reserved(b, time));
        if (static_cast<Bytes>(std::abs(more)) > threshold)
            return ReservedDivergence{time, more, false};
    }
    return std::nullopt;
}

// Runs that are ranks, from histories.
Session ranks_session(const std::vector<std::shared_ptr<const History>>& histories) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < histories.size(); ++i)
        paths.push_back("run/rank" + std::to_string(i) + "/snapshot.pickle");
    Session session = session_of(paths);
    for (std::size_t i = 0; i < histories.size(); ++i)
        session.runs[i].history = histories[i];
    return session;
}

}  // namespace

TEST_CASE("ranks are files whose names differ in numbers only, by rising number", "[viz][ranks]") {
    CHECK(numbers_in(session_of({"run/rank10/a.pickle", "run/rank2/a.pickle",
                                 "run/rank0/a.pickle"})) == Numbers{"0", "2", "10"});
    CHECK(numbers_in(session_of({"rank_007.tmk", "rank_010.tmk"})) == Numbers{"7", "10"});
    CHECK(numbers_in(session_of({"a.tmk", "b.tmk"})).empty());
    CHECK(numbers_in(session_of({"rank0.tmk"})).empty());
    CHECK(numbers_in(session_of({"rank0.tmk", "rank0.tmk"})).empty());
    CHECK(numbers_in(session_of({"generate:training:seed=1", "generate:training:seed=2"})).empty());
    // Another file beside them changes nothing, and isn't one of them.
    const Session mixed = session_of({"rank0.tmk", "other.tmk", "rank1.tmk"});
    CHECK(numbers_in(mixed) == Numbers{"0", "1"});
    CHECK(numbers_in(mixed, 1).empty());
}

TEST_CASE("of several numbers in the names the rank is the one that tells them apart",
          "[viz][ranks]") {
    CHECK(numbers_in(session_of({"17_rank3_901.tmk", "15_rank4_900.tmk"})) == Numbers{"3", "4"});
    CHECK(numbers_in(session_of({"node0/gpu0.tmk", "node0/gpu1.tmk", "node1/gpu0.tmk"})) ==
          Numbers{"0/0", "0/1", "1/0"});
    CHECK(numbers_in(session_of({"run2/p1.tmk", "run2/p3.tmk"})) == Numbers{"1", "3"});
}

TEST_CASE("ranks are compared under the shown run's policy", "[viz][ranks]") {
    Session session = session_of({"rank0.tmk", "rank0.tmk", "rank1.tmk", "rank1.tmk"});
    for (std::size_t i = 0; i < 4; ++i)
        session.runs[i].policy = i % 2 == 0 ? "torch" : "vpmm";
    Selection selection;
    selection.run = 3;
    const std::vector<NamedRank> ranks = find_ranks(session, selection);
    REQUIRE(ranks.size() == 2);
    CHECK(ranks[0].run == 1);
    CHECK(ranks[1].run == 3);
}

TEST_CASE("the first event above a value is the first of all", "[viz][ranks]") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const auto history = support::random_history(seed, 700);
        const EventIndex peak = history->peak_event(Series::reserved);
        const Bytes most = history->values(peak)[Series::reserved];
        for (const Bytes bytes : {Bytes{0}, most / 3, most / 2, most - 1, most}) {
            EventIndex expected = kNever;
            for (EventIndex event = 0; event < history->counts().events; ++event)
                if (history->values(event)[Series::reserved] > bytes) {
                    expected = event;
                    break;
                }
            CHECK(first_above(*history, Series::reserved, bytes) == expected);
        }
    }
}

TEST_CASE("where ranks diverge is where a plain comparison finds it", "[viz][ranks]") {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const std::size_t requests = 20 + random() % 60;
        const MadeRank usual = random_rank(random, requests);
        std::vector<MadeRank> made(2 + random() % 4, usual);
        for (MadeRank& rank : made) {
            rank.pace = 5 + static_cast<Nanoseconds>(random() % 12);
            if (random() % 2 == 0)
                rank.sizes[random() % requests] += 512;
            if (random() % 2 == 0)
                rank.grows[random() % requests] += 1_MiB * (1 + random() % 6);
            if (random() % 4 == 0)
                rank.sizes.resize(1 + random() % requests);
        }
        std::vector<RankHistory> ranks;
        for (const MadeRank& rank : made)
            ranks.push_back({history_of(rank), 0});
        const std::size_t reference = random() % made.size();
        const Bytes threshold = 2_MiB;
        const Cancelled never{false};
        const RankDivergences found = find_divergences(ranks, reference, threshold, never);
        CHECK(found.requests == plain_requests(made, ranks));
        const auto alike = [&](std::size_t rank) {
            return found.requests[rank] ? found.requests[rank]->index : made[rank].sizes.size();
        };
        for (std::size_t rank = 0; rank < made.size(); ++rank) {
            const auto expected =
                rank == reference
                    ? std::nullopt
                    : plain_reserved_divergence(*ranks[rank].history, *ranks[reference].history,
                                                std::min(alike(rank), alike(reference)), threshold);
            CHECK(found.reserved[rank] == expected);
        }
    }
}

TEST_CASE("ranks that do the same at other speeds don't diverge", "[viz][ranks]") {
    std::mt19937 random(3);
    MadeRank rank = random_rank(random, 200);
    std::vector<std::shared_ptr<const History>> histories;
    std::vector<RankHistory> ranks;
    for (const Nanoseconds pace : {10, 17, 40}) {
        rank.pace = pace;
        histories.push_back(history_of(rank));
        ranks.push_back({histories.back(), 0});
    }
    const Cancelled never{false};
    const RankDivergences found = find_divergences(ranks, 0, 0, never);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        CHECK_FALSE(found.requests[i]);
        CHECK_FALSE(found.reserved[i]);
    }
    const Session session = ranks_session(histories);
    RankTable table;
    REQUIRE(table.look(session, {}));
    CHECK(table.headline().starts_with("All ranks reserve about the same: "));
    CHECK(divergence_text(session, table.rows(), found, 0, 2_MiB) ==
          "All ranks request the same sizes in the same order. Reserved memory: no rank differs "
          "from rank 0 by more than 2.00 MiB.");
}

TEST_CASE("requests of the preamble are not compared", "[viz][ranks]") {
    std::mt19937 random(5);
    MadeRank rank = random_rank(random, 30);
    rank.grows.assign(30, 0);
    const auto one = history_of(rank);
    std::swap(rank.sizes[0], rank.sizes[1]);
    rank.sizes[0] += 512;
    const auto other = history_of(rank);
    const Cancelled never{false};
    const std::vector<RankHistory> whole{{one, 0}, {other, 0}};
    CHECK(find_divergences(whole, 0, 1_MiB, never).requests[1]);
    const std::vector<RankHistory> behind{{one, 2}, {other, 2}};
    CHECK_FALSE(find_divergences(behind, 0, 1_MiB, never).requests[1]);
}

TEST_CASE("the rank that reserves most is named with when it passes the median", "[viz][ranks]") {
    std::vector<std::shared_ptr<const History>> histories;
    for (const Bytes more : {0_MiB, 3_MiB, 400_MiB, 1_MiB}) {
        SmallHistory history;
        history.at(100).segment(kSegments, 100_MiB);
        history.at(2'000).allocate(1, 50_MiB);
        if (more > 0)
            history.at(7'000).segment(2 * kSegments + 0x10000000, more);
        if (more == 400_MiB)
            history.at(9'000).mark(MarkKind::out_of_memory, 1_GiB);
        histories.push_back(history.build());
    }
    Session session = ranks_session(histories);
    session.runs.push_back(ViewedRun{});
    session.runs.back().path = "run/rank4/snapshot.pickle";
    session.runs.back().state.phase = LoadState::Phase::failed;
    RankTable table;
    REQUIRE(table.look(session, {}));
    CHECK(table.headline() ==
          "Rank 2 reserves 500 MiB, 399 MiB more than the median, which it passes at 7.00 us. "
          "Rank 2 was out of memory at 9.00 us. Rank 4 was not loaded.");
    CHECK(table.rows()[0].over_median == -static_cast<std::int64_t>(1_MiB));
    CHECK(table.rows()[3].over_median == 0);
    CHECK(table.rows()[2].refusals == 1);
    CHECK_FALSE(table.rows()[4].is_known);

    // What comes later is taken in.
    session.runs[4].history = histories[0];
    session.runs[4].state.phase = LoadState::Phase::ready;
    REQUIRE(table.look(session, {}));
    CHECK(table.known() == 5);
    CHECK(table.headline().find("not loaded") == std::string::npos);
}
