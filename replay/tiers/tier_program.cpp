// From events to steps: groups uses into kernels, finds the next use of each, fills in gaps.
#include "replay/tiers/tier_program.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

Tier tier_of(std::uint8_t flags) {
    switch (flags & kTierMask) {
        case kTierHost:
            return Tier::host;
        case kTierDisk:
            return Tier::disk;
        default:
            return Tier::gpu;
    }
}

// Names that differ in numbers only are one: "step 3", "step 4".
std::uint32_t hash_of(std::string_view name) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char c : name)
        if (c < '0' || c > '9')
            hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

class Builder {
  public:
    Builder(const TraceInfo& info, bool has_uses) : info_(info), has_uses_(has_uses) {
        program_.streams =
            static_cast<std::uint32_t>(std::max<std::size_t>(info.streams.size(), 1));
        program_.buffers = info.slot_count;
        lives_.resize(info.slot_count);
        last_time_.resize(program_.streams);
        open_.resize(program_.streams);
    }

    Result<void> add(const EventBatch& batch) {
        if (program_.uses.size() + 2 * batch.count >= kNoUse)
            return fail(ErrorCode::unsupported, "has more uses than a replay over tiers can hold");
        for (std::size_t i = 0; i < batch.count; ++i)
            if (!is_truth(batch.kind[i]))
                add(batch[i]);
        return {};
    }

    TierProgram take() {
        close_all();
        if (!has_uses_)
            program_.assumption =
                "the trace doesn't say when buffers are used: the replay assumes that each is "
                "written when it is allocated and read when it is freed";
        else if (unknown_launches_ > 0)
            program_.assumption =
                fmt::format("the trace doesn't say what {} use, so the replay leaves them out",
                            format_counted(unknown_launches_, "launch", "launches"));
        program_.uses.shrink_to_fit();
        program_.steps.shrink_to_fit();
        return std::move(program_);
    }

  private:
    static constexpr std::uint32_t kNoStep = 0xffffffffU;

    struct Life {
        Bytes size = 0;
        std::uint32_t step = kNoStep;    // where it was allocated
        std::uint32_t kernel = kNoStep;  // step of the last kernel that used it,
        std::size_t location = 0;        // and its location there
        std::uint32_t use = kNoUse;      // the last use of a closed kernel
        Tier tier = Tier::gpu;
    };

    // A kernel that isn't closed yet.
    struct Open {
        std::uint32_t step = kNoStep;
        std::vector<TierUse> uses = {};
        Bytes bytes = 0;
    };

    void add(const TraceEvent& event) {
        switch (event.kind) {
            case EventKind::allocate:
                return allocate(event);
            case EventKind::free:
            case EventKind::finish:
                return free(event);
            case EventKind::use:
                return use(event);
            case EventKind::record_event:
                step(event, StepKind::record).value = program_.records;
                points_[event.aux] = program_.records++;
                return;
            case EventKind::wait_event:
                if (const auto point = points_.find(event.aux); point != points_.end())
                    step(event, StepKind::wait).value = point->second;
                return;
            case EventKind::synchronize:
                if ((event.flags & kWholeDevice) != 0)
                    step(event, StepKind::synchronize);
                return;
            case EventKind::reserve:
                return reservation(event, StepKind::reserve);
            case EventKind::release:
                return reservation(event, StepKind::release);
            case EventKind::move:
                return move(event);
            case EventKind::range_begin:
            case EventKind::mark:
                step(event, StepKind::mark).value = name_hash(event.aux);
                return;
            default:
                return;
        }
    }

    std::uint32_t name_hash(std::uint32_t string) const {
        return string < info_.strings.size() ? hash_of(info_.strings[string]) : 0;
    }

    TierStep& step(const TraceEvent& event, StepKind kind) {
        const std::uint32_t stream = to_integer(event.stream);
        TierStep made;
        made.kind = kind;
        made.stream = stream;
        made.device = event.device;
        made.tier = tier_of(event.flags);
        made.gap = std::max<Nanoseconds>(event.time - last_time_[stream], 0);
        last_time_[stream] = std::max(event.time, last_time_[stream]);
        program_.duration = std::max(program_.duration, event.time);
        close(stream);
        program_.steps.push_back(made);
        return program_.steps.back();
    }

    std::uint32_t last_step() const {
        return static_cast<std::uint32_t>(program_.steps.size() - 1);
    }

    bool alive(const TraceEvent& event) const {
        return event.slot < lives_.size() && lives_[event.slot].step != kNoStep;
    }

    void allocate(const TraceEvent& event) {
        if (event.slot >= lives_.size() || info_.is_host(event.device))
            return;
        program_.devices = std::max(program_.devices, event.device + 1U);
        TierStep& made = step(event, StepKind::allocate);
        made.value = event.slot;
        made.size = event.size;
        made.has_content = (event.flags & kPreamble) != 0;
        Life& life = lives_[event.slot];
        life = {};
        life.size = event.size;
        life.step = last_step();
        life.tier = made.tier;
        if (made.tier == Tier::gpu) {
            live_bytes_ += event.size;
            program_.peak_bytes = std::max(program_.peak_bytes, live_bytes_);
        }
        if (!has_uses_)
            assumed_use(event, false);
    }

