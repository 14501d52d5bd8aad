// Demangled names, taken apart.
#include "backends/imagined/names.h"

#include <algorithm>
#include <cstdlib>

#include <cxxabi.h>

namespace tidemark::imagined {

std::string demangled(const char* name) {
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string found = text == nullptr ? "" : text;
    std::free(text);
    return found;
}

std::vector<std::string_view> template_arguments(std::string_view text, std::string_view name) {
    const std::size_t found = text.find(name);
    std::vector<std::string_view> parts;
    if (found == std::string_view::npos)
        return parts;
    std::size_t begin = found + name.size();
    int depth = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '<' || c == '(' || c == '{')
            ++depth;
        const bool ends = depth == 0 && (c == ',' || c == '>');
        if (ends) {
            parts.push_back(text.substr(begin, at - begin));
            begin = at + 2;  // ", "
        }
        if (ends && c == '>')
            break;
        if (c == '>' || c == ')' || c == '}')
            --depth;
    }
    return parts;
}

std::vector<std::string_view> parameters_of(std::string_view name) {
    std::vector<std::string_view> found;
    std::size_t end = name.size();
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 0;) {
        const char c = name[at];
        if (c == ')' || c == '>' || c == '}') {
            if (depth++ == 0)
                end = at;
            continue;
        }
        const bool opens = c == '(' || c == '<' || c == '{';
        if (depth == 1 && (c == ',' || opens)) {
            const std::string_view type = name.substr(at + 1, end - at - 1);
            found.push_back(type.starts_with(' ') ? type.substr(1) : type);
            end = at;
        }
        if (opens)
            --depth;
        if (depth == 0) {
            if (c != '(' || found.back().empty())
                found.clear();
            break;
        }
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace tidemark::imagined
