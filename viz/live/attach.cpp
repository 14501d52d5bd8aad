// Followers and the runs that they fill.
#include "viz/live/attach.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {

Nanoseconds LiveRuns::origin(const live::LiveProgram* more) const {
    if (!by_clock_)
        return 0;
    Nanoseconds first = more == nullptr ? 0 : more->header.start_time;
    for (const Followed& followed : followers_) {
        const Nanoseconds start = followed.follower->program().header.start_time;
        first = first == 0 ? start : std::min(first, start);
    }
    return first;
}

Result<void> LiveRuns::move_to(Nanoseconds origin) {
    for (Followed& followed : followers_) {
        const live::LiveProgram program = followed.follower->program();
        FollowOptions options = followed.follower->options();
        const bool stays =
            shift_of(program.header, options.origin) == shift_of(program.header, origin);
        options.origin = origin;
        if (stays)
            continue;
        TM_ASSIGN(followed.follower, Follower::start(program, options));
        session_.runs[followed.run] = followed.follower->new_run();
    }
    return {};
}

Result<void> LiveRuns::align(bool by_clock) {
    by_clock_ = by_clock;
    return move_to(origin());
}

Result<std::size_t> LiveRuns::attach(std::string_view text, const FollowOptions& wanted) {
    TM_ASSIGN(const live::LiveProgram program, live::find_program(text));
    FollowOptions options = wanted;
    options.origin = origin(&program);
    TM_TRY(move_to(options.origin));
    const auto known = std::ranges::find_if(followers_, [&](const Followed& followed) {
        return followed.follower->program().header.session == program.header.session;
    });
    if (known != followers_.end() && !known->follower->over())
        return known->run;
    TM_ASSIGN(std::unique_ptr<Follower> follower, Follower::start(program, options));
    if (known != followers_.end()) {
        known->follower = std::move(follower);
        session_.runs[known->run] = known->follower->new_run();
        return known->run;
    }
    const std::size_t run = session_.runs.size();
    session_.runs.push_back(follower->new_run());
    followers_.push_back({run, std::move(follower)});
    return run;
}

bool LiveRuns::poll() {
    bool changed = false;
    for (Followed& followed : followers_)
        changed = followed.follower->poll(session_.runs[followed.run]) || changed;
    return changed;
}

void LiveRuns::pause(bool paused) {
    for (Followed& followed : followers_)
        followed.follower->pause(paused);
}

void LiveRuns::detach(std::size_t run) {
    for (Followed& followed : followers_) {
        if (followed.run == run)
            followed.follower->detach();
    }
}

void LiveRuns::wait() {
    for (Followed& followed : followers_)
        followed.follower->wait();
    static_cast<void>(poll());
}

bool LiveRuns::following() const {
    return std::ranges::any_of(followers_, [&](const Followed& followed) {
        const std::optional<LiveState>& live = session_.runs[followed.run].live;
        return live && live->alive && !live->paused;
    });
}

std::vector<live::LiveProgram> attachable_programs() {
    std::vector<live::LiveProgram> programs = live::list_programs();
    std::erase_if(programs, [](const live::LiveProgram& program) { return !program.alive; });
    return programs;
}

}  // namespace tidemark::viz
