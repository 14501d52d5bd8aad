// Requests and frees as records, iterations as ranges of records, and each compared with the one
// before it.
#include "replay/analysis/trace/drift.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "replay/analysis/trace/period.h"
#include "replay/analysis/trace/program_steps.h"

namespace tidemark {
namespace {

bool is_request(const DriftEvent& event) {
    return event.kind != EventKind::free;
}

auto request_key(const DriftEvent& event) {
    return std::tuple(event.kind, event.size, event.stream, event.device);
}

class DriftRecorder {
  public:
    explicit DriftRecorder(const TraceInfo& info) : live_(info.slot_count) {}

    void add(const TraceEvent& event, std::uint64_t index) {
        DriftEvent record{.event = index,
                          .kind = event.kind,
                          .size = event.size,
                          .address = event.address,
                          .requests = requests_,
                          .stream = event.stream,
                          .device = event.device};
        const bool known = event.slot < live_.size();
        switch (event.kind) {
            case EventKind::allocate:
                if (!known || (event.flags & kPreamble) != 0)
                    return;
                live_[event.slot] = {++requests_, event.size};
                break;
            case EventKind::out_of_memory:
                record.address = 0;  // there it is what the device had free
                ++requests_;
                break;
            case EventKind::free:
            case EventKind::retire:
                if (!known || live_[event.slot].request == 0)
                    return;
                record.kind = EventKind::free;
                record.size = live_[event.slot].size;
                record.address = 0;
                record.allocated = live_[event.slot].request - 1;
                live_[event.slot] = {};
                break;
            default:
                return;
        }
        has_addresses_ = has_addresses_ || record.address != 0;
        records_.push_back(record);
    }

    const std::vector<DriftEvent>& records() const { return records_; }

    bool has_addresses() const { return has_addresses_; }

  private:
    struct Live {
        std::uint64_t request = 0;  // counted from 1; 0 = vacant, or from before the trace
        Bytes size = 0;
    };

    std::vector<DriftEvent> records_;
    std::vector<Live> live_;  // by slot
    std::uint64_t requests_ = 0;
    bool has_addresses_ = false;
};

using DriftRecords = std::span<const DriftEvent>;

// The iterations by the trace's ranges: the first begins with the trace, events after the last are
// left out.
std::vector<DriftRecords> iterations_by_steps(DriftRecords records,
                                              const std::vector<std::uint64_t>& ends) {
    std::vector<DriftRecords> iterations;
    auto begin = records.begin();
    for (const std::uint64_t end : ends) {
        const auto after = std::ranges::upper_bound(records, end, {}, &DriftEvent::event);
        iterations.emplace_back(begin, after);
        begin = after;
    }
    return iterations;
}

// As long as the period of what repeats longest, from the trace's start to its end, if three
// quarters of the requests are as they were a period before: else what repeats is a loop within
// something else. The last one counts although it isn't whole if something in it differs.
std::vector<DriftRecords> iterations_by_period(DriftRecords records) {
    std::vector<std::size_t> requests;  // their indices among the records
    std::vector<decltype(request_key(records[0]))> known;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!is_request(records[i]))
            continue;
        requests.push_back(i);
        known.push_back(request_key(records[i]));
    }
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
    std::vector<std::uint32_t> symbols;
    for (const std::size_t at : requests)
        symbols.push_back(static_cast<std::uint32_t>(
            std::ranges::lower_bound(known, request_key(records[at])) - known.begin()));

    const Period period = find_period(symbols);
    const std::size_t length = period.length;
    std::vector<DriftRecords> iterations;
    if (length == 0)
        return iterations;
    std::size_t alike = 0;
    std::size_t last_other = 0;  // the last symbol that isn't as it was a period before
    for (std::size_t i = length; i < symbols.size(); ++i) {
        const bool same = symbols[i] == symbols[i - length];
        alike += same ? 1 : 0;
        last_other = same ? last_other : i;
    }
    if (4 * alike < 3 * (symbols.size() - length))
        return iterations;
    // If the trace begins with two equal ones, they count from its start.
    const bool from_begin = std::equal(symbols.begin(), symbols.begin() + std::ptrdiff_t(length),
                                       symbols.begin() + std::ptrdiff_t(length));
    for (std::size_t first = from_begin ? 0 : period.begin % length; first < symbols.size();
         first += length) {
        const std::size_t next = first + length;
        if (next > symbols.size() && last_other < first)
            break;
        const std::size_t after = next < requests.size() ? requests[next] : records.size();
        iterations.push_back(records.subspan(requests[first], after - requests[first]));
    }
    return iterations;
}

