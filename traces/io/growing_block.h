// The memory under a GrowingArray: small blocks from the heap, large ones from the system, in huge
// pages if it has them. Faulting in and unmapping a trace's records is most of the system's share
// of an import: 30 ms for a pickle of 58 MB, and 16 ms with huge pages.
#pragma once

#include <cstddef>

namespace tidemark {

// Grows or frees (`bytes` = 0) a block of `before` bytes (0: `block` is null). Its content is kept;
// the rest is undefined. Out of memory throws std::bad_alloc, as in every container, and leaves the
// block as it was. Memory that is not touched costs nothing beyond the last huge page.
void* resize_block(void* block, std::size_t before, std::size_t bytes);

}  // namespace tidemark
