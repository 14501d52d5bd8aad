// Hash tables of addresses.
#include "replay/inject/live_memory.h"

namespace tidemark::inject {

bool LiveMemory::Part::take(std::uint64_t address, LiveAllocation& taken) {
    const std::uint32_t slot = slots.erase(address);
    if (slot == HashIndex::kNothing)
        return false;
    vacant.give_back(slot);
    taken = allocations[slot];
    allocations[slot].begin.address = 0;
    return true;
}

std::optional<LiveAllocation> LiveMemory::add(const live::ReportedEvent& begin,
                                              cuda::CUcontext context) {
    Part& part = part_of(begin.address);
    const std::lock_guard lock(part.mutex);
    std::optional<LiveAllocation> before;
    if (part.slots.find(begin.address) != HashIndex::kNothing) [[unlikely]]
        part.take(begin.address, before.emplace());
    const std::uint32_t slot = part.vacant.take();
    if (slot == part.allocations.size())
        part.allocations.emplace_back();
    part.allocations[slot].begin = begin;
    part.allocations[slot].context = context;
    part.slots.insert(begin.address, slot);
    return before;
}

bool LiveMemory::take(std::uint64_t address, LiveAllocation& taken) {
    Part& part = part_of(address);
    const std::lock_guard lock(part.mutex);
    return part.take(address, taken);
}

std::vector<LiveAllocation> LiveMemory::end_context(cuda::CUcontext context) {
    std::vector<LiveAllocation> ended;
    for (Part& part : parts_) {
        const std::lock_guard lock(part.mutex);
        const std::size_t first = ended.size();
        for (const LiveAllocation& allocation : part.allocations) {
            if (allocation.begin.address != 0 && allocation.context == context)
                ended.push_back(allocation);
        }
        for (std::size_t i = first; i < ended.size(); ++i)
            part.take(ended[i].begin.address, ended[i]);
    }
    return ended;
}

}  // namespace tidemark::inject