// Whether two events are the same, each in its iteration.
bool same_event(const DriftEvent& one, const DriftEvent& other, DriftRecords one_in,
                DriftRecords other_in, DriftAspect aspect) {
    switch (aspect) {
        case DriftAspect::requests:
            return request_key(one) == request_key(other);
        case DriftAspect::frees:
            // As many requests into the iteration, of the one that was made as long ago.
            return one.requests - one_in.front().requests ==
                       other.requests - other_in.front().requests &&
                   one.requests - one.allocated == other.requests - other.allocated &&
                   one.size == other.size && one.stream == other.stream;
        case DriftAspect::addresses:
            return one.address == other.address;
    }
    return false;
}

// The next record from `at` on that the aspect is about, or the end.
std::size_t next_of(DriftRecords records, std::size_t at, DriftAspect aspect) {
    while (at < records.size() && is_request(records[at]) == (aspect == DriftAspect::frees))
        ++at;
    return at;
}

// Where `now` differs from `before`; nothing: nowhere.
std::optional<DriftDifference> compare_iterations(DriftRecords before, DriftRecords now,
                                                  DriftAspect aspect) {
    std::size_t i = next_of(before, 0, aspect);
    std::size_t j = next_of(now, 0, aspect);
    while (i < before.size() && j < now.size() &&
           same_event(before[i], now[j], before, now, aspect)) {
        i = next_of(before, i + 1, aspect);
        j = next_of(now, j + 1, aspect);
    }
    if (i >= before.size() && j >= now.size())
        return std::nullopt;
    DriftDifference difference;
    if (i < before.size())
        difference.before = before[i];
    if (j < now.size())
        difference.now = now[j];
    return difference;
}

AspectDrift judge_aspect(const std::vector<DriftRecords>& iterations, DriftAspect aspect) {
    AspectDrift drift{.aspect = aspect};
    std::optional<DriftDifference> very_first;
    for (std::size_t i = 1; i < iterations.size(); ++i) {
        std::optional<DriftDifference> difference =
            compare_iterations(iterations[i - 1], iterations[i], aspect);
        if (!difference) {
            ++drift.alike;
            if (!drift.alike_from)
                drift.alike_from = i;
            continue;
        }
        difference->iteration = i + 1;
        if (!very_first)
            very_first = difference;
        if (drift.alike_from && !drift.difference)
            drift.difference = difference;
    }
    if (!drift.alike_from)
        drift.difference = very_first;
    return drift;
}

std::uint64_t median_requests(const std::vector<DriftRecords>& iterations) {
    std::vector<std::ptrdiff_t> counts;
    for (const DriftRecords& each : iterations)
        counts.push_back(std::ranges::count_if(each, is_request));
    const auto middle = counts.begin() + std::ssize(counts) / 2;
    std::ranges::nth_element(counts, middle);
    return static_cast<std::uint64_t>(*middle);
}

}  // namespace

std::string_view to_text(DriftAspect aspect) {
    switch (aspect) {
        case DriftAspect::requests:
            return "requests";
        case DriftAspect::frees:
            return "frees";
        case DriftAspect::addresses:
            return "addresses";
    }
    return "";
}

bool DriftReport::periodic() const {
    return !aspects.empty() && std::ranges::all_of(aspects, [](const AspectDrift& each) {
        return !each.known || (each.alike_from && !each.difference);
    });
}

Result<DriftReport> find_drift(const Trace& trace) {
    TM_ASSIGN(const ProgramSteps steps, find_steps(trace));
    DriftRecorder recorder(trace.info());
    const auto cursor = trace.cursor();
    for (std::uint64_t index = 0;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i, ++index)
            recorder.add(batch[i], index);
    }
    const bool named = !steps.name.empty();
    std::vector<DriftRecords> iterations = named
                                               ? iterations_by_steps(recorder.records(), steps.ends)
                                               : iterations_by_period(recorder.records());
    // A range around something else than memory.
    std::erase_if(iterations, [](const DriftRecords& each) { return each.empty(); });
    DriftReport report;
    if (iterations.size() < 2)
        return report;
    report.steps = named ? steps.name : "";
    report.iterations = iterations.size();
    report.begin = iterations.front().front().event;
    report.end = iterations.back().back().event;
    report.requests = median_requests(iterations);
    for (const DriftAspect aspect : kDriftAspects)
        report.aspects.push_back(judge_aspect(iterations, aspect));
    if (!recorder.has_addresses())
        report.aspects.back() = {.aspect = DriftAspect::addresses, .known = false};
    return report;
}

}  // namespace tidemark
