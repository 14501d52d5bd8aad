// FrameFold: which frames of call stacks are left out, so that the program's own are seen. Rules
// are names separated by blanks:
//   torch     PyTorch's Python
//   python    Python's own library
//   c++       every frame that isn't Python
//   anything else: frames whose file has it in its path, "transformers/", "/usr/lib"
//
// Immutable, thread-safe.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark::viz {

class FrameFold {
  public:
    // Without rules nothing is left out. O(bytes of strings * rules).
    FrameFold(const History& history, std::string_view rules);

    bool folds(const tidemark::Frame& frame) const {
        return frame.file < files_.size() && files_[frame.file];
    }

    // The frames that are kept, in their order; all of them if none would be. O(frames).
    std::vector<tidemark::Frame> shown(std::span<const tidemark::Frame> frames) const;

  private:
    std::vector<bool> files_;  // by string
};

}  // namespace tidemark::viz
