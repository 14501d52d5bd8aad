// The stream pool: exclusive, fair, growing when asked, and ending cleanly.
#include "core/tiers/host/stream_pool.h"

#include <array>
#include <atomic>
#include <csignal>
#include <future>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;
using namespace std::chrono_literals;

namespace {

using WhenBusy = StreamPool::WhenBusy;

constexpr StreamId kFirst{16};

std::unique_ptr<StreamPool> pool_of(std::uint32_t size) {
    return StreamPool::make(kFirst, size).value();
}

// Until `pool` has that many who wait.
void await_waiting(const StreamPool& pool, std::uint32_t count) {
    while (pool.waiting() != count)
        std::this_thread::yield();
}

}  // namespace

TEST_CASE("A stream pool needs streams, and numbers for them", "[tiers][streams]") {
    REQUIRE_FALSE(StreamPool::make(kFirst, 0));
    CHECK(StreamPool::make(kFirst, 0).error().code == ErrorCode::bad_option);
    CHECK(StreamPool::make(StreamId{0xffff'ffff}, 1));
    CHECK_FALSE(StreamPool::make(StreamId{0xffff'ffff}, 2));
    CHECK_FALSE(StreamPool::make(StreamId{1}, 0xffff'ffff + 1U));
}

TEST_CASE("Each stream is lent once, counted from the first", "[tiers][streams]") {
    const auto pool = pool_of(3);

    std::vector<StreamLease> leases;
    std::set<StreamId> streams;
    for (std::uint32_t i = 0; i < 3; ++i) {
        leases.push_back(pool->acquire(WhenBusy::block).value());
        streams.insert(leases.back().stream());
        CHECK(pool->idle() == 2 - i);
        CHECK(pool->size() == 3);
    }

    CHECK(streams == std::set<StreamId>{StreamId{16}, StreamId{17}, StreamId{18}});
    leases.clear();
    CHECK(pool->idle() == 3);
}

TEST_CASE("A lease is moved, not copied, and gives back once", "[tiers][streams]") {
    static_assert(!std::is_copy_constructible_v<StreamLease>);
    static_assert(!std::is_copy_assignable_v<StreamLease>);
    const auto pool = pool_of(2);

    StreamLease first = pool->acquire(WhenBusy::block).value();
    const StreamId stream = first.stream();
    StreamLease second = std::move(first);
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move)
    CHECK(second.stream() == stream);
    first.reset();
    CHECK(pool->idle() == 1);

    StreamLease other = pool->acquire(WhenBusy::block).value();
    CHECK(pool->idle() == 0);
    other = std::move(second);  // gives back its own
    CHECK(other.stream() == stream);
    CHECK(pool->idle() == 1);
    StreamLease& itself = other;
    other = std::move(itself);
    CHECK(other.stream() == stream);
    other.reset();
    other.reset();
    CHECK(pool->idle() == 2);
}

TEST_CASE("The stream that was returned last is lent next", "[tiers][streams]") {
    const auto pool = pool_of(3);
    StreamLease first = pool->acquire(WhenBusy::block).value();
    StreamLease second = pool->acquire(WhenBusy::block).value();
    const StreamId last = first.stream();

    second.reset();
    first.reset();

    CHECK(pool->acquire(WhenBusy::block)->stream() == last);
}

TEST_CASE("A busy pool grows when asked, and keeps what it grew by", "[tiers][streams]") {
    const auto pool = pool_of(1);
    StreamLease first = pool->acquire(WhenBusy::grow).value();
    CHECK(pool->size() == 1);  // one was idle

    StreamLease second = pool->acquire(WhenBusy::grow).value();

    CHECK(second.stream() == StreamId{17});
    CHECK(pool->size() == 2);
    CHECK(pool->idle() == 0);
    second.reset();
    CHECK(pool->idle() == 1);
    CHECK(pool->acquire(WhenBusy::grow)->stream() == StreamId{17});
    CHECK(pool->size() == 2);
}

TEST_CASE("A pool does not grow beyond the numbers that there are", "[tiers][streams]") {
    const auto pool = StreamPool::make(StreamId{0xffff'ffff}, 1).value();
    const StreamLease lease = pool->acquire(WhenBusy::grow).value();

    const auto refused = pool->acquire(WhenBusy::grow);

    REQUIRE_FALSE(refused);
    CHECK(refused.error() == StreamRefusal::out_of_numbers);
}

TEST_CASE("Who waits gets what is returned", "[tiers][streams]") {
    const auto pool = pool_of(1);
    StreamLease lease = pool->acquire(WhenBusy::block).value();
    auto waiter =
        std::async(std::launch::async, [&] { return pool->acquire(WhenBusy::block)->stream(); });
    await_waiting(*pool, 1);

    lease.reset();

    CHECK(waiter.get() == kFirst);
    CHECK(pool->idle() == 1);
    CHECK(pool->waiting() == 0);
}

TEST_CASE("Streams go to those who wait in the order of their coming", "[tiers][streams]") {
    const auto pool = pool_of(1);
    StreamLease lease = pool->acquire(WhenBusy::block).value();
    std::mutex mutex;
    std::vector<int> served;
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i) {
        threads.emplace_back([&, i] {
            const auto mine = pool->acquire(WhenBusy::block);
            const std::lock_guard lock(mutex);
            served.push_back(i);
        });
        await_waiting(*pool, static_cast<std::uint32_t>(i) + 1);
    }

    lease.reset();
    for (std::thread& thread : threads)
        thread.join();

    CHECK(served == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("Waiting ends with its time, and leaves nothing behind", "[tiers][streams]") {
    const auto pool = pool_of(1);
    StreamLease lease = pool->acquire(WhenBusy::block).value();

    for (const auto timeout : {0ns, -5ns, 1'000'000ns}) {
        const auto refused = pool->acquire(WhenBusy::block, timeout);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == StreamRefusal::timed_out);
        CHECK(pool->waiting() == 0);
    }

    lease.reset();
    CHECK(pool->idle() == 1);  // not given to one who went away
    CHECK(pool->acquire(WhenBusy::block, 0ns));
}

TEST_CASE("Shutting down wakes all who wait, and leases end as ever", "[tiers][streams]") {
    const auto pool = pool_of(1);
    StreamLease lease = pool->acquire(WhenBusy::block).value();
    std::vector<std::future<StreamRefusal>> waiters;
    for (std::uint32_t i = 0; i < 4; ++i)
        waiters.push_back(
            std::async(std::launch::async, [&] { return pool->acquire(WhenBusy::block).error(); }));
    await_waiting(*pool, 4);

    pool->shut_down();

    for (auto& waiter : waiters)
        CHECK(waiter.get() == StreamRefusal::shut_down);
    CHECK(pool->acquire(WhenBusy::grow).error() == StreamRefusal::shut_down);
    CHECK(lease.stream() == kFirst);
    lease.reset();
    CHECK(pool->idle() == 1);
    CHECK(pool->acquire(WhenBusy::block).error() == StreamRefusal::shut_down);
}

TEST_CASE("A lease that outlives its pool is a broken invariant", "[tiers][streams]") {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        auto pool = pool_of(1);
        const StreamLease lease = pool->acquire(WhenBusy::block).value();
        pool.reset();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);

    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("No two threads ever hold the same stream", "[tiers][streams]") {
    constexpr std::uint32_t kStreams = 3;
    constexpr int kThreads = 6;
    constexpr int kRounds = 500;
    const auto pool = pool_of(kStreams);
    std::array<std::atomic<int>, 64> holders{};
    std::atomic<int> shared = 0;
    std::atomic<int> timeouts = 0;

    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < kRounds; ++i) {
                const bool grow = t == 0 && i % 100 == 0;
                auto lease = pool->acquire(
                    grow ? WhenBusy::grow : WhenBusy::block,
                    t == 1 ? std::optional<std::chrono::nanoseconds>(1us) : std::nullopt);
                if (!lease) {
                    ++timeouts;
                    continue;
                }
                auto& holder = holders[to_integer(lease->stream()) - to_integer(kFirst)];
                shared += holder.fetch_add(1);
                std::this_thread::yield();
                holder.fetch_sub(1);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();

    CHECK(shared == 0);
    CHECK(timeouts <= kRounds);  // only of the one who is in a hurry
    CHECK(pool->idle() == pool->size());
    CHECK(pool->size() <= kStreams + kRounds / 100);
    CHECK(pool->waiting() == 0);
}
