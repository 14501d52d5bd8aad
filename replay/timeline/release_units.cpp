// release_units: finding the pieces that contain a block's ends, and keeping the sum of free memory
// in pieces that are in use in part.
#include "replay/timeline/release_units.h"

#include <algorithm>
#include <limits>

namespace tidemark {
namespace {

constexpr Bytes kNear = 2_MiB;  // addresses that are looked up together
// A mapping has no more, so that numbers that are wrong cost no memory.
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20U;

// Of a range that isn't empty.
std::uint64_t last_byte_of(Address address, Bytes size) {
    const std::uint64_t begin = to_integer(address);
    return begin + std::min(size - 1, std::numeric_limits<std::uint64_t>::max() - begin);
}

// What is unreleasable in a piece.
Bytes stuck(Bytes taken, Bytes size) {
    return taken == 0 ? 0 : size - std::min(taken, size);
}

template <class Piece>
bool holds(const Piece& mapped, std::uint64_t address) {
    return address - mapped.begin < mapped.size;
}

template <class Visit>
void for_each_page(const Segment& segment, Bytes page, Visit visit) {
    const std::uint64_t last = last_byte_of(segment.begin, segment.size);
    for (std::uint64_t begin = to_integer(segment.begin);; begin += page) {
        visit(begin, std::min<Bytes>(page, last - begin + 1));
        if (last - begin < page)
            return;
    }
}

}  // namespace

ReleaseUnits::Space& ReleaseUnits::space(std::uint16_t device) {
    if (device >= spaces_.size())
        spaces_.resize(std::size_t{device} + 1);
    return spaces_[device];
}

Bytes ReleaseUnits::page_of(const Segment& segment) {
    const bool is_whole = segment.kind == SegmentKind::segment || segment.page == 0 ||
                          segment.size / segment.page >= kMostPages;
    return is_whole ? segment.size : segment.page;
}

// Null if none holds the address.
const ReleaseUnits::Mapped* ReleaseUnits::mapped_at(Space& space, std::uint64_t address) {
    Mapped& found = space.found[address / kNear % kFound];
    if (holds(found, address)) [[likely]]
        return &found;
    const auto beyond = space.mappings.upper_bound(address);
    if (beyond == space.mappings.begin() || !holds(std::prev(beyond)->second, address))
        return nullptr;
    found = std::prev(beyond)->second;
    return &found;
}

void ReleaseUnits::forget(Space& space, const Mapped& mapped) {
    const std::uint64_t last = last_byte_of(Address{mapped.begin}, mapped.size) / kNear;
    for (std::uint64_t near = mapped.begin / kNear;; ++near) {
        space.found[near % kFound] = {};
        if (near == last || near - mapped.begin / kNear == kFound)
            return;
    }
}

void ReleaseUnits::begin(const Segment& segment) {
    if (segment.kind == SegmentKind::reservation || segment.size == 0)
        return;
    for_each_page(segment, page_of(segment),
                  [&](std::uint64_t begin, Bytes size) { put(segment, begin, size); });
}

void ReleaseUnits::put(const Segment& segment, std::uint64_t begin, Bytes size) {
    Mapped mapped{begin, size, kNone, segment.born};
    const auto before = ended_.find({segment.device, begin});
    const bool stays = segment.kind != SegmentKind::segment && before != ended_.end() &&
                       before->second.size == size;
    if (stays)
        mapped.piece = before->second.piece;
    else if (segment.kind == SegmentKind::view)
        mapped.piece = piece_at_home(segment, begin);
    else
        mapped.piece = new_piece(size, segment.born);
    if (mapped.piece != kNone)
        ++pieces_[mapped.piece].mappings;
    Space& there = space(segment.device);
    const auto [at, is_new] = there.mappings.try_emplace(begin, mapped);
    if (!is_new) {  // which no device does
        forget(there, at->second);
        leave(at->second.piece);
        at->second = mapped;
    }
}

ReleaseUnits::Number ReleaseUnits::new_piece(Bytes size, EventIndex born) {
    Number number = static_cast<Number>(pieces_.size());
    if (vacant_.empty()) {
        pieces_.emplace_back();
    } else {
        number = vacant_.back();
        vacant_.pop_back();
    }
    pieces_[number] = {.size = size, .born = born};
    return number;
}

// kNone where nothing is known of the home.
ReleaseUnits::Number ReleaseUnits::piece_at_home(const Segment& view, std::uint64_t begin) {
    const std::uint64_t home = to_integer(view.home) + (begin - to_integer(view.begin));
    if (const Mapped* const mapped = mapped_at(space(view.device), home); mapped != nullptr)
        return mapped->piece;
    const auto ended = ended_.find({view.device, home});
    return ended == ended_.end() ? kNone : ended->second.piece;
}

void ReleaseUnits::end(const Segment& segment) {
    if (segment.kind == SegmentKind::reservation || segment.size == 0)
        return;
    Space& there = space(segment.device);
    const std::uint64_t last = last_byte_of(segment.begin, segment.size);
    auto at = there.mappings.lower_bound(to_integer(segment.begin));
    while (at != there.mappings.end() && at->first <= last) {
        if (at->second.born != segment.born) {
            ++at;
            continue;
        }
        forget(there, at->second);
        if (const auto [kept, is_new] = ended_.try_emplace({segment.device, at->first}, at->second);
            !is_new)
            leave(at->second.piece);
        at = there.mappings.erase(at);
    }
}

void ReleaseUnits::settle() {
    for (const auto& [where, mapped] : ended_)
        leave(mapped.piece);
    ended_.clear();
}

void ReleaseUnits::leave(Number number) {
    if (number == kNone || --pieces_[number].mappings > 0)
        return;
    fragmented_ -= stuck(pieces_[number].taken, pieces_[number].size);
    vacant_.push_back(number);
}

void ReleaseUnits::count(std::uint16_t device, const BlockLife& block, bool takes) {
    if (block.size == 0)
        return;
    Space& there = space(device);
    const std::uint64_t first = to_integer(block.address);
    const std::uint64_t last = last_byte_of(block.address, block.size);
    if (const Mapped* const mapped = mapped_at(there, first); mapped != nullptr) {
        change(mapped->piece,
               std::min(last - mapped->begin, mapped->size - 1) - (first - mapped->begin) + 1,
               block.born, takes);
        if (holds(*mapped, last)) [[likely]]
            return;
    }
    if (const Mapped* const mapped = mapped_at(there, last); mapped != nullptr)
        change(mapped->piece, last - mapped->begin + 1, block.born, takes);
}

// Never subtracts more than the value, whatever a history says.
void ReleaseUnits::change(Number number, Bytes bytes, EventIndex born, bool takes) {
    if (number == kNone)
        return;
    Piece& piece = pieces_[number];
    if (piece.born > born || bytes >= piece.size)
        return;
    fragmented_ -= stuck(piece.taken, piece.size);
    piece.taken = takes ? piece.taken + bytes : piece.taken - std::min(piece.taken, bytes);
    fragmented_ += stuck(piece.taken, piece.size);
}

}  // namespace tidemark
