// Cutting, stitching, and giving back.
#include "core/policies/gmlake_pieces.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::policies {
namespace {

// Is everything done that the streams have queued? False also if the device can't say.
bool has_passed_all(StreamSet streams, Device& device) {
    const DeviceResult<bool> passed = streams.passed(device);
    return passed && *passed;
}

bool is_stitch(GmlakePieces::Node node) {
    return (node & GmlakePieces::kStitch) != 0;
}

}  // namespace

std::uint32_t GmlakePieces::list_of(StreamId stream) {
    const std::uint32_t known = list_numbers_.find(to_integer(stream));
    if (known != HashIndex::kNothing) [[likely]]
        return known;
    const auto number = static_cast<std::uint32_t>(lists_.size());
    list_numbers_.insert(to_integer(stream), number);
    lists_.push_back({stream, {}, {}, 0});
    return number;
}

GmlakePieces::Node GmlakePieces::find(Bytes size, std::uint32_t list, std::uint64_t reuse) const {
    const BlockId piece = lists_[list].pieces.first_from(size, pieces_);
    if (piece != kNoBlock)
        return piece;
    const BlockId view = lists_[list].stitches.first_from(size, views_);
    return view != kNoBlock && views_[view].size / reuse <= size ? view | kStitch : kNothing;
}

PageTable::PageRange GmlakePieces::pages_of(BlockId piece) const {
    const Block& block = pieces_[piece];
    return {block.reservation - 1, {block.address, block.size}};
}

// Of a free piece in its list's index; both parts are in it afterwards.
void GmlakePieces::cut(BlockId piece, Bytes size) {
    if (pieces_[piece].size == size)
        return;
    SizeIndex& index = lists_[pieces_[piece].list].pieces;
    index.erase(piece, pieces_);
    const BlockId rest = pieces_.split(piece, size);
    index.insert(piece, pieces_);
    index.insert(rest, pieces_);
    over_.resize(std::max<std::size_t>(over_.size(), rest + std::size_t{1}));
    over_[rest] = over_[piece];
    for (const BlockId view : over_[rest]) {
        std::vector<BlockId>& parts = stitches_[view].parts;
        parts.insert(std::next(std::ranges::find(parts, piece)), rest);
    }
}

void GmlakePieces::begin_use(BlockId piece, bool stitched, StreamId stream) {
    Block& block = pieces_[piece];
    StreamList& list = lists_[block.list];
    list.pieces.erase(piece, pieces_);
    list.free -= block.size;
    block.state = Block::State::allocated;
    block.stamp = stitched ? 1 : 0;
    block.streams = StreamSet(stream);
    for (const BlockId view : over_[piece]) {
        if (stitches_[view].busy++ == 0)
            list.stitches.erase(view, views_);
    }
}

void GmlakePieces::end_use(BlockId piece) {
    StreamList& list = lists_[pieces_[piece].list];
    pieces_[piece].state = Block::State::free;
    list.free += pieces_[piece].size;
    for (const BlockId view : over_[piece]) {
        if (--stitches_[view].busy == 0)
            list.stitches.insert(view, views_);
    }
    const auto joins = [&](BlockId neighbour) {
        return over_[piece].empty() && neighbour != kNoBlock &&
               pieces_[neighbour].state == Block::State::free && over_[neighbour].empty();
    };
    if (const BlockId next = pieces_[piece].next; joins(next)) {
        list.pieces.erase(next, pieces_);
        pieces_.merge_next(piece);
    }
    if (const BlockId prev = pieces_[piece].prev; joins(prev)) {
        list.pieces.erase(prev, pieces_);
        pieces_.merge_next(prev);
        piece = prev;
    }
    list.pieces.insert(piece, pieces_);
}

void GmlakePieces::take(Node node, Bytes size, StreamId stream) {
    if (!is_stitch(node)) {
        cut(node, size);
        begin_use(node, false, stream);
        return;
    }
    const BlockId view = node & ~kStitch;
    views_[view].state = Block::State::allocated;
    for (const BlockId part : stitches_[view].parts)
        begin_use(part, true, stream);
}

void GmlakePieces::give_back(Node node) {
    if (!is_stitch(node)) {
        TM_CHECK(pieces_[node].state == Block::State::allocated);
        end_use(node);
        return;
    }
    const BlockId view = node & ~kStitch;
    TM_CHECK(views_[view].state == Block::State::allocated);
    views_[view].state = Block::State::free;
    stitches_[view].left = ++clock_;
    for (const BlockId part : stitches_[view].parts)
        end_use(part);
}

