// extent: releasing memory to the device, and showing the state.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/policies/extent_allocator.h"

namespace tidemark::policies {

void Extent::trim(TrimLevel level) {
    if (device_->capturing())
        return;
    settle_stuck();
    // A program that empties its cache no longer needs what it had: from now on the slack depends
    // on what it needs from here on.
    peak_ = usage_.active;
    stitched_ = 0;
    const std::vector<std::uint32_t> free = line_.free_handles();
    if (free.empty() && views_.mappings() == 0)
        return;
    bool awaited = false;
    if (level == TrimLevel::all && device_->synchronize_device()) {
        ++stats_.synchronizations;
        awaited = true;
    }
    for (std::size_t i = free.size(); i-- > 0;)  // from the last: numbers of others stay
        release_handle(free[i], awaited);
}

// Releases a free handle. False: the device refuses, or a stream may still use its memory.
bool Extent::release_handle(std::uint32_t number, bool awaited) {
    const ExtentLine::Handle handle = line_.handle(number);
    if (!awaited) {
        const DeviceResult<bool> passed = line_.streams_of(number).passed(*device_);
        if (!passed || !*passed)
            return false;
    }
    if (!views_.end_mappings(*device_, line_, number, awaited) || !device_->unmap(handle.home))
        return false;
    ++stats_.unmaps;
    usage_.mapped -= handle.home.size;
    if (!device_->release(handle.id)) {
        line_.strand(number);
        return false;
    }
    usage_.reserved -= handle.home.size;
    ++stats_.segments_released;
    line_.remove(number);
    return true;
}

// Memory that a failed request reserved from the device, which others may need.
void Extent::give_back_growth() {
    if (grown_.empty() || device_->capturing())
        return;
    const std::vector<std::uint32_t> free = line_.free_handles();
    for (std::size_t i = free.size(); i-- > 0;)  // from the last: numbers of others stay
        if (std::find(grown_.begin(), grown_.end(), line_.handle(free[i]).id) != grown_.end())
            release_handle(free[i], true);
    grown_.clear();
}

// Offers the device again what it refused to take back.
void Extent::settle_stuck() {
    for (const std::uint32_t number : line_.stuck_handles()) {  // from the last
        ExtentLine::Handle& handle = line_.handle(number);
        if (handle.mapped && device_->unmap(handle.home)) {
            handle.mapped = false;
            usage_.mapped -= handle.home.size;
        }
        if (handle.mapped || !device_->release(handle.id))
            continue;
        usage_.reserved -= handle.home.size;
        ++stats_.segments_released;
        line_.remove(number);
    }
}

void Extent::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::map<BlockId, std::vector<Block>> slabs;
    small_.for_each([&](const Block& block) { slabs[block.list].push_back(block); });
    std::set<std::uint32_t> stitched;  // handles that a view has parts of
    line_.for_each_run([](const Block& block) { return block.state == Block::State::allocated; },
                       [&](const Block& block, Range) {
                           if (block.reservation != 0)
                               stitched.insert(line_.handle_at(block.address));
                       });
    const auto is_shared = [&](Range range) {
        const auto first = stitched.lower_bound(line_.handle_at(range.begin));
        return first != stitched.end() &&
               line_.handle(*first).home.begin < range.begin + range.size;
    };
    const auto in_line = [](const Block& block) {
        return block.state != Block::State::unmapped &&
               (block.state != Block::State::allocated || block.reservation == 0);
    };
    line_.for_each_run(in_line, [&](const Block& block, Range run) {
        const Range range{block.address, block.size};
        if (block.state == Block::State::allocated && block.waits != 0) {
            for (const Block& part : slabs[static_cast<BlockId>(block.stamp)])
                visit({{part.address, part.size},
                       run,
                       part.state == Block::State::free ? Region::State::free
                                                        : Region::State::allocated});
            return;
        }
        Region region{range, run, Region::State::allocated};
        if (block.state == Block::State::free) {
            region.state = Region::State::free;
            region.shared = is_shared(range);
        } else if (block.state == Block::State::waiting) {
            region.state = Region::State::hole;
        }
        visit(region);
    });
    line_.for_each_run([&](const Block& block) { return !in_line(block); },
                       [&](const Block& block, Range) {
                           if (block.state != Block::State::allocated || block.stamp == 0)
                               return;
                           Range range{Address{block.stamp}, block.size};
                           for (BlockId next = block.list; next != kNoBlock;
                                next = line_[next].list)
                               range.size += line_[next].size;
                           visit({range, range, Region::State::allocated});
                       });
}

// Releases what it can, without waiting for a program that still uses its memory.
Extent::~Extent() {
    if (is_broken_off())
        return;
    trim(TrimLevel::all);
    if (line_.handle_count() == 0 && line_.addresses().size != 0)
        static_cast<void>(device_->unreserve(line_.addresses()));
}

}  // namespace tidemark::policies
