// run_jobs: every job once, in order of starting, and what a failure stops.
#include "replay/scenario/workers.h"

#include <atomic>
#include <vector>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

TEST_CASE("every job is done once, on any number of threads", "[scenario]") {
    const unsigned threads = GENERATE(0U, 1U, 3U, 64U);
    std::vector<std::atomic<int>> done(100);

    run_jobs(done.size(), threads, [&](std::size_t i) { return ++done[i] == 1; });

    for (const std::atomic<int>& each : done)
        CHECK(each == 1);
}

TEST_CASE("no job is started after a failure, those before it are done", "[scenario]") {
    const unsigned threads = GENERATE(1U, 4U);
    std::vector<std::atomic<int>> done(10'000);

    run_jobs(done.size(), threads, [&](std::size_t i) {
        ++done[i];
        return i != 20;
    });

    for (std::size_t i = 0; i <= 20; ++i)
        CHECK(done[i] == 1);
    if (threads == 1)
        CHECK(done[21] == 0);
    CHECK(done.back() == 0);
}

TEST_CASE("no jobs are no work", "[scenario]") {
    run_jobs(0, 4, [](std::size_t) {
        FAIL("called");
        return true;
    });
    SUCCEED();
}

}  // namespace
}  // namespace tidemark
