// Files that people have but that can't be read as recordings: what they are, and what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// For a file that no reader recognises, by its name and its first bytes (up to a MiB, unpacked): an
// Error that says what it is. None: it isn't known here either. O(bytes).
std::optional<Error> explain_foreign_file(const std::string& name, std::string_view begin);

// What the newest out-of-memory message in a text says, as a sentence: "an out of memory of
// PyTorch: 2.00 GiB requested, ...". "" if there is none.
std::string out_of_memory_sentence(std::string_view text);

}  // namespace tidemark
