// Demangled names, taken apart.
#include "backends/imagined/names.h"

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

}  // namespace tidemark::imagined
