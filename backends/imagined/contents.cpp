// Pieces of known bytes, cut where others are written over them.
#include "backends/imagined/contents.h"

#include <algorithm>
#include <iterator>

namespace tidemark::imagined {

void Contents::forget(std::uint64_t at, std::size_t size) {
    const std::uint64_t end = at + size;
    auto piece = pieces_.lower_bound(at);
    if (piece != pieces_.begin()) {
        const auto before = std::prev(piece);
        const std::uint64_t before_end = before->first + before->second.size();
        if (before_end > at) {
            if (before_end > end) {
                const auto tail =
                    before->second.end() - static_cast<std::ptrdiff_t>(before_end - end);
                pieces_.emplace(end, std::vector<std::byte>(tail, before->second.end()));
                held_ += before_end - end;
            }
            held_ -= before_end - at;
            before->second.resize(at - before->first);
        }
    }
    piece = pieces_.lower_bound(at);
    while (piece != pieces_.end() && piece->first < end) {
        const std::uint64_t piece_end = piece->first + piece->second.size();
        if (piece_end > end) {
            const auto tail = piece->second.end() - static_cast<std::ptrdiff_t>(piece_end - end);
            std::vector<std::byte> rest(tail, piece->second.end());
            held_ -= piece->second.size() - rest.size();
            pieces_.erase(piece);
            pieces_.emplace(end, std::move(rest));
            return;
        }
        held_ -= piece->second.size();
        piece = pieces_.erase(piece);
    }
}

void Contents::write(std::uint64_t at, std::span<const std::byte> bytes) {
    forget(at, bytes.size());
    if (bytes.empty() || bytes.size() > kLargest || held_ + bytes.size() > kMost)
        return;
    pieces_.emplace(at, std::vector<std::byte>(bytes.begin(), bytes.end()));
    held_ += bytes.size();
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
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin())
        return false;
    --piece;
    std::size_t done = 0;
    while (done < bytes.size()) {
        if (piece == pieces_.end() || piece->first > at + done)
            return false;
        const std::size_t offset = at + done - piece->first;
        if (offset >= piece->second.size())
            return false;
        const std::size_t count = std::min(bytes.size() - done, piece->second.size() - offset);
        std::copy_n(piece->second.begin() + static_cast<std::ptrdiff_t>(offset), count,
                    bytes.begin() + static_cast<std::ptrdiff_t>(done));
        done += count;
        ++piece;
    }
    return true;
}

}  // namespace tidemark::imagined
