// Packings as CSV, as used in the literature (MiniMalloc, idealloc): a header row with `lower`,
// `upper` and `size`, in any order, and a row for each interval, which is live from lower to before
// upper. A packed file has `offset` too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Live from `begin` to before `end`, which is later.
struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Bytes size = 0;
};

struct NamedIntervals {
    std::vector<std::string> ids;
    std::vector<Interval> intervals;
    std::vector<Bytes> offsets = {};  // of each, if the file has them
};

// Whether this text, the start of a file, is the header row of such a file.
bool is_packing_csv(std::string_view begin);

// Errors (bad_input, with the line): a row with too few cells or without numbers, an interval that
// ends before it begins; a column that requires more than is supported (`alignment`, `gaps`,
// `hint`).
Result<NamedIntervals> read_packing_csv(std::string_view text, const std::string& name);

// The file at `path`. Errors: also not_found, io.
Result<NamedIntervals> read_packing_file(const std::string& path);

// id,lower,upper,size,offset. All three have as many entries.
std::string packing_csv(std::span<const std::string> ids, std::span<const Interval> intervals,
                        std::span<const Bytes> offsets);

}  // namespace tidemark
