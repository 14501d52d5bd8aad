// Joining, growth and reclaim.
#include "core/regions/stream_ordered_pool.h"

#include <algorithm>

namespace tidemark {

void FittingList::put(BlockId id, std::uint32_t number, Blocks& blocks) {
    const auto joins = [&](BlockId neighbour) {
        return neighbour != kNoBlock && blocks[neighbour].state == Block::State::free &&
               blocks[neighbour].list == number;
    };
    blocks[id].list = number;
    if (const BlockId next = blocks[id].next; joins(next)) {
        index_.erase(next, blocks);
        blocks.merge_next(id);
    }
    if (const BlockId prev = blocks[id].prev; joins(prev)) {
        index_.erase(prev, blocks);
        blocks.merge_next(prev);
        id = prev;
    }
    index_.insert(id, blocks);
}

void FittingList::absorb(FittingList other, std::uint32_t number, Blocks& blocks) {
    for (BlockId id = other.take(0, blocks); id != kNoBlock; id = other.take(0, blocks))
        put(id, number, blocks);
}

DeviceResult<void> StreamOrderedPool::take_initial(Device& device) {
    if (begun_) [[likely]]
        return {};
    if (initial_ != 0) {
        TM_ASSIGN(const Address begin, device.malloc(initial_));
        const std::uint32_t list = lists_.number_of(StreamId::default_stream);
        lists_.list(list).put(add_segment({begin, initial_}, list), list, blocks_);
    }
    begun_ = true;
    return {};
}

tl::expected<BlockId, NoRoom> StreamOrderedPool::allocate(Bytes size, StreamId stream,
                                                          Device& device) {
    if (const auto begun = take_initial(device); !begun)
        return tl::make_unexpected(NoRoom{begun.error()});
    const std::uint32_t own = lists_.number_of(stream);
    const DeviceResult<BlockId> found = lists_.take(own, size, blocks_, device);
    if (!found)
        return tl::make_unexpected(NoRoom{found.error()});
    BlockId id = *found;
    if (id == kNoBlock) [[unlikely]] {
        const auto grown = grow(own, size, device);
        if (!grown)
            return grown;
        id = *grown;
    }
    const std::uint32_t list = blocks_[id].list;
    if (blocks_[id].size > size) {
        const BlockId rest = blocks_.split(id, size);
        blocks_[id].state = Block::State::allocated;
        lists_.list(list).put(rest, list, blocks_);
    }
    blocks_[id].state = Block::State::allocated;
    blocks_[id].streams = StreamSet(stream);
    return id;
}

void StreamOrderedPool::deallocate(BlockId id, StreamId stream, Device& device) {
    const std::uint32_t list = lists_.number_of(stream);
    lists_.let_go(list, blocks_[id].streams, device);
    blocks_[id].state = Block::State::free;
    lists_.list(list).put(id, list, blocks_);
}

tl::expected<BlockId, NoRoom> StreamOrderedPool::grow(std::uint32_t own, Bytes size,
                                                      Device& device) {
    Bytes wanted = std::max(size, size_);
    if (maximum_ != 0) {
        const auto room = [this] { return maximum_ > size_ ? maximum_ - size_ : 0; };
        if (size > align_up(room(), kUnit))
            reclaim(own, size, device);
        const Bytes most = align_up(room(), kUnit);
        if (size > most)
            return tl::make_unexpected(NoRoom{});
        wanted = std::max(size, most / 2);
    }
    DeviceResult<Address> begin = device.malloc(wanted);
    while (!begin && begin.error().status == DeviceStatus::out_of_memory && wanted > size) {
        wanted = std::max(size, wanted / 2);
        begin = device.malloc(wanted);
    }
    if (!begin)
        return tl::make_unexpected(NoRoom{begin.error()});
    return add_segment({*begin, wanted}, own);
}

// Until there is room for `size`, or nothing more to release.
void StreamOrderedPool::reclaim(std::uint32_t own, Bytes size, Device& device) {
    if (size > maximum_)
        return;
    const std::vector<BlockId> heads = heads_;
    for (const BlockId head : heads) {
        if (maximum_ >= size_ && maximum_ - size_ >= size)
            return;
        if (blocks_[head].whole_segment() && blocks_[head].list == own)
            give_back(head, device);
    }
}

void StreamOrderedPool::trim(Device& device) {
    const std::vector<BlockId> heads = heads_;
    for (const BlockId head : heads)
        give_back(head, device);
}

// A segment, if it is entirely free and the device takes it.
void StreamOrderedPool::give_back(BlockId head, Device& device) {
    BlockId id = head;
    while (id != kNoBlock && blocks_[id].state == Block::State::free)
        id = blocks_[id].next;
    if (id != kNoBlock || !device.free(blocks_[head].address))
        return;
    Bytes size = 0;
    for (id = head; id != kNoBlock;) {
        const Block block = blocks_[id];
        size += block.size;
        lists_.list(block.list).erase(id, blocks_);
        blocks_.release(id);
        id = block.next;
    }
    std::erase(heads_, head);
    size_ -= size;
    held_.give_back(size);
}

BlockId StreamOrderedPool::add_segment(Range range, std::uint32_t list) {
    const BlockId id = blocks_.create(range.begin, range.size, list);
    const auto position = std::find_if(heads_.begin(), heads_.end(), [&](BlockId head) {
        return blocks_[head].address > range.begin;
    });
    heads_.insert(position, id);
    size_ += range.size;
    held_.take(range.size);
    return id;
}

Bytes StreamOrderedPool::largest_free() const {
    Bytes largest = 0;
    lists_.for_each(
        [&](const FittingList& list) { largest = std::max(largest, list.largest(blocks_)); });
    return largest;
}

}  // namespace tidemark
