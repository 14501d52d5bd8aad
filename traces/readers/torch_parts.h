// The snapshots that a file holds: one, as PyTorch writes it, or several within lists and dicts of
// somebody's own, with what lies beside them: {"rank": 3, "snapshot": {...}}, [a, b], {0: a, 1: b}.
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

// Those in `root`, in the file's order, one that is named twice as two; none: it isn't of memory
// snapshots. O(lists and dicts outside of the snapshots), at most a million of them.
std::vector<Part> find_parts(const Records& records, Value root);

// Which of `parts` is wanted. Errors (bad_input, where = `name`): there is none; (bad_option):
// there are several and none is named, or not so many.
Result<std::size_t> choose_part(std::size_t parts, std::optional<std::size_t> wanted,
                                const std::string& name);

}  // namespace tidemark::torch
