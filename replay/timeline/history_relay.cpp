// history_relay: a ring of batches between two threads.
#include "replay/timeline/history_relay.h"

#include <system_error>
#include <utility>

namespace tidemark {

void HistoryRelay::Batch::fill(const EventBatch& events, const OutcomeBatch& outcomes) {
    count = events.count;
    first_event = outcomes.first_event;
    const auto copy = [this](auto& into, const auto* from) { into.assign(from, from + count); };
    copy(kind, events.kind);
    copy(slot, events.slot);
    copy(stack, events.stack);
    copy(aux, events.aux);
    copy(tag, events.tag);
    copy(stream, events.stream);
    copy(time, events.time);
    copy(size, events.size);
    copy(device, events.device);
    copy(usage, outcomes.usage);
    copy(requested, outcomes.requested);
    copy(granted, outcomes.granted);
}

HistoryRelay::HistoryRelay(HistoryObserver& observer) : observer_(observer) {
    try {
        worker_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
        return;  // it goes without
    }
}

HistoryRelay::~HistoryRelay() {
    finish();
}

void HistoryRelay::finish() {
    if (!worker_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    has_batch_.notify_one();
    worker_.join();
}

void HistoryRelay::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    std::size_t number = 0;
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [this] { return filled_ - done_ < kBatches; });
        number = filled_;
    }
    Batch& batch = batches_[number % kBatches];
    batch.fill(events, outcomes);
    batch.refusals = std::exchange(refusals_, {});
    batch.steps = std::exchange(steps_, {});
    batch.retries = std::exchange(retries_, {});
    if (!worker_.joinable()) {
        deliver(batch);
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        ++filled_;
    }
    has_batch_.notify_one();
}

void HistoryRelay::deliver(const Batch& batch) {
    for (const Refusal& refusal : batch.refusals)
        observer_.on_refusal(refusal);
    for (const SegmentStep& step : batch.steps)
        observer_.on_segment(step);
    for (const std::uint64_t event : batch.retries)
        observer_.on_retry(event);
    EventBatch events;  // recorded addresses and flags are nobody's business here
    events.count = batch.count;
    events.kind = batch.kind.data();
    events.slot = batch.slot.data();
    events.time = batch.time.data();
    events.size = batch.size.data();
    events.stream = batch.stream.data();
    events.stack = batch.stack.data();
    events.aux = batch.aux.data();
    events.tag = batch.tag.data();
    events.device = batch.device.data();
    observer_.on_events(events, {batch.usage.data(), batch.requested.data(), batch.granted.data(),
                                 batch.time.data(), batch.first_event});
    if (observer_.error())
        failed_.store(true, std::memory_order_relaxed);
}

void HistoryRelay::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        has_batch_.wait(lock, [this] { return done_ < filled_ || ended_; });
        if (done_ == filled_)
            return;
        const Batch& batch = batches_[done_ % kBatches];
        lock.unlock();
        deliver(batch);
        lock.lock();
        ++done_;
        has_room_.notify_one();
    }
}

}  // namespace tidemark
