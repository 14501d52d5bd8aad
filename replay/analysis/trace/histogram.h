// Histogram: how many values are between one power of two and the next, and how many bytes belong
// to them. Pure.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// Values from `low` to 2 * low - 1; the first bin of a histogram may be low == 0, zeros alone.
struct HistogramBin {
    std::uint64_t low = 0;
    std::uint64_t count = 0;
    Bytes bytes = 0;  // of the allocations counted

    friend bool operator==(const HistogramBin&, const HistogramBin&) = default;
};

// From the first that is not empty to the last, none left out between.
using Histogram = std::vector<HistogramBin>;

// Damaged sizes may sum to more than there are numbers: then it is the largest.
constexpr Bytes capped_sum(Bytes sum, Bytes more) {
    return more > ~Bytes{0} - sum ? ~Bytes{0} : sum + more;
}

// A histogram while values are counted. 65 bins; each value O(1).
class HistogramBins {
  public:
    void add(std::uint64_t value, Bytes bytes) {
        HistogramBin& bin = bins_[static_cast<std::size_t>(std::bit_width(value))];
        ++bin.count;
        bin.bytes = capped_sum(bin.bytes, bytes);
    }

    Histogram take() {
        std::size_t begin = 0;
        std::size_t end = kBins;
        while (begin < end && bins_[begin].count == 0)
            ++begin;
        while (end > begin && bins_[end - 1].count == 0)
            --end;
        for (std::size_t i = 1; i < kBins; ++i)
            bins_[i].low = std::uint64_t{1} << (i - 1);
        return {bins_.begin() + static_cast<std::ptrdiff_t>(begin),
                bins_.begin() + static_cast<std::ptrdiff_t>(end)};
    }

  private:
    static constexpr std::size_t kBins = 65;  // zeros, then one for each power of two

    std::array<HistogramBin, kBins> bins_{};
};

}  // namespace tidemark
