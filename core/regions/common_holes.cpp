// Joining, taking, and chunks that change hands.
#include "core/regions/common_holes.h"

#include <algorithm>
#include <vector>

namespace tidemark {

void CommonHoles::add(BlockId id, Blocks& blocks) {
    const auto joins = [&](BlockId neighbour) {
        return neighbour != kNoBlock && blocks[neighbour].state == Block::State::free &&
               blocks[neighbour].list < kLists;
    };
    if (const BlockId next = blocks[id].next; joins(next)) {
        leave(next, blocks);
        blocks.merge_next(id);
    }
    if (const BlockId prev = blocks[id].prev; joins(prev)) {
        leave(prev, blocks);
        blocks.merge_next(prev);
        id = prev;
    }
    blocks[id].stamp = ++stamps_;
    enter(id, blocks);
}

BlockId CommonHoles::find(Bytes size, const Blocks& blocks) const {
    const BlockId mapped = mapped_.first_from(size, blocks);
    const BlockId unmapped = unmapped_.first_from(size, blocks);
    if (mapped == kNoBlock || unmapped == kNoBlock)
        return mapped == kNoBlock ? unmapped : mapped;
    const Block& a = blocks[mapped];
    const Block& b = blocks[unmapped];
    const bool first = a.size != b.size ? a.size < b.size : a.stamp < b.stamp;
    return first ? mapped : unmapped;
}

std::optional<CommonHoles::Backing> CommonHoles::take(BlockId id, Bytes size, Bytes room,
                                                      Blocks& blocks) {
    const std::uint64_t stamp = blocks[id].stamp;
    leave(id, blocks);
    const BlockId rest = blocks[id].size == size ? kNoBlock : blocks.split(id, size);
    std::vector<std::size_t> missing;
    const ChunkRange under = touched_chunks(blocks[id]);
    for (std::size_t chunk = under.begin; chunk < under.end; ++chunk) {
        if (!chunks_.is_mapped(chunk))
            missing.push_back(chunk);
    }
    for (const std::size_t chunk : missing)
        chunks_.map(chunk);
    if (rest != kNoBlock) {
        blocks[rest].stamp = ++stamps_;
        enter(rest, blocks);
    }
    const std::size_t moved = std::min(missing.size(), chunks_.idle_count());
    const Backing backing{(missing.size() - moved) * chunk_, moved * chunk_};
    if (backing.grown <= room) {
        for (std::size_t i = 0; i < moved; ++i)
            unmap_highest(blocks);
        return backing;
    }
    for (const std::size_t chunk : missing)
        chunks_.unmap(chunk);
    if (rest != kNoBlock) {
        leave(rest, blocks);
        blocks.merge_next(id);
    }
    blocks[id].stamp = stamp;
    enter(id, blocks);
    return std::nullopt;
}

Bytes CommonHoles::give_back_above(Bytes keep, Blocks& blocks) {
    const Bytes before = mapped();
    while (mapped() > keep && chunks_.idle_count() != 0)
        unmap_highest(blocks);
    return before - mapped();
}

ChunkRange CommonHoles::whole_chunks(const Block& block) const {
    const Bytes begin = block.address - begin_;
    return {align_up(begin, chunk_) / chunk_, (begin + block.size) / chunk_};
}

ChunkRange CommonHoles::touched_chunks(const Block& block) const {
    const Bytes begin = block.address - begin_;
    return {begin / chunk_, align_up(begin + block.size, chunk_) / chunk_};
}

void CommonHoles::enter(BlockId id, Blocks& blocks) {
    blocks[id].list = chunks_.all_mapped(touched_chunks(blocks[id])) ? kMapped : kUnmapped;
    index(blocks[id].list).insert(id, blocks);
    chunks_.own(whole_chunks(blocks[id]), id);
}

void CommonHoles::leave(BlockId id, Blocks& blocks) {
    index(blocks[id].list).erase(id, blocks);
    chunks_.disown(whole_chunks(blocks[id]));
}

void CommonHoles::unmap_highest(Blocks& blocks) {
    const BlockId id = chunks_.unmap_highest();
    if (blocks[id].list == kUnmapped)
        return;
    mapped_.erase(id, blocks);
    blocks[id].list = kUnmapped;
    unmapped_.insert(id, blocks);
}

}  // namespace tidemark
