// MarkPositions: where a run's marks are on the axis, by kind; those that would cover each other
// are joined. Grows with its history, a part at a time. Memory: 4 bytes a mark. The screen's thread
// only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {

constexpr std::size_t kMarkKinds = 6;

class MarkPositions {
  public:
    // Adds what is new in `history`, at most `most`; starts over with another history. True: there
    // is more to come. O(most).
    bool follow(const std::shared_ptr<const History>& history, std::size_t most);

    // Marks of a kind, so far.
    std::size_t count(MarkKind kind) const { return of(kind).size(); }

    // Those within `window`, joined by cells of `cell`. MergedRange::first is an index in the
    // kind's own row. O(answer * log marks).
    std::vector<MergedRange> ranges(MarkKind kind, AxisUnit unit, const Window& window,
                                    Position cell) const;

    // The mark at an index of its kind's row, as History::mark counts them. O(1).
    std::size_t at(MarkKind kind, std::size_t i) const { return of(kind)[i]; }

  private:
    using Row = std::vector<std::uint32_t>;

    const Row& of(MarkKind kind) const { return rows_[static_cast<std::size_t>(kind)]; }

    std::shared_ptr<const History> history_;
    std::size_t taken_ = 0;
    std::array<Row, kMarkKinds> rows_;
};

}  // namespace tidemark::viz
