// Words for errno values.
#include "core/tiers/block_files.h"

#include <system_error>

#include <fmt/format.h>

namespace tidemark {

std::string to_text(FileError error) {
    return fmt::format("{} (errno {})", std::generic_category().message(error.number),
                       error.number);
}

}  // namespace tidemark
