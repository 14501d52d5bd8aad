// See gate.h.
#include "core/tiers/engine/gate.h"

#include <algorithm>

namespace tidemark {

Gate::State Gate::state_of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word & kPins), (word & kOpen) != 0, (word & kWriters) != 0,
            (word & kSealed) != 0, word / kUse};
}

bool Gate::shut(State& before) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
        before = state_of(word);
        if (before.pins != 0)
            return false;
    } while (!word_.compare_exchange_weak(word, word & kUses, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
}

void Gate::seal(State& before) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        before = state_of(word);
        next = before.pins == 0 ? word & kUses : word | kSealed;
    } while (!word_.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
}

void Gate::admit(bool writers, bool sealed, State& before) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        before = state_of(word);
        next = (word & ~kSealed) + kPin + kUse;
        next |= kOpen | (writers ? kWriters : 0) | (sealed ? kSealed : 0);
    } while (!word_.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
}

void Gate::note_another(std::uint64_t noted) {
    for (std::atomic<std::uint64_t>& slot : streams_) {
        std::uint64_t there = slot.load(std::memory_order_relaxed);
        if (there == noted || (there == 0 && slot.compare_exchange_strong(there, noted)) ||
            there == noted)
            return;
    }
    const std::lock_guard lock(mutex_);
    if (std::find(more_.begin(), more_.end(), noted) == more_.end())
        more_.push_back(noted);
}

std::vector<StreamId> Gate::take_notes() {
    std::vector<StreamId> streams;
    for (std::atomic<std::uint64_t>& slot : streams_)
        if (const std::uint64_t noted = slot.exchange(0); noted != 0)
            streams.push_back(StreamId{static_cast<std::uint32_t>(noted - 1)});
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t noted : more_)
        streams.push_back(StreamId{static_cast<std::uint32_t>(noted - 1)});
    more_.clear();
    return streams;
}

bool Gate::take_note(StreamId stream) {
    const std::uint64_t noted = std::uint64_t{to_integer(stream)} + 1;
    bool found = false;
    for (std::atomic<std::uint64_t>& slot : streams_) {
        std::uint64_t there = noted;
        found = slot.compare_exchange_strong(there, 0) || found;
    }
    const std::lock_guard lock(mutex_);
    return std::erase(more_, noted) != 0 || found;
}

}  // namespace tidemark
