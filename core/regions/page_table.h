// PageTable: pages of physical memory, and the reserved addresses at which they are mapped,
// possibly at two addresses at once.
//
// Model: a root is a reservation of addresses. A page is one handle, of one size for all; an entry
// says which page is at an address. `populate` makes new pages, `alias` maps existing ones at a
// second address (the first stays), `unalias` ends the first mapping, `vacate` releases pages. Each
// is all or nothing; what a device refuses to undo stays in the table, where `state` shows it, and
// `vacate` or `unalias` tries it again.
//
// A value that names its device only in calls: copying it copies the state. Not thread-safe. Calls
// are O(pages) of their range; a range is in one root, in whole pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/vacant_ids.h"
#include "core/device/device.h"

namespace tidemark {

class PageTable {
  public:
    struct PageRange {
        std::uint32_t root = 0;
        Range range;
    };

    enum class State : std::uint8_t {
        empty,   // no page
        loose,   // a page that is not mapped: the device refused to take it back
        mapped,  // a page that is mapped here and nowhere else
        shared,  // a page that is mapped elsewhere too
    };

    PageTable() = default;

    // `page` is a multiple of the device's granularity; the devices `peers` get access too.
    PageTable(Bytes page, std::vector<std::uint16_t> peers)
        : page_(page), peers_(std::move(peers)) {}

    Bytes page() const { return page_; }

    // Reserves `size` bytes of addresses, a multiple of the page; returns the number of the new
    // root.
    DeviceResult<std::uint32_t> reserve(Device& device, Bytes size);

    // Frees the addresses of a root without pages; its size is 0 from then on.
    DeviceResult<void> unreserve(Device& device, std::uint32_t root);

    std::uint32_t root_count() const { return static_cast<std::uint32_t>(roots_.size()); }

    Range root(std::uint32_t number) const { return roots_[number].range; }

    // Maps new pages into an empty range. Calls: create and map for each page, set_access once and
    // once for each peer. After an error, pages that the device did not take back may remain.
    DeviceResult<void> populate(Device& device, PageRange target);

    // Maps the pages of `sources`, one after another, into the empty range `target` of their size.
    // After an error some of `target` may remain mapped (from its start on).
    DeviceResult<void> alias(Device& device, PageRange target, std::span<const PageRange> sources);

    // Unmaps a range whose pages are all mapped elsewhere too, in one call. After an error nothing
    // has changed.
    DeviceResult<void> unalias(Device& device, PageRange target);

    // Releases pages that are mapped nowhere else to the device. After an error in `unmap` nothing
    // has changed; pages that the device refuses to release stay, loose.
    DeviceResult<void> vacate(Device& device, PageRange target);

    State state(std::uint32_t root, Address address) const;

    // Is any page of the range mapped elsewhere too?
    bool any_shared(PageRange target) const;

    // Physical memory, each page counted once: all of it, and what is mapped.
    Bytes held() const { return held_ * page_; }

    Bytes mapped() const { return mapped_ * page_; }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    struct Page {
        PhysicalId handle{};
        std::uint32_t mappings = 0;
    };

    struct Root {
        Range range;
        std::vector<std::uint32_t> entries;  // pages, up to the last entry that was ever set
    };

    std::span<std::uint32_t> entries(PageRange target);
    std::uint32_t add(PhysicalId handle);
    DeviceResult<void> allow(Device& device, Range range) const;
    DeviceResult<void> map(Device& device, Range range, std::span<const std::uint32_t> pages);
    void mapped_once_less(std::uint32_t page);
    void drop(Device& device, std::span<std::uint32_t> pages);

    Bytes page_ = 1;
    std::vector<std::uint16_t> peers_;
    std::vector<Root> roots_;
    std::vector<Page> pages_;
    VacantIds vacant_;  // numbers of pages that were released
    Bytes held_ = 0;    // in pages, as is mapped_
    Bytes mapped_ = 0;
};

}  // namespace tidemark
