// ReadAccess, WriteAccess, Pin, MoveClaim: accesses to a buffer as values. Each holds its buffer's
// lock in one way (buffer_lock.h) and keeps the buffer alive, and ends with the value: first the
// access, then the hold on the buffer, so that an access may be the last that keeps it.
//
// `Keep` is what keeps a buffer alive: a std::shared_ptr, or anything like one (a plain pointer if
// somebody else sees to its life) with `keep->lock()` giving its BufferLock&.
//
// Thread-safety: as of a plain value; different values may be used by different threads, also those
// of one buffer. Copying never waits. O(1) besides waiting.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "core/tiers/buffer_lock.h"

namespace tidemark {

template <class T>
concept KeepsBuffer = std::copyable<T> && requires(const T& keep) {
    { keep->lock() } -> std::same_as<BufferLock&>;
    static_cast<bool>(keep);
};

enum class AccessKind : std::uint8_t { read, write, pin, move };

// How each kind begins and ends; `share` where copies are possible.
template <AccessKind kKind>
struct AccessRules;

template <>
struct AccessRules<AccessKind::read> {
    static bool begin(BufferLock& lock, Nanoseconds patience) { return lock.read_for(patience); }

    static bool attempt(BufferLock& lock) { return lock.try_read(); }

    static void share(BufferLock& lock) { lock.share_read(); }

    static void end(BufferLock& lock) { lock.end_read(); }
};

template <>
struct AccessRules<AccessKind::write> {
    static bool begin(BufferLock& lock, Nanoseconds patience) { return lock.write_for(patience); }

    static bool attempt(BufferLock& lock) { return lock.try_write(); }

    static void end(BufferLock& lock) { lock.end_write(); }
};

template <>
struct AccessRules<AccessKind::pin> {
    static bool begin(BufferLock& lock, Nanoseconds patience) { return lock.pin_for(patience); }

    static bool attempt(BufferLock& lock) { return lock.try_pin(); }

    static void share(BufferLock& lock) { lock.share_pin(); }

    static void end(BufferLock& lock) { lock.end_pin(); }
};

template <>
struct AccessRules<AccessKind::move> {
    static bool attempt(BufferLock& lock) { return lock.try_move(); }

    static void end(BufferLock& lock) { lock.end_move(); }
};

template <AccessKind kKind, KeepsBuffer Keep>
class BufferAccess {
    using Rules = AccessRules<kKind>;

    static constexpr bool kShared = kKind == AccessKind::read || kKind == AccessKind::pin;

  public:
    BufferAccess() = default;  // to nothing

    // Waits. Null gives an access to nothing, here and below.
    static BufferAccess wait(Keep keep) requires(kKind != AccessKind::move) {
        if (keep)
            (void)Rules::begin(keep->lock(), kForever);
        return adopt(std::move(keep));
    }

    // Waits, but not longer than `patience`.
    static std::optional<BufferAccess> wait_for(Keep keep,
                                                Nanoseconds patience) requires(kKind !=
                                                                               AccessKind::move) {
        if (keep && !Rules::begin(keep->lock(), patience))
            return std::nullopt;
        return adopt(std::move(keep));
    }

    // Never waits.
    static std::optional<BufferAccess> attempt(Keep keep) {
        if (keep && !Rules::attempt(keep->lock()))
            return std::nullopt;
        return adopt(std::move(keep));
    }

    // The caller has such an access already: it becomes this value's.
    static BufferAccess adopt(Keep keep) {
        BufferAccess access;
        access.keep_ = std::move(keep);
        return access;
    }

    // An access of its own; there are copies of reads and pins only.
    BufferAccess(const BufferAccess& other) requires kShared : keep_(other.keep_) {
        if (keep_)
            Rules::share(keep_->lock());
    }

    BufferAccess(BufferAccess&& other) noexcept : keep_(std::exchange(other.keep_, Keep{})) {}

    // Takes the new one before it ends the one that it had: assigning to itself changes nothing.
    BufferAccess& operator=(BufferAccess other) noexcept {
        std::swap(keep_, other.keep_);
        return *this;
    }

    ~BufferAccess() { end(); }

    explicit operator bool() const { return static_cast<bool>(keep_); }

    // Null: to nothing.
    const Keep& buffer() const { return keep_; }

    // Ends the access; what keeps the buffer alive goes on to the caller.
    Keep end() {
        Keep keep = hand_over();
        if (keep)
            Rules::end(keep->lock());
        return keep;
    }

    // From reading to writing, nobody having written in between; leaves this access to nothing.
    // Without a result it is as it was: another reader waits for the same, or time ran out. Not of
    // nothing.
    std::optional<BufferAccess<AccessKind::write, Keep>> upgrade(
        Nanoseconds patience = kForever) requires(kKind == AccessKind::read) {
        if (keep_->lock().upgrade_for(patience) != Upgrade::done)
            return std::nullopt;
        return BufferAccess<AccessKind::write, Keep>::adopt(hand_over());
    }

    // The same, only if nobody else reads.
    std::optional<BufferAccess<AccessKind::write, Keep>> try_upgrade() requires(kKind ==
                                                                                AccessKind::read) {
        if (!keep_->lock().try_upgrade())
            return std::nullopt;
        return BufferAccess<AccessKind::write, Keep>::adopt(hand_over());
    }

    // From writing to reading, likewise. Never waits.
    BufferAccess<AccessKind::read, Keep> downgrade() requires(kKind == AccessKind::write) {
        if (keep_)
            keep_->lock().downgrade();
        return BufferAccess<AccessKind::read, Keep>::adopt(hand_over());
    }

    // What was moved for somebody becomes theirs before all that wait. Never waits.
    BufferAccess<AccessKind::read, Keep> end_as_read() requires(kKind == AccessKind::move) {
        if (keep_)
            keep_->lock().end_move_as_read();
        return BufferAccess<AccessKind::read, Keep>::adopt(hand_over());
    }

    BufferAccess<AccessKind::write, Keep> end_as_write() requires(kKind == AccessKind::move) {
        if (keep_)
            keep_->lock().end_move_as_write();
        return BufferAccess<AccessKind::write, Keep>::adopt(hand_over());
    }

  private:
    Keep hand_over() { return std::exchange(keep_, Keep{}); }

    Keep keep_{};
};

// One of any number of readers.
template <KeepsBuffer Keep>
using ReadAccess = BufferAccess<AccessKind::read, Keep>;

// The only writer.
template <KeepsBuffer Keep>
using WriteAccess = BufferAccess<AccessKind::write, Keep>;

// One of any number of wishes that the buffer stays where it is.
template <KeepsBuffer Keep>
using Pin = BufferAccess<AccessKind::pin, Keep>;

// The only mover.
template <KeepsBuffer Keep>
using MoveClaim = BufferAccess<AccessKind::move, Keep>;

}  // namespace tidemark
