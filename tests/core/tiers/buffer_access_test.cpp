// ReadAccess, WriteAccess, Pin and MoveClaim: accesses that are values.
#include "core/tiers/buffer_access.h"

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

struct Buffer {
    explicit Buffer(bool* end = nullptr) : ended(end) {}

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    ~Buffer() {
        if (ended != nullptr)
            *ended = true;
    }

    BufferLock& lock() { return lock_; }

    BufferLock lock_;
    bool* ended;
    int value = 0;
};

using Keep = std::shared_ptr<Buffer>;
using Read = ReadAccess<Keep>;
using Write = WriteAccess<Keep>;
using Stay = Pin<Keep>;
using Move = MoveClaim<Keep>;

static_assert(std::is_copy_constructible_v<Read> && std::is_nothrow_move_constructible_v<Read>);
static_assert(std::is_copy_constructible_v<Stay> && std::is_nothrow_move_constructible_v<Stay>);
static_assert(!std::is_copy_constructible_v<Write> && std::is_nothrow_move_constructible_v<Write>);
static_assert(!std::is_copy_constructible_v<Move> && std::is_nothrow_move_constructible_v<Move>);
static_assert(!std::is_copy_assignable_v<Write> && std::is_move_assignable_v<Write>);
static_assert(std::is_copy_assignable_v<Read> && std::is_move_assignable_v<Read>);
static_assert(KeepsBuffer<Buffer*>);
static_assert(sizeof(Read) == sizeof(Keep));

unsigned readers(const Keep& keep) {
    return keep->lock().state().readers();
}

bool idle(const Keep& keep) {
    return keep->lock().state() == LockWord{};
}

}  // namespace

TEST_CASE("an access may be the last owner of its buffer (A-T14)", "[tiers][buffer_access]") {
    bool ended = false;
    SECTION("a reader, and its copies") {
        Read last;
        {
            auto keep = std::make_shared<Buffer>(&ended);
            Read access = Read::wait(keep);
            last = access;
        }
        CHECK_FALSE(ended);
        CHECK(readers(last.buffer()) == 1);
    }
    SECTION("a writer") {
        auto keep = std::make_shared<Buffer>(&ended);
        const Write access = Write::wait(std::move(keep));
        CHECK_FALSE(ended);
    }
    SECTION("a pin beside a reader") {
        auto keep = std::make_shared<Buffer>(&ended);
        const Stay pin = Stay::wait(keep);
        const Read access = Read::wait(std::move(keep));
        CHECK_FALSE(ended);
    }
    SECTION("a mover") {
        auto claim = Move::attempt(std::make_shared<Buffer>(&ended));
        REQUIRE(claim);
        CHECK_FALSE(ended);
    }
    SECTION("what is left when an access ends keeps it on") {
        auto keep = std::make_shared<Buffer>(&ended);
        Read access = Read::wait(std::move(keep));
        keep = access.end();
        CHECK_FALSE(access);
        CHECK_FALSE(ended);
        CHECK(idle(keep));
    }
    CHECK(ended);  // and its lock was free then: ~BufferLock checks
}

TEST_CASE("readers are counted through copies, moves and assignments (A-T19)",
          "[tiers][buffer_access]") {
    const auto one = std::make_shared<Buffer>();
    const auto two = std::make_shared<Buffer>();
    {
        Read first = Read::wait(one);
        CHECK(readers(one) == 1);
        auto second = std::make_unique<Read>(first);
        CHECK(readers(one) == 2);
        Read third = Read::wait(one);
        CHECK(readers(one) == 3);
        Read moved = std::move(third);
        CHECK_FALSE(third);
        CHECK(readers(one) == 3);
        moved.end();
        CHECK(readers(one) == 2);
        moved.end();
        CHECK(readers(one) == 2);
        first.end();
        CHECK(readers(one) == 1);  // the copy outlives the original
        CHECK(second->buffer() == one);
        second.reset();
        CHECK(idle(one));
    }
    {
        Read first = Read::wait(one);
        const Read second = Read::wait(two);
        first = second;
        CHECK(idle(one));
        CHECK(readers(two) == 2);
        const Read& same = first;
        first = same;
        CHECK(readers(two) == 2);
        first = std::move(first);  // NOLINT: what it does is the question
        CHECK(readers(two) == 2);
        first = Read{};
        CHECK(readers(two) == 1);
    }
    CHECK(idle(two));
    {
        const Read first = Read::wait(one);
        const std::vector<Read> copies(4, first);
        CHECK(readers(one) == 5);
        CHECK_FALSE(Write::attempt(one));
    }
    CHECK(Write::attempt(one));
    CHECK(idle(one));
}

