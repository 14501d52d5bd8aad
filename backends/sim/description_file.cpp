// Small files, whole.
#include "backends/sim/description_file.h"

#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/text.h"
#include "core/base/units.h"

namespace tidemark {

Result<std::string> read_description(const std::string& path,
                                     std::span<const std::string_view> names,
                                     const DescriptionKind& kind) {
    constexpr std::size_t kLargest = 1_MiB;
    std::ifstream file;
    if (!path.empty())
        file.open(path, std::ios::binary);
    if (!file.is_open()) {
        const std::string_view near = nearest(path, names);
        return fail(ErrorCode::not_found, fmt::format("no {} or file of that name", kind.one), path,
                    near.empty() ? fmt::format("known {}: {}", kind.many, fmt::join(names, " "))
                                 : fmt::format("did you mean {}", near));
    }
    std::string text(kLargest + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file && !file.eof())
        return fail(ErrorCode::io, "cannot be read", path);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargest)
        return fail(ErrorCode::bad_input, fmt::format("larger than 1 MiB: {}", kind.too_large),
                    path);
    return text;
}

}  // namespace tidemark
