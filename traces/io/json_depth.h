// How deep the brackets of a JSON text nest, whether or not the rest of it is JSON: a tree is built
// only from shallow texts. Pure; O(length).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tidemark {

inline std::size_t json_depth(std::string_view text) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        if (quoted) {
            i += letter == '\\' ? 1 : 0;
            quoted = letter != '"';
        } else if (letter == '"') {
            quoted = true;
        } else if (letter == '{' || letter == '[') {
            deepest = std::max(deepest, ++depth);
        } else if ((letter == '}' || letter == ']') && depth != 0) {
            --depth;
        }
    }
    return deepest;
}

}  // namespace tidemark
