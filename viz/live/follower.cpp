// A thread that reads and feeds; a screen that polls its progress.
#include "viz/live/follower.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/base/caught.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "core/base/threads.h"
#include "traces/live/recording_chain.h"
#include "traces/live/remainder.h"
#include "viz/live/live_feed.h"

namespace tidemark::viz {
namespace {

// How long the reader sleeps when there is nothing to read: half a frame of a 60 Hz screen.
// Of one history; above that a new one starts from what is live. About 30 bytes each, on disk.
constexpr std::uint64_t kFollowedEvents = 200'000'000;
constexpr auto kFollowerRest = std::chrono::milliseconds(8);
// The rate that is shown is of the last half second or more.
constexpr Nanoseconds kRateSpan = 500'000'000;

// Records a second; whatever the counters of a program say.
double rate_of(std::uint64_t from, std::uint64_t to, Nanoseconds time) {
    constexpr double kHighest = 1e12;
    const auto records = static_cast<double>(to > from ? to - from : 0);
    return std::min(records * 1e9 / static_cast<double>(time), kHighest);
}

}  // namespace

Nanoseconds shift_of(const live::Header& header, Nanoseconds origin) {
    constexpr Nanoseconds kMost = Nanoseconds{1} << 61U;  // whatever a header says
    const Nanoseconds start = std::max<Nanoseconds>(header.start_time, 0);
    return origin <= 0 ? 0 : std::clamp<Nanoseconds>(start - origin, 0, kMost);
}

// The reader's thread owns chain, feed and what they need; the screen sees what `mutex` guards.
struct Follower::State {
    State(const live::LiveProgram& attached, const FollowOptions& chosen)
        : program(attached),
          options(chosen),
          chain(attached.header, std::max(attached.counters.first_segment, 1U),
                live::Owner::oneself),
          last_segment(attached.counters.last_segment) {}

    void work();
    Result<bool> read_some();
    Result<bool> read_end();
    void share();
    void fail_with(const Error& error);

    // Waits for `mutex`'s condition; false: to stop.
    bool rest(bool idle);

    const live::LiveProgram program;  // as it was when it was attached
    const FollowOptions options;
    live::RecordingChain chain;
    std::unique_ptr<LiveFeed> feed;
    std::uint64_t next_sequence = 0;
    std::uint32_t last_segment = 0;  // as last seen; 0 = unknown

    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    bool stopping = false;
    bool paused = false;
    bool idle = false;        // there was nothing more to read the last time
    bool over = false;        // and nothing will come
    std::uint64_t turns = 0;  // of the reader
    std::uint64_t read = 0;   // sequences below are in the history
    std::shared_ptr<const History> history;
    FeedCounts counts;
    Error error;
    bool failed = false;

    // The screen's.
    Stopwatch watch;
    live::ProgramCounters counters;
    bool alive = true;
    Nanoseconds seen_alive = 0;  // when it last was, on the axis
    Nanoseconds rate_since = 0;
    std::uint64_t rate_from = 0;
    double rate = 0;
    FeedCounts shown;
    bool detached = false;
    bool was_over = false;
    bool was_alive = true;

