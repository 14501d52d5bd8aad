// Families, pools and lists by number.
#include "core/policies/torch_pools.h"

#include <algorithm>
#include <utility>

namespace tidemark::policies {

std::uint32_t TorchPools::family(PoolId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end())
        return found->second;
    Family family;
    family.id = id;
    const std::uint32_t number = vacant_.put_into(families_, family);
    pools_.resize(2 * families_.size());
    numbers_.emplace(id, number);
    return number;
}

std::uint32_t TorchPools::find_list(std::uint32_t pool, StreamId stream) {
    std::vector<std::uint32_t>& lists = pools_[pool].lists;
    auto position = std::lower_bound(
        lists.begin(), lists.end(), stream,
        [this](std::uint32_t list, StreamId wanted) { return lists_[list].stream < wanted; });
    if (position == lists.end() || lists_[*position].stream != stream) {
        position = lists.insert(position, static_cast<std::uint32_t>(lists_.size()));
        lists_.push_back({{}, {}, stream, pool});
    }
    if (pool < 2)
        last_list_[pool] = *position;
    return *position;
}

BlockId TorchPools::join_free_neighbours(BlockId id, Blocks& blocks) {
    return join_neighbours(id, Block::State::free, blocks, lists_[blocks[id].list].free);
}

void TorchPools::insert_unmapped(BlockId id, Blocks& blocks) {
    blocks[id].state = Block::State::unmapped;
    std::vector<BlockId>& unmapped = lists_[blocks[id].list].unmapped;
    const auto position = std::lower_bound(
        unmapped.begin(), unmapped.end(), id,
        [&](BlockId a, BlockId b) { return blocks[a].address < blocks[b].address; });
    unmapped.insert(position, id);
}

void TorchPools::erase_unmapped(BlockId id, const Blocks& blocks) {
    std::vector<BlockId>& unmapped = lists_[blocks[id].list].unmapped;
    unmapped.erase(std::find(unmapped.begin(), unmapped.end(), id));
}

BlockId TorchPools::best_fit(std::uint32_t list, Bytes size, bool expandable,
                             const Blocks& blocks) const {
    const SizeIndex& index = lists_[list].free;
    BlockId id = index.first_from(size, blocks);
    if (!expandable) {
        while (id != kNoBlock && blocks[id].reservation != 0)
            id = index.next(blocks[id], blocks);
        return id;
    }
    const auto growth = [&](const Block& block) {  // to what size it could grow
        const bool grows =
            block.next != kNoBlock && blocks[block.next].state == Block::State::unmapped;
        return block.size + (grows ? blocks[block.next].size : 0);
    };
    while (id != kNoBlock && blocks[id].reservation != 0) {
        const Bytes most = growth(blocks[id]);
        if (most == blocks[id].size)
            break;  // those that follow are at least as large
        const BlockId next = index.next(blocks[id], blocks);
        if (next == kNoBlock || growth(blocks[next]) >= most)
            break;
        id = next;
    }
    return id;
}

BlockId TorchPools::find_row(std::uint32_t list, Bytes size, const Blocks& blocks) const {
    const auto is_grantable = [&](BlockId id) {
        return id != kNoBlock && (blocks[id].state == Block::State::free ||
                                  blocks[id].state == Block::State::unmapped);
    };
    for (const BlockId unmapped : lists_[list].unmapped) {
        const BlockId prev = blocks[unmapped].prev;
        const BlockId begin = is_grantable(prev) ? prev : unmapped;
        Bytes room = 0;
        for (BlockId id = begin; is_grantable(id); id = blocks[id].next) {
            room += blocks[id].size;
            if (room >= size)
                return begin;
        }
    }
    return kNoBlock;
}

void TorchPools::set_traits(std::uint32_t family, PoolTraits traits) {
    families_[family].traits = traits;
    if (traits.serves_on_refusal)
        lenders_.emplace(families_[family].id, family);
    else
        lenders_.erase(families_[family].id);
}

void TorchPools::set_closed(std::uint32_t family, bool closed) {
    families_[family].closed = closed;
    if (closed)
        closed_.insert(families_[family].id);
    else
        closed_.erase(families_[family].id);
}

void TorchPools::note_releasable(std::uint32_t list) {
    if (std::exchange(lists_[list].releasable, true))
        return;
    const std::uint32_t pool = lists_[list].pool;
    pools_[pool].releasable.push_back(list);
    if (families_[pool / 2].closed)
        closed_.insert(families_[pool / 2].id);
}

std::vector<std::uint32_t> TorchPools::releasable(std::uint32_t pool) const {
    std::vector<std::uint32_t> lists = pools_[pool].releasable;
    std::ranges::sort(lists, {}, [this](std::uint32_t list) { return lists_[list].stream; });
    return lists;
}

std::vector<std::uint32_t> TorchPools::take_releasable(std::uint32_t pool) {
    std::vector<std::uint32_t> lists = releasable(pool);
    pools_[pool].releasable.clear();
    for (const std::uint32_t list : lists)
        lists_[list].releasable = false;
    return lists;
}

// Blocks that were taken since make a list's entry too large: it is corrected where it matters.
Bytes TorchPools::largest_free(const Blocks& blocks) const {
    while (largest_.largest() != 0) {
        const std::size_t list = largest_.where_largest();
        const Bytes size = lists_[list].free.largest(blocks);
        if (size == largest_.largest())
            return size;
        largest_.set(list, size);
    }
    return 0;
}

bool TorchPools::has_addresses(std::uint32_t family) const {
    const auto has_some = [this](std::uint32_t list) { return !lists_[list].unmapped.empty(); };
    return std::ranges::any_of(pools_[2 * family + small].lists, has_some) ||
           std::ranges::any_of(pools_[2 * family + large].lists, has_some);
}

void TorchPools::forget_if_over(PoolId id) {
    const auto found = numbers_.find(id);
    if (found == numbers_.end() || id == PoolId::default_pool)
        return;
    const std::uint32_t number = found->second;
    if (!families_[number].closed || has_addresses(number))
        return;
    if (families_[number].reserved != 0) {
        if (pools_[2 * number + small].releasable.empty() &&
            pools_[2 * number + large].releasable.empty())
            closed_.erase(id);
        return;
    }
    for (const std::uint32_t pool : {2 * number, 2 * number + 1})
        pools_[pool].searches = 0;  // its lists stay: they are empty, and any stream may need one
    lenders_.erase(id);
    closed_.erase(id);
    numbers_.erase(found);
    vacant_.give_back(number);
}

}  // namespace tidemark::policies
