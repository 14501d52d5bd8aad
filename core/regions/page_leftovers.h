// PageLeftovers: what a device didn't take back, on a PageTable: pages that nobody can use, and
// reserved addresses without pages. They are offered again, and shown as holes until they are gone.
//
// A value that names table and device only in calls: copying it copies the state. Not thread-safe.
// O(pages that are left) a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/regions/page_table.h"

namespace tidemark {

class PageLeftovers {
  public:
    // Some of `pages` are still there; neither a user nor a stream uses them.
    void add(PageTable::PageRange pages) { pages_.push_back(pages); }

    // The addresses of `root` are to be freed as soon as nothing is left in it.
    void add_root(std::uint32_t root) { roots_.push_back(root); }

    bool empty() const { return pages_.empty() && roots_.empty(); }

    bool any_in(std::uint32_t root) const {
        return std::ranges::any_of(
            pages_, [root](const PageTable::PageRange& pages) { return pages.root == root; });
    }

    void settle(PageTable& table, Device& device) {
        std::erase_if(pages_, [&](const PageTable::PageRange& pages) {
            for_each_page(table, pages, [&](Range page) {
                static_cast<void>(table.vacate(device, {pages.root, page}));
            });
            return is_gone(table, pages);
        });
        std::erase_if(roots_, [&](std::uint32_t root) {
            return !any_in(root) && table.unreserve(device, root).has_value();
        });
    }

    // Calls visit(range) for each page that is left.
    template <class Visit>
    void for_each(const PageTable& table, Visit visit) const {
        for (const PageTable::PageRange& pages : pages_)
            for_each_page(table, pages, visit);
    }

    // Is there no page in the range?
    static bool is_gone(const PageTable& table, PageTable::PageRange pages) {
        bool gone = true;
        for_each_page(table, pages, [&gone](Range) { gone = false; });
        return gone;
    }

  private:
    template <class Visit>
    static void for_each_page(const PageTable& table, PageTable::PageRange pages, Visit visit) {
        for (Bytes offset = 0; offset < pages.range.size; offset += table.page()) {
            const Range page{pages.range.begin + offset, table.page()};
            if (table.state(pages.root, page.begin) != PageTable::State::empty)
                visit(page);
        }
    }

    std::vector<PageTable::PageRange> pages_;
    std::vector<std::uint32_t> roots_;
};

}  // namespace tidemark
