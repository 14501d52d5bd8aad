// Values for each key.
#include "replay/analysis/advise/axes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

using Choices = SettingAxes::Choices;

constexpr std::size_t kThresholds = 12;
constexpr std::array<std::uint32_t, 5> kDivisions{2, 4, 8, 16, 32};
constexpr std::array<std::uint64_t, 4> kNonSplitRoundings{64, 256, 1024, 4096};
constexpr std::array<std::uint64_t, 5> kLargeSegments{64, 128, 256, 512, 1024};
constexpr std::array<unsigned, 5> kCollections{60, 70, 80, 90, 95};

// Thresholds for max_split_size_mb: powers of two, and sizes that the program requests, so that
// they fall on either side of a threshold.
std::vector<std::uint64_t> thresholds(const std::vector<Bytes>& sizes) {
    std::vector<std::uint64_t> found;
    const Bytes largest = sizes.empty() ? 0 : sizes.back();
    for (std::uint64_t mb = 32; mb << 20U <= 2 * largest; mb *= 2)
        found.push_back(mb);
    const auto large = std::lower_bound(sizes.begin(), sizes.end(), 21_MiB);
    const auto count = static_cast<std::size_t>(sizes.end() - large);
    for (std::size_t i = 0; i < std::min(count, kThresholds); ++i)
        found.push_back(
            *(large + static_cast<std::ptrdiff_t>(i * count / std::min(count, kThresholds))) >>
            20U);
    found.push_back(21);
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// The octaves that requests fall into; the first stands for all small sizes.
std::vector<std::size_t> used_octaves(const std::vector<Bytes>& sizes) {
    std::array<bool, kTorchOctaves> used{};
    for (const Bytes size : sizes) {
        const auto octave = static_cast<std::size_t>(std::bit_width(size >> 20U));
        used[octave == 0 ? 0 : std::min(octave - 1, kTorchOctaves - 1)] = true;
    }
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < kTorchOctaves; ++i)
        if (used[i])
            found.push_back(i);
    return found;
}

// One key of a choice, and all its values.
Choices expandable(TorchChoice from) {
    from.expandable = !from.expandable;
    return {from};
}

Choices roundings(TorchChoice from) {
    Choices list;
    from.divisions.fill(0);
    list.push_back(from);
    for (const std::uint32_t divisions : kDivisions) {
        from.divisions.fill(divisions);
        list.push_back(from);
    }
    return list;
}

Choices non_splits(TorchChoice from) {
    Choices list;
    if (from.max_split_mb == 0)
        return list;
    from.non_split_rounding_mb = 20;
    list.push_back(from);
    for (const std::uint64_t mb : kNonSplitRoundings) {
        from.non_split_rounding_mb = mb;
        list.push_back(from);
    }
    return list;
}

}  // namespace

SettingAxes::SettingAxes(const std::vector<Bytes>& sizes, bool collects)
    : collects_(collects),
      shares_segments_(std::ranges::any_of(sizes,
                                           [](Bytes size) {
                                               return size > policies::kTorchSmallMax &&
                                                      size < policies::kTorchMinLarge;
                                           })),
      thresholds_(thresholds(sizes)),
      octaves_(used_octaves(sizes)) {}

SettingAxes::Choices SettingAxes::along(std::size_t axis, const TorchChoice& from) const {
    switch (axis) {
        case 0:
            return expandable(from);
        case 1:
            return roundings(from);
        case 2:
            return splits(from);
        case 3:
            return non_splits(from);
        case 4:
            return collections(from);
        default:
            return large_segments(from);
    }
}

TorchChoice SettingAxes::without(std::size_t axis, TorchChoice choice) {
    const TorchChoice defaults;
    if (axis == 0)
        choice.expandable = false;
    else if (axis == 1)
        choice.divisions = defaults.divisions;
    else if (axis == 2)
        choice.max_split_mb = 0;
    if (axis == 2 || axis == 3)
        choice.non_split_rounding_mb = defaults.non_split_rounding_mb;
    else if (axis == 4)
        choice.gc_percent = 0;
    else if (axis == 5)
        choice.large_segment_mb = defaults.large_segment_mb;
    return choice;
}

SettingAxes::Choices SettingAxes::along_octave(std::size_t octave, const TorchChoice& from) {
    Choices list;
    for (const bool above : {false, true}) {
        for (std::size_t i = 0; i <= kDivisions.size(); ++i) {
            TorchChoice choice = from;
            const std::size_t end = above ? kTorchOctaves : octave + 1;
            for (std::size_t k = octave; k < end; ++k)
                choice.divisions[k] = i == 0 ? 0 : kDivisions[i - 1];
            list.push_back(choice);
        }
    }
    return list;
}

SettingAxes::Choices SettingAxes::between(const TorchChoice& from, const Choices& tried) {
    std::uint64_t below = 20;
    std::uint64_t above = 2 * from.max_split_mb;
    for (TorchChoice same : tried) {
        const std::uint64_t mb = std::exchange(same.max_split_mb, from.max_split_mb);
        if (!(same == from))
            continue;
        if (mb < from.max_split_mb)
            below = std::max(below, mb);
        else if (mb > from.max_split_mb)
            above = std::min(above, mb);
    }
    Choices list;
    for (const std::uint64_t other : {below, above}) {
        TorchChoice choice = from;
        choice.max_split_mb = (from.max_split_mb + other) / 2;
        list.push_back(choice);
    }
    return list;
}

SettingAxes::Choices SettingAxes::splits(TorchChoice from) const {
    Choices list;
    from.max_split_mb = 0;
    list.push_back(from);
    list.back().non_split_rounding_mb = 20;
    for (const std::uint64_t mb : thresholds_) {
        from.max_split_mb = mb;
        list.push_back(from);
    }
    return list;
}

SettingAxes::Choices SettingAxes::collections(TorchChoice from) const {
    Choices list;
    if (!collects_)
        return list;
    from.gc_percent = 0;
    list.push_back(from);
    for (const unsigned percent : kCollections) {
        from.gc_percent = percent;
        list.push_back(from);
    }
    return list;
}

SettingAxes::Choices SettingAxes::large_segments(TorchChoice from) const {
    Choices list;
    if (!shares_segments_)
        return list;
    from.large_segment_mb = TorchChoice().large_segment_mb;
    list.push_back(from);
    for (const std::uint64_t mb : kLargeSegments) {
        from.large_segment_mb = mb;
        list.push_back(from);
    }
    return list;
}

}  // namespace tidemark
