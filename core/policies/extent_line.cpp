// The extent pool's line: choosing, splitting and joining free blocks; adding and removing handles.
#include "core/policies/extent_line.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::policies {
namespace {

Range whole(const Block& block) {
    return {block.address, block.size};
}

bool is_larger(const ExtentLine::Piece& a, const ExtentLine::Piece& b) {
    return a.range.size != b.range.size ? a.range.size > b.range.size
                                        : a.range.begin < b.range.begin;
}

}  // namespace

void ExtentLine::begin(Range addresses) {
    TM_CHECK(last_ == kNoBlock);
    addresses_ = addresses;
    last_ = blocks_.create(addresses.begin, addresses.size, 0);
    blocks_[last_].state = Block::State::unmapped;
    holes_.insert(last_, blocks_);
}

std::uint32_t ExtentLine::handle_at(Address address) const {
    const auto after = std::upper_bound(
        handles_.begin(), handles_.end(), address,
        [](Address value, const Handle& handle) { return value < handle.home.begin; });
    TM_CHECK_DEBUG(after != handles_.begin());
    return static_cast<std::uint32_t>(after - handles_.begin()) - 1;
}

// The worth of a free `part` of a handle.
double ExtentLine::worth(Range part, const Handle& handle, const Placement& placement) const {
    if (part.size == 0)
        return 0;
    const bool at_begin = part.begin == handle.home.begin;
    const bool at_end = part.begin + part.size == handle.home.begin + handle.home.size;
    const auto bytes = static_cast<double>(part.size);
    return at_begin && at_end ? bytes : at_begin || at_end ? placement.edge * bytes : 0;
}

// What `size` bytes from one end of a free block cost: the change in worth of the handles that they
// touch, and what is left over.
double ExtentLine::damage(const Block& block, Bytes size, bool high,
                          const Placement& placement) const {
    const Bytes left = block.size - size;
    const Range taken{high ? block.address + left : block.address, size};
    const Range rest{high ? block.address : block.address + size, left};
    double lost = placement.leftover * static_cast<double>(std::min(left, size));
    for (std::uint32_t number = handle_at(taken.begin); number < handles_.size(); ++number) {
        const Handle& handle = handles_[number];
        if (handle.home.begin >= taken.begin + taken.size)
            break;
        lost += worth(common(whole(block), handle.home), handle, placement) -
                worth(common(rest, handle.home), handle, placement);
    }
    return lost;
}

ExtentLine::Fit ExtentLine::find(Bytes size, StreamId stream, const Placement& placement) const {
    if (handles_.empty())
        return {};
    const Range last = handles_.back().home;
    const double slope =
        static_cast<double>(size) / static_cast<double>(last.begin + last.size - addresses_.begin);
    Fit best;
    double least = 0;
    bool best_own = false;
    BlockId id = free_.first_from(size, blocks_);
    for (std::uint32_t i = 0; i < placement.candidates && id != kNoBlock;
         ++i, id = free_.next(blocks_[id], blocks_)) {
        const Block& block = blocks_[id];
        if (block.size == size && block.streams.only(stream))
            return {id, false};
        const bool own = block.streams.only(stream);
        // The leftover grows from block to block, and everything else only adds to the cost.
        const Bytes left = block.size - size;
        const double rest = placement.leftover * static_cast<double>(std::min(left, size));
        if (best.block != kNoBlock && rest > least)
            break;
        for (const bool high : {false, true}) {
            const Address taken = high ? block.address + left : block.address;
            const double distance = slope * static_cast<double>(taken - addresses_.begin);
            if (best.block != kNoBlock && rest + distance > least)
                break;  // the high end is farther
            const double lost = damage(block, size, high, placement) + distance;
            if (best.block == kNoBlock || lost < least || (lost == least && own && !best_own)) {
                best = {id, high};
                least = lost;
                best_own = own;
            }
        }
    }
    return best;
}

BlockId ExtentLine::split(BlockId id, Bytes size) {
    const BlockId rest = blocks_.split(id, size);
    blocks_[rest].stamp = blocks_[id].stamp;
    last_ = id == last_ ? rest : last_;
    return rest;
}

BlockId ExtentLine::take(Fit fit, Bytes size) {
    const Block& block = blocks_[fit.block];
    const Bytes left = block.size - size;
    return take(fit.block, {fit.high ? block.address + left : block.address, size});
}

BlockId ExtentLine::take(BlockId block, Range part) {
    TM_CHECK_DEBUG(is(block, Block::State::free));
    free_.erase(block, blocks_);
    BlockId id = block;
    if (const Bytes before = part.begin - blocks_[id].address; before != 0) {
        id = split(id, before);
        free_.insert(block, blocks_);
    }
    if (blocks_[id].size != part.size)
        free_.insert(split(id, part.size), blocks_);
    blocks_[id].state = Block::State::allocated;
    return id;
}

BlockId ExtentLine::free_block_at(Address address) const {
    for (BlockId id = free_.first_from(0, blocks_); id != kNoBlock;
         id = free_.next(blocks_[id], blocks_))
        if (blocks_[id].address <= address && address < blocks_[id].address + blocks_[id].size)
            return id;
    return kNoBlock;
}

std::vector<Range> ExtentLine::free_ranges() const {
    std::vector<Range> ranges;
    for (BlockId id = free_.first_from(0, blocks_); id != kNoBlock;
         id = free_.next(blocks_[id], blocks_))
        ranges.push_back(whole(blocks_[id]));
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    return ranges;
}

