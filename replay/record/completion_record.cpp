// One pass for waits and points, then chains, then the work between waits.
#include "replay/record/completion_record.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kCompletionRecordNone = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kChainsPerOwner = 16;

// A gap between points is a wait of the program for the device if it is so many times the usual
// one.
constexpr Nanoseconds kWaitTimes = 8;
constexpr Nanoseconds kShortestWait = 100'000;

// A stall of so many times the usual one is something else: a library loaded, say.
constexpr Nanoseconds kRareStall = 20;

// The median; `values` must not be empty.
Nanoseconds middle_of(std::vector<Nanoseconds> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// What one wait belongs to: the same stream's blocks of one device.
using Owner = std::pair<std::uint16_t, std::uint32_t>;

// The recorded part of a wait that only the analysis needs.
struct Draft {
    Owner owner;
    Bytes size = 0;
};

class Reader {
  public:
    explicit Reader(const TraceInfo& info)
        : sizes_(info.slot_count), pending_(info.slot_count, kCompletionRecordNone) {}

    void take(const EventBatch& batch);
    CompletionRecord finish(Nanoseconds end);

  private:
    void take(const EventBatch& batch, std::size_t i);
    void ask(const EventBatch& batch, std::size_t i);
    void point(std::uint64_t event, Nanoseconds time, bool waits);
    void complete(std::uint32_t slot, Nanoseconds time);
    void bound_waits(Nanoseconds end);
    void leave_out_driver(Nanoseconds usual);
    void find_pauses(Nanoseconds usual);
    void make_chains();
    void find_work();
    Nanoseconds usual_gap() const;

    CompletionRecord record_;
    std::vector<Draft> drafts_;                 // of record_.waits
    std::vector<Nanoseconds> times_;            // of record_.points, as recorded
    std::vector<Nanoseconds> driver_times_;     // before each, in calls that took or gave memory
    std::vector<Bytes> sizes_;                  // by slot
    std::vector<std::size_t> pending_;          // by slot: its wait
    std::map<Owner, std::uint64_t> by_stream_;  // requests
    std::uint64_t requests_ = 0;
    Nanoseconds last_time_ = 0;
    Nanoseconds driver_time_ = 0;  // since the last point, in calls that took or gave memory
    Nanoseconds before_ = 0;       // the time of the event before
    std::uint64_t event_ = 0;
};

void Reader::point(std::uint64_t event, Nanoseconds time, bool waits) {
    record_.points.push_back({event, time - last_time_, 0, waits});
    times_.push_back(time);
    driver_times_.push_back(driver_time_);
    last_time_ = time;
    driver_time_ = 0;
}

void Reader::complete(std::uint32_t slot, Nanoseconds time) {
    if (slot >= pending_.size() || pending_[slot] == kCompletionRecordNone)
        return;
    RecordedWait& wait = record_.waits[pending_[slot]];
    wait.done_before = std::max(time, wait.done_after);
    wait.seen = true;
    pending_[slot] = kCompletionRecordNone;
}

void Reader::ask(const EventBatch& batch, std::size_t i) {
    point(event_, batch.time[i], false);
    ++requests_;
    ++by_stream_[{batch.device[i], to_integer(batch.stream[i])}];
    if (batch.kind[i] == EventKind::allocate && batch.slot[i] < sizes_.size())
        sizes_[batch.slot[i]] = batch.size[i];
}

void Reader::take(const EventBatch& batch, std::size_t i) {
    const std::uint32_t slot = batch.slot[i];
    switch (batch.kind[i]) {
        case EventKind::allocate:
        case EventKind::out_of_memory:
            return ask(batch, i);
        case EventKind::retire:
            if (slot >= pending_.size())
                return;
            point(event_, batch.time[i], true);
            pending_[slot] = record_.waits.size();
            record_.waits.push_back(
                {.event = event_, .requested = batch.time[i], .requests = requests_});
            drafts_.push_back({{batch.device[i], to_integer(batch.stream[i])}, sizes_[slot]});
            return;
        case EventKind::finish:
            return complete(slot, batch.time[i]);
        case EventKind::segment_alloc:
        case EventKind::segment_free:
        case EventKind::segment_map:
        case EventKind::segment_unmap:
            driver_time_ += batch.time[i] - before_;
            return;
        default:
            return;
    }
}

void Reader::take(const EventBatch& batch) {
    for (std::size_t i = 0; i < batch.count; ++i, ++event_) {
        take(batch, i);
        before_ = batch.time[i];
    }
}

Nanoseconds Reader::usual_gap() const {
    std::vector<Nanoseconds> gaps;
    for (const HostPoint& each : record_.points)
        gaps.push_back(each.gap);
    return middle_of(std::move(gaps));
}

// A long gap after which a chain has nothing pending that it had before, or after which nothing is
// pending at all: the program has waited for the device. How much host time the gap itself took is
// not known; the usual time is assumed.
void Reader::find_pauses(Nanoseconds usual) {
    const Nanoseconds shortest = std::max(kWaitTimes * usual, kShortestWait);
    std::vector<Nanoseconds> ends(record_.chains, 0);  // when the last of each was seen to be done
    std::size_t next = 0;
    for (std::size_t i = 0; i < record_.points.size(); ++i) {
        HostPoint& point = record_.points[i];
        if (point.waits) {
            const RecordedWait& wait = record_.waits[next++];
            ends[wait.chain] = std::max(ends[wait.chain], wait.done_before);
            continue;
        }
        if (point.gap < shortest || next == 0 || i == 0)
            continue;
        std::uint64_t empty = 0;
        bool all = true;
        bool some = false;
        for (std::size_t chain = 0; chain < ends.size(); ++chain) {
            const bool done = ends[chain] <= times_[i];
            empty |= done ? chain_bit(chain) : 0;
            all = all && done;
            some = some || (done && ends[chain] > times_[i - 1]);
        }
        if (!all && !some)
            continue;
        point.waited = empty;
        point.gap = usual;
    }
}

// Puts each wait into the chain of its owner whose last wait was seen to be done last, of those not
// after it.
void Reader::make_chains() {
    struct Chain {
        std::uint32_t number = 0;
        Nanoseconds done_before = 0;
    };

    std::map<Owner, std::vector<Chain>> owners;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
        RecordedWait& wait = record_.waits[i];
        std::vector<Chain>& chains = owners[drafts_[i].owner];
        Chain* best = nullptr;
        for (Chain& chain : chains) {
            if (chain.done_before <= wait.done_before &&
                (best == nullptr || chain.done_before > best->done_before))
                best = &chain;
        }
        if (best == nullptr && chains.size() < kChainsPerOwner) {
            chains.push_back({static_cast<std::uint32_t>(record_.chains++), 0});
            best = &chains.back();
        }
        if (best == nullptr)
            best = &*std::min_element(
                chains.begin(), chains.end(),
                [](const Chain& a, const Chain& b) { return a.done_before < b.done_before; });
        best->done_before = std::max(best->done_before, wait.done_before);
        wait.chain = best->number;
    }
}