void GmlakePieces::record_use(Node node, StreamId stream) {
    if (!is_stitch(node)) {
        pieces_[node].streams.add(stream);
        return;
    }
    for (const BlockId part : stitches_[node & ~kStitch].parts)
        pieces_[part].streams.add(stream);
}

StreamSet GmlakePieces::streams(Node node) const {
    if (!is_stitch(node))
        return pieces_[node].streams;
    StreamSet all;
    for (const BlockId part : stitches_[node & ~kStitch].parts)
        all.add(pieces_[part].streams);
    return all;
}

Range GmlakePieces::range(Node node) const {
    const Block& block = is_stitch(node) ? views_[node & ~kStitch] : pieces_[node];
    return {block.address, block.size};
}

DeviceResult<GmlakePieces::Node> GmlakePieces::grow(Bytes size, std::uint32_t list,
                                                    Device& device) {
    TM_ASSIGN(const std::uint32_t root, pages_.reserve(device, size));
    const PageTable::PageRange all{root, pages_.root(root)};
    // Of what can't be no page is made.
    const bool possible = size <= device.memory().total;
    const DeviceResult<void> done =
        possible
            ? pages_.populate(device, all)
            : tl::make_unexpected(DeviceError{DeviceStatus::out_of_memory, DeviceCall::create, 0});
    if (!done) {
        if (possible)
            leftovers_.add(all);
        leftovers_.add_root(root);
        leftovers_.settle(pages_, device);
        return tl::make_unexpected(done.error());
    }
    const BlockId piece = pieces_.create(all.range.begin, size, list);
    over_.resize(std::max<std::size_t>(over_.size(), piece + std::size_t{1}));
    pieces_[piece].reservation = root + 1;
    lists_[list].pieces.insert(piece, pieces_);
    lists_[list].free += size;
    ++stats_.segments_created;
    ++stats_.maps;
    return piece;
}

DeviceResult<GmlakePieces::Node> GmlakePieces::stitch(Bytes size, std::uint32_t list,
                                                      Device& device) {
    if (lists_[list].free < size)
        return kNothing;
    const SizeIndex& index = lists_[list].pieces;
    std::vector<BlockId> parts;
    Bytes sum = 0;
    for (BlockId piece = index.last_below(~Bytes{0} >> 1U, pieces_); sum < size;
         piece = index.last_below(pieces_[piece].size, pieces_, pieces_[piece].address)) {
        parts.push_back(piece);
        sum += pieces_[piece].size;
    }
    TM_ASSIGN(const std::uint32_t root, pages_.reserve(device, size));
    cut(parts.back(), pieces_[parts.back()].size - (sum - size));
    std::vector<PageTable::PageRange> sources;
    for (const BlockId part : parts)
        sources.push_back(pages_of(part));
    const Range range = pages_.root(root);
    const DeviceResult<void> done = pages_.alias(device, {root, range}, sources);
    Bytes mapped = 0;
    while (mapped < size && pages_.state(root, range.begin + mapped) != PageTable::State::empty)
        mapped += page();
    if (done || mapped != 0) {
        const BlockId view = add_stitch(root, range, std::move(parts), mapped);
        if (done)
            return view | kStitch;
        end_stitch(view, true, device);
        return tl::make_unexpected(done.error());
    }
    leftovers_.add_root(root);
    leftovers_.settle(pages_, device);
    return tl::make_unexpected(done.error());
}

BlockId GmlakePieces::add_stitch(std::uint32_t root, Range range, std::vector<BlockId> parts,
                                 Bytes mapped) {
    const std::uint32_t list = pieces_[parts.front()].list;
    const BlockId view = views_.create(range.begin, range.size, list);
    stitches_.resize(std::max<std::size_t>(stitches_.size(), view + std::size_t{1}));
    const bool whole = mapped == range.size;
    for (const BlockId part : parts)
        over_[part].push_back(view);
    stitches_[view] = {root, mapped, std::move(parts), whole ? 0U : 1U, ++clock_};
    if (whole)
        lists_[list].stitches.insert(view, views_);
    stitched_ += range.size;
    ++stats_.maps;
    return view;
}

