// The waiting half of BufferLock: queues of threads, by the lock's address.
//
// A table of queues, each with a mutex. Threads that wait for locks of one queue stand in it in
// order of arrival, each with a place on its own stack. The bit `queued` of a lock's word is set
// while somebody stands in the queue for it, and changes only under the queue's mutex. Why no
// wake-up is lost: who begins to wait sets `queued` in the same step that finds the word to be
// against it, so an access that ends afterwards sees the bit, and one that ended before was seen.
// What those that wait are granted is entered in the word for them (handed over), before they wake:
// nobody can come between.
//
// After the parking lot of WebKit (a hash table of waiting threads, away from the locks).
#include "core/tiers/buffer_lock.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tidemark {
namespace {

constexpr Nanoseconds kLongestTimed = Nanoseconds{1} << 60U;  // 36 years: clocks add to it

// A thread that waits.
struct Place {
    BufferLock* lock = nullptr;
    LockWish wish = LockWish::read;
    bool granted = false;
    Place* before = nullptr;
    Place* behind = nullptr;
    std::condition_variable wake = {};
};

}  // namespace

struct alignas(64) LockQueue {
    // The queue of the lock at that address.
    static LockQueue& of(const BufferLock* lock);

    void append(Place& place);
    void prepend(Place& place);
    void remove(Place& place);
    bool holds(const BufferLock* lock) const;

    // Gives those that wait for `lock` what they can have now, in order. Under the mutex.
    void grant(BufferLock& lock);

    std::mutex mutex;
    Place* first = nullptr;
    Place* last = nullptr;
};

LockQueue& LockQueue::of(const BufferLock* lock) {
    static constinit std::array<LockQueue, 256> queues{};
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio
    return queues[(reinterpret_cast<std::uintptr_t>(lock) * kSpread) >> 56U];
}

void LockQueue::append(Place& place) {
    place.before = last;
    place.behind = nullptr;
    (last == nullptr ? first : last->behind) = &place;
    last = &place;
}

void LockQueue::prepend(Place& place) {
    place.before = nullptr;
    place.behind = first;
    (first == nullptr ? last : first->before) = &place;
    first = &place;
}

void LockQueue::remove(Place& place) {
    (place.before == nullptr ? first : place.before->behind) = place.behind;
    (place.behind == nullptr ? last : place.behind->before) = place.before;
}

bool LockQueue::holds(const BufferLock* lock) const {
    const Place* place = first;
    while (place != nullptr && place->lock != lock)
        place = place->behind;
    return place != nullptr;
}

// Touches the lock only while somebody waits for it, who keeps it alive: the one whose access has
// ended may not. Reads and writes are granted up to the first that cannot be; pins, which are in
// nobody's way, are looked for behind that as well.
void LockQueue::grant(BufferLock& lock) {
    bool blocked = false;
    bool seen = false;
    Place* behind = nullptr;
    for (Place* place = first; place != nullptr; place = behind) {
        behind = place->behind;
        if (place->lock != &lock)
            continue;
        seen = true;
        const bool in_order = place->wish == LockWish::pin || !blocked;
        if (in_order && lock.grant(place->wish)) {
            remove(*place);
            place->granted = true;
            place->wake.notify_one();  // it leaves when it gets the mutex, not before
        } else if (place->wish != LockWish::pin) {
            blocked = true;
        }
    }
    if (seen && !holds(&lock))
        lock.word_.fetch_and(~LockWord::kQueued, std::memory_order_relaxed);
}

std::size_t BufferLock::waiting() const {
    LockQueue& queue = LockQueue::of(this);
    const std::lock_guard hold(queue.mutex);
    std::size_t count = 0;
    for (const Place* place = queue.first; place != nullptr; place = place->behind)
        count += place->lock == this ? 1 : 0;
    return count;
}

// Enters what one that waits is granted, if it can have it now.
bool BufferLock::grant(LockWish wish) {
    LockWord word = state();
    while (word.grants(wish)) {
        std::uint64_t bits = word.bits();
        if (word_.compare_exchange_weak(bits, word.with(wish).bits(), std::memory_order_acq_rel,
                                        std::memory_order_acquire))
            return true;
        word = LockWord(bits);
    }
    return false;
}

void BufferLock::grant_waiting() {
    LockQueue& queue = LockQueue::of(this);
    const std::lock_guard hold(queue.mutex);
    queue.grant(*this);
}

// In one step: enters, or says in the word that somebody waits. Under the queue's mutex.
BufferLock::Arrival BufferLock::arrive(LockWish wish) {
    LockWord word = state();
    for (;;) {
        const bool enters = word.admits(wish);
        if (!enters && wish == LockWish::upgrade && word.upgrading())
            return Arrival::refused;
        const LockWord next = enters ? word.with(wish) : word.with_waiter(wish);
        std::uint64_t bits = word.bits();
        if (word_.compare_exchange_weak(bits, next.bits(), std::memory_order_acq_rel,
                                        std::memory_order_acquire))
            return enters ? Arrival::entered : Arrival::waits;
        word = LockWord(bits);
    }
}

Upgrade BufferLock::wait(LockWish wish, Nanoseconds patience) {
    LockQueue& queue = LockQueue::of(this);
    std::unique_lock hold(queue.mutex);
    const Arrival arrival = arrive(wish);
    if (arrival == Arrival::entered)
        return Upgrade::done;
    if (arrival == Arrival::refused)
        return Upgrade::refused;
    Place place{.lock = this, .wish = wish};
    if (wish == LockWish::upgrade)
        queue.prepend(place);
    else
        queue.append(place);
    const auto granted = [&place] { return place.granted; };
    if (patience > kLongestTimed)
        place.wake.wait(hold, granted);
    else
        place.wake.wait_for(hold, std::chrono::nanoseconds(patience), granted);
    if (place.granted)
        return Upgrade::done;
    queue.remove(place);
    if (wish == LockWish::upgrade)
        word_.fetch_and(~LockWord::kUpgrading, std::memory_order_relaxed);
    if (queue.holds(this))
        queue.grant(*this);  // it may have been in the way of those behind it
    else
        word_.fetch_and(~LockWord::kQueued, std::memory_order_relaxed);
    return Upgrade::timeout;
}

Upgrade BufferLock::upgrade_for(Nanoseconds patience) {
    TM_CHECK(state().readers() > 0);
    return try_enter(LockWish::upgrade) ? Upgrade::done : wait(LockWish::upgrade, patience);
}

// From one kind of access to another, and tells those that wait.
void BufferLock::turn(std::uint64_t from, std::uint64_t into) {
    const LockWord before(word_.fetch_add(into - from, std::memory_order_acq_rel));
    TM_CHECK((before.bits() & from) == from);
    if (before.queued())
        grant_waiting();
}

void BufferLock::downgrade() {
    turn(LockWord::kWriter, LockWord::kReader);
}

void BufferLock::end_move() {
    turn(LockWord::kMoving, 0);
}

void BufferLock::end_move_as_read() {
    turn(LockWord::kMoving, LockWord::kReader);
}

void BufferLock::end_move_as_write() {
    turn(LockWord::kMoving, LockWord::kWriter);
}

}  // namespace tidemark
