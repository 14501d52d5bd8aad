// BufferLock: who may come in with whom, in which order, and that nobody is forgotten. No test
// waits for time to pass: that a thread waits is seen in the lock.
#include "core/tiers/buffer_lock.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"

namespace tidemark {
namespace {

constexpr Nanoseconds kMilli = 1'000'000;

void await_waiting(const BufferLock& lock, std::size_t threads) {
    while (lock.waiting() != threads)
        std::this_thread::yield();
}

// `count` threads run `body(number)`.
template <class Body>
void in_threads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([i, &body] { body(i); });
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace

TEST_CASE("try_read and try_write say who is in, and a writer waits for the readers (A-T13)",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    REQUIRE(lock.try_read());
    REQUIRE(lock.try_read());
    CHECK_FALSE(lock.try_write());
    std::atomic<bool> wrote = false;
    std::thread writer([&] {
        lock.write();
        wrote = true;
        lock.end_write();
    });
    await_waiting(lock, 1);
    CHECK(lock.state().queued());
    lock.end_read();
    CHECK(lock.state().readers() == 1);
    CHECK_FALSE(wrote);  // it cannot have: one reader is in
    CHECK(lock.waiting() == 1);
    lock.end_read();
    writer.join();
    CHECK(wrote);
    CHECK(lock.state() == LockWord{});

    lock.write();
    bool entered = true;
    std::thread([&] { entered = lock.try_read() || lock.try_write(); }).join();
    CHECK_FALSE(entered);
    lock.end_write();
    CHECK(lock.try_write());
    lock.end_write();
}

TEST_CASE("reads of ten threads count exactly, and writes never overlap (A-T17)",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    std::uint64_t value = 0;  // without atomics: the lock orders it
    std::atomic<int> reads = 0;
    in_threads(10, [&](int) {
        for (int i = 0; i < 100; ++i) {
            lock.read();
            reads += value == 0;
            lock.end_read();
        }
    });
    CHECK(reads == 1000);
    std::atomic<int> inside = 0;
    std::atomic<int> together = 0;
    in_threads(10, [&](int) {
        for (int i = 0; i < 10; ++i) {
            lock.write();
            together += inside.fetch_add(1);
            ++value;
            inside.fetch_sub(1);
            lock.end_write();
        }
    });
    CHECK(together == 0);
    CHECK(value == 100);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("readers, a writer and readers get in by order of arrival (A-T21)",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    std::mutex mutex;
    std::vector<char> order;
    const auto note = [&](char what) {
        const std::lock_guard hold(mutex);
        order.push_back(what);
    };
    lock.write();
    std::vector<std::thread> threads;
    std::size_t waiting = 0;
    for (const char kind : {'r', 'r', 'r', 'W', 's', 's', 's', 'X', 'Y'}) {
        threads.emplace_back([&, kind] {
            if (kind >= 'a') {
                lock.read();
                note(kind);
                lock.end_read();
            } else {
                lock.write();
                note(kind);
                lock.end_write();
            }
        });
        await_waiting(lock, ++waiting);
    }
    CHECK(order.empty());
    lock.end_write();
    for (std::thread& thread : threads)
        thread.join();
    CHECK(std::string(order.begin(), order.end()) == "rrrWsssXY");
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("a newcomer passes nobody who waits: readers do not starve a writer",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.read();
    std::thread writer([&] {
        lock.write();
        lock.end_write();
    });
    await_waiting(lock, 1);
    CHECK_FALSE(lock.try_read());
    CHECK_FALSE(lock.read_for(0));
    lock.end_read();
    writer.join();
    CHECK(lock.try_read());
    lock.end_read();
}

TEST_CASE(
    "shared access is shared within a thread while a writer waits, and ended by another "
    "(defect 20)",
    "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.read();
    std::thread writer([&] {
        lock.write();
        lock.end_write();
    });
    await_waiting(lock, 1);
    lock.share_read();  // a lock that prefers writers would wait here for ever
    lock.share_read();
    CHECK(lock.state().readers() == 3);
    for (int i = 0; i < 3; ++i)
        std::thread([&] { lock.end_read(); }).join();
    writer.join();
    CHECK(lock.state() == LockWord{});

    std::thread([&] { lock.write(); }).join();
    lock.end_write();
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("the state is that of the moment: never idle while somebody is in (defect 21)",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    std::atomic<int> wrong = 0;
    in_threads(4, [&](int number) {
        for (int i = 0; i < 2000; ++i) {
            if (number == 0 && i % 4 == 0) {
                lock.write();
                const LockWord state = lock.state();
                wrong += !state.writing() || state.readers() != 0 || state.moving();
                lock.end_write();
            } else {
                lock.read();
                const LockWord state = lock.state();
                wrong += state.writing() || state.readers() == 0 || state.readers() > 4;
                lock.end_read();
            }
        }
    });
    CHECK(wrong == 0);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("the only reader becomes the writer at once, before those that wait (A-T21)",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    int value = 0;
    lock.read();
    std::thread writer([&] {
        lock.write();
        ++value;
        lock.end_write();
    });
    await_waiting(lock, 1);
    CHECK(lock.upgrade() == Upgrade::done);
    CHECK(value == 0);
    CHECK(lock.state().writing());
    CHECK(lock.state().readers() == 0);
    lock.downgrade();
    CHECK(value == 0);
    CHECK(lock.state().readers() == 1);
    CHECK_FALSE(lock.state().writing());
    lock.end_read();
    writer.join();
    CHECK(value == 1);
}

TEST_CASE("an upgrade waits for other readers, and a second one is refused, not deadlocked",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.read();
    lock.read();
    std::atomic<bool> upgraded = false;
    std::thread first([&] {
        upgraded = lock.upgrade() == Upgrade::done;
        lock.end_write();
    });
    await_waiting(lock, 1);
    CHECK(lock.state().upgrading());
    CHECK(lock.upgrade() == Upgrade::refused);
    CHECK(lock.upgrade_for(0) == Upgrade::refused);
    CHECK_FALSE(lock.try_upgrade());
    CHECK_FALSE(lock.try_read());  // newcomers wait for it
    CHECK_FALSE(upgraded);
    CHECK(lock.state().readers() == 2);
    lock.end_read();
    first.join();
    CHECK(upgraded);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("an upgrade that gives up still reads, and lets in those that it held up",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.read();
    lock.read();
    CHECK(lock.upgrade_for(0) == Upgrade::timeout);
    CHECK(lock.state().readers() == 2);
    CHECK_FALSE(lock.state().queued());
    CHECK_FALSE(lock.state().upgrading());

    Upgrade outcome = Upgrade::done;
    std::thread upgrader([&] {
        outcome = lock.upgrade_for(30 * kMilli);
        lock.end_read();
    });
    while (!lock.state().upgrading() && lock.state().readers() == 2)
        std::this_thread::yield();
    lock.read();  // gets in when the upgrade has given up: the other reader stays
    lock.end_read();
    upgrader.join();
    CHECK(outcome == Upgrade::timeout);
    lock.end_read();
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("a downgrade lets in readers that wait first, and no writer", "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.write();
    std::atomic<bool> go = false;
    std::thread reader([&] {
        lock.read();
        while (!go)
            std::this_thread::yield();
        lock.end_read();
    });
    await_waiting(lock, 1);
    std::thread writer([&] {
        lock.write();
        lock.end_write();
    });
    await_waiting(lock, 2);
    lock.downgrade();
    CHECK(lock.state().readers() == 2);
    CHECK_FALSE(lock.state().writing());
    CHECK(lock.waiting() == 1);
    go = true;
    reader.join();
    CHECK(lock.state().queued());
    lock.end_read();
    writer.join();
}

TEST_CASE("a pin stands beside readers and a writer, and in the way of a mover alone",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.pin();
    lock.read();
    CHECK_FALSE(lock.try_move());
    lock.end_read();
    CHECK_FALSE(lock.try_move());
    CHECK(lock.try_write());
    lock.share_pin();
    CHECK(lock.try_pin());
    CHECK(lock.state().pins() == 3);
    CHECK(lock.state().writing());
    lock.end_pin();
    lock.end_pin();
    lock.end_write();
    CHECK_FALSE(lock.try_move());
    std::thread([&] { lock.end_pin(); }).join();
    CHECK(lock.state().movable());
    REQUIRE(lock.try_move());
    CHECK_FALSE(lock.try_move());
    CHECK_FALSE(lock.try_pin());
    CHECK_FALSE(lock.try_read());
    CHECK_FALSE(lock.try_write());
    CHECK_FALSE(lock.pin_for(0));
    CHECK(lock.state().moving());
    CHECK_FALSE(lock.state().queued());
    lock.end_move();
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("nobody waits to move, and nobody moves what somebody waits for",
          "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.write();
    CHECK_FALSE(lock.try_move());
    std::thread reader([&] {
        lock.read();
        lock.end_read();
    });
    await_waiting(lock, 1);
    CHECK_FALSE(lock.try_move());
    lock.end_write();
    reader.join();
    CHECK(lock.try_move());
    lock.end_move();
}

TEST_CASE("the end of a move lets in everybody who can be in together", "[tiers][buffer_lock]") {
    BufferLock lock;
    REQUIRE(lock.try_move());
    std::atomic<bool> go = false;
    std::atomic<int> ins = 0;
    const auto stay = [&] {
        ++ins;
        while (!go)
            std::this_thread::yield();
    };
    std::vector<std::thread> threads;
    const auto start = [&](auto body) {
        threads.emplace_back(body);
        await_waiting(lock, threads.size());
    };
    start([&] { lock.read(), stay(), lock.end_read(); });
    start([&] { lock.write(), stay(), lock.end_write(); });
    start([&] { lock.pin(), stay(), lock.end_pin(); });  // behind the writer, but in nobody's way
    SECTION("as it is") {
        lock.end_move();
    }
    SECTION("as a reader, before all that wait") {
        lock.end_move_as_read();
        CHECK(lock.state().readers() >= 1);
        lock.end_read();
    }
    while (ins != 2)
        std::this_thread::yield();
    const LockWord state = lock.state();
    CHECK(state.readers() == 1);
    CHECK(state.pins() == 1);
    CHECK_FALSE(state.writing());
    CHECK(state.queued());
    go = true;
    for (std::thread& thread : threads)
        thread.join();
    CHECK(ins == 3);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("a move becomes a write before those that wait to read", "[tiers][buffer_lock]") {
    BufferLock lock;
    int value = 0;
    REQUIRE(lock.try_move());
    int seen = 0;
    std::thread reader([&] {
        lock.read();
        seen = value;
        lock.end_read();
    });
    std::thread pinner([&] {
        lock.pin();
        lock.end_pin();
    });
    await_waiting(lock, 2);
    lock.end_move_as_write();
    pinner.join();
    CHECK(lock.waiting() == 1);
    value = 1;
    lock.end_write();
    reader.join();
    CHECK(seen == 1);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("patience ends: nothing was begun, and those behind get in", "[tiers][buffer_lock]") {
    BufferLock lock;
    lock.read();
    CHECK_FALSE(lock.write_for(0));
    CHECK_FALSE(lock.write_for(kMilli));
    CHECK(lock.state().readers() == 1);
    CHECK_FALSE(lock.state().queued());

    std::atomic<bool> over = false;
    bool wrote = false;
    std::thread writer([&] {
        wrote = lock.write_for(50 * kMilli);
        over = true;
    });
    while (lock.waiting() != 1 && !over)
        std::this_thread::yield();
    lock.read();  // behind the writer, which never gets in: this one does when it has given up
    CHECK(lock.state().readers() == 2);
    writer.join();
    CHECK_FALSE(wrote);
    lock.end_read();

    std::thread patient([&] {
        wrote = lock.write_for(kForever - 1);  // no overflow: it does wait
        lock.end_write();
    });
    await_waiting(lock, 1);
    lock.end_read();
    patient.join();
    CHECK(wrote);
    CHECK(lock.state() == LockWord{});
}

TEST_CASE("who gets in last may destroy the lock at once", "[tiers][buffer_lock]") {
    for (int i = 0; i < 200; ++i) {
        auto* lock = new BufferLock;
        lock->write();
        std::thread next([lock, i] {
            if (i % 2 == 0) {
                lock->write();
                lock->end_write();
            } else {
                lock->read();
                lock->end_read();
            }
            delete lock;
        });
        await_waiting(*lock, 1);
        lock->end_write();
        next.join();
    }
}

TEST_CASE("one thread's random attempts end as a plain model says", "[tiers][buffer_lock]") {
    struct Model {
        unsigned readers = 0, pins = 0;
        bool writing = false, moving = false;

        bool idle() const { return readers == 0 && !writing && !moving; }
    };

    Random random(7);
    BufferLock lock;
    Model model;
    for (int i = 0; i < 30'000; ++i) {
        switch (random.below(13)) {
            case 0: {
                const bool may = !model.writing && !model.moving;
                REQUIRE((random.below(2) != 0 ? lock.try_read() : lock.read_for(0)) == may);
                model.readers += may;
                break;
            }
            case 1: {
                const bool may = model.idle();
                REQUIRE((random.below(2) != 0 ? lock.try_write() : lock.write_for(0)) == may);
                model.writing |= may;
                break;
            }
            case 2:
                REQUIRE((random.below(2) != 0 ? lock.try_pin() : lock.pin_for(0)) == !model.moving);
                model.pins += !model.moving;
                break;
            case 3: {
                const bool may = model.idle() && model.pins == 0;
                REQUIRE(lock.try_move() == may);
                model.moving |= may;
                break;
            }
            case 4:
                if (model.readers > 0) {
                    const bool may = model.readers == 1;
                    REQUIRE(lock.upgrade_for(0) == (may ? Upgrade::done : Upgrade::timeout));
                    if (may)
                        model.readers = 0, model.writing = true;
                }
                break;
            case 5:
                if (model.writing)
                    lock.downgrade(), model.writing = false, model.readers = 1;
                break;
            case 6:
                if (model.readers > 0)
                    lock.share_read(), ++model.readers;
                break;
            case 7:
            case 8:
                if (model.readers > 0)
                    lock.end_read(), --model.readers;
                break;
            case 9:
                if (model.writing)
                    lock.end_write(), model.writing = false;
                break;
            case 10:
                if (model.pins > 0)
                    lock.end_pin(), --model.pins;
                break;
            case 11:
                if (model.moving) {
                    const auto into = random.below(3);
                    if (into == 0)
                        lock.end_move();
                    else if (into == 1)
                        lock.end_move_as_read(), ++model.readers;
                    else
                        lock.end_move_as_write(), model.writing = true;
                    model.moving = false;
                }
                break;
            default:
                if (model.pins > 0 && random.below(2) != 0)
                    lock.end_pin(), --model.pins;
        }
        const LockWord state = lock.state();
        REQUIRE(state.readers() == model.readers);
        REQUIRE(state.pins() == model.pins);
        REQUIRE(state.writing() == model.writing);
        REQUIRE(state.moving() == model.moving);
        REQUIRE_FALSE(state.queued());
        REQUIRE_FALSE(state.upgrading());
    }
    while (model.readers-- > 0)
        lock.end_read();
    while (model.pins-- > 0)
        lock.end_pin();
    if (model.writing)
        lock.end_write();
    if (model.moving)
        lock.end_move();
    CHECK(lock.state() == LockWord{});
}

}  // namespace tidemark
