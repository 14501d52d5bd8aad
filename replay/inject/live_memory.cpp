// Hash tables of addresses.
#include "replay/inject/live_memory.h"

#include <utility>

namespace tidemark::inject {

std::optional<LiveAllocation> LiveMemory::Part::take(std::uint64_t address) {
    const std::uint32_t slot = slots.erase(address);
    if (slot == HashIndex::kNothing)
        return std::nullopt;
    vacant.give_back(slot);
    return std::exchange(allocations[slot], std::nullopt);
}

std::optional<LiveAllocation> LiveMemory::add(const LiveAllocation& allocation) {
    Part& part = part_of(allocation.begin.address);
    const std::lock_guard lock(part.mutex);
    auto before = part.take(allocation.begin.address);
    part.slots.insert(allocation.begin.address,
                      part.vacant.put_into(part.allocations, std::optional(allocation)));
    return before;
}

std::optional<LiveAllocation> LiveMemory::take(std::uint64_t address) {
    Part& part = part_of(address);
    const std::lock_guard lock(part.mutex);
    return part.take(address);
}

std::vector<LiveAllocation> LiveMemory::end_context(cuda::CUcontext context) {
    std::vector<LiveAllocation> ended;
    for (Part& part : parts_) {
        const std::lock_guard lock(part.mutex);
        const std::size_t first = ended.size();
        for (const auto& allocation : part.allocations) {
            if (allocation && allocation->context == context)
                ended.push_back(*allocation);
        }
        for (std::size_t i = first; i < ended.size(); ++i)
            static_cast<void>(part.take(ended[i].begin.address));
    }
    return ended;
}

}  // namespace tidemark::inject
