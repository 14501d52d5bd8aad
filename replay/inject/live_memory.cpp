// Tables of addresses.
#include "replay/inject/live_memory.h"

#include <mutex>
#include <utility>

namespace tidemark::inject {

std::size_t LiveMemory::Part::find(std::uint64_t address) const {
    std::size_t slot = home(address);
    while (slots[slot].address != 0 && slots[slot].address != address)
        slot = after(slot);
    return slot;
}

// A slot behind the hole moves into it unless its home is between the two: then a search that
// starts there would no longer reach it.
void LiveMemory::Part::vacate(std::size_t hole) {
    const std::size_t mask = slots.size() - 1;
    for (std::size_t i = after(hole); slots[i].address != 0; i = after(i)) {
        if (((i - home(slots[i].address)) & mask) >= ((i - hole) & mask)) {
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].address = 0;
    --count;
}

[[gnu::noinline]] void LiveMemory::Part::grow() {
    std::vector<LiveAllocation> larger(slots.size() * 2);
    const std::vector<LiveAllocation> old = std::exchange(slots, std::move(larger));
    --shift;
    for (const LiveAllocation& each : old) {
        if (each.address != 0)
            slots[find(each.address)] = each;
    }
}

[[gnu::hot]] std::optional<LiveAllocation> LiveMemory::add(const LiveAllocation& allocation) {
    Part& part = part_of(allocation.address);
    const std::lock_guard lock(part.lock);
    if ((part.count + 1) * 2 > part.slots.size()) [[unlikely]]
        part.grow();
    LiveAllocation& slot = part.slots[part.find(allocation.address)];
    if (slot.address != 0) [[unlikely]]
        return std::exchange(slot, allocation);
    slot = allocation;
    ++part.count;
    return std::nullopt;
}

[[gnu::hot]] bool LiveMemory::take(std::uint64_t address, LiveAllocation& taken) {
    Part& part = part_of(address);
    const std::lock_guard lock(part.lock);
    const std::size_t slot = part.find(address);
    taken = part.slots[slot];
    if (taken.address == 0)
        return false;
    part.vacate(slot);
    return true;
}

std::vector<LiveAllocation> LiveMemory::end_context(cuda::CUcontext context) {
    std::vector<LiveAllocation> ended;
    for (Part& part : parts_) {
        const std::lock_guard lock(part.lock);
        const std::size_t first = ended.size();
        for (const LiveAllocation& allocation : part.slots) {
            if (allocation.address != 0 && allocation.context == context)
                ended.push_back(allocation);
        }
        for (std::size_t i = first; i < ended.size(); ++i)
            part.vacate(part.find(ended[i].address));
    }
    return ended;
}

}  // namespace tidemark::inject
