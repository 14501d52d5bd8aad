// kept_fragmentation: the fragmentation of a history that is kept in the cache, kept with it:
//
//   held, held-nodes   a file for each of the curve's columns
//   held-head          how long they must be, of which history, and checksums over them; last
//
// Like the history it is a cache: a file that is damaged, has another format or belongs to another
// history counts as missing, and what is missing is added. Thread-safe, also between processes:
// they keep the same bytes, and each file appears whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/timeline/fragmentation_curve.h"

namespace tidemark {

// To be raised when a column or the head changes its meaning, or a sweep comes to other results.
constexpr std::uint32_t kFragmentationFormat = 3;

struct FragmentationHead {
    std::string history;  // the name of its folder
    std::uint64_t events = 0;
    std::uint64_t held_checksum = 0;
    std::uint64_t nodes_checksum = 0;

    friend bool operator==(const FragmentationHead&, const FragmentationHead&) = default;
};

// As it is written, and read from any bytes: nothing if they are not a head.
std::vector<std::byte> encode_fragmentation_head(const FragmentationHead& head);
std::optional<FragmentationHead> decode_fragmentation_head(std::span<const std::byte> bytes);

// The curve that is kept with `history`, in memory as far as there is plenty; null if there is none
// that can be trusted, which all of it is read for. O(events): 0.1 s for 10^8 that the page cache
// has.
std::shared_ptr<FragmentationCurve> open_fragmentation(
    const std::shared_ptr<const History>& history, const std::atomic<bool>& cancelled);

// Keeps a curve that has all events of a complete history with kept_in(). O(events), a write of 8.3
// bytes each, until the disk has them. Errors: io (the folder is gone, read-only or not ours alone,
// no room); cancelled. Nothing is left behind then, or whole files that the next one replaces.
Result<void> keep_fragmentation(const FragmentationCurve& curve, const History& history,
                                const std::atomic<bool>& cancelled);

}  // namespace tidemark
