// Batches that go round between two threads.
#include "replay/timeline/history_relay.h"

#include <algorithm>
#include <exception>
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
    copy(flags, events.flags);
    // Of executions it is when they began; other recorded addresses are not used here.
    address.clear();
    if (std::ranges::find(kind, EventKind::execution) != kind.end())
        copy(address, events.address);
    copy(usage, outcomes.usage);
    copy(requested, outcomes.requested);
    copy(granted, outcomes.granted);
}

HistoryRelay::HistoryRelay(HistoryObserver& observer) : observer_(observer) {
    for (Batch& batch : batches_)
        empty_.push(&batch);
    Result<Thread> worker = Thread::start("tm-history", [this] {
        try {
            while (const std::optional<Batch*> batch = filled_.pop()) {
                deliver(**batch);
                empty_.push(*batch);
            }
        } catch (...) {
            empty_.fail(std::current_exception());
        }
    });
    if (worker)
        worker_ = std::move(*worker);
}

HistoryRelay::~HistoryRelay() {
    filled_.close();
}

void HistoryRelay::finish() {
    filled_.close();
    worker_.join();
    empty_.rethrow();
}

void HistoryRelay::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    Batch* const batch = *empty_.pop();
    batch->fill(events, outcomes);
    batch->refusals = std::exchange(refusals_, {});
    batch->steps = std::exchange(steps_, {});
    batch->retries = std::exchange(retries_, {});
    if (worker_.joinable()) {
        filled_.push(batch);
    } else {
        deliver(*batch);
        empty_.push(batch);
    }
}

void HistoryRelay::deliver(const Batch& batch) {
    for (const Refusal& refusal : batch.refusals)
        observer_.on_refusal(refusal);
    for (const SegmentStep& step : batch.steps)
        observer_.on_segment(step);
    for (const std::uint64_t event : batch.retries)
        observer_.on_retry(event);
    EventBatch events;
    events.count = batch.count;
    events.kind = batch.kind.data();
    events.slot = batch.slot.data();
    events.time = batch.time.data();
    events.size = batch.size.data();
    events.address = batch.address.data();
    events.stream = batch.stream.data();
    events.stack = batch.stack.data();
    events.aux = batch.aux.data();
    events.tag = batch.tag.data();
    events.device = batch.device.data();
    events.flags = batch.flags.data();
    observer_.on_events(events, {batch.usage.data(), batch.requested.data(), batch.granted.data(),
                                 batch.time.data(), batch.first_event});
    if (observer_.error())
        failed_.store(true, std::memory_order_relaxed);
}

}  // namespace tidemark
