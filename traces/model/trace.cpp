// What TraceInfo answers about itself.
#include "traces/model/trace.h"

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
    return format == "torch-snapshot" || setting("allocator") == "torch";
}

bool TraceInfo::from_driver() const {
    return setting(kRecorderKey) == kDriverCalls;
}

}  // namespace tidemark
