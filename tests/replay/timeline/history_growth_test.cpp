// A history grows while others look, and ends in order where there is no room for it.
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/plain_history.h"
#include "tests/support/property.h"

namespace tidemark {
namespace {

using support::RandomProgram;

// What is wrong with what can be seen now; 0 if nothing is.
int look(const History& history, Random& random) {
    const HistoryCounts counts = history.counts();
    if (counts.events == 0)
        return 0;
    const auto last = static_cast<EventIndex>(counts.events - 1);
    const EventIndex event =
        random.below(2) == 0 ? last : static_cast<EventIndex>(random.below(counts.events));
    Bytes active = 0;
    bool alive = true;
    history.for_each_live(event, [&](BlockIndex index) {
        const Block block = history.block(index);
        active += block.size;
        alive = alive && block.born <= event && block.reused > event && block.freed >= block.born;
    });
    if (!alive)
        return 1;
    // A deferred free that is over with an event is still counted after it.
    const Bytes counted = history.values(event)[Series::active];
    if (active > counted || counted - active > 1024)
        return 2;
    std::vector<SeriesColumn> columns(1 + random.below(50));
    history.series(AxisUnit::events, 0, Position{event} * 1000 + 1, columns);
    if (columns.back().last != history.values(event))
        return 3;
    if (history.values(history.peak_event(Series::active))[Series::active] <
        history.values(event)[Series::active])
        return 4;
    if (event > 0 && history.time(event) < history.time(event - 1))
        return 5;
    const BlockIndex block = history.block_at(event);
    if (block != kNoBlock && (block >= counts.blocks || history.block(block).born > event))
        return 6;
    if (history.first_at(history.time(event)) > event)
        return 7;
    return 0;
}

TEST_CASE("A history that grows is whole at every moment") {
    const support::Effort effort = support::effort(6);
    for (int i = 0; i < effort.cases; ++i) {
        RandomProgram program(effort.seed + static_cast<std::uint64_t>(i), false);
        const std::shared_ptr<const History> history = program.builder().history();
        std::atomic<int> wrong = 0;
        std::atomic<bool> stop = false;
        std::thread reader([&] {
            Random random(7);
            while (!stop && wrong == 0)
                wrong = look(*history, random);
        });
        bool published = true;
        for (int step = 0; step < 5000; ++step) {
            program.step();
            if (step % 40 == 0)
                published = published && program.builder().publish();
        }
        stop = true;
        reader.join();
        CHECK(published);
        CHECK(wrong == 0);
        REQUIRE(program.builder().finish());
        CHECK(history->complete());
        CHECK(history->counts().events == program.plain().events.size());
    }
}

// In a process of its own: the limit is for good.
int grow_to_the_limit() {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1U << 20U, 1U << 20U};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto builder = HistoryBuilder::create();
    if (!builder)
        return 1;
    for (int batch = 0; batch < 1000; ++batch) {
        const Result<void> room = (*builder)->make_room(1000);
        if (!room) {
            const auto events = static_cast<EventIndex>((*builder)->history()->counts().events);
            return room.error().code == ErrorCode::io && events > 10000 &&
                           (*builder)->history()->time(events - 1) == Nanoseconds{events} - 1
                       ? 0
                       : 2;
        }
        for (int i = 0; i < 1000; ++i)
            (*builder)->allocate((*builder)->next_event(), {Address{4096}, 512, 512, 0});
        if (!(*builder)->publish())
            return 3;
    }
    return 4;
}

TEST_CASE("A disk that is full is an error, and what was there can be read") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0)
        ::_exit(grow_to_the_limit());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

// Bytes of address space of this process.
std::size_t address_space() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("addresses are set aside in proportion to the run") {
    const std::size_t before = address_space();
    const auto small = HistoryBuilder::create(-1, 100);
    REQUIRE(small);
    CHECK(address_space() - before < std::size_t{256} << 20U);
    const auto large = HistoryBuilder::create(-1, 1'000'000);
    REQUIRE(large);
    CHECK(address_space() - before < std::size_t{2} << 30U);
    CHECK((*large)->history()->most_events() == 1'000'000);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need terabytes

// In a process of its own: the limit is for good.
int build_in_little_space() {
    const rlimit limit{std::size_t{4} << 30U, std::size_t{4} << 30U};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto builder = HistoryBuilder::create();  // nobody knows how long
    if (!builder)
        return 1;
    const std::size_t most = (*builder)->history()->most_events();
    if (most < 1'000'000)
        return 2;
    for (int event = 0; event < 100'000; ++event) {
        if (!(*builder)->make_room(1))
            return 3;
        (*builder)->allocate(event, {Address{4096}, 512, 512, 0});
    }
    return (*builder)->finish() ? 0 : 4;
}

TEST_CASE("where a process may have few addresses all columns have fewer") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0)
        ::_exit(build_in_little_space());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

#endif

}  // namespace
}  // namespace tidemark
