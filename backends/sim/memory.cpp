// Pages of bytes.
#include "backends/sim/memory.h"

#include <algorithm>

namespace tidemark {
namespace {

// Calls `visit(page, offset in the page, offset in the range, size)` for each page of a range.
template <class Visit>
void for_each_page(Address address, Bytes size, Bytes page_size, Visit visit) {
    Bytes done = 0;
    while (done < size) {
        const std::uint64_t at = to_integer(address) + done;
        const Bytes offset = at % page_size;
        const Bytes piece = std::min(size - done, page_size - offset);
        visit(at / page_size, offset, done, piece);
        done += piece;
    }
}

}  // namespace

std::span<std::byte> ByteStore::own_bytes(Page& page) {
    if (page.bytes.empty())
        page.bytes.assign(kPage, page.value);
    return page.bytes;
}

void ByteStore::read(Address address, std::span<std::byte> target) const {
    for_each_page(address, target.size(), kPage,
                  [&](std::uint64_t number, Bytes offset, Bytes done, Bytes size) {
                      const auto piece = target.subspan(done, size);
                      const auto page = pages_.find(number);
                      if (page == pages_.end())
                          std::ranges::fill(piece, kUnwritten);
                      else if (page->second.bytes.empty())
                          std::ranges::fill(piece, page->second.value);
                      else
                          std::copy_n(page->second.bytes.data() + offset, size, piece.data());
                  });
}

void ByteStore::write(Address address, std::span<const std::byte> source) {
    for_each_page(address, source.size(), kPage,
                  [&](std::uint64_t number, Bytes offset, Bytes done, Bytes size) {
                      const auto page = own_bytes(pages_[number]);
                      std::copy_n(source.data() + done, size, page.data() + offset);
                  });
}

void ByteStore::fill(Address address, Bytes size, std::byte value) {
    for_each_page(address, size, kPage,
                  [&](std::uint64_t number, Bytes offset, Bytes /*done*/, Bytes piece) {
                      Page& page = pages_[number];
                      if (piece == kPage)
                          page = {.value = value, .bytes = {}};
                      else
                          std::ranges::fill(own_bytes(page).subspan(offset, piece), value);
                  });
}

void ByteStore::drop(Range range) {
    if (range.size == 0)
        return;
    const Address end = range.begin + range.size;
    // Whole pages are forgotten; the ends of the range may share a page with neighbours.
    const std::uint64_t first = (to_integer(range.begin) + kPage - 1) / kPage;
    const std::uint64_t last = to_integer(end) / kPage;
    if (first < last)
        pages_.erase(pages_.lower_bound(first), pages_.lower_bound(last));
    const auto forget = [&](Address from, Address to) {
        const auto page = pages_.find(to_integer(from) / kPage);
        if (from < to && page != pages_.end())
            std::ranges::fill(own_bytes(page->second).subspan(to_integer(from) % kPage, to - from),
                              kUnwritten);
    };
    forget(range.begin, std::min(end, Address{first * kPage}));
    forget(std::max(range.begin, Address{last * kPage}), first > last ? range.begin : end);
}

}  // namespace tidemark
