// HistoryObserver: builds a history of a replay while it runs.
//
// The change of the allocator's usage shows what it allocated. A free that is pending on other
// streams shows there too, but not when each one completes. So bytes that come back count for the
// oldest pending free that fits, and at the latest for the block whose addresses are allocated
// again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/allocator/memory_observer.h"
#include "replay/engine/observer.h"
#include "replay/timeline/history_builder.h"
#include "traces/model/trace.h"

namespace tidemark {

// Memory that was reserved from a device or released to it.
struct SegmentStep {
    std::uint64_t event = 0;
    Range range;
    Address home = Address::null;  // as MemoryObserver::on_segment says
    StreamId stream = StreamId::default_stream;
    std::uint16_t device = 0;
    SegmentChange change = SegmentChange::segment_alloc;
};

class HistoryObserver final : public Observer {
  public:
    // Both must outlive it. Strings and stacks of the trace become the history's.
    HistoryObserver(HistoryBuilder& builder, const TraceInfo& info);

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override;
    void on_refusal(const Refusal& refusal) override;

    // At an event that comes later.
    void on_segment(const SegmentStep& step) { steps_.push_back(step); }

    // Caches were emptied at `event`, which comes later.
    void on_retry(std::uint64_t event);

    // Of the builder, if it failed: nothing was kept from then on.
    const std::optional<Error>& error() const { return error_; }

  private:
    struct Deferred {
        BlockIndex block = kNoBlock;
        Bytes size = 0;
        std::pair<std::uint16_t, std::uint64_t> location;  // device, address
    };

    void record(const EventBatch& events, std::size_t i, const SeriesValues& values);
    void use(const EventBatch& events, std::size_t i, const SeriesValues& values);
    void allocate(const EventBatch& events, std::size_t i, Address granted,
                  const SeriesValues& values);
    void end(const EventBatch& events, std::size_t i, const SeriesValues& values);
    void come_back(Bytes bytes);
    void come_back_at(std::uint16_t device, Range range);
    void give_back(std::deque<Deferred>::iterator which);
    std::uint32_t site_of(const EventBatch& events, std::size_t i);
    void send_for(std::uint32_t slot) const;
    BlockIndex& slot(std::uint32_t slot);
    void add_marks(std::uint64_t event);
    void add_segments();

    HistoryBuilder& builder_;
    std::size_t devices_;
    std::vector<BlockIndex> slots_;
    Site last_site_;
    std::optional<std::uint32_t> last_site_index_;
    SeriesValues before_;                    // after the last event
    std::unordered_set<BlockIndex> shared_;  // used by other streams as well, and alive
    std::deque<Deferred> deferred_;
    std::vector<SegmentStep> steps_;
    std::vector<Mark> marks_;
    std::size_t marks_added_ = 0;
    std::optional<Error> error_;
};

}  // namespace tidemark
