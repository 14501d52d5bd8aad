// Records in a vector, found through two indices.
#include "core/concurrent/address_map.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr unsigned kClassBits = 6;

// The smallest k for which 2^k is not below `size`.
unsigned class_of(Bytes size) {
    return static_cast<unsigned>(std::bit_width(size - 1));
}

// Two cells may share a key: what is found is looked at.
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
            entry.number};
}

void AddressMap::insert(const Entry& entry) {
    const unsigned size_class = class_of(entry.allocation.size);
    TM_CHECK(entry.allocation.size != 0 && size_class < kClasses);
    const std::uint32_t index = numbers_.take();
    entries_.resize(numbers_.count());
    entries_[index] = entry;
    const std::uint64_t begin = to_integer(entry.allocation.address);
    TM_CHECK(by_begin_.exchange(begin, index) == HashIndex::kNothing);
    by_cell_.insert(cell_key(begin >> size_class, size_class), index);
    ++class_counts_[size_class];
    classes_ |= std::uint64_t{1} << size_class;
}

const AddressMap::Entry* AddressMap::find(Address address) const {
    const std::uint32_t index = by_begin_.find(to_integer(address));
    return index == HashIndex::kNothing ? nullptr : &entries_[index];
}

bool AddressMap::take(Address address, Entry& taken) {
    const std::uint32_t index = by_begin_.erase(to_integer(address));
    if (index == HashIndex::kNothing)
        return false;
    taken = std::exchange(entries_[index], {});
    const unsigned size_class = class_of(taken.allocation.size);
    by_cell_.erase(cell_key(to_integer(address) >> size_class, size_class), index);
    numbers_.give_back(index);
    if (--class_counts_[size_class] == 0)
        classes_ &= ~(std::uint64_t{1} << size_class);
    return true;
}

const AddressMap::Entry* AddressMap::containing(Address address) const {
    for (std::uint64_t left = classes_; left != 0; left &= left - 1) {
        const auto size_class = static_cast<unsigned>(std::countr_zero(left));
        const std::uint64_t cell = to_integer(address) >> size_class;
        std::uint32_t index = search_cell(address, size_class, cell);
        if (index == HashIndex::kNothing && cell != 0)
            index = search_cell(address, size_class, cell - 1);
        if (index != HashIndex::kNothing)
            return &entries_[index];
    }
    return nullptr;
}

std::vector<LiveAllocation> AddressMap::all() const {
    std::vector<LiveAllocation> result;
    for (const Entry& entry : entries_)
        if (entry.allocation.size != 0)
            result.push_back(to_live(entry));
    std::sort(result.begin(), result.end(),
              [](const LiveAllocation& a, const LiveAllocation& b) { return a.number < b.number; });
    return result;
}

std::uint32_t AddressMap::search_cell(Address address, unsigned size_class,
                                      std::uint64_t cell) const {
    return by_cell_.find(cell_key(cell, size_class), [&](std::uint32_t index) {
        const Allocation& each = entries_[index].allocation;
        return each.address <= address && address - each.address < each.size;
    });
}

}  // namespace tidemark
