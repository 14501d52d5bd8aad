// A description that the program contains under a name, or a user's own in a small file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// What is described, for messages.
struct DescriptionKind {
    std::string_view one;        // "machine"
    std::string_view many;       // "machines"
    std::string_view too_large;  // "not a machine description"
};

// The text of the file at `path`, for a name that is not in `names`. Errors: not_found, with the
// nearest name; io; bad_input: larger than 1 MiB.
Result<std::string> read_description(const std::string& path,
                                     std::span<const std::string_view> names,
                                     const DescriptionKind& kind);

}  // namespace tidemark
