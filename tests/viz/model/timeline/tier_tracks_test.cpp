// Tracks of replays over tiers against their spans and levels one by one.
#include "viz/model/timeline/tier_tracks.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/property.h"
#include "tests/support/spaces.h"
#include "viz/model/timeline/timeline_columns.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::kDisk;
using support::kGpu;
using support::kGpu1;
using support::kHost;

namespace {

std::shared_ptr<const TierTracks> tracks_of(const TierRun& run) {
    const Cancelled go_on{false};
    return TierTracks::build(run, go_on);
}

// Levels and spans at random: spans of a track don't overlap.
TierRun random_run() {
    TierRun run;
    run.spaces = {{kGpu, 1000, 0}, {kGpu1, 1000, 0}, {kHost, 5000, 0}, {kDisk, 9000, 0}};
    run.links = {{kGpu, kHost, 0, 0, 0},
                 {kHost, kGpu, 0, 0, 0},
                 {kHost, kDisk, 0, 0, 0},
                 {kGpu, kGpu1, 0, 0, 0}};
    Nanoseconds time = 0;
    const int levels = *rc::gen::inRange(0, 400);
    for (int i = 0; i < levels; ++i) {
        time += *rc::gen::element<Nanoseconds>(0, 0, 1, 7, 100);
        const auto used = *rc::gen::inRange<Bytes>(0, 1000);
        run.levels.push_back({time, used, *rc::gen::inRange<Bytes>(0, used + 1),
                              *rc::gen::inRange<std::uint32_t>(0, 4)});
    }
    for (const SpanKind kind : {SpanKind::kernel, SpanKind::fetch_stall, SpanKind::copy}) {
        for (std::uint32_t track = 0; track < 4; ++track) {
            Nanoseconds begin = *rc::gen::inRange<Nanoseconds>(0, 50);
            const int spans = *rc::gen::inRange(0, 60);
            for (int i = 0; i < spans; ++i) {
                begin += *rc::gen::element<Nanoseconds>(0, 1, 30);
                const auto length = *rc::gen::inRange<Nanoseconds>(0, 40);
                run.timeline.push_back(
                    {begin, begin + length, *rc::gen::inRange<Bytes>(1, 1 << 20), 0, track, kind});
                begin += length;
            }
        }
    }
    return run;
}

Window random_window() {
    const Position begin = *rc::gen::inRange<Position>(0, 2500);
    return {begin, begin + *rc::gen::inRange<Position>(1, 3000)};
}

LevelColumn column_by_levels(const TierRun& run, std::uint32_t space, Nanoseconds begin,
                             Nanoseconds end) {
    LevelColumn column;
    bool within = false;
    for (const TierLevel& level : run.levels) {
        if (level.space != space || level.time >= end)
            continue;
        if (!within && level.time >= begin) {
            column.min = column.max = column.last;
            within = true;
        }
        column.last = level.used;
        column.min = within ? std::min(column.min, level.used) : level.used;
        column.max = within ? std::max(column.max, level.used) : level.used;
    }
    return column;
}

Nanoseconds busy_by_spans(const TierRun& run, SpanKind kind, std::uint32_t track, Nanoseconds begin,
                          Nanoseconds end) {
    Nanoseconds busy = 0;
    for (const TierSpan& span : run.timeline)
        if (span.kind == kind && span.track == track)
            busy += std::max<Nanoseconds>(std::min(span.end, end) - std::max(span.begin, begin), 0);
    return busy;
}

}  // namespace

TEST_CASE("levels of any window are those of the changes one by one", "[viz][tiers]") {
    CHECK(support::counterexample(support::effort(60), [] {
              const TierRun run = random_run();
              const auto tracks = tracks_of(run);
              RC_ASSERT(tracks != nullptr);
              const Window window = random_window();
              std::vector<LevelColumn> columns(*rc::gen::inRange<std::size_t>(1, 30));
              for (std::uint32_t space = 0; space < run.spaces.size(); ++space) {
                  tracks->used(space).columns(window.begin, window.end, columns);
                  for (std::size_t i = 0; i < columns.size(); ++i)
                      RC_ASSERT(columns[i] ==
                                column_by_levels(
                                    run, space,
                                    column_edge(window.begin, window.end, i, columns.size()),
                                    column_edge(window.begin, window.end, i + 1, columns.size())));
                  RC_ASSERT(tracks->used(space).at(window.begin) ==
                            column_by_levels(run, space, window.begin + 1, window.begin + 1).last);
              }
          }).empty());
}