    Thread thread;  // last: it uses most of the above until it is joined
};

void Follower::State::share() {
    const std::lock_guard lock(mutex);
    history = feed->history();
    counts = feed->counts();
    read = next_sequence;
    changed.notify_all();
}

void Follower::State::fail_with(const Error& problem) {
    const std::lock_guard lock(mutex);
    error = problem;
    failed = true;
    over = true;
    changed.notify_all();
}

bool Follower::State::rest(bool found_nothing) {
    std::unique_lock lock(mutex);
    ++turns;
    idle = found_nothing;
    if (found_nothing)
        changed.notify_all();
    if (paused)
        changed.wait(lock, [this] { return stopping || !paused; });
    else if (found_nothing)
        changed.wait_for(lock, kFollowerRest, [this] { return stopping; });
    return !stopping;
}

// One piece of the recording; false if there is none now.
Result<bool> Follower::State::read_some() {
    TM_ASSIGN(live::ChainPiece piece, chain.next(last_segment));
    if (!piece.found) {
        const std::uint32_t before = last_segment;
        const auto now = live::read_program(program.path);
        last_segment = now ? now->counters.last_segment : 0;
        if (last_segment == before)
            return false;
        TM_ASSIGN(piece, chain.next(last_segment));
    }
    if (!piece.found)
        return false;
    next_sequence = piece.next_sequence;
    TM_TRY(feed->add(piece));
    share();
    return true;
}

// Nothing was found: because the program has ended? True when everything has been read.
Result<bool> Follower::State::read_end() {
    if (feed->counts().ended)
        return true;
    const auto left = live::open_program(program.path);
    const bool same = left && left->program.header.session == program.header.session;
    if (same && left->program.alive)
        return false;
    // Between the two looks the last records may have been written.
    TM_ASSIGN(const bool more, read_some());
    if (more || feed->counts().ended)
        return feed->counts().ended;
    if (!same)
        return true;  // somebody removed its files
    if (options.recovers) {
        const auto recovered = live::recover(left->program);
        // The end is in the recording now, or will be as soon as another follower is done.
        if (recovered || recovered.error().code == ErrorCode::not_found)
            return false;
    }
    live::Remainder rest = live::read_remainder(left->reader(), left->program, next_sequence, 0);
    TM_TRY(feed->add({.found = true, .records = std::move(rest.records)}));
    share();
    return true;
}

void Follower::State::work() {
    for (;;) {
        Result<bool> found = read_some();
        if (found && !*found) {
            Result<bool> ended = read_end();
            if (ended && *ended) {
                const Result<void> finished = feed->finish();
                share();
                if (!finished)
                    return fail_with(finished.error());
                const std::lock_guard lock(mutex);
                over = true;
                idle = true;
                changed.notify_all();
                return;
            }
            if (!ended)
                found = tl::make_unexpected(ended.error());
        }
        if (!found)
            return fail_with(found.error());
        if (!rest(!*found))
            return;
    }
}

Follower::Follower(std::unique_ptr<State> state) : state_(std::move(state)) {}

Follower::~Follower() {
    detach();
}

Result<std::unique_ptr<Follower>> Follower::start(const live::LiveProgram& program,
                                                  const FollowOptions& options) {
    auto state = std::make_unique<State>(program, options);
    TM_ASSIGN(state->feed, LiveFeed::create(program.header, kFollowedEvents,
                                            shift_of(program.header, options.origin)));
    state->history = state->feed->history();
    state->counters = program.counters;
    state->alive = program.alive;
    state->rate_from = program.counters.sequence;
    if (program.alive && program.age > 0)  // until there is a recent one: since the start
        state->rate = rate_of(0, program.counters.sequence, program.age);
    State* const work = state.get();
    TM_ASSIGN(state->thread, Thread::start("tm-follow", [work] {
                  try {
                      work->work();
                  } catch (...) {
                      work->fail_with(error_of(std::current_exception()));
                  }
              }));
    return std::unique_ptr<Follower>(new Follower(std::move(state)));
}

ViewedRun Follower::new_run() const {
    ViewedRun run;
    const live::LiveProgram& program = state_->program;
    run.label = fmt::format("{} ({})", program.name(), program.process());
    run.trace_name = program.name();
    run.policy = "live";
    run.state.phase = LoadState::Phase::loading;
    run.state.activity = fmt::format("reading what {} recorded", program.name());
    run.live = LiveState{.process = program.process()};
    const std::lock_guard lock(state_->mutex);
    run.history = state_->history;
    return run;
}

bool Follower::poll(ViewedRun& run) {
    State& state = *state_;
    FeedCounts counts;
    bool over = false;
    bool idle = false;
    {
        const std::lock_guard lock(state.mutex);
        run.history = state.history;
        counts = state.counts;
        over = state.over;
        idle = state.idle;
        run.live = LiveState{.paused = state.paused, .process = state.program.process()};
        if (state.failed) {
            run.state.phase = LoadState::Phase::failed;
            run.state.error = state.error;
        }
    }
    if (run.state.phase == LoadState::Phase::loading &&
        (idle || over || run.history->counts().events > 0)) {
        run.state.phase = LoadState::Phase::ready;
        run.state.share = 1;
    }
    if (!over) {
        // A program that no longer exists keeps its last figures.
        const auto now = live::read_program(state.program.path);
        state.alive = now && now->alive && now->header.session == state.program.header.session;
        if (state.alive) {
            state.counters = now->counters;
            state.seen_alive = now->age + shift_of(state.program.header, state.options.origin);
        }
    }
    const Nanoseconds elapsed = state.watch.elapsed();
    if (elapsed - state.rate_since >= kRateSpan) {
        state.rate = rate_of(state.rate_from, state.counters.sequence, elapsed - state.rate_since);
        state.rate_since = elapsed;
        state.rate_from = state.counters.sequence;
    }
    run.live->alive = state.alive && !over;
    run.live->events_per_second = run.live->alive ? state.rate : 0;
    run.live->ring_share = run.live->alive ? state.counters.fullest_ring : 0;
    run.live->dropped = std::max(state.counters.dropped, counts.lost) + counts.forgotten;
    run.live->unknown_frees = counts.unknown_frees;
    run.live->died = counts.died;
    run.live->now = state.seen_alive;
    const bool changed = counts.records != state.shown.records || over != state.was_over ||
                         run.live->alive != state.was_alive;
    state.shown = counts;
    state.was_over = over;
    state.was_alive = run.live->alive;
    if (state.detached)
        run.live.reset();  // what was read stays, as of any recording
    return changed;
}

void Follower::pause(bool paused) {
    const std::lock_guard lock(state_->mutex);
    state_->paused = paused;
    state_->changed.notify_all();
}

void Follower::detach() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        state_->changed.notify_all();
    }
    state_->thread.join();
    const std::lock_guard lock(state_->mutex);
    state_->detached = !state_->over;
    state_->over = true;
}

bool Follower::over() const {
    const std::lock_guard lock(state_->mutex);
    return state_->over;
}

void Follower::wait() {
    const auto now = live::read_program(state_->program.path);
    std::unique_lock lock(state_->mutex);
    // Events not recorded by now may never be; for a program that has ended everything is here.
    const std::uint64_t wanted = now ? now->counters.written : 0;
    const std::uint64_t turn = state_->turns + 2;
    state_->changed.wait(lock, [&] {
        // Events that count as written may never come if the disk was full.
        const bool found_nothing = state_->turns >= turn && state_->idle;
        const bool read_all = now && state_->read >= wanted;
        return state_->over || state_->paused || read_all || found_nothing;
    });
}

const live::LiveProgram& Follower::program() const {
    return state_->program;
}

const FollowOptions& Follower::options() const {
    return state_->options;
}

}  // namespace tidemark::viz
