// Pieces of bytes, which are cut where a later call begins or ends inside of them.
#include "backends/sim/memory.h"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

constexpr std::uint32_t word_of(std::byte value) {
    return std::to_integer<std::uint32_t>(value) * 0x01010101U;
}

constexpr std::byte byte_at(std::uint32_t word, std::uint64_t address) {
    return static_cast<std::byte>(word >> (8 * (address % 4)));
}

// Bytes of [begin, begin + size) at which two words differ.
Bytes differing(std::uint64_t begin, Bytes size, std::uint32_t left, std::uint32_t right) {
    if (left == right)
        return 0;
    Bytes in_word = 0;
    for (std::uint64_t i = 0; i < 4; ++i)
        in_word += byte_at(left, i) != byte_at(right, i) ? 1U : 0U;
    Bytes count = size / 4 * in_word;
    for (Bytes i = size / 4 * 4; i < size; ++i)
        count += byte_at(left, begin + i) != byte_at(right, begin + i) ? 1U : 0U;
    return count;
}

}  // namespace

// Calls `visit(begin, size, piece, offset)` for all of the range in order: `offset` is the position
// of `begin` in the piece, which is null where nothing was written.
template <class Visit>
void ByteStore::for_each_piece(Range range, Visit visit) const {
    const std::uint64_t end = to_integer(range.begin) + range.size;
    std::uint64_t at = to_integer(range.begin);
    auto next = pieces_.upper_bound(at);
    if (next != pieces_.begin() && std::prev(next)->first + std::prev(next)->second.size > at)
        --next;
    for (; at < end; ++next) {
        const std::uint64_t begin = next == pieces_.end() ? end : std::clamp(next->first, at, end);
        if (at < begin)
            visit(at, begin - at, nullptr, 0);
        if (begin == end)
            return;
        const std::uint64_t stop = std::min(end, next->first + next->second.size);
        visit(begin, stop - begin, &next->second, begin - next->first);
        at = stop;
    }
}

// Afterwards no piece is on both sides of `at`.
void ByteStore::cut(std::uint64_t at) {
    auto next = pieces_.lower_bound(at);
    if (next == pieces_.begin())
        return;
    Piece& piece = std::prev(next)->second;
    const Bytes kept = at - std::prev(next)->first;
    if (piece.size <= kept)
        return;
    Piece rest{.size = piece.size - kept, .word = piece.word};
    if (!piece.bytes.empty()) {
        rest.bytes.assign(piece.bytes.begin() + static_cast<std::ptrdiff_t>(kept),
                          piece.bytes.end());
        piece.bytes.resize(kept);
    }
    piece.size = kept;
    pieces_.emplace_hint(next, at, std::move(rest));
}

void ByteStore::read(Address address, std::span<std::byte> target) const {
    for_each_piece({address, target.size()}, [&](std::uint64_t begin, Bytes size,
                                                 const Piece* piece, Bytes offset) {
        const auto part = target.subspan(begin - to_integer(address), size);
        if (piece != nullptr && !piece->bytes.empty()) {
            std::copy_n(piece->bytes.data() + offset, size, part.data());
            return;
        }
        const std::uint32_t word = piece == nullptr ? word_of(kUnwritten) : piece->word;
        for (Bytes i = 0; i < size; ++i)
            part[i] = byte_at(word, begin + i);
    });
}

void ByteStore::write(Address address, std::span<const std::byte> source) {
    while (!source.empty()) {
        const std::uint64_t at = to_integer(address);
        const auto part = source.first(std::min<Bytes>(source.size(), kLongest));
        const auto next = pieces_.upper_bound(at);
        // Inside a piece with bytes they change in place, so that many small writes stay cheap.
        if (next != pieces_.begin()) {
            auto& [begin, piece] = *std::prev(next);
            if (!piece.bytes.empty() && at + part.size() <= begin + piece.size) {
                std::copy_n(part.data(), part.size(), piece.bytes.data() + (at - begin));
                address = address + part.size();
                source = source.subspan(part.size());
                continue;
            }
        }
        drop({address, part.size()});
        pieces_.emplace(at, Piece{.size = part.size(), .bytes = {part.begin(), part.end()}});
        address = address + part.size();
        source = source.subspan(part.size());
    }
}

void ByteStore::fill(Address address, Bytes size, std::byte value) {
    fill_word(address, size, word_of(value));
}

void ByteStore::fill_word(Address address, Bytes size, std::uint32_t word) {
    drop({address, size});
    if (size != 0)
        pieces_.emplace(to_integer(address), Piece{.size = size, .word = word});
}

Bytes ByteStore::count_differing(Address address, Bytes size, std::uint32_t word) const {
    Bytes count = 0;
    for_each_piece(
        {address, size}, [&](std::uint64_t begin, Bytes part, const Piece* piece, Bytes offset) {
            if (piece == nullptr || piece->bytes.empty()) {
                count += differing(begin, part,
                                   piece == nullptr ? word_of(kUnwritten) : piece->word, word);
                return;
            }
            for (Bytes i = 0; i < part; ++i)
                count += piece->bytes[offset + i] != byte_at(word, begin + i) ? 1U : 0U;
        });
    return count;
}

void ByteStore::drop(Range range) {
    if (range.size == 0)
        return;
    const std::uint64_t begin = to_integer(range.begin);
    const std::uint64_t end = begin + range.size;
    cut(begin);
    cut(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
}

}  // namespace tidemark
