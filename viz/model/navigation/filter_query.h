// Filter query: what users type to find blocks, and the line that shows the current search.
// Separated by blanks:
//   >=1MiB  >1MiB  <64KiB  <=64KiB  =512    size, as allocated
//   stream=7   pool=2   device=1            by their numbers in the run
//   0x7f2c00000000                          the blocks that cover this address
//   tag=weights   site="model.py:12 forward"   module=model.py   annotation="step 3"
//                                           exactly this name; "" = no name. Quotes are for
//                                           blanks; within them a \ goes before " and before
//                                           \ too
//   anything else                           together one text: in the tag or any frame of the
//                                           stack,
//                                           as it is printed: resnet.py:154 forward
//
// Pure, thread-safe, O(length).
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct WholeSize {
    Bytes count = 0;
    std::string_view unit;  // "GiB", "MiB", "KiB"; "" = bytes
};

// In the largest unit that leaves a whole number.
WholeSize whole_size(Bytes bytes);

// A filter for that query, which hides nothing else. Errors (bad_option): an invalid size, or sizes
// that no block can have.
Result<Filter> parse_filter(std::string_view query);

// The query that parse_filter reads as `filter`; a query can't express its part about freed blocks.
std::string to_text(const Filter& filter);

}  // namespace tidemark::viz
