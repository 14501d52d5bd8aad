// The recorded program, step by step, against the model.
#include "replay/analysis/verify.h"

#include <algorithm>
#include <deque>
#include <memory>

#include <fmt/format.h>

#include "backends/wrap/scripted.h"
#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kNoMemoryLimit = Bytes{1} << 59;
constexpr std::size_t kNeighbours = 6;
constexpr std::uint64_t kEventsPerProgress = 1U << 16U;

std::string describe(const TraceEvent& event) {
    switch (event.kind) {
        case EventKind::synchronize:
        case EventKind::trim:
            return std::string(to_text(event.kind));
        default:
            return fmt::format("{} {} bytes at {:#x} on stream {}", to_text(event.kind), event.size,
                               event.address, to_integer(event.stream));
    }
}

std::string describe(const ScriptedDevice::Call& call) {
    return fmt::format("{} {} bytes at {:#x}",
                       call.call == DeviceCall::malloc ? "segment_alloc" : "segment_free",
                       call.range.size, to_integer(call.range.begin));
}

// The model in mid-run: an allocator and the device it stands on. Copied to try things out.
struct Model {
    std::unique_ptr<ScriptedDevice> device;
    std::unique_ptr<Allocator> allocator;

    Model copy() const {
        Model twin;
        twin.device = std::make_unique<ScriptedDevice>(*device);
        twin.allocator = allocator->clone(*twin.device);
        return twin;
    }
};

// What the model did for one request.
struct Attempt {
    std::vector<ScriptedDevice::Call> calls;
    tl::expected<Allocation, OutOfMemory> granted = tl::make_unexpected(OutOfMemory{});
    bool trimmed_first = false;
    std::uint64_t differences = 0;
};

// One device of the trace.
class Lane {
  public:
    Lane(Model model, std::uint32_t slots) : model_(std::move(model)), live_(slots) {}

    Result<void> step(std::uint64_t index, const TraceEvent& event, VerifyReport& report);
    Result<void> finish(VerifyReport& report);

  private:
    struct Live {
        Allocation allocation;
        bool granted = false;
    };

    Result<void> preamble(const TraceEvent& event);
    Result<void> restore();

    void request(std::uint64_t index, const TraceEvent& event, VerifyReport& report);
    Attempt attempt(Model& model, const TraceEvent& event, bool trim_first) const;
    std::uint64_t differences(const Attempt& attempt, const TraceEvent& event) const;
    void explain(std::uint64_t index, const TraceEvent& event, const Attempt& attempt,
                 VerifyReport& report);
    void end_life(const TraceEvent& event);
    void unexplained_releases(VerifyReport& report);
    void compare_end(VerifyReport& report);
    std::vector<std::string> blocks_near(Address address) const;
    void keep_peaks(VerifyReport& report) const;

    Model model_;
    std::vector<Live> live_;
    std::vector<TraceEvent> run_;  // segment entries since the last request
    std::uint64_t run_begin_ = 0;
    std::deque<TraceEvent> recent_;
    std::vector<SeedSegment> seeds_;
    std::vector<std::uint32_t> seed_slots_;
    Bytes seed_size_ = 0;  // of the preamble's `block` entry
    bool seed_pending_ = false;
    bool restored_ = false;
    std::vector<TraceEvent> final_segments_;
    std::vector<TraceEvent> final_blocks_;
};

Result<void> Lane::preamble(const TraceEvent& event) {
    switch (event.kind) {
        case EventKind::segment_alloc:
        case EventKind::segment_map:
            seeds_.push_back({{Address{event.address}, event.size},
                              event.stream,
                              PoolId{event.aux},
                              event.kind == EventKind::segment_map,
                              {}});
            return {};
        case EventKind::block:
            seed_size_ = event.size;
            seed_pending_ = (event.flags & kPending) != 0;
            return {};
        case EventKind::allocate:
            if (seeds_.empty() || event.slot >= live_.size())
                return fail(ErrorCode::bad_input, "the preamble has a block outside any segment",
                            "trace");
            seeds_.back().blocks.push_back(
                {Address{event.address}, seed_size_, event.size, seed_pending_});
            seed_slots_.push_back(event.slot);
            return {};
        default:
            return {};
    }
}

