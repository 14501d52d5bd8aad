// Regions: cutting, joining, ordering, and which are done.
#include "core/policies/vpmm_regions.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::policies {

VpmmRegions::Owner VpmmRegions::find_owner(StreamId stream) {
    const auto [entry, is_new] = numbers_.try_emplace(stream, static_cast<Owner>(owners_.size()));
    if (is_new) {
        owners_.emplace_back();
        owners_.back().stream = stream;
    }
    last_owner_ = entry->second;
    return last_owner_;
}

void VpmmRegions::add_root(Range range) {
    const BlockId id = blocks_.create(range.begin, range.size, kNobody);
    blocks_[id].reservation = root_count_++;
    blocks_[id].state = Block::State::unmapped;
    holes_.insert(id, blocks_);
}

BlockId VpmmRegions::find_hole_behind(Owner owner, Bytes size) const {
    BlockId id = holes_.first_from(0, blocks_);
    for (; id != kNoBlock; id = holes_.next(blocks_[id], blocks_)) {
        const BlockId before = blocks_[id].prev;
        if (is_usable(before, owner) && blocks_[before].size < size &&
            blocks_[before].size + blocks_[id].size >= size)
            return id;
    }
    return kNoBlock;
}

void VpmmRegions::take_hole(BlockId id, Bytes size) {
    holes_.erase(id, blocks_);
    if (blocks_[id].size > size) {
        const BlockId rest = blocks_.split(id, size);
        blocks_[rest].state = Block::State::unmapped;
        holes_.insert(rest, blocks_);
    }
    blocks_[id].state = Block::State::allocated;
}

BlockId VpmmRegions::make_hole(BlockId id) {
    blocks_[id].state = Block::State::unmapped;
    const auto is_hole = [this](BlockId other) {
        return other != kNoBlock && blocks_[other].state == Block::State::unmapped;
    };
    if (is_hole(blocks_[id].next)) {
        holes_.erase(blocks_[id].next, blocks_);
        blocks_.merge_next(id);
    }
    if (const BlockId prev = blocks_[id].prev; is_hole(prev)) {
        holes_.erase(prev, blocks_);
        blocks_.merge_next(prev);
        id = prev;
    }
    blocks_[id].streams = {};
    holes_.insert(id, blocks_);
    return id;
}

BlockId VpmmRegions::cut(BlockId id, Bytes size) {
    const BlockId rest = blocks_.split(id, size);
    blocks_[rest].state = Block::State::allocated;
    return rest;
}

SizeIndex& VpmmRegions::index_of(const Block& block) {
    Stream& stream = owners_[block.list];
    return is_done(block) ? stream.done : stream.waiting;
}

void VpmmRegions::insert(BlockId id) {
    Block& block = blocks_[id];
    block.state = Block::State::free;
    block.streams = {};
    index_of(block).insert(id, blocks_);
    ++free_count_;
}

// The block is the caller's from then on.
void VpmmRegions::erase(BlockId id) {
    Block& block = blocks_[id];
    index_of(block).erase(id, blocks_);
    block.state = Block::State::allocated;
    --free_count_;
}

namespace {

// Best fit in one index; of equally large regions, the one at the lowest or highest address.
BlockId find_in(const SizeIndex& index, Bytes size, bool highest, const Blocks& blocks) {
    const BlockId found = index.first_from(size, blocks);
    return found == kNoBlock || !highest ? found : index.last_below(blocks[found].size + 1, blocks);
}

// The better one: smaller, then by address.
BlockId better(BlockId a, BlockId b, bool highest, const Blocks& blocks) {
    if (a == kNoBlock || b == kNoBlock)
        return a == kNoBlock ? b : a;
    if (blocks[a].size != blocks[b].size)
        return blocks[a].size < blocks[b].size ? a : b;
    return (blocks[a].address < blocks[b].address) != highest ? a : b;
}

}  // namespace

BlockId VpmmRegions::find_own(Owner owner, Bytes size, bool highest) const {
    const Stream& stream = owners_[owner];
    return better(find_in(stream.done, size, highest, blocks_),
                  find_in(stream.waiting, size, highest, blocks_), highest, blocks_);
}

BlockId VpmmRegions::find_done(Owner but, Bytes size, bool highest) const {
    BlockId best = kNoBlock;
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (owner != but)
            best = better(best, find_in(owners_[owner].done, size, highest, blocks_), highest,
                          blocks_);
    }
    return best;
}

Bytes VpmmRegions::largest_free() const {
    Bytes largest = 0;
    for (const Stream& stream : owners_)
        largest =
            std::max({largest, stream.done.largest(blocks_), stream.waiting.largest(blocks_)});
    return largest;
}

// `rest` was split off the region `of`, which is no longer free, and replaces it.
void VpmmRegions::keep_rest(BlockId rest, BlockId of) {
    blocks_[rest].list = blocks_[of].list;
    blocks_[rest].waits = blocks_[of].waits;
    blocks_[rest].stamp = blocks_[of].stamp;
    ages_.move(blocks_[rest].stamp, rest);
    insert(rest);
}

