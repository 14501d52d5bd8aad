// A description that the program carries under a name, or a user's own in a small file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// What is described, in messages.
struct DescriptionKind {
    std::string_view one;        // "machine"
    std::string_view many;       // "machines"
    std::string_view too_large;  // "no machine description"
};

// The text of the file at `path`, for a name that none of `names` is. Errors: not_found, with the
// nearest name; io; bad_input: larger than 1 MiB.
Result<std::string> read_description(const std::string& path,
                                     std::span<const std::string_view> names,
                                     const DescriptionKind& kind);

}  // namespace tidemark
