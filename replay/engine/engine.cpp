// The loop. One pass, one table of live allocations, one virtual call an event.
#include "replay/engine/engine.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/base/stopwatch.h"

namespace tidemark {
namespace {

// Observers read what the loop has written: a slice of it stays in the second-level cache.
constexpr std::size_t kSlice = 2048;

constexpr std::uint64_t kEventsPerSample = 8192;
constexpr std::uint64_t kEventsPerProgress = 1U << 20U;

// Does the event request memory from an allocator?
constexpr bool asks(EventKind kind) {
    return kind == EventKind::allocate || kind == EventKind::out_of_memory;
}

Request request_of(const EventBatch& batch, std::size_t i) {
    return {.size = batch.size[i],
            .alignment = 1,
            .stream = batch.stream[i],
            .pool = PoolId{batch.aux[i]}};
}

// What the engine remembers of an allocation during its lifetime.
struct Live {
    // `finished`: the allocator has it back, though its recorded wait for the device isn't over.
    enum class State : std::uint8_t { none, granted, refused, finished };

    Allocation allocation;
    Bytes requested = 0;
    State state = State::none;
    std::uint16_t context = 0;  // of its device; its end may name another one
};

// The state of one run.
class Replay {
  public:
    Replay(std::span<const DeviceContext> contexts, std::span<Observer* const> observers,
           const TraceInfo& info, const ReplayLimits& limits)
        : contexts_(contexts),
          observers_(observers),
          limits_(limits),
          live_(info.slot_count),
          host_(info.gpus() < info.devices.size() ? info.gpus() : contexts.size()) {
        if (host_ < contexts.size()) {
            host_usages_.resize(kSlice);
            host_requesteds_.resize(kSlice);
        }
    }

    Result<ReplaySummary> run(TraceCursor& cursor);