TEST_CASE("copies by ten threads end exactly, and a writer waits for the last (A-T19)",
          "[tiers][buffer_access]") {
    const auto keep = std::make_shared<Buffer>();
    Read original = Read::wait(keep);
    std::vector<std::thread> threads;
    std::atomic<int> counted = 0;
    for (int i = 0; i < 10; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                const Read copy = original;
                counted += copy.buffer()->lock().state().readers() >= 2;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(counted == 500);
    CHECK(readers(keep) == 1);
    Read copy = original;
    std::thread writer([keep] { Write::wait(keep).buffer()->value = 1; });
    while (keep->lock().waiting() != 1)
        std::this_thread::yield();
    original.end();
    CHECK(copy.buffer()->value == 0);
    copy.end();
    writer.join();
    CHECK(keep->value == 1);
    CHECK(idle(keep));
}

TEST_CASE("an access begun by a thread is copied there, and ended by others (A-T21, defect 20)",
          "[tiers][buffer_access]") {
    const auto keep = std::make_shared<Buffer>();
    Read access = Read::wait(keep);
    std::thread writer([keep] { Write::wait(keep).buffer()->value = 1; });
    while (keep->lock().waiting() != 1)
        std::this_thread::yield();
    Read copy = access;  // in the thread that reads already, while a writer waits
    std::thread([taken = std::move(access)]() mutable { taken.end(); }).join();
    int seen = 1;
    std::thread([&seen, taken = std::move(copy)] { seen = taken.buffer()->value; }).join();
    writer.join();
    CHECK(seen == 0);
    CHECK(keep->value == 1);

    Write write = Write::wait(keep);
    std::thread([taken = std::move(write)]() mutable { taken.end(); }).join();
    CHECK(idle(keep));
}

TEST_CASE("reading turns into writing and back without a gap (A-T21)", "[tiers][buffer_access]") {
    const auto keep = std::make_shared<Buffer>();
    Read read = Read::wait(keep);
    std::optional<Write> write = read.upgrade();
    REQUIRE(write);
    CHECK_FALSE(read);
    CHECK(keep->lock().state().writing());
    read = write->downgrade();
    CHECK_FALSE(*write);
    CHECK(readers(keep) == 1);
    write = read.try_upgrade();
    REQUIRE(write);
    write->end();
    CHECK(idle(keep));

    Read other = Read::wait(keep);
    read = other;
    CHECK_FALSE(read.try_upgrade());
    CHECK_FALSE(read.upgrade(0));
    CHECK(read);
    CHECK(readers(keep) == 2);
    read.end();
    CHECK(other.upgrade());
    CHECK(idle(keep));
}

TEST_CASE("pins are counted, and a claim to move becomes an access", "[tiers][buffer_access]") {
    const auto keep = std::make_shared<Buffer>();
    {
        const Stay pin = Stay::wait(keep);
        const Stay copy = pin;
        CHECK(keep->lock().state().pins() == 2);
        CHECK_FALSE(Move::attempt(keep));
        CHECK(Write::attempt(keep));
        CHECK(Stay::attempt(keep));
    }
    std::optional<Move> claim = Move::attempt(keep);
    REQUIRE(claim);
    CHECK_FALSE(Stay::attempt(keep));
    CHECK_FALSE(Stay::wait_for(keep, 0));
    CHECK_FALSE(Read::wait_for(keep, 0));
    CHECK_FALSE(Write::wait_for(keep, 0));
    Read read = claim->end_as_read();
    CHECK_FALSE(*claim);
    CHECK(readers(keep) == 1);
    CHECK(Stay::wait_for(keep, 0));
    read.end();
    claim = Move::attempt(keep);
    REQUIRE(claim);
    const Write write = claim->end_as_write();
    CHECK(keep->lock().state().writing());
    CHECK_FALSE(Read::attempt(keep));
}

TEST_CASE("accesses to nothing do nothing, and plain pointers keep nothing",
          "[tiers][buffer_access]") {
    Read read;
    CHECK_FALSE(read);
    CHECK_FALSE(read.end());
    const Read copy = read;
    CHECK_FALSE(copy);
    CHECK_FALSE(Read::wait(nullptr));
    CHECK(Write::attempt(nullptr));
    CHECK_FALSE(*Write::attempt(nullptr));

    Buffer buffer;
    {
        const ReadAccess<Buffer*> access = ReadAccess<Buffer*>::wait(&buffer);
        CHECK(buffer.lock().state().readers() == 1);
    }
    CHECK(buffer.lock().state() == LockWord{});
}

}  // namespace tidemark
