// Followers and the runs that they fill.
#include "viz/live/attach.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {

Result<std::size_t> LiveRuns::attach(std::string_view text, const FollowOptions& options) {
    TM_ASSIGN(const live::LiveProgram program, live::find_program(text));
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