  private:
    // Everything that happens in one slice of events. `Single` compiles out the sum over devices.
    template <bool Single>
    void replay_batch(const EventBatch& batch);
    void replay_event(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    bool rare_event(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    void allocate(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    void end_life(const EventBatch& batch, std::size_t i);
    void order(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    tl::expected<Allocation, OutOfMemory> ask(const EventBatch& batch, std::size_t i,
                                              const DeviceContext& context);
    void ask_again(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    static void trim(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    Live* granted(const EventBatch& batch, std::size_t i);
    void begin_wait(const EventBatch& batch, std::size_t i);
    void end_waits(const EventBatch& batch, std::size_t i);
    bool end_all_waits(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    bool waits(std::uint32_t slot) const;
    void note_retired(std::uint32_t slot);
    bool end_recorded_waits(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    void end_wait(std::size_t wait, const EventBatch& batch, std::size_t i);
    Nanoseconds spent() const;

    const DeviceContext& context_of(const Live& live, const EventBatch& batch, std::size_t i) const;
    void close(Live& live, const EventBatch& batch, std::size_t i);
    void refuse(const EventBatch& batch, std::size_t i, const DeviceContext& context,
                OutOfMemory why);
    void report_refusal(const EventBatch& batch, std::size_t i, const DeviceContext& context,
                        OutOfMemory why);
    void slice(const EventBatch& events);
    bool end_postponed(const EventBatch& batch, std::size_t i, const DeviceContext& context);
    void empty_caches(const EventBatch& batch, std::size_t i);
    void sample();
    Usage usage() const;

    Bytes& requested_on(std::size_t context) {
        return context == host_ ? host_requested_ : requested_;
    }

    std::span<const DeviceContext> contexts_;
    std::span<Observer* const> observers_;
    const ReplayLimits& limits_;
    std::vector<Live> live_;
    const std::size_t host_;  // the context of the host's memory, if there is one
    std::unordered_map<std::size_t, Live> waits_;  // with ReplayLimits::completions
    std::vector<std::uint32_t> retired_;           // without: slots that may still wait
    std::size_t retired_looked_at_ = 64;
    std::vector<Live> postponed_;  // whose waits end with the next recorded out of memory
    std::unordered_map<std::uint64_t, EventId> events_;  // (device, the trace's number) -> ours
    ReplaySummary summary_;
    Bytes requested_ = 0;
    Bytes host_requested_ = 0;
    std::uint64_t first_event_ = 0;
    std::uint64_t next_sample_ = kEventsPerSample;
    std::uint64_t next_progress_ = kEventsPerProgress;
    bool stop_ = false;

    // The outcomes of one slice.
    std::vector<Usage> usages_ = std::vector<Usage>(kSlice);
    std::vector<Bytes> requesteds_ = std::vector<Bytes>(kSlice);
    std::vector<Usage> host_usages_;
    std::vector<Bytes> host_requesteds_;
    std::vector<Address> granted_ = std::vector<Address>(kSlice);
    std::vector<Nanoseconds> times_ = std::vector<Nanoseconds>(kSlice);
};

Usage Replay::usage() const {
    Usage sum;
    for (std::size_t i = 0; i < contexts_.size(); ++i)
        if (i != host_)
            sum += contexts_[i].allocator->usage();
    return sum;
}

// The live, granted allocation that event `i` is about; null (and counted) if there is none.
Live* Replay::granted(const EventBatch& batch, std::size_t i) {
    const std::uint32_t slot = batch.slot[i];
    if (slot >= live_.size() || live_[slot].state != Live::State::granted) {
        ++summary_.skipped;
        return nullptr;
    }
    return &live_[slot];
}

// The device of an allocation, at the time of event `i`.
inline const DeviceContext& Replay::context_of(const Live& live, const EventBatch& batch,
                                               std::size_t i) const {
    const DeviceContext& context = contexts_[live.context];
    if (context.clock != nullptr)
        context.clock->recorded = batch.time[i];
    return context;
}

inline void Replay::close(Live& live, const EventBatch& batch, std::size_t i) {
    if (live.state == Live::State::granted)
        context_of(live, batch, i).allocator->deallocate(live.allocation, batch.stream[i]);
    requested_on(live.context) -= live.requested;
    live.state = Live::State::none;
}

// What device calls have cost the program so far: one host drives all devices.
Nanoseconds Replay::spent() const {
    Nanoseconds sum = 0;
    for (const DeviceContext& context : contexts_)
        sum += context.clock != nullptr ? context.clock->spent : 0;
    return sum;
}

// The slot is free for others from now on, as it is in the recording when its wait is over.
void Replay::begin_wait(const EventBatch& batch, std::size_t i) {
    Live& live = live_[batch.slot[i]];
    waits_.emplace(limits_.completions->begin_wait(first_event_ + i, spent()), live);
    live.state = Live::State::none;
}

void Replay::end_wait(std::size_t wait, const EventBatch& batch, std::size_t i) {
    const auto found = waits_.find(wait);
    if (found == waits_.end())
        return;
    close(found->second, batch, i);
    waits_.erase(found);
}

void Replay::end_waits(const EventBatch& batch, std::size_t i) {
    for (const std::size_t wait : limits_.completions->ended_by(first_event_ + i, spent()))
        end_wait(wait, batch, i);
}

bool Replay::waits(std::uint32_t slot) const {
    return live_[slot].state == Live::State::granted && live_[slot].allocation.retired;
}

// Its wait ends at the recorded event, unless a request has to wait for the device before.
void Replay::note_retired(std::uint32_t slot) {
    if (retired_.size() >= retired_looked_at_) {
        std::erase_if(retired_, [this](std::uint32_t each) { return !waits(each); });
        retired_looked_at_ = 2 * std::max<std::size_t>(retired_.size(), 32);
    }
    retired_.push_back(slot);
}

// Those of one device: a request there waits for no other.
bool Replay::end_recorded_waits(const EventBatch& batch, std::size_t i,
                                const DeviceContext& context) {
    bool any = end_postponed(batch, i, context);
    for (const std::uint32_t slot : std::exchange(retired_, {})) {
        if (!waits(slot))
            continue;
        Live& live = live_[slot];
        if (&contexts_[live.context] != &context) {
            retired_.push_back(slot);
            continue;
        }
        context_of(live, batch, i).allocator->deallocate(live.allocation, batch.stream[i]);
        live.state = Live::State::finished;
        any = true;
    }
    return any;
}

// False if there were none.
bool Replay::end_all_waits(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    if (limits_.completions == nullptr)
        return end_recorded_waits(batch, i, context);
    if (waits_.empty())
        return false;
    for (const std::size_t wait : limits_.completions->end_all())
        end_wait(wait, batch, i);
    return true;
}

// A failed request ends all waits: no allocator gives up before it has waited for the device, so
// the request is retried as after such a wait. It returns a single variable, so that it is
// constructed where the caller reads it: copying it would cost 2 ns an event.
inline tl::expected<Allocation, OutOfMemory> Replay::ask(const EventBatch& batch, std::size_t i,
                                                         const DeviceContext& context) {
    Request request = request_of(batch, i);
    auto allocation = context.allocator->allocate(request);
    if (!allocation) [[unlikely]] {
        request.waited = end_all_waits(batch, i, context);
        if (request.waited)
            allocation = context.allocator->allocate(request);
    }
    return allocation;
}

inline void Replay::allocate(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    const std::uint32_t slot = batch.slot[i];
    if (slot >= live_.size() || (batch.flags[i] & kTierMask) != 0) [[unlikely]] {
        ++summary_.skipped;
        return;
    }
    Live& live = live_[slot];
    if (live.state != Live::State::none) [[unlikely]]
        close(live, batch, i);  // a trace that reuses a live slot
    const Bytes size = batch.size[i];
    const auto allocation = ask(batch, i, context);
    live.requested = size < kLargestRequest ? size : 0;
    live.context = static_cast<std::uint16_t>(&context - contexts_.data());
    requested_on(live.context) += live.requested;
    if (!allocation) [[unlikely]] {
        live.state = Live::State::refused;
        refuse(batch, i, context, allocation.error());
        return;
    }
    // Field by field: the allocator has just stored them so, and a wider load would have to wait
    // for those stores to leave the core (2 ns an event).
    live.allocation.address = allocation->address;
    granted_[i] = allocation->address;
    live.allocation.size = allocation->size;
    live.allocation.node = allocation->node;
    live.allocation.retired = allocation->retired;
    live.state = Live::State::granted;
}

inline void Replay::end_life(const EventBatch& batch, std::size_t i) {
    const std::uint32_t slot = batch.slot[i];
    if (slot >= live_.size() || live_[slot].state == Live::State::none) [[unlikely]] {
        const bool waits = limits_.completions != nullptr && batch.kind[i] == EventKind::finish;
        summary_.skipped += waits ? 0 : 1;
        return;
    }
    if (live_[slot].state == Live::State::refused) [[unlikely]]
        ++summary_.skipped;
    const bool in_vain = batch.kind[i] == EventKind::finish && (batch.flags[i] & kInVain) != 0;
    if (in_vain && !limits_.as_recorded) [[unlikely]]
        postponed_.push_back(std::exchange(live_[slot], {}));  // the slot is free for others
    else
        close(live_[slot], batch, i);
}

void Replay::empty_caches(const EventBatch& batch, std::size_t i) {
    for (const DeviceContext& context : contexts_) {
        end_all_waits(batch, i, context);
        context.allocator->trim(TrimLevel::all);
    }
}

// What a recorded request of this device had waited for, when it has waited here. False: nothing.
bool Replay::end_postponed(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    std::vector<Live> others;
    bool any = false;
    for (Live& live : std::exchange(postponed_, {})) {
        if (&contexts_[live.context] != &context) {
            others.push_back(live);
            continue;
        }
        close(live, batch, i);
        any = true;
    }
    postponed_ = std::move(others);
    return any;
}

// A request that failed when recorded. What the program would have done with the memory is not
// known, so a success must leave no trace; a failure leaves its own (emptied caches).
void Replay::ask_again(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    const Request request = request_of(batch, i);
    if (context.grants && context.grants(request)) {
        ++summary_.probes_granted;
        return;
    }
    const auto allocation = ask(batch, i, context);
    if (allocation) {
        ++summary_.probes_granted;
        context.allocator->deallocate(*allocation, batch.stream[i]);
        return;
    }
    ++summary_.refused_again;
    stop_ = limits_.stop_at_probe;
    report_refusal(batch, i, context, allocation.error());
}

void Replay::trim(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    const PoolId ended{batch.aux[i]};
    if (ended != PoolId::default_pool) {
        context.allocator->close_pool(ended);
        if ((batch.flags[i] & kEndsPool) != 0)
            context.allocator->trim_pool(ended);
    }
    if ((batch.flags[i] & kTrimsNothing) == 0)
        context.allocator->trim(TrimLevel::all);
}

void Replay::refuse(const EventBatch& batch, std::size_t i, const DeviceContext& context,
                    OutOfMemory why) {
    ++summary_.refused;
    report_refusal(batch, i, context, why);
    stop_ = limits_.stop_at_refusal;
}

void Replay::report_refusal(const EventBatch& batch, std::size_t i, const DeviceContext& context,
                            OutOfMemory why) {
    const Refusal refusal{first_event_ + i, batch[i], why, context.allocator->usage(),
                          context.allocator->largest_free()};
    for (Observer* observer : observers_)
        observer->on_refusal(refusal);
}

// Events between streams. Failed device calls are not failures of the program: they are ignored
// here and show in the device's counters.
void Replay::order(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    const StreamId stream = batch.stream[i];
    const std::uint64_t name = std::uint64_t{batch.device[i]} << 32U | batch.aux[i];
    if (batch.kind[i] == EventKind::record_event) {
        if (const DeviceResult<EventId> event = context.device->record(stream))
            events_[name] = *event;
    } else if (batch.kind[i] == EventKind::wait_event) {
        if (const auto found = events_.find(name); found != events_.end())
            static_cast<void>(context.device->wait(stream, found->second));
    } else if ((batch.flags[i] & kWholeDevice) != 0) {
        static_cast<void>(context.device->synchronize_device());
    } else {
        static_cast<void>(context.device->synchronize(stream));
    }
}

inline void Replay::replay_event(const EventBatch& batch, std::size_t i,
                                 const DeviceContext& context) {
    const EventKind kind = batch.kind[i];
    if (limits_.completions != nullptr && asks(kind)) [[unlikely]]
        end_waits(batch, i);
    if (kind == EventKind::allocate)
        allocate(batch, i, context);
    else if (kind == EventKind::free || kind == EventKind::finish)
        end_life(batch, i);
    else if (!rare_event(batch, i, context))
        return;
    ++summary_.replayed;
}

// All but allocations and their ends. False for what no allocator sees: truth, ranges, uses.
bool Replay::rare_event(const EventBatch& batch, std::size_t i, const DeviceContext& context) {
    switch (batch.kind[i]) {
        case EventKind::retire:
            if (Live* live = granted(batch, i); live != nullptr && !live->allocation.retired) {
                context_of(*live, batch, i).allocator->retire(live->allocation);
                ++summary_.retired;
                if (limits_.completions != nullptr)
                    begin_wait(batch, i);
                else
                    note_retired(batch.slot[i]);
            }
            return true;
        case EventKind::record_use:
            if (const Live* live = granted(batch, i))
                context_of(*live, batch, i)
                    .allocator->record_use(live->allocation, batch.stream[i]);
            return true;
        case EventKind::record_event:
        case EventKind::wait_event:
        case EventKind::synchronize:
            order(batch, i, context);
            return true;
        case EventKind::trim:
            if (limits_.completions != nullptr)
                end_all_waits(batch, i, context);
            trim(batch, i, context);
            return true;
        case EventKind::pool_begin:
            context.allocator->begin_pool(PoolId{batch.aux[i]}, {});
            return true;
        case EventKind::pool_end:
            context.allocator->end_pool(PoolId{batch.aux[i]});
            return true;
        case EventKind::out_of_memory:
            ask_again(batch, i, context);
            end_postponed(batch, i, context);
            return true;
        default:
            return false;
    }
}

template <bool Single>
void Replay::replay_batch(const EventBatch& batch) {
    const Allocator& only = *contexts_[0].allocator;
    const bool watched = limits_.before_event || limits_.empty_before;
    for (std::size_t i = 0; i < batch.count && !stop_; ++i) {
        if (watched) [[unlikely]] {
            if (limits_.before_event)
                limits_.before_event(first_event_ + i);
            if (limits_.empty_before == first_event_ + i)
                empty_caches(batch, i);
        }
        const std::size_t device =
            Single ? 0 : std::min<std::size_t>(batch.device[i], contexts_.size() - 1);
        const DeviceContext& context = contexts_[device];
        if (context.clock != nullptr)
            context.clock->recorded = batch.time[i];
        granted_[i] = Address::null;
        replay_event(batch, i, context);
        usages_[i] = Single ? only.usage() : usage();
        requesteds_[i] = requested_;
        if (!Single && !host_usages_.empty()) {
            host_usages_[i] = contexts_[host_].allocator->usage();
            host_requesteds_[i] = host_requested_;
        }
        times_[i] = context.clock != nullptr ? context.clock->now() : context.device->now();
        ++summary_.events;
    }
}

void Replay::sample() {
    Sample sample{first_event_, usage(), 0};
    for (const DeviceContext& context : contexts_)
        sample.largest_free = std::max(sample.largest_free, context.allocator->largest_free());
    for (Observer* observer : observers_)
        observer->on_sample(sample);
}

// Replays one slice and shows it to the observers.
void Replay::slice(const EventBatch& events) {
    const Stopwatch loop;
    const std::uint64_t before = summary_.events;
    if (contexts_.size() == 1)
        replay_batch<true>(events);
    else
        replay_batch<false>(events);
    summary_.elapsed += loop.elapsed();

    const auto count = static_cast<std::size_t>(summary_.events - before);
    const OutcomeBatch outcomes{usages_.data(),
                                requesteds_.data(),
                                granted_.data(),
                                times_.data(),
                                first_event_,
                                host_usages_.empty() ? nullptr : host_usages_.data(),
                                host_requesteds_.empty() ? nullptr : host_requesteds_.data()};
    for (Observer* observer : observers_)
        observer->on_events(events.part(0, count), outcomes);
    first_event_ += count;
    if (count > 0)
        summary_.makespan = times_[count - 1];
    if (first_event_ >= next_sample_) {
        sample();
        next_sample_ = first_event_ + kEventsPerSample;
    }
    if (limits_.progress && first_event_ >= next_progress_) {
        limits_.progress(first_event_);
        next_progress_ = first_event_ + kEventsPerProgress;
    }
}

Result<ReplaySummary> Replay::run(TraceCursor& cursor) {
    const Stopwatch total;
    if (limits_.begun)
        limits_.begun(summary_.events);
    while (!stop_) {
        TM_ASSIGN(const EventBatch batch, cursor.next());
        if (batch.count == 0)
            break;
        for (std::size_t at = 0; at < batch.count && !stop_; at += kSlice)
            slice(batch.part(at, std::min(kSlice, batch.count - at)));
    }
    sample();
    for (const Live& live : live_)
        summary_.live_at_end += live.state == Live::State::granted ? 1 : 0;
    for (Observer* observer : observers_)
        observer->on_end(summary_.makespan);
    summary_.elapsed_total = total.elapsed();
    return summary_;
}

}  // namespace

ReplayEngine::ReplayEngine(std::span<const DeviceContext> contexts,
                           std::span<Observer* const> observers)
    : contexts_(contexts.begin(), contexts.end()), observers_(observers.begin(), observers.end()) {}

Result<ReplaySummary> ReplayEngine::run(const TraceInfo& info, TraceCursor& cursor,
                                        const ReplayLimits& limits) {
    TM_CHECK(!contexts_.empty() && contexts_.size() >= info.devices.size());
    return Replay(contexts_, observers_, info, limits).run(cursor);
}

}  // namespace tidemark
