// Attaching: the live programs that a session shows, and those that it could show.
//
// The screen's thread only.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/live/programs.h"
#include "viz/live/follower.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// The live programs of a session: each has a run there.
class LiveRuns {
  public:
    // `session` outlives it.
    explicit LiveRuns(Session& session) : session_(session) {}

    // Adds a run that follows the program that `text` names: a process id, a name or its start. A
    // program that is shown already is attached again in its run if it was detached. Returns the
    // run's index. Errors: those of find_program, with a list of the programs that can be attached;
    // io.
    Result<std::size_t> attach(std::string_view text, const FollowOptions& options = {});

    // Aligned by the clock (as at first), or each from its own start. Programs whose position on
    // the axis changes by that, or by attaching an older one, are read again.
    Result<void> align(bool by_clock);

    bool by_clock() const { return by_clock_; }

    // Brings what is new into the session; true if there was anything.
    bool poll();

    void pause(bool paused);

    // Stops following the program of a run; it stays as it is.
    void detach(std::size_t run);

    // Waits until everything recorded so far is in the session: for stills.
    void wait();

    bool empty() const { return followers_.empty(); }

    // Any of the programs is alive and followed: draw again now and then.
    bool following() const;

  private:
    struct Followed {
        std::size_t run = 0;
        std::unique_ptr<Follower> follower;
    };

    // The earliest start; 0 where each has its own.
    Nanoseconds origin(const live::LiveProgram* more = nullptr) const;
    Result<void> move_to(Nanoseconds origin);

    Session& session_;
    std::vector<Followed> followers_;
    bool by_clock_ = true;
};

// The programs that are live now and could be attached, by process.
std::vector<live::LiveProgram> attachable_programs();

}  // namespace tidemark::viz
