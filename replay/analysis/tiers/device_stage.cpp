// Kernels, content and time of a replay on a device.
#include "replay/analysis/tiers/device_stage.h"

#include <algorithm>
#include <thread>

namespace tidemark {
namespace {

constexpr Bytes kTouched = 256_KiB;             // of each buffer, at its start
constexpr Nanoseconds kLongWait = 200'000;      // is slept, but for its end
constexpr Nanoseconds kSleptEarlier = 100'000;  // than it is over: a scheduler is late

}  // namespace

Result<void> DeviceStage::start() {
    if (pacing_)
        TM_TRY(pacing_->start());
    watch_ = Stopwatch();
    return {};
}

// A short while: copies advance only when they are polled.
bool DeviceStage::wait_until(Nanoseconds when) {
    if (when != kForever && when - now() > kLongWait && transfers_.in_flight() == 0)
        std::this_thread::sleep_for(std::chrono::nanoseconds(
            std::min(when - now() - kSleptEarlier, Nanoseconds{1'000'000})));
    return true;
}

DeviceStage::Content& DeviceStage::content_of(BufferRef buffer) {
    const std::size_t id = to_integer(buffer.id);
    content_.resize(std::max(content_.size(), id + 1));
    if (content_[id].generation != buffer.generation)
        content_[id] = {buffer.generation};
    return content_[id];
}

// What stands for the whole: its first bytes. Empty: nothing that a kernel could touch.
Range DeviceStage::touched(const BlockLocation& location) const {
    const std::vector<Range> pieces = transfers_.pieces(location);
    if (pieces.empty() || location.space.tier != Tier::gpu)
        return {};
    return {pieces.front().begin, std::min(pieces.front().size, kTouched) & ~Bytes{3}};
}

void DeviceStage::note(const DeviceResult<void>& done) {
    if (!done && !error_)
        error_ = device_.explain(done.error());
}

void DeviceStage::write(Content& content, const Range& range, StreamId stream) {
    content.pattern = next_pattern_;
    next_pattern_ = (next_pattern_ & 0x7fffffffU) + 1;
    content.copied = content.unread = content.unwritten = false;
    note(device_.write_pattern(range.begin, content.pattern, range.size, stream));
}

void DeviceStage::kernel(std::uint32_t stream, SpaceId /*gpu*/, std::span<const StagedUse> uses,
                         Nanoseconds end) {
    const StreamId queue{stream + 1};
    for (const StagedUse& use : uses) {
        Content& content = content_of(use.buffer);
        const bool check = use.reads && content.unread && content.pattern != 0;
        const bool write_new =
            content.unwritten || (use.writes && (content.copied || content.pattern == 0));
        if (!check && !write_new)
            continue;
        const Range range = touched(use.location);
        if (range.size == 0)
            continue;
        if (check && pacing_) {
            pacing_->check(queue, range.begin, content.pattern, range.size);
        } else if (check) {
            const auto wrong =
                device_.check_pattern(range.begin, content.pattern, range.size, queue);
            wrong_bytes_ += wrong.value_or(range.size);
        }
        if (check)
            content.unread = false;
        if (write_new)
            write(content, range, queue);
    }
    if (pacing_)
        pacing_->pass_until(queue, end);
}

std::optional<UsePoint> DeviceStage::point(std::uint32_t stream, SpaceId gpu) {
    const Result<UsePoint> made = transfers_.record(gpu, StreamId{stream + 1}, true);
    return made ? std::optional(*made) : std::nullopt;  // else its work is over
}

// It is written when it is first used or copied: here the program would wait for it, and take
// longer than recorded.
void DeviceStage::begun(BufferRef buffer, const BlockLocation& location, Bytes /*size*/) {
    content_of(buffer).unwritten = touched(location).size != 0;
}

void DeviceStage::copying(BufferRef buffer, const CopyOrder& order) {
    Content& content = content_of(buffer);
    const Range range = touched(order.source);
    if (content.unwritten && range.size != 0) {
        write(content, range, StreamId::default_stream);
        note(device_.synchronize(StreamId::default_stream));
    }
    content.copied = content.unread = true;
    auto link = std::find_if(links_.begin(), links_.end(), [&](const TierLinkUse& use) {
        return use.source == order.source.space && use.target == order.target.space;
    });
    if (link == links_.end())
        link = links_.insert(link, {order.source.space, order.target.space, 0, 0, {}});
    link->bytes += order.size;
    ++link->copies;
}

Result<StageEnd> DeviceStage::finish() {
    if (error_)
        return tl::make_unexpected(*error_);
    if (!pacing_) {
        if (const auto done = device_.synchronize_device(); !done)
            return tl::make_unexpected(device_.explain(done.error()));
        return StageEnd{0, wrong_bytes_};
    }
    TM_ASSIGN(const CudaPacing::Figures figures, pacing_->finish());
    return StageEnd{figures.end, figures.wrong_bytes};
}

}  // namespace tidemark
