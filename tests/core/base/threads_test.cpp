// Threads: what they run, in which order, and what happens when the system has no more of them.
#include "core/base/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <pthread.h>

#include "tests/support/system_limits.h"

namespace tidemark {
namespace {

using support::ThreadLimit;

TEST_CASE("a thread runs its work under its name and is joined", "[threads]") {
    std::string name;
    {
        Result<Thread> thread = Thread::start("tm-test", [&name] {
            std::array<char, 16> text{};
            ::pthread_getname_np(::pthread_self(), text.data(), text.size());
            name = text.data();
        });
        REQUIRE(thread);
        CHECK(thread->joinable());
        Thread moved = std::move(*thread);
        CHECK_FALSE(thread->joinable());
    }
    CHECK(name == "tm-test");
    Thread none;
    none.join();
    CHECK_FALSE(none.joinable());
}

TEST_CASE("a thread that the system does not give is an error", "[threads]") {
    bool ran = false;
    const ThreadLimit limit(0);
    const Result<Thread> thread = Thread::start("tm-test", [&ran] { ran = true; });
    REQUIRE_FALSE(thread);
    CHECK(thread.error().code == ErrorCode::io);
    CHECK(thread.error().what.starts_with("cannot start a thread"));
    CHECK(thread.error().where == "tm-test");
    CHECK_FALSE(ran);
}

TEST_CASE("as many threads are started as the system has", "[threads]") {
    const unsigned granted = GENERATE(0U, 2U, 5U);
    std::atomic<unsigned> ran = 0;
    {
        const ThreadLimit limit(static_cast<int>(granted));
        CHECK(start_threads("tm-test", 4, [&ran] { ++ran; }).size() == std::min(granted, 4U));
    }
    CHECK(ran == std::min(granted, 4U));
}

TEST_CASE("every job is done once, on any number of threads", "[threads]") {
    const unsigned threads = GENERATE(0U, 1U, 3U, 64U);
    const ThreadLimit limit(GENERATE(0, 1, 1000));
    std::vector<std::atomic<int>> done(100);
    std::atomic<bool> in_range = true;
    const auto caller = ::pthread_self();

    CHECK(parallel_for(done.size(), threads, [&](std::size_t i, unsigned thread) {
        const bool is_caller = ::pthread_equal(::pthread_self(), caller) != 0;
        if ((thread == 0) != is_caller || thread >= (threads == 0 ? hardware_threads() : threads))
            in_range = false;
        return ++done[i] == 1;
    }));

    CHECK(in_range);
    for (const std::atomic<int>& each : done)
        CHECK(each == 1);
}

TEST_CASE("no job is started after a failure, those before it are done", "[threads]") {
    const unsigned threads = GENERATE(1U, 4U);
    std::vector<std::atomic<int>> done(10'000);

    CHECK_FALSE(parallel_for(done.size(), threads, [&](std::size_t i, unsigned) {
        ++done[i];
        return i != 20;
    }));

    for (std::size_t i = 0; i <= 20; ++i)
        CHECK(done[i] == 1);
    if (threads == 1)
        CHECK(done[21] == 0);
    CHECK(done.back() == 0);
}

TEST_CASE("no jobs are no work", "[threads]") {
    CHECK(parallel_for(0, 4, [](std::size_t, unsigned) { return false; }));
}

TEST_CASE("what a job throws is thrown where the jobs are waited for", "[threads]") {
    const ThreadLimit limit(GENERATE(0, 4));
    const unsigned thrower = GENERATE(0U, 7U);
    CHECK_THROWS_AS(parallel_for(8, 4,
                                 [&](std::size_t index, unsigned) {
                                     if (index == thrower)
                                         throw std::bad_alloc();
                                     return true;
                                 }),
                    std::bad_alloc);
}

TEST_CASE("what the work of a thread throws ends the work, and nothing else", "[threads]") {
    Result<Thread> thread = Thread::start("tm-test", [] { throw std::length_error("too long"); });
    REQUIRE(thread);
    thread->join();
    CHECK_THROWS_AS(thread->rethrow(), std::length_error);
    CHECK_NOTHROW(thread->rethrow());  // once
    {
        const Result<Thread> another = Thread::start("tm-test", [] { throw std::bad_alloc(); });
    }
}

}  // namespace
}  // namespace tidemark
