// BufferLock: the one lock of a buffer. Who reads it, who writes it, who needs it to stay where it
// is, and who is moving it.
//
//   read   shared. Any number of them, and no writer and no mover.
//   write  alone, but for pins.
//   pin    the buffer stays where it is. Any number, with readers and a writer; no mover.
//   move   alone: the spill engine's claim. Only ever tried, so that nobody waits to take a buffer
//          away that somebody uses.
//
// Accesses belong to nobody: not to a thread, not to an address. One that was begun by a thread may
// be shared by it (`share_read`), handed on, and ended by another thread. A thread that has a read
// access and wants a second one shares the first; asking anew with `read` would queue behind a
// writer that waits for the first one to end.
//
// Fair: those that wait get in by order of arrival, readers that follow each other together, and a
// newcomer passes nobody (`try_` included). So neither readers nor writers starve. A pin waits for
// a mover alone. An upgrade goes before the queue, which waits for its read access anyway; readers
// that share their access longer can hold it up.
//
// 8 bytes a buffer, whether or not anybody waits: waiting threads are kept aside, in a table of
// queues by address. `state` is exact, the state of one moment. Not movable while in use.
//
// Thread-safe. Without waiting every function is O(1) and takes no mutex; one that ends an access
// while others wait looks at the queue, O(threads that wait in it). Ending an access is the last
// that touches the lock: whoever comes next may destroy it. A patience is in nanoseconds and not
// negative. Ending what was not begun is a broken invariant (TM_CHECK).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/units.h"
#include "core/tiers/lock_word.h"

namespace tidemark {

constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();

// How it went with an upgrade. After anything but `done` the caller still reads.
enum class Upgrade : std::uint8_t {
    done,     // the only reader became the writer: nobody wrote in between
    refused,  // another reader is waiting for the same: one of the two has to end its access
    timeout,
};

class BufferLock {
  public:
    BufferLock() = default;
    BufferLock(const BufferLock&) = delete;
    BufferLock& operator=(const BufferLock&) = delete;

    // Nobody is in: TM_CHECK.
    ~BufferLock() { TM_CHECK(word_.load(std::memory_order_relaxed) == 0); }

    // Of this moment. O(1).
    LockWord state() const { return LockWord(word_.load(std::memory_order_acquire)); }

    // How many threads wait, for reports. Takes the queue's mutex; O(threads that wait in it).
    std::size_t waiting() const;

    // Reading.
    void read() { (void)enter(LockWish::read, kForever); }

    bool try_read() { return try_enter(LockWish::read); }

    bool read_for(Nanoseconds patience) { return enter(LockWish::read, patience); }

    // One more access for somebody who reads: never waits. O(1).
    void share_read();

    void end_read();

    // Writing.
    void write() { (void)enter(LockWish::write, kForever); }

    bool try_write() { return try_enter(LockWish::write); }

    bool write_for(Nanoseconds patience) { return enter(LockWish::write, patience); }

    void end_write();

    // From reading to writing, without anybody writing in between. Waits for other readers to end.
    Upgrade upgrade() { return upgrade_for(kForever); }

    // Only if nobody else reads.
    bool try_upgrade() { return try_enter(LockWish::upgrade); }

    Upgrade upgrade_for(Nanoseconds patience);

    // From writing to reading, likewise. Never waits.
    void downgrade();

    // Staying in place. Waits only while the buffer is moved.
    void pin() { (void)enter(LockWish::pin, kForever); }

    bool try_pin() { return try_enter(LockWish::pin); }

    bool pin_for(Nanoseconds patience) { return enter(LockWish::pin, patience); }

    // One more pin for somebody who has one: never waits. O(1).
    void share_pin();

    void end_pin();

    // The claim to move the buffer: if nobody is in and nobody waits to be.
    bool try_move();

    void end_move();

    // From moving to reading or writing, before all that wait.
    void end_move_as_read();
    void end_move_as_write();

  private:
    friend struct LockQueue;

    enum class Arrival : std::uint8_t { entered, waits, refused };

    bool try_enter(LockWish wish);

    bool enter(LockWish wish, Nanoseconds patience) {
        return try_enter(wish) || wait(wish, patience) == Upgrade::done;
    }

    Upgrade wait(LockWish wish, Nanoseconds patience);
    Arrival arrive(LockWish wish);
    bool grant(LockWish wish);
    void grant_waiting();
    void turn(std::uint64_t from, std::uint64_t into);

    std::atomic<std::uint64_t> word_{0};
};

static_assert(sizeof(BufferLock) == 8);

inline bool BufferLock::try_enter(LockWish wish) {
    LockWord word(word_.load(std::memory_order_relaxed));
    while (word.admits(wish)) {
        std::uint64_t bits = word.bits();
        if (word_.compare_exchange_weak(bits, word.with(wish).bits(), std::memory_order_acq_rel,
                                        std::memory_order_relaxed))
            return true;
        word = LockWord(bits);
    }
    return false;
}

inline void BufferLock::end_read() {
    const LockWord before(word_.fetch_sub(LockWord::kReader, std::memory_order_acq_rel));
    TM_CHECK(before.readers() > 0);
    if (LockWord(before.bits() - LockWord::kReader).calls()) [[unlikely]]
        grant_waiting();
}

inline void BufferLock::end_write() {
    const LockWord before(word_.fetch_sub(LockWord::kWriter, std::memory_order_acq_rel));
    TM_CHECK(before.writing());
    if (before.queued()) [[unlikely]]
        grant_waiting();
}

inline void BufferLock::share_read() {
    const LockWord before(word_.fetch_add(LockWord::kReader, std::memory_order_relaxed));
    TM_CHECK(before.readers() > 0 && before.readers() < LockWord::kMost);
}

inline void BufferLock::share_pin() {
    const LockWord before(word_.fetch_add(LockWord::kPin, std::memory_order_relaxed));
    TM_CHECK(before.pins() > 0 && before.pins() < LockWord::kMost);
}

inline void BufferLock::end_pin() {
    const LockWord before(word_.fetch_sub(LockWord::kPin, std::memory_order_acq_rel));
    TM_CHECK(before.pins() > 0);
}

inline bool BufferLock::try_move() {
    std::uint64_t bits = 0;
    return word_.compare_exchange_strong(bits, LockWord::kMoving, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
}

}  // namespace tidemark
