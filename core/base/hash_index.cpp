// Probing goes upwards and wraps around.
#include "core/base/hash_index.h"

#include <utility>

#include "core/base/check.h"

namespace tidemark {

std::uint32_t HashIndex::find(std::uint64_t key) const {
    for (std::size_t i = home(key);; i = after(i))
        if (slots_[i].value == kNothing || slots_[i].key == key)
            return slots_[i].value;
}

void HashIndex::insert(std::uint64_t key, std::uint32_t value) {
    TM_CHECK_DEBUG(value != kNothing);
    if ((count_ + 1) * 2 > slots_.size())
        grow();
    put({key, value});
    ++count_;
}

std::uint32_t HashIndex::exchange(std::uint64_t key, std::uint32_t value) {
    TM_CHECK_DEBUG(value != kNothing);
    for (std::size_t i = home(key); slots_[i].value != kNothing; i = after(i))
        if (slots_[i].key == key)
            return std::exchange(slots_[i].value, value);
    insert(key, value);
    return kNothing;
}

std::uint32_t HashIndex::erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (slots_[hole].value != kNothing && slots_[hole].key != key)
        hole = after(hole);
    const std::uint32_t value = slots_[hole].value;
    if (value != kNothing)
        vacate(hole);
    return value;
}

void HashIndex::erase(std::uint64_t key, std::uint32_t value) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key || slots_[hole].value != value) {
        TM_CHECK(slots_[hole].value != kNothing);
        hole = after(hole);
    }
    vacate(hole);
}

// A slot behind the hole moves into it unless its home is between the two: otherwise a search that
// starts at its home would no longer reach it.
void HashIndex::vacate(std::size_t hole) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = after(hole); slots_[i].value != kNothing; i = after(i)) {
        if (((i - home(slots_[i].key)) & mask) >= ((i - hole) & mask)) {
            slots_[hole] = slots_[i];
            hole = i;
        }
    }
    slots_[hole] = {};
    --count_;
}

void HashIndex::put(const Slot& slot) {
    std::size_t i = home(slot.key);
    while (slots_[i].value != kNothing)
        i = after(i);
    slots_[i] = slot;
}

void HashIndex::grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    --shift_;
    for (const Slot& slot : old)
        if (slot.value != kNothing)
            put(slot);
}

}  // namespace tidemark
