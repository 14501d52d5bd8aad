// Who holds the memory, against a look at every block after every event; and against what the
// history says is allocated.
#include "replay/timeline/owner_series.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "replay/scenario/record_history.h"
#include "tests/support/plain_history.h"
#include "tests/support/small_history.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::RandomProgram;
using support::SmallHistory;

const std::atomic<bool> kOwnersGoOn = false;

std::shared_ptr<OwnerSeries> series_of(const std::shared_ptr<const History>& history,
                                       BlockTrait trait, OwnerSeries::Shows shows = {}) {
    auto series =
        OwnerSeries::create(history, BlockClasses::of(*history, trait, 5), std::move(shows));
    REQUIRE(series);
    const auto extended = (*series)->extend(kOwnersGoOn);
    REQUIRE(extended);
    CHECK(*extended);
    CHECK((*series)->events() == history->counts().events);
    return *series;
}

std::vector<Bytes> plain_owners(const OwnerSeries& series, EventIndex event,
                                const OwnerSeries::Shows& shows = {}) {
    const History& history = series.history();
    std::vector<Bytes> bytes(series.owners());
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        if (block.born > event || block.freed <= event)
            continue;
        const bool shown = !shows || shows(block);
        bytes[shown ? series.classes().of(block) : series.not_shown()] += block.size;
    }
    return bytes;
}

Bytes sum_of_owners(const std::vector<Bytes>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), Bytes{0});
}

void check_owner_events(const OwnerSeries& series, const OwnerSeries::Shows& shows = {}) {
    std::vector<Bytes> bytes(series.owners());
    for (EventIndex event = 0; event < series.events(); ++event) {
        INFO("event " << event);
        series.at(event, bytes);
        REQUIRE(bytes == plain_owners(series, event, shows));
        REQUIRE(sum_of_owners(bytes) == series.history().values(event)[Series::allocated]);
    }
}

// The columns of a window: what is allocated most in each, and that owners add up to it.
void check_owner_columns(const OwnerSeries& series, Position begin, Position end,
                         std::size_t count) {
    const History& history = series.history();
    std::vector<SeriesColumn> columns(count);
    history.series(AxisUnit::events, begin, end, columns);
    std::vector<EventIndex> moments(count);
    std::vector<Bytes> bytes(count * series.owners());
    series.columns(columns, moments, bytes);
    std::vector<Bytes> there(series.owners());
    for (std::size_t i = 0; i < count; ++i) {
        INFO("column " << i << " of " << begin << " to " << end);
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(i * series.owners());
        const std::vector<Bytes> column(first,
                                        first + static_cast<std::ptrdiff_t>(series.owners()));
        REQUIRE(sum_of_owners(column) == columns[i].max[Series::allocated]);
        if (moments[i] == kNever)
            continue;
        REQUIRE(moments[i] + 1 >= columns[i].first_event);
        REQUIRE(moments[i] < columns[i].first_event + std::max<EventIndex>(columns[i].events, 1));
        series.at(moments[i], there);
        REQUIRE(column == there);
    }
}

}  // namespace

TEST_CASE("what a tag holds comes with its blocks and goes when they are let go", "[owners]") {
    SmallHistory steps;
    steps.allocate(1, 100, {.tag = "a"}).allocate(2, 50, {.tag = "b"});     // 0 1
    steps.retire(1).idle().finish(1).allocate(3, 7, {.tag = "b"}).free(2);  // 2 3 4 5 6
    const auto series = series_of(steps.build(), BlockTrait::tag);
    REQUIRE(series->owners() == 3);
    std::size_t a = series->classes().all()[0].name == "a" ? 0 : 1;
    const Bytes of_a[] = {100, 100, 0, 0, 0, 0, 0};
    const Bytes of_b[] = {0, 50, 50, 50, 50, 57, 7};
    std::vector<Bytes> bytes(3);
    for (EventIndex event = 0; event < 7; ++event) {
        INFO("event " << event);
        series->at(event, bytes);
        CHECK(bytes[a] == of_a[event]);
        CHECK(bytes[1 - a] == of_b[event]);
    }
}