    void free(const TraceEvent& event) {
        if (!alive(event))
            return;
        if (!has_uses_)
            assumed_use(event, true);
        close_all();  // none may name a buffer that is no longer live
        step(event, StepKind::free).value = event.slot;
        Life& life = lives_[event.slot];
        if (life.tier == Tier::gpu)
            live_bytes_ -= life.size;
        life.step = kNoStep;
    }

    // A kernel of its own that writes (after an allocation) or reads (before a free) one buffer.
    void assumed_use(const TraceEvent& event, bool at_free) {
        TraceEvent touch = event;
        touch.kind = EventKind::use;
        touch.flags = at_free ? kReads : kWrites;
        touch.aux = next_assumed_++;
        use(touch);
        close(to_integer(event.stream));
    }

    // Joins the kernel that is open on the stream, or opens one. A kernel's uses are written when
    // it is closed: the events of kernels of different streams may alternate.
    void use(const TraceEvent& event) {
        unknown_launches_ += event.flags == kPerhaps ? 1U : 0U;
        if (!alive(event))
            return;
        const std::uint32_t stream = to_integer(event.stream);
        Open& open = open_[stream];
        if (open.step == kNoStep || program_.steps[open.step].value != event.aux) {
            step(event, StepKind::kernel).value = event.aux;
            open.step = last_step();
        }
        Life& life = lives_[event.slot];
        const bool reads = (event.flags & kReads) != 0;
        const bool writes = (event.flags & kWrites) != 0;
        if (life.kernel == open.step) {
            TierUse& known = open.uses[life.location];
            known.reads |= reads;
            known.writes |= writes;
            return;
        }
        life.kernel = open.step;
        life.location = open.uses.size();
        open.uses.push_back({BufferId{event.slot}, kNoUse, reads, writes});
        if (life.tier == Tier::gpu)
            open.bytes += life.size;
    }

    // Ends the kernel that is open on a stream, if one is.
    void close(std::uint32_t stream) {
        Open& open = open_[stream];
        if (open.step == kNoStep)
            return;
        TierStep& kernel = program_.steps[open.step];
        kernel.first = static_cast<std::uint32_t>(program_.uses.size());
        kernel.count = static_cast<std::uint32_t>(open.uses.size());
        program_.largest_kernel = std::max(program_.largest_kernel, open.bytes);
        for (const TierUse& use : open.uses)
            link(use);
        open.step = kNoStep;
        open.uses.clear();
        open.bytes = 0;
    }

    void link(const TierUse& use) {
        const auto index = static_cast<std::uint32_t>(program_.uses.size());
        Life& life = lives_[to_integer(use.buffer)];
        if (life.use == kNoUse) {
            TierStep& born = program_.steps[life.step];
            born.use = index;
            born.has_content |= use.reads;
        } else {
            program_.uses[life.use].next = index;
        }
        life.use = index;
        program_.uses.push_back(use);
    }

    void close_all() {
        for (std::uint32_t stream = 0; stream < program_.streams; ++stream)
            close(stream);
    }

    void reservation(const TraceEvent& event, StepKind kind) {
        TierStep& made = step(event, kind);
        made.value = event.aux;
        made.size = event.size;
        made.otherwise = event.flags & (kOrDevice | kOrHost | kOrDisk);
    }

    void move(const TraceEvent& event) {
        if (alive(event))
            step(event, StepKind::move).value = event.slot;
    }

    const TraceInfo& info_;
    bool has_uses_;
    TierProgram program_;
    std::vector<Life> lives_;
    std::vector<Nanoseconds> last_time_;                       // by stream
    std::vector<Open> open_;                                   // by stream
    std::unordered_map<std::uint32_t, std::uint32_t> points_;  // of each event, the latest
    Bytes live_bytes_ = 0;
    std::uint32_t next_assumed_ = 0;
    std::uint64_t unknown_launches_ = 0;
};

// Whether the trace says when buffers are used. Reads until it meets the first use.
Result<bool> says_uses(const Trace& trace) {
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (true) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return false;
        if (std::find(batch.kind, batch.kind + batch.count, EventKind::use) !=
            batch.kind + batch.count)
            return true;
    }
}

}  // namespace

Result<TierProgram> make_tier_program(const Trace& trace) {
    TM_ASSIGN(const bool has_uses, says_uses(trace));
    Builder builder(trace.info(), has_uses);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    while (true) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        TM_TRY(builder.add(batch));
    }
    TierProgram program = builder.take();
    program.events = trace.info().event_count;
    program.trace_hash = trace.recorded_hash();
    return program;
}

}  // namespace tidemark