// Joins a block, which is in no index, with neighbours of its state; the block that is left.
BlockId ExtentLine::join(BlockId id) {
    const Block::State state = blocks_[id].state;
    SizeIndex& index = state == Block::State::free ? free_ : holes_;
    std::uint64_t freed = blocks_[id].stamp;
    for (const BlockId neighbour : {blocks_[id].prev, blocks_[id].next}) {
        if (is(neighbour, state))
            freed = std::max(freed, blocks_[neighbour].stamp);
    }
    id = join_neighbours(id, state, blocks_, index);
    blocks_[id].stamp = freed;
    if (blocks_[id].next == kNoBlock)
        last_ = id;
    index.insert(id, blocks_);
    return id;
}

void ExtentLine::give_back(BlockId id, std::uint64_t freed) {
    TM_CHECK(is(id, Block::State::allocated));
    blocks_[id].state = Block::State::free;
    blocks_[id].stamp = freed;
    join(id);
}

BlockId ExtentLine::hole_for(Bytes size) const {
    if (is(last_, Block::State::unmapped) && blocks_[last_].size >= size)
        return last_;
    return holes_.first_from(size, blocks_);
}

Bytes ExtentLine::free_before(BlockId hole) const {
    const BlockId prev = blocks_[hole].prev;
    return is(prev, Block::State::free) ? blocks_[prev].size : 0;
}

BlockId ExtentLine::add(BlockId hole, PhysicalId id, Bytes size) {
    add_stuck(hole, id, size, true);
    const BlockId block = hole;
    blocks_[block].state = Block::State::free;
    blocks_[block].stamp = 0;  // nobody has used it
    return join(block);
}

void ExtentLine::add_stuck(BlockId hole, PhysicalId id, Bytes size, bool mapped) {
    TM_CHECK_DEBUG(is(hole, Block::State::unmapped) && size <= blocks_[hole].size);
    const Handle handle{id, {blocks_[hole].address, size}, mapped};
    const auto position = std::upper_bound(
        handles_.begin(), handles_.end(), handle.home.begin,
        [](Address value, const Handle& other) { return value < other.home.begin; });
    handles_.insert(position, handle);
    holes_.erase(hole, blocks_);
    if (size != blocks_[hole].size) {
        const BlockId rest = split(hole, size);
        blocks_[rest].state = Block::State::unmapped;
        holes_.insert(rest, blocks_);
    }
    blocks_[hole].state = Block::State::waiting;
    blocks_[hole].streams = {};
}

std::vector<std::uint32_t> ExtentLine::free_handles() const {
    std::vector<std::uint32_t> found;
    for (BlockId id = free_.first_from(0, blocks_); id != kNoBlock;
         id = free_.next(blocks_[id], blocks_)) {
        const Range block = whole(blocks_[id]);
        for (std::uint32_t number = handle_at(block.begin); number < handles_.size(); ++number) {
            const Range home = handles_[number].home;
            if (home.begin >= block.begin + block.size)
                break;
            if (common(home, block).size == home.size)
                found.push_back(number);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

StreamSet ExtentLine::streams_of(std::uint32_t handle) const {
    const BlockId id = free_block_at(handles_[handle].home.begin);
    TM_CHECK(id != kNoBlock);
    return blocks_[id].streams;
}

// Splits a free or stuck block so that `part` is a block of its own, in no index.
BlockId ExtentLine::isolate(Range part) {
    if (const BlockId id = free_block_at(part.begin); id != kNoBlock)
        return take(id, part);
    BlockId stuck = last_;
    while (stuck != kNoBlock && blocks_[stuck].address != part.begin)
        stuck = blocks_[stuck].prev;
    TM_CHECK(is(stuck, Block::State::waiting) && blocks_[stuck].size == part.size);
    return stuck;
}

void ExtentLine::make_hole(BlockId id) {
    blocks_[id].state = Block::State::unmapped;
    blocks_[id].streams = {};
    join(id);
}

void ExtentLine::remove(std::uint32_t handle) {
    make_hole(isolate(handles_[handle].home));
    handles_.erase(handles_.begin() + handle);
}

void ExtentLine::strand(std::uint32_t handle) {
    const BlockId id = isolate(handles_[handle].home);
    blocks_[id].state = Block::State::waiting;
    handles_[handle].mapped = false;
}

std::vector<std::uint32_t> ExtentLine::stuck_handles() const {
    std::vector<std::uint32_t> found;
    for (BlockId id = last_; id != kNoBlock; id = blocks_[id].prev)
        if (blocks_[id].state == Block::State::waiting)
            found.push_back(handle_at(blocks_[id].address));
    return found;
}

ExtentLine::Pieces ExtentLine::pieces(Bytes least) const {
    Pieces found;
    for (BlockId id = free_.first_from(least, blocks_); id != kNoBlock;
         id = free_.next(blocks_[id], blocks_)) {
        const Range block = whole(blocks_[id]);
        for (std::uint32_t number = handle_at(block.begin); number < handles_.size(); ++number) {
            const Range home = handles_[number].home;
            if (home.begin >= block.begin + block.size)
                break;
            const Range part = common(home, block);
            const bool at_begin = part.begin == home.begin;
            const bool at_end = part.begin + part.size == home.begin + home.size;
            if (part.size < least || (!at_begin && !at_end))
                continue;
            auto& list = at_begin && at_end ? found.wholes
                         : at_end           ? found.suffixes
                                            : found.prefixes;
            list.push_back({part, number});
        }
    }
    std::sort(found.wholes.begin(), found.wholes.end(), is_larger);
    std::sort(found.suffixes.begin(), found.suffixes.end(), is_larger);
    std::sort(found.prefixes.begin(), found.prefixes.end(), is_larger);
    return found;
}

}  // namespace tidemark::policies
