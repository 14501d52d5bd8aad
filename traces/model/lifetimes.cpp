// LiveMap: open addressing with linear probing, at most half full.
#include "traces/model/lifetimes.h"

#include <utility>

#include "core/base/check.h"

namespace tidemark {

std::uint32_t LiveMap::find(std::uint64_t name) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = home(name);; i = (i + 1) & mask) {
        const Entry& entry = entries_[i];
        if (entry.slot == kNoSlot || entry.name == name)
            return entry.slot;
    }
}

void LiveMap::insert(std::uint64_t name, std::uint32_t slot) {
    TM_CHECK_DEBUG(slot != kNoSlot && find(name) == kNoSlot);
    if ((size_ + 1) * 2 > entries_.size())
        grow();
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = home(name);
    while (entries_[i].slot != kNoSlot)
        i = (i + 1) & mask;
    entries_[i] = {name, slot};
    ++size_;
}

std::uint32_t LiveMap::exchange(std::uint64_t name, std::uint32_t slot) {
    TM_CHECK_DEBUG(slot != kNoSlot);
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = home(name); entries_[i].slot != kNoSlot; i = (i + 1) & mask) {
        if (entries_[i].name == name)
            return std::exchange(entries_[i].slot, slot);
    }
    insert(name, slot);
    return kNoSlot;
}

std::uint32_t LiveMap::erase(std::uint64_t name) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t hole = home(name);
    while (entries_[hole].slot != kNoSlot && entries_[hole].name != name)
        hole = (hole + 1) & mask;
    const std::uint32_t slot = entries_[hole].slot;
    if (slot == kNoSlot)
        return kNoSlot;
    // An entry behind the hole moves into it unless its home lies between the two: then a search
    // that starts there would no longer be led past.
    for (std::size_t i = (hole + 1) & mask; entries_[i].slot != kNoSlot; i = (i + 1) & mask) {
        const std::size_t distance_home = (i - home(entries_[i].name)) & mask;
        if (distance_home >= ((i - hole) & mask)) {
            entries_[hole] = entries_[i];
            hole = i;
        }
    }
    entries_[hole] = {};
    --size_;
    return slot;
}

void LiveMap::grow() {
    std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    --shift_;
    const std::size_t mask = entries_.size() - 1;
    for (const Entry& entry : old) {
        if (entry.slot == kNoSlot)
            continue;
        std::size_t i = home(entry.name);
        while (entries_[i].slot != kNoSlot)
            i = (i + 1) & mask;
        entries_[i] = entry;
    }
}

}  // namespace tidemark
