// The queries that TraceInfo answers about itself.
#include "traces/model/trace.h"

#include <algorithm>

namespace tidemark {

std::string_view TraceInfo::setting(std::string_view key) const {
    for (const auto* pairs : {&settings, &metadata}) {
        for (const auto& [name, value] : *pairs) {
            if (name == key)
                return value;
        }
    }
    return {};
}

bool TraceInfo::from_torch() const {
    const auto is_conf = [](const auto& entry) {
        return entry.first.starts_with("PYTORCH_") && entry.first.ends_with("ALLOC_CONF");
    };
    return format == "torch-snapshot" || setting("allocator") == "torch" ||
           std::any_of(settings.begin(), settings.end(), is_conf);
}

bool TraceInfo::from_driver() const {
    return setting(kRecorderKey) == kDriverCalls;
}

}  // namespace tidemark