TEST_CASE("after every event owners hold what their blocks take, together all", "[owners]") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        RandomProgram program(seed, false);
        for (int i = 0; i < 500; ++i)
            program.step();
        REQUIRE(program.builder().finish());
        const auto history = program.builder().history();
        for (const BlockTrait trait : {BlockTrait::tag, BlockTrait::stream, BlockTrait::size,
                                       BlockTrait::annotation, BlockTrait::pool})
            check_owner_events(*series_of(history, trait));
        const auto shows = [](const Block& block) { return block.size % 3 == 0; };
        check_owner_events(*series_of(history, BlockTrait::stack, shows), shows);
    }
}

TEST_CASE("a column shows its fullest moment, however many events it has", "[owners]") {
    RandomProgram program(3, false);
    for (int i = 0; i < 5000; ++i)
        program.step();
    REQUIRE(program.builder().finish());
    const auto series = series_of(program.builder().history(), BlockTrait::tag);
    const Position end = series->history().end(AxisUnit::events);
    Random random(1);
    check_owner_columns(*series, 0, end, 7);
    check_owner_columns(*series, 0, end, 1);
    check_owner_columns(*series, -end, 2 * end, 90);
    for (int i = 0; i < 30; ++i) {
        const auto length =
            static_cast<Position>(1 + random.below(static_cast<std::uint64_t>(end)));
        const auto begin = static_cast<Position>(random.below(static_cast<std::uint64_t>(end)));
        check_owner_columns(*series, begin, begin + length, 1 + random.below(60));
    }
}

TEST_CASE("a series that grows with its history is the one made at the end", "[owners]") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        RandomProgram program(seed, false);
        std::shared_ptr<OwnerSeries> series;
        bool is_right = false;
        for (int part = 0; part < 10; ++part) {
            for (std::uint64_t i = random.below(90); i > 0; --i)
                program.step();
            REQUIRE((part < 9 ? program.builder().publish() : program.builder().finish()));
            const auto history = program.builder().history();
            if (!is_right)
                series = OwnerSeries::create(history, BlockClasses::of(*history, BlockTrait::size))
                             .value();
            is_right = series->extend(kOwnersGoOn).value();
        }
        if (!is_right)
            series = series_of(program.builder().history(), BlockTrait::size);
        check_owner_events(*series);
    }
}

TEST_CASE("a series is read while another thread sweeps and a third adds events", "[owners]") {
    RandomProgram program(5, false);
    const auto history = program.builder().history();
    const auto series =
        OwnerSeries::create(history, BlockClasses::of(*history, BlockTrait::size)).value();
    std::atomic<bool> written = false;
    std::thread sweeper([&] {
        while (!written.load())
            if (!series->extend(kOwnersGoOn))
                return;
    });
    std::thread reader([&] {
        std::vector<SeriesColumn> columns(40);
        std::vector<EventIndex> moments(columns.size());
        std::vector<Bytes> bytes(columns.size() * series->owners());
        while (!written.load()) {
            history->series(AxisUnit::events, 0, history->end(AxisUnit::events), columns);
            series->columns(columns, moments, bytes);
        }
    });
    for (int i = 0; i < 3000; ++i) {
        program.step();
        if (i % 50 == 0)
            REQUIRE(program.builder().publish());
    }
    REQUIRE(program.builder().finish());
    written = true;
    sweeper.join();
    reader.join();
    check_owner_events(*series_of(history, BlockTrait::size));
}

TEST_CASE("of recorded programs under every policy owners add up to what is allocated",
          "[owners]") {
    for (const char* const path :
         {TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz",
          "generate:mix:events=3000,streams=3", "generate:serving:events=3000"}) {
        const auto trace = open_trace(path);
        REQUIRE(trace);
        for (const char* const policy : {"torch", "vpmm", "best-fit", "arena"}) {
            INFO(path << " " << policy);
            const auto recorded = record_history(**trace, {.trace = path, .policy = policy}, {});
            REQUIRE(recorded);
            const auto series = series_of(recorded->history, BlockTrait::stream);
            const Position end = recorded->history->end(AxisUnit::events);
            for (const std::size_t columns : {1U, 40U, 997U})
                check_owner_columns(*series, 0, end, columns);
        }
    }
}

}  // namespace tidemark
