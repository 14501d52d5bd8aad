// Queries of what was found about a recorded run.
#include "replay/record/explained_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {

Bytes ExplainedRecord::limit() const {
    for (const RecordedDevice& device : devices)
        if (device.limit != 0)
            return device.limit;
    return 0;
}

bool ExplainedRecord::limit_inferred() const {
    return std::ranges::any_of(devices,
                               [](const RecordedDevice& device) { return device.limit_inferred; });
}

std::uint64_t ExplainedRecord::refusals() const {
    std::uint64_t sum = 0;
    for (const RecordedDevice& device : devices)
        sum += device.refusals;
    return sum;
}

std::string ExplainedRecord::limit_text() const {
    if (limit() == 0)
        return {};
    if (!limit_inferred())
        return fmt::format("limit {}, as recorded", format_bytes(limit()));
    const std::uint64_t count = refusals();
    return count == 0 ? fmt::format("limit {}, inferred from retries", format_bytes(limit()))
                      : fmt::format("limit {}, inferred from {}", format_bytes(limit()),
                                    format_counted(count, "out-of-memory event"));
}

bool ExplainedRecord::is_replay(const PolicySpec& spec, const Bytes* limit) const {
    for (const RecordedDevice& device : devices) {
        if (limit != nullptr && *limit != device.limit)
            return false;
        const bool same = spec.text() == policy.text() || spec.text() == device.model.policy.text();
        if (!same)
            return false;
    }
    return !devices.empty();
}

Bytes ExplainedRecord::limit_under(const PolicySpec& spec, std::size_t device) const {
    if (!spec.keeps_limit())
        return limit(device);
    const bool own = !spec.options.is_default("limit");
    return own ? spec.options.bytes("limit") : limit(device);
}

}  // namespace tidemark
