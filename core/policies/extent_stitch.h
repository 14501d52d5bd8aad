// How the extent pool makes one range of addresses out of free parts of several handles.
//
// A handle can be mapped a second time. So whole handles in a row make a range in which the free
// end of the first, all of those in the middle and the free start of the last are adjacent: free
// memory that is scattered in the line serves a large request without a copy, a wait or an
// unmapping. Each handle costs the driver a mapping, so the pool takes as few as possible.
//
// Pure; thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core/policies/extent_line.h"

namespace tidemark::policies {

// What a way to serve a request costs, in mappings of a handle.
struct ExtentPrices {
    double creation = 0.3;  // of a handle, in addition to its mapping
    double byte = 0;        // of reserved memory beyond the budget
    Bytes budget = 0;       // how much more may be reserved at no cost
    Bytes granularity = 1;  // of new memory

    double of(std::size_t mappings, std::size_t created, Bytes fresh) const;
};

// A row of handles for a request: in this order, and after the wholes `fresh` bytes of new memory.
// The request takes all of these parts except `excess` bytes.
struct ExtentRow {
    std::optional<ExtentLine::Piece> suffix;
    std::vector<ExtentLine::Piece> wholes;
    Bytes fresh = 0;
    std::optional<ExtentLine::Piece> prefix;
    Bytes excess = 0;
    double price = 0;
};

// The cheapest row for `size` bytes; of equal ones, the one with the least excess. Empty if no
// piece is available. O(pieces^2) at worst.
std::optional<ExtentRow> stitched_row(const ExtentLine::Pieces& pieces, Bytes size,
                                      const ExtentPrices& prices);

}  // namespace tidemark::policies
