// StackLines: one call stack as a list, innermost frame first: file, line and function, below it
// the line of the source if the file is on this machine. Folded frames are shown as a number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/draw/table.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/blocks/source_lines.h"

namespace tidemark::viz {

class StackLines {
  public:
    // Draws it into `box`; `folded` are the rules of FrameFold. Gives the function whose line was
    // clicked. In stills no source is looked for: they are the same on every machine.
    std::optional<std::string> draw(Frame& frame, const Box& box, const History& history,
                                    const SiteNames& names, std::uint32_t stack,
                                    const std::string& folded);

  private:
    struct Line {
        std::string text;
        std::uint32_t function = 0;  // of strings(); 0: no frame
    };

    // What the lines are of.
    struct Question {
        const History* history = nullptr;
        std::uint32_t stack = 0;
        std::string folded;

        friend bool operator==(const Question&, const Question&) = default;
    };

    void lay_out(const SiteNames& names, bool still);

    std::optional<Question> question_;
    std::vector<Line> lines_;
    SourceLines sources_;
    VirtualTable list_;
};

}  // namespace tidemark::viz
