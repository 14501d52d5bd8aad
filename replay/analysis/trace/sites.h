// Sites: a short name for the source line that made an allocation.
//
// A recorded stack goes from the allocator through PyTorch's C++ and Python into the program.
// The most useful frame is the innermost one that is neither: a line of the model. Names are
// made once for each stack. Not thread-safe; memory O(stacks named).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"
#include "traces/model/trace.h"

namespace tidemark {

// Whose code a frame belongs to, by its file.
enum class FrameOrigin : std::uint8_t {
    native,    // no Python: C++, the allocator among it
    torch,     // PyTorch's Python
    standard,  // Python's own library
    program,   // any other Python
};

// O(length).
FrameOrigin frame_origin(std::string_view file);

// Whether anything was recorded with a stack. O(1).
inline bool has_stacks(const TraceInfo& info) {
    return info.stacks.size() > 1;
}

class Sites {
  public:
    // What is given must outlive the sites.
    Sites(const StringTable& strings, const StackTable& stacks)
        : strings_(strings), stacks_(stacks) {}

    explicit Sites(const TraceInfo& info) : Sites(info.strings, info.stacks) {}

    // "torchvision/models/resnet.py:155 forward": the innermost frame of the program or one of its
    // libraries; if there is none, of PyTorch's Python; else the operator, or any frame that is not
    // the allocator's. "" for a stack without frames. O(frames) the first time, then O(1).
    const std::string& site(std::uint32_t stack) { return names(stack).site; }

    // "aten::convolution", "ConvolutionBackward0", "batch_norm": the outermost operator below the
    // Python code, or the innermost function of PyTorch's Python. "" if the stack names none.
    const std::string& operation(std::uint32_t stack) { return names(stack).operation; }

    // The stack from the frame on that `site` stands for, outwards: without the allocator, the
    // recorder of the stack, and the operators above the program's own line. O(frames).
    std::span<const Frame> own_frames(std::uint32_t stack) const;

    // One frame, worded as `site` does: Python's with file and line, others by name. O(length).
    std::string describe(const Frame& frame) const;

    // All frames, innermost first, as "function file:line". O(frames).
    std::vector<std::string> frames(std::uint32_t stack) const;

  private:
    struct Names {
        std::string site;
        std::string operation;
    };

    const Names& names(std::uint32_t stack);
    std::string site_of(std::uint32_t stack, std::string_view operation) const;
    std::string operation_of(std::uint32_t stack) const;

    const StringTable& strings_;
    const StackTable& stacks_;
    std::unordered_map<std::uint32_t, Names> names_;
};

// "16.0 MiB to 32.0 MiB": the power of two that contains `size`. O(1).
std::string size_class(Bytes size);

}  // namespace tidemark
