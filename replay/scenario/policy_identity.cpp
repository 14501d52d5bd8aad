// The content counts, not only the path.
#include "replay/scenario/policy_identity.h"

#include <cstddef>
#include <span>

#include <fmt/format.h>

#include "core/base/small_file.h"
#include "core/base/units.h"
#include "traces/tmk/wire.h"

namespace tidemark {

Result<std::string> policy_identity(const PolicySpec& spec) {
    std::string text = spec.text();
    for (const OptionInfo& option : spec.policy->options) {
        if (option.type != OptionType::file || spec.options.text(option.name).empty())
            continue;
        const std::string path(spec.options.text(option.name));
        constexpr std::size_t kLargest = 4_GiB;
        TM_ASSIGN(const std::string content, read_small_file(path, kLargest));
        text += fmt::format(" {}:{:016x}", option.name,
                            tmk::hash_bytes(std::as_bytes(std::span(content))));
    }
    return text;
}

}  // namespace tidemark