// Waits of one chain with the same sizes, its own and the one's before it, mean the same work:
// its median where the device was busy all the time, else the least time that passed for it.
void Reader::find_work() {
    struct Kind {
        std::vector<std::size_t> waits;
        std::vector<Nanoseconds> busy;
        Nanoseconds idle = std::numeric_limits<Nanoseconds>::max();
    };

    std::map<std::tuple<std::uint32_t, Bytes, Bytes>, Kind> kinds;
    std::vector<std::size_t> last(record_.chains, kCompletionRecordNone);
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
        const RecordedWait& wait = record_.waits[i];
        const std::size_t before = std::exchange(last[wait.chain], i);
        if (before == kCompletionRecordNone)
            continue;
        Kind& kind = kinds[{wait.chain, drafts_[i].size, drafts_[before].size}];
        kind.waits.push_back(i);
        if (!wait.seen)
            continue;
        const RecordedWait& previous = record_.waits[before];
        const Nanoseconds done = (wait.done_after + wait.done_before) / 2;
        const Nanoseconds start = (previous.done_after + previous.done_before) / 2;
        const Nanoseconds passed =
            std::max<Nanoseconds>(done - std::max(start, previous.requested), 0);
        if (start >= wait.requested)
            kind.busy.push_back(passed);
        else
            kind.idle = std::min(kind.idle, passed);
    }
    for (auto& [key, kind] : kinds) {
        Nanoseconds work = kind.idle;
        if (!kind.busy.empty())
            work = middle_of(std::move(kind.busy));
        for (const std::size_t i : kind.waits)
            record_.waits[i].likely_work =
                work == std::numeric_limits<Nanoseconds>::max() ? 0 : work;
    }
}

// A wait ended after the last request that did not notice it, which looked before it called the
// driver, if it did.
void Reader::bound_waits(Nanoseconds end) {
    std::vector<Nanoseconds> looks;
    for (std::size_t i = 0; i < times_.size(); ++i) {
        if (!record_.points[i].waits)
            looks.push_back(i > 0 && driver_times_[i] > 0 ? times_[i - 1] : times_[i]);
    }
    for (RecordedWait& wait : record_.waits) {
        wait.done_after = wait.requested;
        if (!wait.seen)
            wait.done_before = end;
        const auto noticed = std::lower_bound(looks.begin(), looks.end(), wait.done_before);
        if (noticed != looks.begin())
            wait.done_after = std::max(wait.requested, *std::prev(noticed));
        wait.done_before = std::max(wait.done_before, wait.done_after);
    }
}

// Another policy calls the driver elsewhere. What remains is at most what is usual between points.
void Reader::leave_out_driver(Nanoseconds usual) {
    for (std::size_t i = 0; i < times_.size(); ++i) {
        Nanoseconds& gap = record_.points[i].gap;
        if (driver_times_[i] == 0)
            continue;
        const Nanoseconds rest = std::max(gap - driver_times_[i], std::min(gap, usual));
        if (record_.points[i].event > record_.waits.front().event)
            record_.stalls.push_back(gap - rest);
        gap = rest;
    }
    if (record_.stalls.empty())
        return;
    const Nanoseconds most = kRareStall * middle_of(record_.stalls);
    std::erase_if(record_.stalls, [most](Nanoseconds stall) { return stall > most; });
}

CompletionRecord Reader::finish(Nanoseconds end) {
    if (record_.waits.empty())
        return {};
    const Nanoseconds usual = usual_gap();
    bound_waits(end);
    leave_out_driver(usual);
    make_chains();
    find_pauses(usual);
    find_work();
    std::uint64_t most = 1;
    for (const auto& [stream, count] : by_stream_)
        most = std::max(most, count);
    record_.streams = static_cast<double>(requests_) / static_cast<double>(most);
    return std::move(record_);
}

}  // namespace

Result<CompletionRecord> read_completions(const Trace& trace) {
    Reader reader(trace.info());
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return reader.finish(trace.info().duration);
        reader.take(batch);
    }
}

}  // namespace tidemark
