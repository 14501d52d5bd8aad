// Pieces of known bytes, which later writes cut.
#include "backends/imagined/contents.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark::imagined {
namespace {

std::ptrdiff_t distance(std::uint64_t from, std::uint64_t to) {
    return static_cast<std::ptrdiff_t>(to - from);
}

}  // namespace

void Contents::keep(std::uint64_t at, std::vector<std::byte> bytes) {
    if (bytes.empty())
        return;
    held_ += bytes.size();
    ages_.emplace(next_age_, at);
    pieces_.emplace(at, Piece{std::move(bytes), next_age_++});
}

Contents::Pieces::iterator Contents::drop(Pieces::iterator piece) {
    held_ -= piece->second.bytes.size();
    ages_.erase(piece->second.age);
    return pieces_.erase(piece);
}

Contents::Pieces::const_iterator Contents::piece_of(std::uint64_t at) const {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin())
        return pieces_.end();
    --piece;
    return at - piece->first < piece->second.bytes.size() ? piece : pieces_.end();
}

void Contents::forget(std::uint64_t at, std::size_t size) {
    const std::uint64_t end = at + size;
    auto piece = pieces_.lower_bound(at);
    if (const auto over = piece_of(at); over != pieces_.end())
        piece = pieces_.find(over->first);
    while (piece != pieces_.end() && piece->first < end) {
        const std::uint64_t begin = piece->first;
        std::vector<std::byte> bytes = std::move(piece->second.bytes);
        const std::uint64_t piece_end = begin + bytes.size();
        held_ -= bytes.size();
        ages_.erase(piece->second.age);
        piece = pieces_.erase(piece);
        if (piece_end > end)
            keep(end, {bytes.begin() + distance(begin, end), bytes.end()});
        if (begin < at) {
            bytes.resize(at - begin);
            keep(begin, std::move(bytes));
        }
    }
}

void Contents::hand_out(std::uint64_t at, std::size_t size) {
    forget(at, size);
    auto old = owned_.lower_bound(at);
    if (old != owned_.begin() && std::prev(old)->first + std::prev(old)->second > at)
        --old;
    while (old != owned_.end() && old->first < at + size)
        old = owned_.erase(old);
    owned_.emplace(at, size);
}

std::optional<Contents::Owned> Contents::owner_of(std::uint64_t at) const {
    auto owner = owned_.upper_bound(at);
    if (owner == owned_.begin())
        return std::nullopt;
    --owner;
    return at - owner->first < owner->second ? std::optional<Owned>({owner->first, owner->second})
                                             : std::nullopt;
}

void Contents::write(std::uint64_t at, std::span<const std::byte> bytes) {
    if (in_one_piece(at, bytes.size())) {
        const auto piece = pieces_.find(piece_of(at)->first);
        std::copy(bytes.begin(), bytes.end(),
                  piece->second.bytes.begin() + distance(piece->first, at));
        return;
    }
    forget(at, bytes.size());
    if (bytes.size() > kLargest)
        return;
    while (held_ + bytes.size() > kMost)
        drop(pieces_.find(ages_.begin()->second));
    keep(at, {bytes.begin(), bytes.end()});
}

void Contents::fill(std::uint64_t at, std::byte value, std::size_t size) {
    if (size > kLargest)
        return forget(at, size);
    write(at, std::vector<std::byte>(size, value));
}

void Contents::copy(std::uint64_t to, std::uint64_t from, std::size_t size) {
    std::vector<std::byte> bytes(size <= kLargest ? size : 0);
    if (size <= kLargest && read(from, bytes))
        write(to, bytes);
    else
        forget(to, size);
}

bool Contents::read(std::uint64_t at, std::span<std::byte> bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto piece = piece_of(at + done);
        if (piece == pieces_.end())
            return false;
        const std::size_t offset = at + done - piece->first;
        const std::size_t count =
            std::min(bytes.size() - done, piece->second.bytes.size() - offset);
        std::copy_n(piece->second.bytes.begin() + static_cast<std::ptrdiff_t>(offset), count,
                    bytes.begin() + static_cast<std::ptrdiff_t>(done));
        done += count;
    }
    return true;
}

bool Contents::any(std::uint64_t at, std::size_t size) const {
    const auto next = pieces_.lower_bound(at);
    return piece_of(at) != pieces_.end() || (next != pieces_.end() && next->first < at + size);
}

bool Contents::in_one_piece(std::uint64_t at, std::size_t size) const {
    const auto piece = piece_of(at);
    return piece != pieces_.end() && at + size <= piece->first + piece->second.bytes.size();
}

bool Contents::Reader::read(std::uint64_t at, std::span<std::byte> bytes) {
    if (at < begin_ || at + bytes.size() > begin_ + piece_.size()) {
        const auto piece = contents_.piece_of(at);
        if (piece == contents_.pieces_.end())
            return false;
        begin_ = piece->first;
        piece_ = piece->second.bytes;
        if (at + bytes.size() > begin_ + piece_.size())
            return contents_.read(at, bytes);
    }
    const auto from = piece_.subspan(at - begin_, bytes.size());
    std::copy(from.begin(), from.end(), bytes.begin());
    return true;
}

}  // namespace tidemark::imagined