Result<void> Lane::restore() {
    restored_ = true;
    if (seeds_.empty())
        return {};
    for (const SeedSegment& segment : seeds_)
        model_.device->hold(segment.range);
    TM_ASSIGN(const std::vector<Allocation> live, model_.allocator->restore(seeds_));
    for (std::size_t i = 0; i < live.size(); ++i)
        live_[seed_slots_[i]] = {live[i], true};
    return {};
}

Result<void> Lane::step(std::uint64_t index, const TraceEvent& event, VerifyReport& report) {
    if ((event.flags & kPreamble) != 0)
        return preamble(event);
    if (!restored_)
        TM_TRY(restore());
    recent_.push_back(event);
    if (recent_.size() > kNeighbours)
        recent_.pop_front();
    switch (event.kind) {
        case EventKind::segment_alloc:
        case EventKind::segment_free:
            if (run_.empty())
                run_begin_ = index;
            run_.push_back(event);
            break;
        case EventKind::segment_map:
        case EventKind::segment_unmap:
            return fail(ErrorCode::unsupported, "the trace was recorded with expandable segments",
                        fmt::format("event {}", index), "this policy does not model them yet");
        case EventKind::allocate:
        case EventKind::out_of_memory:
            request(index, event, report);
            break;
        case EventKind::free:
        case EventKind::finish:
            unexplained_releases(report);
            end_life(event);
            break;
        case EventKind::retire:
            unexplained_releases(report);
            if (event.slot < live_.size() && live_[event.slot].granted)
                model_.allocator->retire(live_[event.slot].allocation);
            break;
        case EventKind::final_segment:
            final_segments_.push_back(event);
            break;
        case EventKind::final_block:
            final_blocks_.push_back(event);
            break;
        default:
            break;
    }
    keep_peaks(report);
    return {};
}

void Lane::keep_peaks(VerifyReport& report) const {
    const Usage& now = model_.allocator->usage();
    report.peak.reserved = std::max(report.peak.reserved, now.reserved);
    report.peak.allocated = std::max(report.peak.allocated, now.allocated);
    report.peak.active = std::max(report.peak.active, now.active);
    report.peak.mapped = std::max(report.peak.mapped, now.mapped);
}

void Lane::end_life(const TraceEvent& event) {
    if (event.slot >= live_.size() || !live_[event.slot].granted)
        return;
    model_.allocator->deallocate(live_[event.slot].allocation, event.stream);
    live_[event.slot].granted = false;
}

// How often the attempt and the record part: the segment entries before the request, in order, and
// the request's own outcome.
std::uint64_t Lane::differences(const Attempt& attempt, const TraceEvent& event) const {
    std::uint64_t count = 0;
    const std::size_t longer = std::max(run_.size(), attempt.calls.size());
    for (std::size_t i = 0; i < longer; ++i) {
        if (i >= run_.size() || i >= attempt.calls.size()) {
            ++count;
            continue;
        }
        const auto call =
            run_[i].kind == EventKind::segment_alloc ? DeviceCall::malloc : DeviceCall::free;
        const ScriptedDevice::Call expected{call, {Address{run_[i].address}, run_[i].size}};
        if (expected != attempt.calls[i])
            ++count;
    }
    if (event.kind == EventKind::out_of_memory)
        return count + (attempt.granted ? 1 : 0);
    return count +
           (attempt.granted && to_integer(attempt.granted->address) == event.address ? 0 : 1);
}

Attempt Lane::attempt(Model& model, const TraceEvent& event, bool trim_first) const {
    std::vector<Range> script;
    for (const TraceEvent& entry : run_) {
        if (entry.kind == EventKind::segment_alloc)
            script.push_back({Address{entry.address}, entry.size});
    }
    model.device->play(script);
    if (trim_first)
        model.allocator->trim(TrimLevel::all);
    Attempt result;
    result.trimmed_first = trim_first;
    result.granted = model.allocator->allocate(
        {.size = event.size, .alignment = 1, .stream = event.stream, .pool = PoolId{event.aux}});
    result.calls.assign(model.device->log().begin(), model.device->log().end());
    result.differences = differences(result, event);
    return result;
}

