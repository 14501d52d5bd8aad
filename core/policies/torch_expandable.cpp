// torch: expandable segments. A reservation of addresses, larger than the device, belongs to one
// pool and stream. Its blocks are mapped page by page where they are needed, and unmapped when the
// caches are emptied. Its unmapped parts are blocks too, in no free list.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/policies/torch_allocator.h"

namespace tidemark::policies {

// By which its segment grows; 0 outside of reservations.
Bytes Torch::page_of(const Block& block) const {
    if (block.reservation == 0)
        return 0;
    const bool is_small = pools_.kind_of(block.list) == TorchPools::small;
    return settings_.page_size(is_small);
}

Bytes Torch::reservation_size(Bytes page) const {
    const Bytes wanted = settings_.reservation_on(device_->memory().total);
    return (wanted + page - 1) / page * page;
}

// Calls change(reservation), and counts the memory that it adds or removes as reserved.
template <class Change>
DeviceResult<void> Torch::change(Expandable& expandable, Change change) {
    const Bytes before = expandable.reservation.held();
    const DeviceResult<void> done = change(expandable.reservation);
    const Bytes gained = expandable.reservation.held() - before;  // may wrap, and so does the sum
    usage_.reserved += gained;
    count_private(expandable.list, gained);
    return done;
}

// A free block of at least `size` bytes, made by mapping what is missing; it is in no list.
BlockId Torch::expand(std::uint32_t list, Bytes size) {
    const Bytes page = settings_.page_size(pools_.kind_of(list) == TorchPools::small);
    const bool reserves_less = settings_.reserve_bytes || settings_.reserve_part;
    if (reserves_less && size > reservation_size(page)) {
        refusal_ = {OutOfMemory::Cause::address_space, DeviceStatus::out_of_memory};
        return kNoBlock;
    }
    BlockId id = pools_.find_row(list, size, blocks_);
    if (id == kNoBlock)
        id = reserve(list);
    if (id != kNoBlock && blocks_[id].state == Block::State::unmapped)
        id = map_block(id, std::min(blocks_[id].size, size));
    while (id != kNoBlock && blocks_[id].size < size) {
        const BlockId next = blocks_[id].next;
        id = map_block(next, std::min(size - blocks_[id].size, blocks_[next].size));
    }
    if (id != kNoBlock)
        pools_.list(list).free.erase(id, blocks_);
    return id;
}

BlockId Torch::reserve(std::uint32_t list) {
    const Bytes page = settings_.page_size(pools_.kind_of(list) == TorchPools::small);
    DeviceResult<Reservation> made = Reservation::make(*device_, reservation_size(page), page);
    if (!made) {
        refusal_ = refused_by(made.error());
        return kNoBlock;
    }
    const Range range = made->range();
    const BlockId id = blocks_.create(range.begin, range.size, list);
    blocks_[id].reservation =
        1 + vacant_reservations_.put_into(reservations_, Expandable{*made, list});
    pools_.insert_unmapped(id, blocks_);
    return id;
}

// Maps pages behind the first `size` bytes of an unmapped block, rounded up to pages. Returns the
// free block that contains them and its free neighbours; kNoBlock, and nothing changed, if the
// device refuses.
BlockId Torch::map_block(BlockId id, Bytes size) {
    Expandable& expandable = reservations_[blocks_[id].reservation - 1];
    const Range pages = expandable.reservation.covering({blocks_[id].address, size});
    TM_CHECK(pages.begin == blocks_[id].address && pages.size <= blocks_[id].size);
    const auto map = [&](Reservation& reservation) { return reservation.map(*device_, pages); };
    if (const DeviceResult<void> done = change(expandable, map); !done) {
        refusal_ = refused_by(done.error());
        return kNoBlock;
    }
    pools_.erase_unmapped(id, blocks_);
    if (pages.size < blocks_[id].size) {
        const BlockId rest = blocks_.split(id, pages.size);
        pools_.insert_unmapped(rest, blocks_);
    }
    blocks_[id].state = Block::State::free;
    usage_.mapped += pages.size;
    ++stats_.maps;
    id = pools_.join_free_neighbours(id, blocks_);
    pools_.insert_free(id, blocks_);
    return id;
}

// Releases the pages that are entirely inside a free block; the rest of it stays free.
void Torch::unmap_block(BlockId id) {
    const std::uint32_t list = blocks_[id].list;
    Expandable& expandable = reservations_[blocks_[id].reservation - 1];
    const Range pages = expandable.reservation.within({blocks_[id].address, blocks_[id].size});
    const auto unmap = [&](Reservation& reservation) { return reservation.unmap(*device_, pages); };
    if (pages.size == 0)
        return;
    if (!device_->synchronize(pools_.list(list).stream) || !change(expandable, unmap)) {
        pools_.note_releasable(list);
        return;
    }
    pools_.list(list).free.erase(id, blocks_);
    if (const Bytes head = pages.begin - blocks_[id].address; head != 0) {
        const BlockId rest = blocks_.split(id, head);
        pools_.insert_free(id, blocks_);
        id = rest;
    }
    if (blocks_[id].size > pages.size)
        pools_.insert_free(blocks_.split(id, pages.size), blocks_);
    usage_.mapped -= pages.size;
    ++stats_.unmaps;
    const BlockId next = blocks_[id].next;
    if (next != kNoBlock && blocks_[next].state == Block::State::unmapped) {
        pools_.erase_unmapped(next, blocks_);
        blocks_.merge_next(id);
    }
    const BlockId prev = blocks_[id].prev;
    if (prev != kNoBlock && blocks_[prev].state == Block::State::unmapped) {
        pools_.erase_unmapped(prev, blocks_);
        blocks_.merge_next(prev);
        id = prev;
    }
    pools_.insert_unmapped(id, blocks_);
    if (blocks_[id].whole_segment())
        give_back_reservation(id);
}

// Frees a reservation without pages. If the device refuses, it is kept and reused.
void Torch::give_back_reservation(BlockId id) {
    const std::uint32_t number = blocks_[id].reservation;
    const auto release = [&](Reservation& reservation) { return reservation.release(*device_); };
    if (!change(reservations_[number - 1], release))
        return;
    reservations_[number - 1] = {};
    vacant_reservations_.give_back(number - 1);
    pools_.erase_unmapped(id, blocks_);
    blocks_.release(id);
}

// The device may have refused to take pages back: tries again.
void Torch::settle_reservations() {
    const auto settle = [this](Reservation& reservation) {
        reservation.settle(*device_);
        return DeviceResult<void>();
    };
    for (Expandable& expandable : reservations_)
        static_cast<void>(change(expandable, settle));
}

// Addresses without memory are kept as long as the allocator exists, as in PyTorch, and no longer.
Torch::~Torch() {
    if (is_broken_off())
        return;
    for (Expandable& expandable : reservations_) {
        if (expandable.reservation.range().size != 0 && expandable.reservation.held() == 0)
            static_cast<void>(expandable.reservation.release(*device_));
    }
}

}  // namespace tidemark::policies
