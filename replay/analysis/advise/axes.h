// SettingAxes: the directions in which a search may go from a choice of settings, and how far.
//
// Thresholds and octaves come from the sizes that the program requests, so that no trial is spent
// on a setting which affects no request. Immutable; O(values) a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/analysis/advise/settings.h"

namespace tidemark {

class SettingAxes {
  public:
    using Choices = std::vector<TorchChoice>;

    // `sizes` that were requested, ascending. `collects`: garbage collection has an effect.
    SettingAxes(const std::vector<Bytes>& sizes, bool collects);

    // Keys: expandable_segments, roundup_power2_divisions (one number), max_split_size_mb,
    // max_non_split_rounding_mb, garbage_collection_threshold, large_segment_size_mb.
    static constexpr std::size_t kCount = 6;

    // `from` with each value of a key; none where the key has no effect.
    Choices along(std::size_t axis, const TorchChoice& from) const;

    // `from` with the key at its default.
    static TorchChoice without(std::size_t axis, TorchChoice from);

    // `from` with each rounding of one octave, and of it and all above.
    static Choices along_octave(std::size_t octave, const TorchChoice& from);

    // `from` with max_split_size_mb half-way to its neighbours among `tried` that differ from it in
    // nothing else.
    static Choices between(const TorchChoice& from, const Choices& tried);

    // Those that requests fall into; the first stands for all small sizes.
    const std::vector<std::size_t>& octaves() const { return octaves_; }

  private:
    Choices splits(TorchChoice from) const;
    Choices collections(TorchChoice from) const;
    Choices large_segments(TorchChoice from) const;

    bool collects_;
    bool shares_segments_;  // some requests are small enough to be cut from one large segment
    std::vector<std::uint64_t> thresholds_;
    std::vector<std::size_t> octaves_;
};

}  // namespace tidemark
