// Entries in a deque, found through two indices.
#include "core/concurrent/address_map.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr unsigned kClassBits = 6;

// The smallest k for which 2^k is not below `size`.
unsigned class_of(Bytes size) {
    return static_cast<unsigned>(std::bit_width(size - 1));
}

// Two cells may share a key, so every match is verified.
std::uint64_t cell_key(std::uint64_t cell, unsigned size_class) {
    return (cell << kClassBits) | size_class;
}

}  // namespace

LiveAllocation to_live(const AddressMap::Entry& entry) {
    return {entry.allocation.address,
            entry.requested,
            entry.allocation.size,
            entry.stream,
            entry.pool,
            entry.number,
            entry.tag};
}

AddressMap::Entry& AddressMap::insert(const LiveAllocation& grant, std::uint32_t node,
                                      std::uint32_t owner) {
    const unsigned size_class = class_of(grant.size);
    TM_CHECK(grant.size != 0 && size_class < kClasses && !full());
    const std::uint32_t id = ids_.take();
    if (id == entries_.size())
        entries_.emplace_back();
    Entry& entry = entries_[id];
    entry.allocation = {.address = grant.address, .size = grant.size, .node = node};
    entry.requested = grant.requested;
    entry.number = grant.number;
    entry.tag = grant.tag;
    entry.stream = grant.stream;
    entry.pool = grant.pool;
    entry.living = true;
    entry.used_elsewhere = false;
    entry.id_ = id;
    entry.owner.store(owner, std::memory_order_release);
    const std::uint64_t begin = to_integer(grant.address);
    put(begin, entry);
    by_cell_.insert(cell_key(begin >> size_class, size_class), id);
    ++class_counts_[size_class];
    classes_ |= std::uint64_t{1} << size_class;
    return entry;
}

void AddressMap::erase(Entry& entry) {
    const std::uint64_t begin = to_integer(entry.allocation.address);
    std::size_t slot = home(begin);
    while (slots_[slot].key.load(std::memory_order_relaxed) != begin)
        slot = after(slot);
    slots_[slot].entry.store(nullptr, std::memory_order_release);
    const unsigned size_class = class_of(entry.allocation.size);
    by_cell_.erase(cell_key(begin >> size_class, size_class), entry.id_);
    if (--class_counts_[size_class] == 0)
        classes_ &= ~(std::uint64_t{1} << size_class);
    entry.living = false;
    entry.owner.store(kNobody, std::memory_order_release);
    ids_.give_back(entry.id_);
}

AddressMap::Entry* AddressMap::containing(Address address) {
    for (std::uint64_t left = classes_; left != 0; left &= left - 1) {
        const auto size_class = static_cast<unsigned>(std::countr_zero(left));
        const std::uint64_t cell = to_integer(address) >> size_class;
        std::uint32_t id = search_cell(address, size_class, cell);
        if (id == HashIndex::kNothing && cell != 0)
            id = search_cell(address, size_class, cell - 1);
        if (id != HashIndex::kNothing)
            return &entries_[id];
    }
    return nullptr;
}

void AddressMap::make_room() {
    const std::size_t count = std::max<std::size_t>(std::bit_ceil(size() * 4), 4096);
    slots_ = std::vector<Slot>(count);
    shift_ = static_cast<unsigned>(64 - std::countr_zero(count));
    used_ = 0;
    for (Entry& entry : entries_) {
        if (entry.owner.load(std::memory_order_relaxed) != kNobody)
            put(to_integer(entry.allocation.address), entry);
    }
}

void AddressMap::clear() {
    for (Entry& entry : entries_) {
        if (entry.owner.load(std::memory_order_relaxed) != kNobody)
            erase(entry);
    }
}

// A slot that had an entry is reused: a thread that is reading it for its old key gets an entry of
// another address, which it must expect anyway.
void AddressMap::put(std::uint64_t key, Entry& entry) {
    std::size_t slot = home(key);
    std::size_t vacant = slots_.size();
    for (;; slot = after(slot)) {
        const std::uint64_t found = slots_[slot].key.load(std::memory_order_relaxed);
        if (found == key || found == kEmpty)
            break;
        if (vacant == slots_.size() &&
            slots_[slot].entry.load(std::memory_order_relaxed) == nullptr)
            vacant = slot;
    }
    const bool known = slots_[slot].key.load(std::memory_order_relaxed) == key;
    TM_CHECK(!known || slots_[slot].entry.load(std::memory_order_relaxed) == nullptr);
    if (!known && vacant != slots_.size())
        slot = vacant;
    else if (!known)
        ++used_;
    slots_[slot].entry.store(&entry, std::memory_order_release);
    slots_[slot].key.store(key, std::memory_order_release);
}

std::uint32_t AddressMap::search_cell(Address address, unsigned size_class,
                                      std::uint64_t cell) const {
    return by_cell_.find(cell_key(cell, size_class), [&](std::uint32_t id) {
        const Allocation& each = entries_[id].allocation;
        return each.address <= address && address - each.address < each.size;
    });
}

}  // namespace tidemark
