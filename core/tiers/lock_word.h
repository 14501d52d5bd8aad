// LockWord: all that a buffer's lock knows, in one 64-bit word, and who may come in. The rules
// alone, without threads: buffer_lock.h applies them with compare-and-swap, and tests walk through
// every order of their steps.
//
// Because it is one word, a look at it is a look at one moment: no count or state can be stale
// against another. Plain values; every function is O(1).
#pragma once

#include <cstdint>

#include "core/base/check.h"

namespace tidemark {

// What a thread may wait for.
enum class LockWish : std::uint8_t { read, write, pin, upgrade };

class LockWord {
  public:
    constexpr LockWord() = default;

    constexpr explicit LockWord(std::uint64_t bits) : bits_(bits) {}

    constexpr std::uint64_t bits() const { return bits_; }

    // Who is in.
    constexpr std::uint32_t readers() const { return static_cast<std::uint32_t>(bits_ & kMost); }

    constexpr std::uint32_t pins() const {
        return static_cast<std::uint32_t>((bits_ / kPin) & kMost);
    }

    constexpr bool writing() const { return (bits_ & kWriter) != 0; }

    constexpr bool moving() const { return (bits_ & kMoving) != 0; }

    // A reader waits to become the writer.
    constexpr bool upgrading() const { return (bits_ & kUpgrading) != 0; }

    // Somebody waits, for anything.
    constexpr bool queued() const { return (bits_ & kQueued) != 0; }

    // Whether a newcomer gets its wish at once. It may not pass those that wait already; only a
    // pin may, which is in nobody's way, and an upgrade, which all others wait for anyway.
    constexpr bool admits(LockWish wish) const {
        switch (wish) {
            case LockWish::read:
                return (bits_ & (kWriter | kMoving | kUpgrading | kQueued)) == 0;
            case LockWish::write:
                return (bits_ & ~(kMost * kPin)) == 0;
            case LockWish::pin:
                return !moving();
            case LockWish::upgrade:
                return readers() == 1 && !upgrading();
        }
        return false;
    }

    // Whether the one that has waited longest gets its wish now.
    constexpr bool grants(LockWish wish) const {
        switch (wish) {
            case LockWish::read:
                return (bits_ & (kWriter | kMoving | kUpgrading)) == 0;
            case LockWish::write:
                return (bits_ & (kMost | kWriter | kMoving)) == 0;
            case LockWish::pin:
                return !moving();
            case LockWish::upgrade:
                return readers() == 1;
        }
        return false;
    }

    // Whether it may be moved: nobody is in and nobody waits.
    constexpr bool movable() const { return bits_ == 0; }

    // The word once a wish is granted.
    LockWord with(LockWish wish) const {
        switch (wish) {
            case LockWish::read:
                TM_CHECK(readers() < kMost);
                return LockWord(bits_ + kReader);
            case LockWish::write:
                return LockWord(bits_ | kWriter);
            case LockWish::pin:
                TM_CHECK(pins() < kMost);
                return LockWord(bits_ + kPin);
            case LockWish::upgrade:
                return LockWord(((bits_ - kReader) | kWriter) & ~kUpgrading);
        }
        return *this;
    }

    // The word with one that waits for `wish`.
    constexpr LockWord with_waiter(LockWish wish) const {
        return LockWord(bits_ | kQueued | (wish == LockWish::upgrade ? kUpgrading : 0));
    }

    // Whether somebody must look at the queue, now that an access has ended: those that wait may
    // have what they want. (The end of a pin helps nobody: moves are never waited for.)
    constexpr bool calls() const {
        return queued() && !writing() && !moving() && readers() <= (upgrading() ? 1U : 0U);
    }

    static constexpr std::uint64_t kReader = 1;
    static constexpr std::uint64_t kPin = std::uint64_t{1} << 24U;
    static constexpr std::uint64_t kMost = kPin - 1;  // readers, and pins
    static constexpr std::uint64_t kWriter = std::uint64_t{1} << 48U;
    static constexpr std::uint64_t kMoving = std::uint64_t{1} << 49U;
    static constexpr std::uint64_t kUpgrading = std::uint64_t{1} << 50U;
    static constexpr std::uint64_t kQueued = std::uint64_t{1} << 51U;

    friend constexpr bool operator==(LockWord, LockWord) = default;

  private:
    std::uint64_t bits_ = 0;
};

}  // namespace tidemark
