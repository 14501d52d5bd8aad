// The content counts, not only the path.
#include "replay/scenario/policy_identity.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "traces/io/byte_source.h"
#include "traces/tmk/wire.h"

namespace tidemark {

Result<std::string> policy_identity(const PolicySpec& spec) {
    std::string text = spec.text();
    for (const OptionInfo& option : spec.policy->options) {
        if (option.type != OptionType::file || spec.options.text(option.name).empty())
            continue;
        const std::string path(spec.options.text(option.name));
        TM_ASSIGN(const std::unique_ptr<ByteSource> source, open_bytes(path));
        std::vector<std::byte> content;
        for (std::size_t taken = 1; taken > 0; source->consume(taken)) {
            TM_TRY(source->need(1));
            const std::span<const std::byte> window = source->window();
            content.insert(content.end(), window.begin(), window.end());
            taken = window.size();
        }
        text += fmt::format(" {}:{:016x}", option.name, tmk::hash_bytes(content));
    }
    return text;
}

}  // namespace tidemark
