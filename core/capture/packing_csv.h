// Packings as CSV, as the literature has them (MiniMalloc, idealloc): a row of titles with `lower`,
// `upper` and `size`, in any order, and a row for each interval, which lives from lower to before
// upper. What was packed has `offset` too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Lives from `begin` to before `end`, which is later.
struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Bytes size = 0;
};

struct NamedIntervals {
    std::vector<std::string> ids;
    std::vector<Interval> intervals;
    std::vector<Bytes> offsets = {};  // of each, where the file says them
};

// Whether this, the begin of a file, is the row of titles of such a file.
bool is_packing_csv(std::string_view begin);

// Errors (bad_input, with the line): a row with too few cells or no numbers, an interval that ends
// before it begins; a column that asks for more than is answered (`alignment`, `gaps`, `hint`).
Result<NamedIntervals> read_packing_csv(std::string_view text, const std::string& name);

// The file at `path`. Errors: also not_found, io.
Result<NamedIntervals> read_packing_file(const std::string& path);

// id,lower,upper,size,offset. All three have as many entries.
std::string packing_csv(std::span<const std::string> ids, std::span<const Interval> intervals,
                        std::span<const Bytes> offsets);

}  // namespace tidemark
