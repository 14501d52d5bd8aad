// Look, merge, write, release.
#include "traces/live/recorder.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "core/base/caught.h"
#include "core/base/printable.h"

namespace tidemark::live {
namespace {

// Slots of a chunk: small enough to stay in a processor's cache between merging and writing.
constexpr std::size_t kChunkSlots = 8192;

// How long a record may be on its way into a ring before it is given up: a debugger may have
// stopped its thread between taking a number and writing.
constexpr Nanoseconds kLongestGap = 2'000'000'000;

// Two readings of the clocks that are closer together than this say little about their ratio.
constexpr Nanoseconds kClockStep = 1'000'000;

constexpr auto kShortRest = std::chrono::milliseconds(1);
constexpr auto kLongRest = std::chrono::milliseconds(4);

}  // namespace

Recorder::Recorder(SharedFile& file, RingLeases& leases, const Header& header, Bytes history_limit)
    : file_(file),
      leases_(leases),
      header_(header),
      keeps_live_set_(history_limit != 0),
      segments_(header, history_limit) {
    last_clock_ = {header.start_ticks, header.start_time};
}

Result<void> Recorder::open() {
    records_.reserve(2 * kChunkSlots);
    TM_TRY(segments_.begin_segment(0, {}));
    publish_counters();
    return {};
}

// The recorder leaves the program's signals to the program's threads, from its first moment on. A
// file beyond a limit of the system would raise one; in the recorder that is an error.
Result<void> Recorder::start() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    auto started = Thread::start("tm-record", [this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    TM_ASSIGN(thread_, std::move(started));
    return {};
}

void Recorder::run() {
    auto rest = kShortRest;
    for (;;) {
        const Result<bool> found = drain_within(false);
        rest = found && !*found ? kLongRest : kShortRest;
        std::unique_lock lock(mutex_);
        if (wake_.wait_for(lock, rest, [this] { return stopping_; }))
            break;
    }
    if (const Result<bool> ended = drain_within(true); !ended)
        finished_ = tl::make_unexpected(ended.error());
}

// The thread's work, which runs in another program: if that has no memory left, events are lost and
// the program continues.
Result<bool> Recorder::drain_within(bool last) {
    try {
        if (last)
            return finish().map([] { return true; });
        leases_.keep_one_ready();
        return drain();
    } catch (...) {
        lose_records();
        return fail(ErrorCode::no_space, kNoMemory);
    }
}

// Counts what was merged but not written, and frees its slots. Needs no memory.
void Recorder::lose_records() {
    for (std::size_t at = 0; at < records_.size();) {
        const std::size_t end = at + 1 + static_cast<std::size_t>(payload_slots(records_[at]));
        if (end <= records_.size() && !is_name(records_[at].kind))
            ++unwritten_;
        at = end;
    }
    records_.clear();
    give_back();
    file_.counters().failures.fetch_add(1, std::memory_order_relaxed);
    if (!std::exchange(reported_failure_, true))
        std::fputs("tidemark: events are not recorded: the program has no memory left\n", stderr);
    publish_counters();
}

Result<void> Recorder::stop() {
    if (!thread_.joinable())
        return finish();
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    return finished_;
}

// Records what is left, even if some of it can't be written.
Result<void> Recorder::finish() {
    const Result<bool> drained = drain();
    leases_.report_dropped();
    const Result<bool> reported = drain();
    const std::uint64_t first = merger_.next();
    const Nanoseconds now = monotonic_now() - header_.start_time;
    records_ = {
        {.sequence = first, .time = static_cast<std::uint64_t>(now), .kind = RecordKind::end}};
    merger_.begin_at(first + 1);
    TM_TRY(write(first, true));
    TM_TRY(drained);
    TM_TRY(reported);
    return {};
}

// Notes the current content of the rings; returns how much there is.
std::size_t Recorder::look() {
    spans_.clear();
    std::size_t found = 0;
    const std::uint32_t used = file_.counters().rings_used.load(std::memory_order_acquire);
    for (std::uint32_t ring = 0; ring < used; ++ring) {
        RingControl& control = file_.control(ring);
        const std::uint64_t head = control.head.load(std::memory_order_acquire);
        const std::uint64_t tail = control.tail.load(std::memory_order_relaxed);
        spans_.push_back({file_.slots(ring), header_.ring_slots - 1U, tail, head});
        found += head - tail;
    }
    return found;
}

Result<bool> Recorder::drain() {
    if (look() == 0)
        return false;
    const ClockPair now = ClockPair::now((header_.flags & kSteadyTicks) != 0);
    const TickScale scale(last_clock_, now, header_.start_time);
    Result<bool> result = true;
    for (;;) {
        const std::uint64_t first = merger_.next();
        records_.clear();
        const bool gap = merger_.merge(spans_, scale, kChunkSlots, records_);
        const std::size_t found = records_.size();
        if (!records_.empty()) {
            if (const Result<void> written = write(first); !written)
                result = tl::make_unexpected(written.error());
            give_back();
            records_.clear();
        }
        if (gap)
            wait_at_gap();
        if (gap || found < kChunkSlots)
            break;
    }
    if (now.time - last_clock_.time > kClockStep)
        last_clock_ = now;
    SharedClock& shared = file_.counters().clocks[clock_turn_++ % 2];
    shared.ticks.store(now.ticks, std::memory_order_relaxed);
    shared.time.store(now.time, std::memory_order_relaxed);
    return result;
}

// A record that doesn't arrive is given up after a while: it is then missing, and others go on.
void Recorder::wait_at_gap() {
    const Nanoseconds now = monotonic_now();
    if (gap_since_ < 0 || gap_ != merger_.next()) {
        gap_ = merger_.next();
        gap_since_ = now;
    } else if (now - gap_since_ > kLongestGap) {
        merger_.skip_gap(spans_);
        gap_since_ = -1;
    }
}

Result<void> Recorder::write(std::uint64_t first, bool last) {
    Result<void> written = begin_segment(first);
    if (keeps_live_set_)
        live_.add(records_);
    if (written)
        written = append(first, last);
    if (!written) {
        give_up(records_);
        file_.counters().failures.fetch_add(1, std::memory_order_relaxed);
        report_failure(written.error());
    }
    publish_counters();
    return written;
}

// The next file, when it is due. Until it exists nothing is written, so that a limit holds.
Result<void> Recorder::begin_segment(std::uint64_t first) {
    constexpr Nanoseconds kTryEvery = 1'000'000'000;
    if (!segments_.full())
        return {};
    const Nanoseconds now = monotonic_now();
    if (no_segment_ && now < next_try_)
        return tl::make_unexpected(*no_segment_);
    if (const Result<void> begun = segments_.begin_segment(first, live_.snapshot()); !begun) {
        no_segment_ = begun.error();
        next_try_ = now + kTryEvery;
        return begun;
    }
    no_segment_.reset();
    owed_names_.clear();
    return {};
}

Result<void> Recorder::append(std::uint64_t first, bool last) {
    while (!owed_names_.empty()) {
        const std::size_t count = whole_records(owed_names_);
        TM_TRY(segments_.append(first, first, std::span(owed_names_).first(count), last));
        owed_names_.erase(owed_names_.begin(),
                          owed_names_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    // Missing events that no ring reports: they get the number of the next record.
    const std::uint64_t lost = losses();
    if (lost != reported_) {
        const Record word{.sequence = first,
                          .time = records_.front().time,
                          .size = lost - reported_,
                          .kind = RecordKind::lost};
        records_.insert(records_.begin(), word);
    }
    const Result<void> appended = segments_.append(first, merger_.next(), records_, last);
    if (appended)
        reported_ = lost;
    else if (lost != reported_)
        records_.erase(records_.begin());
    return appended;
}

// Counts the events that could not be written, together with those that a ring reported lost in
// them, and keeps the names for later ones.
void Recorder::give_up(std::span<const Record> slots) {
    for (std::size_t at = 0; at < slots.size();) {
        const Record& record = slots[at];
        const std::size_t end = at + 1 + static_cast<std::size_t>(payload_slots(record));
        if (is_name(record.kind))
            owed_names_.insert(owed_names_.end(), slots.begin() + static_cast<std::ptrdiff_t>(at),
                               slots.begin() + static_cast<std::ptrdiff_t>(end));
        else
            unwritten_ += record.kind == RecordKind::lost ? record.size : 1;
        at = end;
    }
}

// Once: the program continues, and its user should know.
void Recorder::report_failure(const Error& error) {
    if (!std::exchange(reported_failure_, true))
        std::fprintf(stderr, "tidemark: events are not recorded: %s\n",
                     printable(to_text(error)).c_str());
}

// Records that no ring counts as its own.
std::uint64_t Recorder::losses() const {
    return file_.counters().without_ring.load(std::memory_order_relaxed) + unwritten_ +
           merger_.missing();
}

void Recorder::give_back() {
    for (std::uint32_t ring = 0; ring < spans_.size(); ++ring)
        file_.control(ring).tail.store(spans_[ring].begin, std::memory_order_release);
}

void Recorder::publish_counters() {
    Counters& counters = file_.counters();
    counters.lost.store(unwritten_ + merger_.missing(), std::memory_order_relaxed);
    counters.reported.store(reported_, std::memory_order_relaxed);
    counters.forgotten.store(segments_.forgotten(), std::memory_order_relaxed);
    counters.first_segment.store(segments_.first_segment(), std::memory_order_release);
    counters.last_segment.store(segments_.last_segment(), std::memory_order_release);
    counters.written.store(merger_.next(), std::memory_order_release);
}

}  // namespace tidemark::live
