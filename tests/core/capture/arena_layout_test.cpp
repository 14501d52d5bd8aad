// Following a plan: as planned where that is safe, and elsewhere where it is not.
#include "core/capture/arena_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "core/capture/dry_run.h"
#include "tests/support/property.h"

namespace tidemark {
namespace {

using support::counterexample;
using support::effort;

constexpr Address kFloor{0x200000};
constexpr StreamId kOne{1};
constexpr StreamId kTwo{2};

ArenaLayout planned_from(const DryRun& run) {
    const Result<Plan> plan = run.plan();
    REQUIRE(plan);
    return {kFloor, *plan, run.allocations()};
}

ArenaLayout::Placement take(ArenaLayout& layout, const Request& request) {
    const ArenaLayout::Placement placement = layout.choose(request);
    layout.take(request, placement);
    return placement;
}

// Two allocations after one another, each of `size`.
DryRun one_after_another(Bytes size, StreamId first, StreamId second, bool edge = false) {
    DryRun run;
    run.deallocate(run.allocate({.size = size, .stream = first}), false);
    if (edge)
        run.edge(first, second);
    run.deallocate(run.allocate({.size = size, .stream = second}), false);
    return run;
}

TEST_CASE("requests that come as planned go where the plan says") {
    ArenaLayout layout = planned_from(one_after_another(1000, kOne, kOne));
    const auto first = take(layout, {.size = 1000, .stream = kOne});
    CHECK(layout.give(first.address, {{kOne}}) == BumpArena::Freed::freed);
    const auto second = take(layout, {.size = 1000, .stream = kOne});
    CHECK(first.address == kFloor);
    CHECK(second.address == kFloor);
    CHECK(layout.high_water() == kFloor + 1024);
    CHECK(layout.deviations() == 0);
}

TEST_CASE("a planned placement in which somebody still lives is not given") {
    ArenaLayout layout = planned_from(one_after_another(1000, kOne, kOne));
    const auto first = take(layout, {.size = 1000, .stream = kOne});
    const auto second = take(layout, {.size = 1000, .stream = kOne});
    CHECK(second.address == first.address + 1024);
    CHECK(layout.deviations() == 1);
}

TEST_CASE(
    "a planned placement that another stream may still use is not given, unless it is ordered") {
    const DryRun run = one_after_another(1000, kOne, kOne);
    ArenaLayout layout = planned_from(run);
    const auto first = take(layout, {.size = 1000, .stream = kOne});
    layout.give(first.address, {{kOne, kTwo}});
    CHECK(layout.choose({.size = 1000, .stream = kOne}).address != first.address);
    layout.edge(kTwo, kOne);
    CHECK(layout.choose({.size = 1000, .stream = kOne}).address == first.address);
}

TEST_CASE("bytes pass between streams along an edge, in the plan and when it is followed") {
    const DryRun run = one_after_another(1000, kOne, kTwo, true);
    ArenaLayout layout = planned_from(run);
    const auto first = take(layout, {.size = 1000, .stream = kOne});
    layout.give(first.address, {{kOne}});
    SECTION("the edge is there again") {
        layout.edge(kOne, kTwo);
        CHECK(take(layout, {.size = 1000, .stream = kTwo}).address == first.address);
        CHECK(layout.deviations() == 0);
    }
    SECTION("the edge is missing") {
        CHECK(take(layout, {.size = 1000, .stream = kTwo}).address != first.address);
        CHECK(layout.deviations() == 1);
    }
}

TEST_CASE("requests that are left out or put in are found out, and the rest goes on as planned") {
    DryRun run;
    for (const Bytes size : {Bytes{1000}, Bytes{2000}, Bytes{3000}, Bytes{4000}})
        run.allocate({.size = size, .stream = kOne});
    ArenaLayout layout = planned_from(run);
    const ArenaLayout::Placement extra = take(layout, {.size = 77, .stream = kOne});
    CHECK(extra.planned == ArenaLayout::kUnplanned);
    CHECK(take(layout, {.size = 1000, .stream = kOne}).planned == 0);
    CHECK(take(layout, {.size = 4000, .stream = kOne}).planned == 3);
    CHECK(layout.deviations() == 3);
    CHECK(take(layout, {.size = 2000, .stream = kOne}).planned == ArenaLayout::kUnplanned);
}

TEST_CASE("without a plan every address is handed out once") {
    ArenaLayout layout(kFloor);
    const auto first = take(layout, {.size = 1, .stream = kOne});
    CHECK(layout.give(first.address, {{kOne}}) == BumpArena::Freed::freed);
    CHECK(layout.give(first.address, {{kOne}}) == BumpArena::Freed::double_free);
    CHECK(layout.give(first.address + 512, {{kOne}}) == BumpArena::Freed::unknown);
    CHECK(take(layout, {.size = 1, .stream = kOne}).address == first.address + 256);
    CHECK(layout.deviations() == 0);
    layout.skip_to(kFloor + 4096);
    CHECK(take(layout, {.size = 1, .stream = kOne}).address == kFloor + 4096);
}

// What a program does; a run of it follows the plan of another.
struct Move {
    enum class Kind : std::uint8_t { allocate, deallocate, edge } kind = Kind::allocate;
    Bytes size = 0;
    StreamId stream = kOne;
    StreamId other = kOne;
    std::uint32_t which = 0;
    Bytes alignment = 1;
};

std::ostream& operator<<(std::ostream& out, const Move& move) {
    return out << static_cast<int>(move.kind) << " size " << move.size << " stream "
               << to_integer(move.stream) << " other " << to_integer(move.other) << " which "
               << move.which;
}

rc::Gen<Move> moves() {
    const auto kinds = rc::gen::weightedElement<Move::Kind>(
        {{5, Move::Kind::allocate}, {4, Move::Kind::deallocate}, {1, Move::Kind::edge}});
    const auto parts = rc::gen::tuple(
        kinds, rc::gen::inRange<Bytes>(0, 2000), rc::gen::inRange<std::uint32_t>(1, 4),
        rc::gen::inRange<std::uint32_t>(1, 4), rc::gen::inRange<std::uint32_t>(0, 16),
        rc::gen::weightedElement<Bytes>({{6, 1}, {1, 4096}}));
    return rc::gen::map(parts, [](const auto& values) {
        const auto& [kind, size, stream, other, which, alignment] = values;
        return Move{kind, size, StreamId{stream}, StreamId{other}, which, alignment};
    });
}

using Moves = std::vector<Move>;

DryRun dry(const Moves& program) {
    DryRun run;
    std::vector<std::uint32_t> live;
    for (const Move& move : program) {
        if (move.kind == Move::Kind::allocate) {
            live.push_back(run.allocate(
                {.size = move.size, .alignment = move.alignment, .stream = move.stream}));
        } else if (move.kind == Move::Kind::edge) {
            run.edge(move.stream, move.other);
        } else if (!live.empty()) {
            const std::size_t index = move.which % live.size();
            run.deallocate(live[index], false);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
    return run;
}

// Who had bytes, and who is known to run after them, kept the slow way.
struct Past {
    ArenaLayout::Placement placement;
    bool live = true;
    std::set<StreamId> after;  // streams that run after its end
};

// Follows the plan with another program; returns false if bytes are shared by what may meet.
bool is_safe(ArenaLayout layout, const Moves& program) {
    std::vector<Past> past;
    std::vector<StreamId> streams;
    std::vector<std::size_t> live;
    for (const Move& move : program) {
        if (move.kind == Move::Kind::edge) {
            layout.edge(move.stream, move.other);
            for (Past& one : past) {
                if (!one.live && one.after.count(move.stream) != 0)
                    one.after.insert(move.other);
            }
        } else if (move.kind == Move::Kind::deallocate) {
            if (live.empty())
                continue;
            const std::size_t index = move.which % live.size();
            const std::size_t number = live[index];
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
            past[number].live = false;
            past[number].after.insert(streams[number]);
            const StreamId users[] = {streams[number]};
            if (layout.give(past[number].placement.address, users) != BumpArena::Freed::freed)
                return false;
        } else {
            const Request request{move.size, move.alignment, move.stream};
            const ArenaLayout::Placement placement = take(layout, request);
            if (to_integer(placement.address) % move.alignment != 0 || placement.size < move.size)
                return false;
            for (const Past& one : past) {
                const bool share = placement.address < one.placement.address + one.placement.size &&
                                   one.placement.address < placement.address + placement.size;
                if (share && (one.live || one.after.count(move.stream) == 0))
                    return false;
            }
            live.push_back(past.size());
            past.push_back({placement, true, {}});
            streams.push_back(move.stream);
        }
    }
    return true;
}

TEST_CASE("a program that keeps to its plan gets all its places, in the plan's height",
          "[property]") {
    const std::string failure = counterexample(effort(300), [] {
        const Moves program = *rc::gen::scale(2.0, rc::gen::container<Moves>(moves()));
        const DryRun run = dry(program);
        const Result<Plan> plan = run.plan();
        RC_ASSERT(plan.has_value());
        ArenaLayout layout(kFloor, *plan, run.allocations());
        RC_ASSERT(is_safe(layout, program));
        std::vector<std::pair<Address, StreamId>> live;
        for (const Move& move : program) {
            if (move.kind == Move::Kind::allocate) {
                live.emplace_back(
                    take(layout,
                         {.size = move.size, .alignment = move.alignment, .stream = move.stream})
                        .address,
                    move.stream);
            } else if (move.kind == Move::Kind::edge) {
                layout.edge(move.stream, move.other);
            } else if (!live.empty()) {
                const std::size_t index = move.which % live.size();
                const StreamId users[] = {live[index].second};
                layout.give(live[index].first, users);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
            }
        }
        RC_ASSERT(layout.deviations() == 0U);
        RC_ASSERT(layout.high_water() <= kFloor + plan->height);
    });
    INFO(failure);
    CHECK(failure.empty());
}

TEST_CASE("a program that departs from its plan never gets bytes that may be in use",
          "[property]") {
    const std::string failure = counterexample(effort(500), [] {
        const Moves program = *rc::gen::scale(2.0, rc::gen::container<Moves>(moves()));
        Moves other = program;
        const auto changes = *rc::gen::container<std::vector<std::pair<std::uint32_t, Move>>>(
            rc::gen::pair(rc::gen::inRange<std::uint32_t>(0, 200), moves()));
        for (const auto& [at, move] : changes) {
            const auto placement =
                other.begin() + static_cast<std::ptrdiff_t>(at % (other.size() + 1));
            if (at % 2 == 0 || placement == other.end())
                other.insert(placement, move);
            else
                other.erase(placement);
        }
        const DryRun run = dry(program);
        const Result<Plan> plan = run.plan();
        RC_ASSERT(plan.has_value());
        RC_ASSERT(is_safe(ArenaLayout(kFloor, *plan, run.allocations()), other));
    });
    INFO(failure);
    CHECK(failure.empty());
}

}  // namespace
}  // namespace tidemark