void VpmmRegions::take(BlockId id, Bytes size, Owner owner) {
    erase(id);
    TM_CHECK_DEBUG(is_done(blocks_[id]) || blocks_[id].list == owner);
    if (blocks_[id].size > size) {
        const BlockId rest = blocks_.split(id, size);
        blocks_[id].list = owner;
        keep_rest(rest, id);
    } else {
        leave_point(blocks_[id]);
        blocks_[id].list = owner;
    }
}

void VpmmRegions::hand_over(BlockId id, Owner owner) {
    erase(id);
    TM_CHECK(is_done(blocks_[id]));
    blocks_[id].list = owner;
    insert(id);
}

void VpmmRegions::withdraw(BlockId id) {
    erase(id);
    leave_point(blocks_[id]);
}

bool VpmmRegions::is_free_of(BlockId id, Owner owner) const {
    return id != kNoBlock && blocks_[id].state == Block::State::free && blocks_[id].list == owner;
}

BlockId VpmmRegions::free(BlockId id, Owner owner, bool done, Device& device) {
    // The joined region waits for everything that its neighbours waited for.
    const auto absorb = [&](BlockId neighbour) {
        done = done && is_done(blocks_[neighbour]);
        withdraw(neighbour);
    };
    if (const BlockId next = blocks_[id].next; is_free_of(next, owner)) {
        absorb(next);
        blocks_.merge_next(id);
    }
    if (const BlockId prev = blocks_[id].prev; is_free_of(prev, owner)) {
        absorb(prev);
        blocks_.merge_next(prev);
        id = prev;
    }
    Block& block = blocks_[id];
    block.list = owner;
    block.waits = done ? 0 : 1;
    block.stamp = next_id_++;
    insert(id);
    ages_.add(id, blocks_, free_count_);
    if (!done) {
        Stream& stream = owners_[owner];
        if (stream.points.count() > 2 * (free_count_ + zombie_count_) + 64)
            stream.points.forget_unused();
        stream.points.add(block.stamp);
        if (!device.capturing())
            static_cast<void>(stream.points.record_last(stream.stream, device));
    }
    return id;
}

void VpmmRegions::make_zombie(BlockId id, Bytes size) {
    erase(id);
    if (blocks_[id].size > size) {
        const BlockId rest = blocks_.split(id, size);
        keep_rest(rest, id);
        owners_[blocks_[id].list].points.join(blocks_[id].stamp);
    }
    const bool done = is_done(blocks_[id]);
    set_waiting(id, zombie);
    if (!done) {
        ripe_.pop_back();
        owners_[blocks_[id].list].zombies.push_back(id);
    }
}

void VpmmRegions::set_waiting(BlockId id, Wait wait) {
    blocks_[id].state = Block::State::waiting;
    blocks_[id].waits = wait;
    if (wait == zombie) {
        ++zombie_count_;
        ripe_.push_back(id);
    }
}

void VpmmRegions::leave_point(const Block& block) {
    if (!is_done(block))
        owners_[block.list].points.leave(block.stamp);
}

// The first `passed` points have passed.
void VpmmRegions::advance(Owner owner, std::size_t passed) {
    Stream& stream = owners_[owner];
    if (passed == stream.points.passed())
        return;
    const std::uint64_t last = stream.points.advance(passed, [&](std::uint64_t number) {
        const BlockId id = ages_.find(number, blocks_);
        if (id == kNoBlock)
            return;
        stream.waiting.erase(id, blocks_);
        blocks_[id].waits = 0;
        stream.done.insert(id, blocks_);
    });
    std::erase_if(stream.zombies, [&](BlockId id) {
        const bool over = blocks_[id].stamp <= last;
        if (over)
            ripe_.push_back(id);
        return over;
    });
}

void VpmmRegions::poll(Owner owner, Device& device) {
    Stream& stream = owners_[owner];
    stream.points.forget_passed();
    if (stream.points.all_passed())
        return;
    static_cast<void>(stream.points.record_last(stream.stream, device));
    advance(owner, stream.points.count_passed(device));
}

void VpmmRegions::all_passed(Owner owner) {
    advance(owner, owners_[owner].points.count());
}

void VpmmRegions::poll_zombies(Device& device) {
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (!owners_[owner].zombies.empty())
            poll(owner, device);
    }
}

void VpmmRegions::poll_others(Owner but, Device& device) {
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (owner != but && !owners_[owner].waiting.empty())
            poll(owner, device);
    }
}

std::vector<VpmmRegions::Owner> VpmmRegions::awaited() const {
    std::vector<Owner> awaited;
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (!owners_[owner].points.all_passed())
            awaited.push_back(owner);
    }
    return awaited;
}

DeviceResult<EventId> VpmmRegions::event_of(BlockId id, Device& device) {
    Stream& stream = owners_[blocks_[id].list];
    return stream.points.event_of(blocks_[id].stamp, stream.stream, device);
}

std::vector<BlockId> VpmmRegions::by_age(Owner owner, BlockId except) const {
    std::vector<BlockId> own;
    std::vector<BlockId> others;
    ages_.for_each(blocks_, [&](BlockId id) {
        if (id != except)
            (blocks_[id].list == owner ? own : others).push_back(id);
    });
    own.insert(own.end(), others.begin(), others.end());
    return own;
}

}  // namespace tidemark::policies
