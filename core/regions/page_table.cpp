// Adding, moving and removing pages, with every step undone if a later one fails.
#include "core/regions/page_table.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

DeviceResult<std::uint32_t> PageTable::reserve(Device& device, Bytes size) {
    TM_ASSIGN(const Range range, device.reserve(size));
    roots_.push_back({range, {}});
    return root_count() - 1;
}

DeviceResult<void> PageTable::unreserve(Device& device, std::uint32_t root) {
    const DeviceResult<void> done = device.unreserve(roots_[root].range);
    if (done)
        roots_[root] = {};
    return done;
}

std::span<std::uint32_t> PageTable::entries(PageRange target) {
    Root& root = roots_[target.root];
    const std::size_t first = (target.range.begin - root.range.begin) / page_;
    const std::size_t count = target.range.size / page_;
    TM_CHECK_DEBUG(first + count <= root.range.size / page_);
    if (root.entries.size() < first + count)
        root.entries.resize(first + count, kNone);
    return std::span(root.entries).subspan(first, count);
}

std::uint32_t PageTable::add(PhysicalId handle) {
    ++held_;
    return vacant_.put_into(pages_, Page{handle, 0});
}

DeviceResult<void> PageTable::allow(Device& device, Range range) const {
    DeviceResult<void> done = device.set_access(range, true);
    for (std::size_t i = 0; i < peers_.size() && done; ++i)
        done = device.set_access_for({Location::Kind::device, peers_[i]}, range, true);
    return done;
}

void PageTable::mapped_once_less(std::uint32_t page) {
    TM_CHECK_DEBUG(pages_[page].mappings > 0);
    --pages_[page].mappings;
    mapped_ -= pages_[page].mappings == 0 ? 1U : 0U;
}

// Maps all pages or none, as far as the device lets us undo it: those that are mapped at `range`
// afterwards have been counted.
DeviceResult<void> PageTable::map(Device& device, Range range,
                                  std::span<const std::uint32_t> pages) {
    DeviceResult<void> done;
    std::size_t count = 0;
    while (count < pages.size() && done) {
        done = device.map({range.begin + count * page_, page_}, pages_[pages[count]].handle);
        count += done ? 1U : 0U;
    }
    if (done)
        done = allow(device, range);
    if (!done && (count == 0 || device.unmap({range.begin, count * page_})))
        return done;
    for (const std::uint32_t page : pages.first(count))
        mapped_ += pages_[page].mappings++ == 0 ? 1U : 0U;
    return done;
}

// Releases those of `pages` that are not mapped, and empties their entries.
void PageTable::drop(Device& device, std::span<std::uint32_t> pages) {
    for (std::uint32_t& page : pages) {
        if (page == kNone || pages_[page].mappings != 0 || !device.release(pages_[page].handle))
            continue;
        vacant_.give_back(page);
        page = kNone;
        --held_;
    }
}

DeviceResult<void> PageTable::populate(Device& device, PageRange target) {
    const std::span<std::uint32_t> pages = entries(target);
    DeviceResult<void> done;
    std::size_t count = 0;
    for (; count < pages.size() && done; ++count) {
        const DeviceResult<PhysicalId> handle = device.create(Location{}, page_);
        if (!handle) {
            done = tl::make_unexpected(handle.error());
            break;
        }
        pages[count] = add(*handle);
    }
    if (done)
        done = map(device, target.range, pages);
    if (!done)
        drop(device, pages.first(count));
    return done;
}

DeviceResult<void> PageTable::alias(Device& device, PageRange target,
                                    std::span<const PageRange> sources) {
    std::vector<std::uint32_t> pages;
    for (const PageRange& source : sources) {
        const std::span<std::uint32_t> part = entries(source);
        pages.insert(pages.end(), part.begin(), part.end());
    }
    const std::span<std::uint32_t> entry = entries(target);
    TM_CHECK(entry.size() == pages.size());
    std::vector<std::uint32_t> before;
    for (const std::uint32_t page : pages)
        before.push_back(pages_[page].mappings);
    const DeviceResult<void> done = map(device, target.range, pages);
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (pages_[pages[i]].mappings != before[i])
            entry[i] = pages[i];
    }
    return done;
}

DeviceResult<void> PageTable::unalias(Device& device, PageRange target) {
    const DeviceResult<void> done = device.unmap(target.range);
    if (!done)
        return done;
    for (std::uint32_t& page : entries(target)) {
        mapped_once_less(page);
        TM_CHECK_DEBUG(pages_[page].mappings > 0);
        page = kNone;
    }
    return done;
}

DeviceResult<void> PageTable::vacate(Device& device, PageRange target) {
    const std::span<std::uint32_t> pages = entries(target);
    const auto is_mapped = [this](std::uint32_t page) { return pages_[page].mappings != 0; };
    if (std::any_of(pages.begin(), pages.end(), is_mapped)) {
        TM_TRY(device.unmap(target.range));
        for (const std::uint32_t page : pages)
            mapped_once_less(page);
    }
    drop(device, pages);
    return {};
}

PageTable::State PageTable::state(std::uint32_t root, Address address) const {
    const Root& found = roots_[root];
    const std::size_t index = (address - found.range.begin) / page_;
    if (index >= found.entries.size() || found.entries[index] == kNone)
        return State::empty;
    const std::uint32_t mappings = pages_[found.entries[index]].mappings;
    if (mappings == 0)
        return State::loose;
    return mappings == 1 ? State::mapped : State::shared;
}

bool PageTable::any_shared(PageRange target) const {
    for (Bytes offset = 0; offset < target.range.size; offset += page_) {
        if (state(target.root, target.range.begin + offset) == State::shared)
            return true;
    }
    return false;
}

}  // namespace tidemark