void Lane::request(std::uint64_t index, const TraceEvent& event, VerifyReport& report) {
    const bool releases = std::any_of(run_.begin(), run_.end(), [](const TraceEvent& entry) {
        return entry.kind == EventKind::segment_free;
    });
    Attempt done;
    if (!releases) {
        done = attempt(model_, event, false);
    } else {
        // An emptied cache leaves only its releases, as a retry does: whichever gives the record.
        Model alone = model_.copy();
        Model emptied = model_.copy();
        const Attempt first = attempt(alone, event, false);
        const Attempt second = attempt(emptied, event, true);
        const bool take_second = second.differences < first.differences;
        done = take_second ? second : first;
        model_ = take_second ? std::move(emptied) : std::move(alone);
        report.inferred_trims += take_second ? 1 : 0;
    }
    report.decisions += run_.size() + 1;
    if (done.differences != 0)
        explain(index, event, done, report);
    if (event.kind == EventKind::allocate) {
        if (event.slot < live_.size()) {
            if (live_[event.slot].granted)
                end_life(event);
            if (done.granted)
                live_[event.slot] = {*done.granted, true};
        }
    } else if (done.granted) {
        model_.allocator->deallocate(*done.granted, event.stream);
    }
    run_.clear();
}

// Releases that no request explains: the program emptied the caches.
void Lane::unexplained_releases(VerifyReport& report) {
    if (run_.empty())
        return;
    model_.device->play({});
    model_.allocator->trim(TrimLevel::all);
    ++report.inferred_trims;
    Attempt done;
    done.trimmed_first = true;
    done.calls.assign(model_.device->log().begin(), model_.device->log().end());
    TraceEvent nothing;
    nothing.kind = EventKind::out_of_memory;
    done.differences = differences(done, nothing);
    report.decisions += run_.size();
    if (done.differences != 0)
        explain(run_begin_, run_.front(), done, report);
    run_.clear();
}

void Lane::explain(std::uint64_t index, const TraceEvent& event, const Attempt& attempt,
                   VerifyReport& report) {
    report.mismatches += attempt.differences;
    if (report.first_mismatch)
        return;
    Mismatch mismatch;
    mismatch.event = index;
    mismatch.what = event;
    for (const TraceEvent& entry : run_)
        mismatch.expected += describe(entry) + "; ";
    mismatch.expected += is_truth(event.kind) ? "" : describe(event);
    if (attempt.trimmed_first)
        mismatch.actual = "caches emptied; ";
    for (const ScriptedDevice::Call& call : attempt.calls)
        mismatch.actual += describe(call) + "; ";
    if (attempt.granted)
        mismatch.actual += fmt::format("granted at {:#x}", to_integer(attempt.granted->address));
    else if (!is_truth(event.kind))
        mismatch.actual += fmt::format("refused ({})", to_text(attempt.granted.error().cause));
    for (const TraceEvent& entry : recent_)
        mismatch.neighbourhood.push_back("recorded  " + describe(entry));
    for (std::string& line : blocks_near(Address{event.address}))
        mismatch.neighbourhood.push_back(std::move(line));
    report.first_mismatch = std::move(mismatch);
}

std::vector<std::string> Lane::blocks_near(Address address) const {
    std::vector<Region> regions;
    model_.allocator->for_each_region([&](const Region& region) {
        if (address >= region.segment.begin && address < region.segment.begin + region.segment.size)
            regions.push_back(region);
    });
    const auto after = std::find_if(regions.begin(), regions.end(), [&](const Region& region) {
        return region.range.begin > address;
    });
    const auto at = after - regions.begin();
    std::vector<std::string> lines;
    for (auto i = std::max<std::ptrdiff_t>(0, at - 3);
         i < std::min<std::ptrdiff_t>(std::ssize(regions), at + 3); ++i) {
        const Region& region = regions[static_cast<std::size_t>(i)];
        static constexpr std::string_view kStates[] = {"allocated", "waiting", "free", "hole"};
        lines.push_back(fmt::format("model     {:#x} {:>12} bytes {} (stream {})",
                                    to_integer(region.range.begin), region.range.size,
                                    kStates[static_cast<std::size_t>(region.state)],
                                    to_integer(region.stream)));
    }
    return lines;
}

