// Gate: whether a buffer is where its users expect it, and how many use it: one atomic word, so
// that a user needs no lock to *pin* a buffer that is there, or to unpin it.
//
// A gate is shut, or open for readers (other copies of the bytes are valid too), or open for
// writers (this is the only copy). Only the engine opens and shuts it, under its lock: it shuts it
// before the copy leaves or another is made, which succeeds only while nobody has a pin. If there
// are pins it *seals* the gate: existing pins stay valid, and others may join them, but the last
// pin to end shuts the gate and tells the engine.
//
// The streams on which users have queued work are noted with the gate, without an event each;
// whoever needs to know when that work is done takes the notes and records their points then.
//
// Thread-safety: try_pin, note, unpin and the figures from any thread; the rest under the engine's
// lock. O(1); O(streams) for note if more than two are used.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"

namespace tidemark {

class Gate {
  public:
    struct State {
        std::uint32_t pins = 0;
        bool open = false;
        bool writers = false;
        bool sealed = false;
        std::uint64_t uses = 0;  // pins ever, modulo 2^37

        friend bool operator==(const State&, const State&) = default;
    };

    // A pin, if the gate is open for that.
    bool try_pin(bool write) {
        std::uint64_t word = word_.load(std::memory_order_relaxed);
        const std::uint64_t needed = kOpen | (write ? kWriters : 0);
        do {
            if ((word & needed) != needed) [[unlikely]]
                return false;
            TM_CHECK_DEBUG((word & kPins) != kPins);
        } while (!word_.compare_exchange_weak(word, word + kPin + kUse, std::memory_order_acquire,
                                              std::memory_order_relaxed));
        return true;
    }

    // Notes that the owner of a pin has queued work on the stream.
    void note(StreamId stream) {
        const std::uint64_t noted = std::uint64_t{to_integer(stream)} + 1;
        if (streams_[0].load(std::memory_order_relaxed) != noted) [[unlikely]]
            note_another(noted);
    }

    // Ends a pin. True: it was the last one of a sealed gate, which is shut now. The caller must
    // tell the engine (SpillEngine::unsealed), and whether the gate was open for writers.
    bool unpin(bool& writers) {
        std::uint64_t word = word_.load(std::memory_order_relaxed);
        for (;;) {
            TM_CHECK((word & kPins) != 0);
            const bool last = (word & (kPins | kSealed)) == (kPin | kSealed);
            const std::uint64_t next = last ? word & kUses : word - kPin;
            if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) [[likely]] {
                writers = (word & kWriters) != 0;
                return last;
            }
        }
    }

    State state() const { return state_of(word_.load(std::memory_order_acquire)); }

    // The engine's side.

    // Shuts it unless it is pinned. False: it is pinned. `before`: its former state.
    bool shut(State& before);

    // Like shut; but if it is pinned, seals it.
    void seal(State& before);

    // Opens it for one more pin, which the caller has from now on; it stays open for what it was
    // open for.
    void admit(bool writers, bool sealed, State& before);

    // What has been noted since the last call.
    std::vector<StreamId> take_notes();

    // Takes the note of one stream. False: there was none.
    bool take_note(StreamId stream);

  private:
    static constexpr std::uint64_t kPin = 1;
    static constexpr std::uint64_t kPins = (std::uint64_t{1} << 24U) - 1;
    static constexpr std::uint64_t kOpen = std::uint64_t{1} << 24U;
    static constexpr std::uint64_t kWriters = std::uint64_t{1} << 25U;
    static constexpr std::uint64_t kSealed = std::uint64_t{1} << 26U;
    static constexpr std::uint64_t kUse = std::uint64_t{1} << 27U;
    static constexpr std::uint64_t kUses = ~(kUse - 1);

    static State state_of(std::uint64_t word);
    void note_another(std::uint64_t noted);

    std::atomic<std::uint64_t> word_ = 0;
    std::array<std::atomic<std::uint64_t>, 2> streams_{};  // the id + 1; 0: none
    std::mutex mutex_;
    std::vector<std::uint64_t> more_;  // under it
};

}  // namespace tidemark
