// history_observer: from batches of outcomes to a builder's events.
#include "replay/timeline/history_observer.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

// Blocks that end were born long ago as caches go: their records are sent for this many events
// before (20 ns an event on a run of 10^7).
constexpr std::size_t kAhead = 12;

// Of an event that isn't a use: does a launch end with it?
bool has_stream(EventKind kind) {
    return kind <= EventKind::record_use && kind != EventKind::use;
}

Bytes waiting(const SeriesValues& values) {
    return values[Series::active] - values[Series::allocated];
}

}  // namespace

HistoryObserver::HistoryObserver(HistoryBuilder& builder, const TraceInfo& info)
    : builder_(builder),
      devices_(std::max<std::size_t>(info.devices.size(), 1)),
      slots_(info.slot_count, kNoBlock) {
    builder_.strings() = info.strings;
    builder_.stacks() = info.stacks;
}

void HistoryObserver::on_refusal(const Refusal& refusal) {
    marks_.push_back({.event = static_cast<EventIndex>(refusal.event),
                      .kind = MarkKind::out_of_memory,
                      .device = refusal.what.device,
                      .size = refusal.what.size});
}

void HistoryObserver::on_retry(std::uint64_t event) {
    marks_.push_back({.event = static_cast<EventIndex>(event), .kind = MarkKind::retry});
}

void HistoryObserver::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    if (error_ || events.count == 0)
        return;
    if (Result<void> room = builder_.make_room(events.count); !room) {
        error_ = std::move(room).error();
        return;
    }
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Mark& a, const Mark& b) { return a.event < b.event; });
    for (std::size_t i = 0; i < events.count; ++i) {
        const Usage& usage = outcomes.usage[i];
        const SeriesValues values{
            {usage.reserved, usage.allocated, usage.active, outcomes.requested[i]}};
        if (marks_added_ < marks_.size()) [[unlikely]]
            add_marks(outcomes.first_event + i);
        if (i + kAhead < events.count)
            send_for(events.slot[i + kAhead]);
        if (builder_.has_launches() && has_stream(events.kind[i])) [[unlikely]]
            builder_.end_launch(events.stream[i]);
        if (events.kind[i] == EventKind::allocate)
            allocate(events, i, outcomes.granted[i], values);
        else
            record(events, i, values);
        before_ = values;
    }
    add_segments();
    if (Result<void> published = builder_.publish(); !published)
        error_ = std::move(published).error();
}

inline void HistoryObserver::send_for(std::uint32_t slot) const {
    if (slot < slots_.size() && slots_[slot] != kNoBlock)
        __builtin_prefetch(&builder_.columns().blocks.at(slots_[slot]), 1);
}

BlockIndex& HistoryObserver::slot(std::uint32_t slot) {
    static thread_local BlockIndex none = kNoBlock;
    if (slot < slots_.size()) [[likely]]
        return slots_[slot];
    none = kNoBlock;
    return none;
}

std::uint32_t HistoryObserver::site_of(const EventBatch& events, std::size_t i) {
    const std::size_t device = std::min<std::size_t>(events.device[i], devices_ - 1);
    const Site site{events.stream[i],
                    PoolId{events.aux[i]},
                    events.stack[i],
                    events.tag[i],
                    static_cast<std::uint16_t>(device),
                    0};
    if (!last_site_index_ || site != last_site_) {
        last_site_ = site;
        last_site_index_ = builder_.site(site);
    }
    return *last_site_index_;
}

void HistoryObserver::allocate(const EventBatch& events, std::size_t i, Address granted,
                               const SeriesValues& values) {
    BlockIndex& here = slot(events.slot[i]);
    const BlockIndex old = here;  // in a trace that reuses a live slot
    Bytes size = values[Series::allocated] - before_[Series::allocated];
    if (old != kNoBlock) [[unlikely]] {
        const History::Columns& columns = builder_.columns();
        if (columns.blocks.at(old).freed == kNever)
            size += columns.granted(old);
    }
    const std::uint16_t device =
        static_cast<std::uint16_t>(std::min<std::size_t>(events.device[i], devices_ - 1));
    if (granted == Address::null) [[unlikely]] {
        builder_.add({.time = events.time[i], .kind = EventKind::allocate, .values = &values});
        here = kNoBlock;
    } else {
        here = builder_.allocate(events.time[i],
                                 {granted, size, events.size[i], site_of(events, i)}, &values);
        if (!deferred_.empty()) [[unlikely]]
            come_back_at(device, {granted, size});
    }
    if (old != kNoBlock) [[unlikely]]
        builder_.reuse(old);
    if (!deferred_.empty()) [[unlikely]]
        come_back(waiting(before_) - waiting(values));
}

