// SelectableText: a text in a frame that a user may want to select, for hosts that can lay real
// text over their picture: browsers. Complete even where the picture cuts it.
#pragma once

#include <string>
#include <vector>

namespace tidemark::viz {

struct SelectableText {
    float left = 0;  // pixels
    float top = 0;
    float width = 0;  // that it takes in the picture
    float height = 0;
    std::string text;

    friend bool operator==(const SelectableText&, const SelectableText&) = default;
};

using SelectableTexts = std::vector<SelectableText>;

}  // namespace tidemark::viz