// The state at the end against the snapshot's own list of segments and blocks.
void Lane::compare_end(VerifyReport& report) {
    std::vector<Region> regions;
    model_.allocator->for_each_region([&](const Region& region) { regions.push_back(region); });
    std::sort(final_blocks_.begin(), final_blocks_.end(),
              [](const TraceEvent& a, const TraceEvent& b) { return a.address < b.address; });
    const std::size_t longer = std::max(regions.size(), final_blocks_.size());
    Attempt done;
    for (std::size_t i = 0; i < longer; ++i) {
        ++report.final_blocks;
        ++report.decisions;
        bool same = i < regions.size() && i < final_blocks_.size();
        if (same) {
            const TraceEvent& block = final_blocks_[i];
            const auto state = (block.flags & kActive) != 0    ? Region::State::allocated
                               : (block.flags & kPending) != 0 ? Region::State::waiting
                                                               : Region::State::free;
            // The model keeps a retired block allocated until it is finished: the same bytes.
            const bool held = state != Region::State::free;
            same = to_integer(regions[i].range.begin) == block.address &&
                   regions[i].range.size == block.size &&
                   held == (regions[i].state != Region::State::free);
        }
        done.differences = same ? 0 : 1;
        if (!same)
            explain(report.events, i < final_blocks_.size() ? final_blocks_[i] : TraceEvent{}, done,
                    report);
    }
}

Result<void> Lane::finish(VerifyReport& report) {
    if (!restored_)
        TM_TRY(restore());
    unexplained_releases(report);
    if (!final_segments_.empty() || !final_blocks_.empty())
        compare_end(report);
    const AllocatorStats& stats = model_.allocator->stats();
    report.stats.retries += stats.retries;
    report.stats.out_of_memory += stats.out_of_memory;
    report.stats.segments_created += stats.segments_created;
    report.stats.segments_released += stats.segments_released;
    report.stats.synchronizations += stats.synchronizations;
    return {};
}

Result<std::vector<Lane>> make_lanes(const Trace& trace, const PolicySpec& policy,
                                     const VerifyOptions& options) {
    std::vector<Lane> lanes;
    for (const TraceDevice& device : trace.info().devices) {
        Bytes capacity = options.memory != 0        ? options.memory
                         : device.total_memory != 0 ? device.total_memory
                                                    : kNoMemoryLimit;
        if (options.limit != 0)
            capacity = std::min(capacity, options.limit);
        Model model;
        model.device = std::make_unique<ScriptedDevice>(capacity);
        TM_ASSIGN(model.allocator, policy.make(*model.device));
        if (model.allocator->clone(*model.device) == nullptr)
            return fail(ErrorCode::unsupported, "this policy cannot be copied in mid-run",
                        std::string(policy.policy->name));
        lanes.emplace_back(std::move(model), trace.info().slot_count);
    }
    return lanes;
}

}  // namespace

Result<VerifyReport> verify(const Trace& trace, const PolicySpec& unlimited,
                            const VerifyOptions& options) {
    VerifyReport report;
    TM_ASSIGN(const PolicySpec policy, unlimited.with_limit(options.limit));
    report.policy = policy.text();
    TM_ASSIGN(std::vector<Lane> lanes, make_lanes(trace, policy, options));
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::uint64_t next_progress = kEventsPerProgress;
    std::uint64_t truths = 0;
    while (true) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i) {
            const TraceEvent event = batch[i];
            if (is_truth(event.kind))
                ++truths;
            if (event.device >= lanes.size())
                return fail(ErrorCode::bad_input,
                            "an event of a device that the trace doesn't have",
                            fmt::format("event {}", report.events));
            TM_TRY(lanes[event.device].step(report.events, event, report));
            ++report.events;
        }
        if (options.progress && report.events >= next_progress) {
            options.progress(report.events);
            next_progress = report.events + kEventsPerProgress;
        }
    }
    if (truths == 0)
        return fail(ErrorCode::unsupported,
                    "the trace does not say what the recorded system decided", {},
                    "verify needs a PyTorch snapshot, or a .tmk made from one");
    for (Lane& lane : lanes)
        TM_TRY(lane.finish(report));
    return report;
}

}  // namespace tidemark
