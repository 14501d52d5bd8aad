// Queries about the explanation of a recorded run.
#include "replay/record/explained_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/model/device_trace.h"

namespace tidemark {

const RecordedDevice* ExplainedRecord::limited() const {
    const auto found = std::ranges::find_if(
        devices, [](const RecordedDevice& device) { return device.limit != 0; });
    return found == devices.end() ? nullptr : &*found;
}

const RecordedDevice* limited_device(const Trace& trace) {
    const ExplainedRecord* const record = explained_record(trace);
    const DeviceTrace* const one = device_trace(trace);
    if (record == nullptr || one == nullptr || one->device() >= record->devices.size())
        return record == nullptr ? nullptr : record->limited();
    const RecordedDevice& device = record->devices[one->device()];
    return device.limit == 0 ? nullptr : &device;
}

Bytes ExplainedRecord::limit() const {
    const RecordedDevice* const device = limited();
    return device == nullptr ? 0 : device->limit;
}

const RecordedDevice* ExplainedRecord::fullest_card(Bytes memory) const {
    const auto found = std::ranges::max_element(
        devices, {}, [&](const RecordedDevice& device) { return outside(device.card, memory); });
    return found == devices.end() || outside(found->card, memory) == 0 ? nullptr : &*found;
}

std::uint64_t ExplainedRecord::refusals() const {
    std::uint64_t sum = 0;
    for (const RecordedDevice& device : devices)
        sum += device.refusals;
    return sum;
}

std::string ExplainedRecord::limit_text() const {
    const RecordedDevice* const device = limited();
    if (device == nullptr)
        return {};
    if (device->source == LimitSource::card)
        return fmt::format("limit {}, the memory that its card had for it ({})",
                           format_bytes(device->limit), room_text(device->card));
    if (device->source == LimitSource::settings)
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
