// Text for errno values, and sums.
#include "core/tiers/disk/block_files.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace tidemark {

std::string to_text(FileError error) {
    return fmt::format("{} (errno {})", std::generic_category().message(error.number),
                       error.number);
}

Bytes sum_of(std::span<const MemoryPiece> pieces) {
    Bytes sum = 0;
    for (const MemoryPiece& piece : pieces)
        sum += piece.size;
    return sum;
}

FileResult<void> BlockFiles::forget(FileId /*file*/) {
    return tl::make_unexpected(FileError{ENOTSUP});
}

}  // namespace tidemark