// Any other event.
void HistoryObserver::record(const EventBatch& events, std::size_t i, const SeriesValues& values) {
    const EventKind kind = events.kind[i];
    if (kind == EventKind::free || kind == EventKind::retire || kind == EventKind::finish) {
        end(events, i, values);
        return;
    }
    if (kind == EventKind::use) {
        use(events, i, values);
        return;
    }
    if (kind == EventKind::execution) {
        builder_.execution({.time = events.time[i],
                            .begin = static_cast<Nanoseconds>(events.address[i]),
                            .length = static_cast<Nanoseconds>(events.size[i]),
                            .stream = events.stream[i],
                            .launch = events.aux[i],
                            .tag = events.tag[i],
                            .values = &values});
        return;
    }
    NewEvent event{.time = events.time[i],
                   .kind = kind,
                   .block = is_truth(kind) ? kNoBlock : slot(events.slot[i]),
                   .values = &values};
    if (kind == EventKind::range_begin || kind == EventKind::range_end || kind == EventKind::mark)
        event.name = events.aux[i];
    builder_.add(event);
    if (kind == EventKind::record_use && event.block != kNoBlock)
        shared_.insert(event.block);
    if (kind == EventKind::out_of_memory)
        builder_.add_mark({.event = builder_.next_event() - 1,
                           .kind = MarkKind::recorded_out_of_memory,
                           .device = events.device[i],
                           .size = events.size[i]});
    if (!deferred_.empty()) [[unlikely]]
        come_back(waiting(before_) - waiting(values));
}

void HistoryObserver::use(const EventBatch& events, std::size_t i, const SeriesValues& values) {
    builder_.use({.time = events.time[i],
                  .block = slot(events.slot[i]),
                  .stream = events.stream[i],
                  .launch = events.aux[i],
                  .tag = events.tag[i],
                  .flags = events.flags[i],
                  .values = &values});
    if (!deferred_.empty()) [[unlikely]]
        come_back(waiting(before_) - waiting(values));
}

// The program frees a block, or the device is done. If a block is pending for longer than the
// program says, the allocator holds it back for another stream.
void HistoryObserver::end(const EventBatch& events, std::size_t i, const SeriesValues& values) {
    BlockIndex& here = slot(events.slot[i]);
    NewEvent event{
        .time = events.time[i], .kind = events.kind[i], .block = here, .values = &values};
    const BlockIndex block = here;
    if (event.kind != EventKind::retire)
        here = kNoBlock;
    if (shared_.empty() && deferred_.empty()) [[likely]] {
        builder_.add(event);
        return;
    }
    const bool was_shared = block != kNoBlock && shared_.count(block) != 0;
    const Bytes size = block != kNoBlock ? builder_.columns().granted(block) : 0;
    const bool waited = block != kNoBlock && builder_.columns().blocks.at(block).freed != kNever;
    Bytes more = waiting(values) - waiting(before_);  // wraps
    if (event.kind == EventKind::retire && !waited)
        more -= size;
    else if (event.kind == EventKind::finish && waited)
        more += size;
    const bool held = was_shared && event.kind == EventKind::free && more != 0 && more <= size;
    event.deferred = held;
    builder_.add(event);
    if (event.kind != EventKind::retire)
        shared_.erase(block);
    if (held) {
        const Block life = builder_.history()->block(block);
        const std::uint16_t device =
            static_cast<std::uint16_t>(std::min<std::size_t>(events.device[i], devices_ - 1));
        deferred_.push_back({block, size, {device, to_integer(life.address)}});
        come_back(size - more);
    } else {
        come_back(Bytes{0} - more);
    }
}

void HistoryObserver::give_back(std::deque<Deferred>::iterator which) {
    builder_.reuse(which->block);
    deferred_.erase(which);
}

// This many bytes are no longer pending (wraps: a negative number is none).
void HistoryObserver::come_back(Bytes bytes) {
    if (bytes > kLargestRequest)
        return;
    for (std::size_t i = 0; i < deferred_.size() && bytes > 0;) {
        if (deferred_[i].size > bytes) {
            ++i;
            continue;
        }
        bytes -= deferred_[i].size;
        give_back(deferred_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void HistoryObserver::come_back_at(std::uint16_t device, Range range) {
    const std::uint64_t begin = to_integer(range.begin);
    for (std::size_t i = 0; i < deferred_.size();) {
        const Deferred& one = deferred_[i];
        if (one.location.first == device && one.location.second < begin + range.size &&
            begin < one.location.second + one.size)
            give_back(deferred_.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

void HistoryObserver::add_marks(std::uint64_t event) {
    for (; marks_added_ < marks_.size() && marks_[marks_added_].event <= event; ++marks_added_)
        builder_.add_mark(marks_[marks_added_]);
    if (marks_added_ == marks_.size()) {
        marks_.clear();
        marks_added_ = 0;
    }
}

void HistoryObserver::add_segments() {
    for (const SegmentStep& step : steps_)
        builder_.change_segment(step.device, step.change, step.range, step.stream,
                                static_cast<EventIndex>(step.event), step.home);
    steps_.clear();
}

}  // namespace tidemark
