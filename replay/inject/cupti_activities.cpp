// CUPTI's functions, and what its records have in common.
#include "replay/inject/cupti_activities.h"

#include <array>

#include <fmt/format.h>

namespace tidemark::inject {
namespace {

constexpr std::array kKinds{ActivityKind::kernel, ActivityKind::copy, ActivityKind::fill,
                            ActivityKind::peer_copy};
constexpr std::uint32_t kFlushPeriod = 100;  // ms, for full buffers

}  // namespace

Result<CuptiActivities> CuptiActivities::start(const Cupti& cupti, BufferRequested requested,
                                               BufferCompleted completed) {
    CuptiActivities activities;
    if (!cupti.find("cuptiActivityRegisterCallbacks", activities.register_) ||
        !cupti.find("cuptiActivityEnable", activities.enable_) ||
        !cupti.find("cuptiActivityDisable", activities.disable_) ||
        !cupti.find("cuptiActivityGetNextRecord", activities.next_) ||
        !cupti.find("cuptiActivityGetNumDroppedRecords", activities.dropped_) ||
        !cupti.find("cuptiActivityFlushAll", activities.flush_) ||
        !cupti.find("cuptiGetTimestamp", activities.now_))
        return fail(ErrorCode::unsupported, "this CUPTI lacks the functions for activity records");
    if (const int code = activities.register_(requested, completed); code != kCuptiSuccess)
        return cupti.refusal(code, "activity records");
    for (const ActivityKind kind : kKinds) {
        if (const int code = activities.enable_(kind); code != kCuptiSuccess) {
            activities.disable();
            return cupti.refusal(
                code, fmt::format("activity records of kind {}", static_cast<int>(kind)));
        }
    }
    if (cupti.find("cuptiActivityFlushPeriod", activities.period_))
        static_cast<void>(activities.period_(kFlushPeriod));
    return activities;
}

void CuptiActivities::disable() const {
    for (const ActivityKind kind : kKinds)
        static_cast<void>(disable_(kind));
}

bool CuptiActivities::next(std::uint8_t* buffer, std::size_t filled, Activity*& record) const {
    return next_(buffer, filled, &record) == kCuptiSuccess && record != nullptr;
}

std::size_t CuptiActivities::dropped(cuda::CUcontext context, std::uint32_t stream) const {
    std::size_t count = 0;
    return dropped_(context, stream, &count) == kCuptiSuccess ? count : 0;
}

void CuptiActivities::flush() const {
    static_cast<void>(flush_(kFlushForced));
}

std::uint64_t CuptiActivities::now() const {
    std::uint64_t time = 0;
    return now_(&time) == kCuptiSuccess ? time : 0;
}

std::optional<TimedActivity> timed(const Activity& activity) {
    const auto of = [&](const auto& record) {
        return TimedActivity{record.correlation, record.begin, record.end, nullptr};
    };
    switch (activity.kind) {
        case ActivityKind::kernel: {
            const auto& kernel = reinterpret_cast<const KernelActivity&>(activity);
            TimedActivity result = of(kernel);
            result.kernel = kernel.name;
            return result;
        }
        case ActivityKind::copy:
        case ActivityKind::fill:
            return of(reinterpret_cast<const CopyActivity&>(activity));
        case ActivityKind::peer_copy:
            return of(reinterpret_cast<const PeerCopyActivity&>(activity));
    }
    return std::nullopt;
}

}  // namespace tidemark::inject
