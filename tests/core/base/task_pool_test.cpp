// TaskPool and the WorkQueue below it: order, tasks of tasks, ends, and no threads at all.
#include "core/base/task_pool.h"

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/system_limits.h"

namespace tidemark {
namespace {

using support::ThreadLimit;

TEST_CASE("a pool runs all tasks, those of tasks as well, whatever threads there are",
          "[threads]") {
    const ThreadLimit limit(GENERATE(0, 1, 1000));
    TaskPool pool("tm-test", GENERATE(0U, 1U, 4U));
    std::atomic<int> done = 0;
    for (int i = 0; i < 50; ++i)
        pool.add([&] {
            pool.add([&] { ++done; });
            ++done;
        });
    pool.wait();
    CHECK(done == 100);
    CHECK(pool.unfinished() == 0);
}

TEST_CASE("tasks begin in the order in which they were added", "[threads]") {
    const ThreadLimit limit(GENERATE(0, 1));
    int starts = 0;
    std::vector<int> order;
    {
        TaskPool pool("tm-test", 1, [&starts] { ++starts; });
        for (int i = 0; i < 20; ++i)
            pool.add([&order, i] { order.push_back(i); });
        pool.wait();
    }
    REQUIRE(order.size() == 20);
    for (int i = 0; i < 20; ++i)
        CHECK(order[static_cast<std::size_t>(i)] == i);
    CHECK(starts <= 1);
}

TEST_CASE("the end of a pool waits for what runs and drops what has not begun", "[threads]") {
    std::atomic<bool> begun = false;
    std::atomic<bool> go_on = false;
    std::atomic<int> done = 0;
    const auto held = std::make_shared<int>(1);
    Thread opener;
    {
        TaskPool pool("tm-test", 1);
        pool.add([&] {
            begun = true;
            begun.notify_one();
            go_on.wait(false);
            pool.add([&] { ++done; });  // too late
            ++done;
        });
        begun.wait(false);
        for (int i = 0; i < 3; ++i)
            pool.add([&done, held] { ++done; });
        CHECK(pool.unfinished() == 4);
        // The task goes on when the pool has begun to end, which drops what the others hold.
        opener = *Thread::start("tm-open", [&] {
            while (held.use_count() > 1)
                std::this_thread::yield();
            go_on = true;
            go_on.notify_one();
        });
    }
    CHECK(done == 1);
}

TEST_CASE("a queue hands out what is left when it is closed, and nothing when cancelled",
          "[threads]") {
    WorkQueue<std::unique_ptr<int>> queue;
    CHECK_FALSE(queue.try_pop());
    for (int i = 0; i < 3; ++i)
        queue.push(std::make_unique<int>(i));
    CHECK(**queue.pop() == 0);
    queue.close();
    CHECK(**queue.try_pop() == 1);
    CHECK(**queue.pop() == 2);
    CHECK_FALSE(queue.pop());

    WorkQueue<int> cancelled;
    cancelled.push(1);
    cancelled.cancel();
    CHECK_FALSE(cancelled.pop());
}

TEST_CASE("who waits at a queue is woken by an item and by its end", "[threads]") {
    const bool ends = GENERATE(false, true);
    WorkQueue<int> queue;
    std::optional<int> got = 7;
    Result<Thread> reader = Thread::start("tm-test", [&] { got = queue.pop(); });
    REQUIRE(reader);
    if (ends)
        queue.close();
    else
        queue.push(1);
    reader->join();
    CHECK(got == (ends ? std::nullopt : std::optional(1)));
}

TEST_CASE("what a task throws is thrown to whoever waits for the tasks", "[threads]") {
    const ThreadLimit limit(GENERATE(0, 1000));
    TaskPool pool("tm-test", 2);
    std::atomic<int> done = 0;
    for (int i = 0; i < 10; ++i)
        pool.add([&done, i] {
            if (i == 3)
                throw std::bad_alloc();
            ++done;
        });
    CHECK_THROWS_AS(pool.wait(), std::bad_alloc);
    CHECK(done == 9);
    CHECK(pool.unfinished() == 0);
}

TEST_CASE("tasks of a pool without threads wait until they are run, one after the other") {
    TaskPool pool("tm-test", 0);
    std::vector<int> order;
    pool.add([&] {
        order.push_back(1);
        pool.add([&order] { order.push_back(3); });
    });
    pool.add([&order] { order.push_back(2); });
    CHECK(order.empty());
    CHECK(pool.unfinished() == 2);
    CHECK(pool.run_one());
    CHECK(order == std::vector{1});
    pool.wait();
    CHECK(order == std::vector{1, 2, 3});
    CHECK_FALSE(pool.run_one());
    pool.add([] { throw std::bad_alloc(); });
    CHECK_THROWS_AS(pool.wait(), std::bad_alloc);
    CHECK(pool.unfinished() == 0);
}

TEST_CASE("who waits for a queue learns that nothing comes", "[threads]") {
    WorkQueue<int> queue;
    queue.reserve(2);
    queue.push(1);
    CHECK(queue.pop() == 1);
    queue.fail(std::make_exception_ptr(std::bad_alloc()));
    CHECK_THROWS_AS(queue.pop(), std::bad_alloc);
    CHECK_THROWS_AS(queue.rethrow(), std::bad_alloc);
    queue.cancel();
}

}  // namespace
}  // namespace tidemark