// False: it is granted, a stream may use it, or the device refuses.
bool GmlakePieces::end_stitch(BlockId view, bool awaited, Device& device) {
    Stitch& stitch = stitches_[view];
    const Block block = views_[view];
    if (block.state == Block::State::allocated ||
        (!awaited && !has_passed_all(streams(view | kStitch), device)) ||
        !pages_.unalias(device, {stitch.root, {block.address, stitch.mapped}}))
        return false;
    ++stats_.unmaps;
    if (stitch.busy == 0)
        lists_[block.list].stitches.erase(view, views_);
    for (const BlockId part : stitch.parts)
        std::erase(over_[part], view);
    if (!pages_.unreserve(device, stitch.root))
        leftovers_.add_root(stitch.root);
    stitched_ -= block.size;
    stitch = {};
    views_.release(view);
    return true;
}

void GmlakePieces::collect(Bytes most, bool awaited, Device& device) {
    if (stitched_ <= most)
        return;
    std::vector<BlockId> free;
    for (const BlockId view : views_.segments()) {
        if (views_[view].state == Block::State::free)
            free.push_back(view);
    }
    std::ranges::sort(free, {}, [this](BlockId view) { return stitches_[view].left; });
    for (const BlockId view : free) {
        if (stitched_ <= most)
            return;
        end_stitch(view, awaited, device);
    }
}

void GmlakePieces::release(bool uncut, bool awaited, Device& device) {
    for (StreamList& list : lists_) {
        BlockId piece = list.pieces.first_from(0, pieces_);
        while (piece != kNoBlock) {
            const Block block = pieces_[piece];
            if (!uncut || block.whole_segment())
                release_piece(piece, awaited, device);
            piece = list.pieces.next(block, pieces_);
        }
    }
    settle(device);
}

bool GmlakePieces::release_piece(BlockId piece, bool awaited, Device& device) {
    if (!awaited && !has_passed_all(pieces_[piece].streams, device))
        return false;
    const std::vector<BlockId> over = over_[piece];
    for (const BlockId view : over) {
        if (!end_stitch(view, awaited, device))
            return false;
    }
    const PageTable::PageRange pages = pages_of(piece);
    if (!pages_.vacate(device, pages))
        return false;
    ++stats_.unmaps;
    ++stats_.segments_released;
    if (!PageLeftovers::is_gone(pages_, pages))
        leftovers_.add(pages);
    StreamList& list = lists_[pieces_[piece].list];
    list.pieces.erase(piece, pieces_);
    list.free -= pages.range.size;
    pieces_[piece].state = Block::State::unmapped;
    return true;
}

// Offers the device again what it refused, and gives addresses back of which nothing is left.
void GmlakePieces::settle(Device& device) {
    for (const BlockId first : pieces_.segments()) {
        const std::uint32_t root = pieces_[first].reservation - 1;
        bool gone = true;
        for (BlockId id = first; id != kNoBlock && gone; id = pieces_[id].next)
            gone = pieces_[id].state == Block::State::unmapped;
        if (!gone)
            continue;
        while (pieces_[first].next != kNoBlock)
            pieces_.merge_next(first);
        pieces_.release(first);
        leftovers_.add_root(root);
    }
    leftovers_.settle(pages_, device);
}

Bytes GmlakePieces::largest_free() const {
    Bytes largest = 0;
    for (const StreamList& list : lists_)
        largest = std::max(largest, list.pieces.largest(pieces_));
    return largest;
}

bool GmlakePieces::any_free() const {
    return std::ranges::any_of(lists_, [](const StreamList& list) { return list.free != 0; }) ||
           stitched_ != 0 || !leftovers_.empty();
}

void GmlakePieces::for_each_region(const std::function<void(const Region&)>& visit) const {
    const auto at_home = [](const Block& block) {
        return block.state == Block::State::free ||
               (block.state == Block::State::allocated && block.stamp == 0);
    };
    pieces_.for_each_run(at_home, [&](const Block& block, Range run) {
        const auto state =
            block.state == Block::State::free ? Region::State::free : Region::State::allocated;
        visit({{block.address, block.size}, run, state, lists_[block.list].stream});
    });
    views_.for_each([&](const Block& block, Range range) {
        if (block.state == Block::State::allocated)
            visit({range, range, Region::State::allocated, lists_[block.list].stream});
    });
    leftovers_.for_each(pages_, [&](Range page) { visit({page, page, Region::State::hole}); });
}

}  // namespace tidemark::policies
