// Small files, whole.
#include "backends/sim/description_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/small_file.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace tidemark {

Result<std::string> read_description(const std::string& path,
                                     std::span<const std::string_view> names,
                                     const DescriptionKind& kind) {
    constexpr std::size_t kLargest = 1_MiB;
    return read_small_file(path, kLargest).map_error([&](Error error) {
        if (error.code == ErrorCode::not_found) {
            const std::string_view near = nearest(path, names);
            error.what = fmt::format("no {} or file of that name", kind.one);
            error.hint = near.empty()
                             ? fmt::format("known {}: {}", kind.many, fmt::join(names, " "))
                             : fmt::format("did you mean {}", near);
        } else if (error.code == ErrorCode::bad_input) {
            error.what = fmt::format("larger than 1 MiB: {}", kind.too_large);
        }
        return error;
    });
}

}  // namespace tidemark