TEST_CASE("long levels are told at every zoom, however many there are", "[viz][tiers]") {
    std::vector<LevelPyramid::Change> changes;
    for (Nanoseconds i = 0; i < 70'000; ++i)
        changes.push_back({i, i == 41'234 ? Bytes{999} : 10 + static_cast<Bytes>(i % 7)});
    const LevelPyramid pyramid(changes);
    std::vector<LevelColumn> columns(3);
    for (const Nanoseconds begin : {0, 41'000, 41'200, 41'234}) {
        pyramid.columns(begin, 41'235, columns);
        Bytes most = 0;
        Bytes least = 999;
        for (const LevelColumn& column : columns) {
            most = std::max(most, column.max);
            least = std::min(least, column.min);
        }
        CHECK(most == 999);
        CHECK(least >= 10 * static_cast<Bytes>(begin > 0));
    }
    CHECK(pyramid.at(41'234) == 999);
    CHECK(pyramid.at(-1) == 0);
}

TEST_CASE("time at work is the sum of the spans in it", "[viz][tiers]") {
    CHECK(support::counterexample(support::effort(60), [] {
              const TierRun run = random_run();
              const auto tracks = tracks_of(run);
              const Window window = random_window();
              std::vector<Nanoseconds> columns(*rc::gen::inRange<std::size_t>(1, 30));
              const auto check = [&](const std::vector<BusyTime>& rows, SpanKind kind) {
                  for (std::uint32_t track = 0; track < rows.size(); ++track) {
                      std::fill(columns.begin(), columns.end(), 0);
                      rows[track].add_columns(window.begin, window.end, columns);
                      for (std::size_t i = 0; i < columns.size(); ++i)
                          RC_ASSERT(
                              columns[i] ==
                              busy_by_spans(
                                  run, kind, track,
                                  column_edge(window.begin, window.end, i, columns.size()),
                                  column_edge(window.begin, window.end, i + 1, columns.size())));
                  }
              };
              check(tracks->kernels(), SpanKind::kernel);
              check(tracks->stalls(StallCause::fetch), SpanKind::fetch_stall);
              check(tracks->links(), SpanKind::copy);
          }).empty());
}

TEST_CASE("groups of moves keep every move and every byte", "[viz][tiers]") {
    CHECK(support::counterexample(support::effort(60), [] {
              const TierRun run = random_run();
              const auto tracks = tracks_of(run);
              const Position cell = *rc::gen::element<Position>(1, 20, 300);
              std::size_t count = 0;
              Bytes bytes = 0;
              for (const Passage passage :
                   {Passage::gpu_host, Passage::gpu_disk, Passage::host_disk, Passage::sideways})
                  for (const Direction direction : {Direction::down, Direction::up})
                      for (const MoveGroup& group :
                           tracks->moves(passage, direction, {0, 1'000'000}, cell)) {
                          count += group.count;
                          bytes += group.bytes;
                          RC_ASSERT(tracks->move(passage, direction, group.first).begin ==
                                    group.begin);
                      }
              std::size_t copies = 0;
              Bytes copied = 0;
              for (const TierSpan& span : run.timeline) {
                  copies += span.kind == SpanKind::copy ? 1 : 0;
                  copied += span.kind == SpanKind::copy ? span.bytes : 0;
              }
              RC_ASSERT(count == copies);
              RC_ASSERT(bytes == copied);
          }).empty());
}

TEST_CASE("moves go down to hosts and disks and up again", "[viz][tiers]") {
    TierRun run;
    run.spaces = {{kGpu, 100, 100}, {kHost, 100, 50}};
    run.links = {{kGpu, kHost, 0, 0, 0}, {kHost, kGpu, 0, 0, 0}};
    run.timeline = {{20, 30, 64, 1, 1, SpanKind::copy},
                    {0, 10, 32, 1, 0, SpanKind::copy},
                    {5, 5, 8, 2, 0, SpanKind::drop},
                    {0, 9, 1, 0, 77, SpanKind::copy}};  // of no link
    run.levels = {{0, 100, 0, 0}, {0, 68, 0, 0}, {0, 32, 0, 1}, {20, 100, 0, 0}};
    const auto tracks = tracks_of(run);
    const Window all{0, 100};
    const auto down = tracks->moves(Passage::gpu_host, Direction::down, all, 1);
    REQUIRE(down.size() == 1);
    CHECK(down[0] == MoveGroup{0, 10, 0, 1, 32});
    CHECK(tracks->moves(Passage::gpu_host, Direction::up, all, 1)[0].bytes == 64);
    CHECK(tracks->held(Tier::gpu).at(0) == 68);
    CHECK(tracks->held(Tier::host).at(50) == 32);
    CHECK(tracks->held(Tier::disk).at(50) == 0);
    const Cancelled stop{true};
    CHECK(TierTracks::build(run, stop) == nullptr);
}
