// Replays the run in parts, to see where memory is idle; then that stretch, to the event; then with
// the caches emptied.
#include "replay/analysis/advise/idle_stretch.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kParts = 256;      // of a run
constexpr Bytes kIdlePart = 5;           // of the peak: one part in so many
constexpr std::uint64_t kRestPart = 10;  // of the run, the same

// What one part of a run, or a few, needed and had.
struct Need {
    Bytes active = 0;            // at most
    Bytes reserved = ~Bytes{0};  // at least
    Bytes most_reserved = 0;

    void add(const Need& other) {
        active = std::max(active, other.active);
        reserved = std::min(reserved, other.reserved);
        most_reserved = std::max(most_reserved, other.most_reserved);
    }

    Bytes idle() const { return reserved - std::min(reserved, active); }
};

Need need_of(const Usage& usage) {
    return {usage.active, usage.reserved, usage.reserved};
}

class Parts final : public Observer {
  public:
    explicit Parts(std::uint64_t events)
        : width_(std::max<std::uint64_t>((events + kParts - 1) / kParts, 1)) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count; ++i) {
            const std::size_t part = (outcomes.first_event + i) / width_;
            parts_[std::min(part, kParts - 1)].add(need_of(outcomes.usage[i]));
        }
    }

    void on_end(Nanoseconds time) override { makespan_ = time; }

    Nanoseconds makespan() const { return makespan_; }

    Bytes peak() const { return std::ranges::max(parts_, {}, &Need::most_reserved).most_reserved; }

    // The parts whose events and idle bytes are most, multiplied.
    IdleStretch most_idle(std::uint64_t events) const {
        IdleStretch best;
        double most = 0;
        for (std::size_t first = 0; first * width_ < events; ++first) {
            Need need;
            for (std::size_t last = first; last < kParts && last * width_ < events; ++last) {
                need.add(parts_[last]);
                const std::uint64_t from = first * width_;
                const std::uint64_t to = std::min((last + 1) * width_, events);
                const double area =
                    static_cast<double>(need.idle()) * static_cast<double>(to - from);
                if (area > most) {
                    most = area;
                    best = {
                        .from = from, .to = to, .active = need.active, .reserved = need.reserved};
                }
            }
        }
        return best;
    }

  private:
    std::uint64_t width_;
    std::array<Need, kParts> parts_ = {};
    Nanoseconds makespan_ = 0;
};

// Follows a stretch to the events where it really begins and ends.
class Follower final : public Observer {
  public:
    explicit Follower(IdleStretch found) : found_(found), inside_(found.from) { found_.from = 0; }

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count && !ended_; ++i) {
            const std::uint64_t event = outcomes.first_event + i;
            const Usage& usage = outcomes.usage[i];
            const bool fits = usage.active <= found_.active && usage.reserved >= found_.reserved;
            if (begun_ && event == found_.from)
                found_.time = events.time[i];
            if (fits && !begun_)
                found_.from = event + 1;
            begun_ = fits;
            ended_ = !fits && event > inside_;
            if (!ended_)
                found_.to = event + 1;
        }
    }

    const IdleStretch& found() const { return found_; }

  private:
    IdleStretch found_;
    std::uint64_t inside_;
    bool begun_ = false;
    bool ended_ = false;
};

// What is reserved at most meanwhile.
class Meanwhile final : public Observer {
  public:
    explicit Meanwhile(const IdleStretch& when) : when_(when) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count; ++i) {
            const std::uint64_t event = outcomes.first_event + i;
            if (event >= when_.from && event < when_.to)
                reserved_ = std::max(reserved_, outcomes.usage[i].reserved);
        }
    }

    void on_end(Nanoseconds time) override { makespan_ = time; }

    Bytes reserved() const { return reserved_; }

    Nanoseconds makespan() const { return makespan_; }

  private:
    const IdleStretch& when_;
    Bytes reserved_ = 0;
    Nanoseconds makespan_ = 0;
};

Result<void> follow(const Trace& trace, const TrialSetup& setup, Observer& observer) {
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    Observer* const observers[] = {&observer};
    ReplayLimits limits;
    limits.empty_before = setup.trim_before;
    TM_TRY(machine.replay(trace.info(), *trace.cursor(), observers, std::move(limits)));
    return {};
}

}  // namespace

Result<std::optional<IdleStretch>> find_idle_stretch(const Trace& trace, const TrialSetup& setup) {
    const std::uint64_t events = trace.info().event_count;
    Parts parts(events);
    TM_TRY(follow(trace, setup, parts));
    const auto counts = [&parts](Bytes bytes) { return bytes > parts.peak() / kIdlePart; };
    IdleStretch found = parts.most_idle(events);
    if (found.to - found.from < events / kRestPart || !counts(found.reserved - found.active))
        return std::optional<IdleStretch>();
    Follower follower(found);
    TM_TRY(follow(trace, setup, follower));
    found = follower.found();
    TrialSetup emptying = setup;
    emptying.trim_before = found.from;
    Meanwhile meanwhile(found);
    TM_TRY(follow(trace, emptying, meanwhile));
    found.emptied = meanwhile.reserved();
    found.longer = std::max<Nanoseconds>(meanwhile.makespan() - parts.makespan(), 0);
    if (found.emptied > found.reserved || !counts(found.given_back()))
        return std::optional<IdleStretch>();
    return std::optional<IdleStretch>(found);
}

}  // namespace tidemark
