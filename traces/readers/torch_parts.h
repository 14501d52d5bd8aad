// The snapshots in a file: one, as PyTorch writes it, or several inside a user's own lists and
// dicts, with the data next to them: {"rank": 3, "snapshot": {...}}, [a, b], {0: a, 1: b}.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/readers/torch_records.h"

namespace tidemark::torch {

struct Part {
    Value snapshot;  // its outermost dict; of PyTorch 1.13 the list of segments
    std::vector<std::pair<std::string, std::string>> beside;  // texts and numbers: ("rank", "3")
};

// The snapshots in `root`, in the file's order; one that is named twice counts as two. None: the
// file isn't about memory snapshots. O(lists and dicts outside of the snapshots), at most a million
// of them.
std::vector<Part> find_parts(const Records& records, Value root);

// Which of `parts` is meant. Errors (bad_input, where = `name`): there is none; (bad_option): there
// are several and none is named, or there are fewer.
Result<std::size_t> choose_part(std::size_t parts, std::optional<std::size_t> wanted,
                                const std::string& name);

}  // namespace tidemark::torch
