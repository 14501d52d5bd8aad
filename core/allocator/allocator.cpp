// What all allocators share: the text for each refusal, and the defaults of optional calls.
#include "core/allocator/allocator.h"

#include <array>

#include "core/base/check.h"

namespace tidemark {

std::string_view to_text(OutOfMemory::Cause cause) {
    constexpr std::array<std::string_view, 5> kNames{"device full", "limit reached", "too large",
                                                     "address space used up", "device error"};
    const auto index = static_cast<std::size_t>(cause);
    TM_CHECK(index < kNames.size());
    return kNames[index];
}

OutOfMemory refused_by(const DeviceError& error) {
    switch (error.status) {
        case DeviceStatus::out_of_memory:
            return {OutOfMemory::Cause::device_full, error.status};
        case DeviceStatus::address_space:
            return {OutOfMemory::Cause::address_space, error.status};
        case DeviceStatus::invalid_value:
        case DeviceStatus::not_permitted:
        case DeviceStatus::not_supported:
        case DeviceStatus::lost:
        case DeviceStatus::fault:
            break;
    }
    return {OutOfMemory::Cause::device_error, error.status};
}

Result<std::vector<Allocation>> Allocator::restore(std::span<const SeedSegment> /*segments*/) {
    return fail(ErrorCode::unsupported, "this policy cannot start from a recorded state", {},
                "replay from the trace's preamble instead");
}

Result<void> Allocator::reconfigure(const Options& /*options*/) {
    return fail(ErrorCode::unsupported, "this policy cannot change its options while it runs");
}

bool Allocator::trim_for_retry() {
    const Bytes before = usage_.reserved;
    trim(TrimLevel::all);
    const bool gave_back = usage_.reserved != before;
    stats_.retries += gave_back ? 1U : 0U;
    return gave_back;
}

}  // namespace tidemark
