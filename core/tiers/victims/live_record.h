// LiveRecord: how many bytes were live after each of a series of operations, and the maximum of any
// stretch of it, which shows a peak to come.
//
// Maxima of blocks and of blocks of blocks, so that a stretch costs O(kFanout) a level. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class LiveRecord {
  public:
    std::size_t size() const { return levels_[0].size(); }

    Bytes operator[](std::size_t position) const { return levels_[0][position]; }

    void clear() {
        for (std::vector<Bytes>& level : levels_)
            level.clear();
    }

    // Amortised O(1).
    void push_back(Bytes live) {
        std::size_t position = levels_[0].size();
        levels_[0].push_back(live);
        for (std::size_t level = 1; level < levels_.size(); ++level) {
            position /= kFanout;
            if (position == levels_[level].size())
                levels_[level].push_back(live);
            else
                levels_[level][position] = std::max(levels_[level][position], live);
        }
    }

    // The maximum over the positions [begin, end); 0 if there are none.
    Bytes peak(std::size_t begin, std::size_t end) const {
        end = std::min(end, size());
        Bytes most = 0;
        for (std::size_t level = 0; begin < end; ++level) {
            const std::vector<Bytes>& values = levels_[level];
            const bool top = level + 1 == levels_.size();
            while (begin < end && (top || begin % kFanout != 0))
                most = std::max(most, values[begin++]);
            while (begin < end && end % kFanout != 0)
                most = std::max(most, values[--end]);
            begin /= kFanout;
            end /= kFanout;
        }
        return most;
    }

  private:
    static constexpr std::size_t kFanout = 64;

    std::array<std::vector<Bytes>, 4> levels_;
};

}  // namespace tidemark
