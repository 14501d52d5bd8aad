// Each hole is kept by address, to join it with its neighbours, and by size, to find the tightest.
#include "core/capture/holes.h"

#include <iterator>

namespace tidemark::packing {

Bytes Holes::take(Bytes size, Bytes alignment) {
    for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end(); ++it) {
        const auto [length, begin] = *it;
        const Bytes offset = align_up(begin, alignment);
        if (offset - begin > length - size)
            continue;
        remove(begin, length);
        add(begin, offset - begin);
        add(offset + size, begin + length - (offset + size));
        return offset;
    }
    Bytes begin = top_;
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == top_)
        begin = holes_.rbegin()->first;
    if (begin != top_)
        remove(begin, top_ - begin);
    const Bytes offset = align_up(begin, alignment);
    add(begin, offset - begin);
    top_ = offset + size;
    return offset;
}

void Holes::give(Bytes begin, Bytes size) {
    const auto next = holes_.lower_bound(begin);
    if (next != holes_.begin()) {
        const auto [at, length] = *std::prev(next);
        if (at + length == begin) {
            remove(at, length);
            begin = at;
            size += length;
        }
    }
    if (const auto after = holes_.find(begin + size); after != holes_.end()) {
        const Bytes length = after->second;
        remove(begin + size, length);
        size += length;
    }
    add(begin, size);
}

void Holes::add(Bytes begin, Bytes size) {
    if (size == 0)
        return;
    holes_.emplace(begin, size);
    by_size_.emplace(size, begin);
}

void Holes::remove(Bytes begin, Bytes size) {
    holes_.erase(begin);
    by_size_.erase({size, begin});
}

}  // namespace tidemark::packing
