// HistoryRelay: takes what a replay reports and lets another thread build the history, so that on
// two cores a history costs the replay little more than a copy of its outcomes.
//
// Used by the replay's thread. Order is kept; so the history is the same as without it. Where the
// system gives no thread, the work is done at once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/threads.h"
#include "core/base/work_queue.h"
#include "replay/timeline/history_observer.h"

namespace tidemark {

class HistoryRelay final : public Observer {
  public:
    // `observer` must outlive it and receives everything from here.
    explicit HistoryRelay(HistoryObserver& observer);
    HistoryRelay(const HistoryRelay&) = delete;
    HistoryRelay& operator=(const HistoryRelay&) = delete;
    ~HistoryRelay() override;

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override;

    void on_refusal(const Refusal& refusal) override { refusals_.push_back(refusal); }

    // As the observer's, of the events that come with the next on_events().
    void on_segment(const SegmentStep& step) { steps_.push_back(step); }

    void on_retry(std::uint64_t event) { retries_.push_back(event); }

    // Has the observer given up?
    bool failed() const { return failed_.load(std::memory_order_relaxed); }

    // Waits until the observer has received everything; nothing may be reported afterwards. Throws
    // what the observer threw in the relay's thread, as on_events() does.
    void finish();

  private:
    // Events of a slice with all that belongs to them, copied.
    struct Batch {
        std::size_t count = 0;
        std::uint64_t first_event = 0;
        std::vector<EventKind> kind;
        std::vector<std::uint32_t> slot, stack, aux, tag;
        std::vector<StreamId> stream;
        std::vector<Nanoseconds> time;
        std::vector<Bytes> size, requested;
        std::vector<std::uint64_t> address;
        std::vector<std::uint16_t> device;
        std::vector<std::uint8_t> flags;
        std::vector<Usage> usage;
        std::vector<Address> granted;
        std::vector<Refusal> refusals;
        std::vector<SegmentStep> steps;
        std::vector<std::uint64_t> retries;

        void fill(const EventBatch& events, const OutcomeBatch& outcomes);
    };

    static constexpr std::size_t kBatches = 16;

    void deliver(const Batch& batch);

    HistoryObserver& observer_;
    std::vector<Refusal> refusals_;
    std::vector<SegmentStep> steps_;
    std::vector<std::uint64_t> retries_;
    std::atomic<bool> failed_ = false;

    std::array<Batch, kBatches> batches_;
    WorkQueue<Batch*> empty_;
    WorkQueue<Batch*> filled_;
    Thread worker_;  // last: it uses the queues until it is joined
};

}  // namespace tidemark
