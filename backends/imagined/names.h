// Reading the names of kernels, which contain their templates' arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemark::imagined {

inline bool holds(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// The readable name; "" if it isn't a mangled name.
std::string demangled(const char* name);

// The arguments between the < that ends `name` and its >, split at the commas between them; none if
// `text` doesn't contain `name`.
std::vector<std::string_view> template_arguments(std::string_view text, std::string_view name);

// The types of the parameters that a function's name contains.
std::vector<std::string_view> parameters_of(std::string_view name);

}  // namespace tidemark::imagined
