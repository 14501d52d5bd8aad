// Follower: looks at a live program: reads its recording from the oldest existing piece, and then
// what is added, on a thread of its own, and makes a history of it that all views can show while it
// grows. The program isn't paused and doesn't notice.
//
// When the program ends or dies, everything that it had published is shown and stays. If a part of
// the recording is discarded before it was read (the follower was paused, or is too slow), that
// part is marked as lost, and the view continues from what is live.
//
// The screen's thread only; the thread inside owns what it reads.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "traces/live/programs.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct FollowOptions {
    // Finish what a dead program left: append it to its recording and take it off the list of
    // `tidemark live`. Otherwise it is read in place: a follower that only looks changes nothing.
    bool recovers = false;
    // Where the axis starts, by the machine's monotonic clock; 0: where the program does.
    Nanoseconds origin = 0;
};

// Where a program starts on an axis with that origin.
Nanoseconds shift_of(const live::Header& header, Nanoseconds origin);

class Follower {
  public:
    // Starts to read immediately. Errors (io): no file for the history, no thread.
    static Result<std::unique_ptr<Follower>> start(const live::LiveProgram& program,
                                                   const FollowOptions& options = {});

    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;
    ~Follower();  // detach()

    // The run as it is shown first: label, names, state.
    ViewedRun new_run() const;

    // Brings what is known now into `run`; true if something changed. O(rings), about 20 us.
    bool poll(ViewedRun& run);

    // While paused nothing is read. What is recorded meanwhile is read afterwards, unless it has
    // been discarded.
    void pause(bool paused);

    // Stops reading for good; the history stays. Another follower may attach to the program.
    void detach();

    // Nothing will be read any more: the program has ended, the reading failed, or detach().
    bool over() const;

    // Waits until everything recorded so far is in the history, or nothing will come.
    void wait();

    const live::LiveProgram& program() const;
    const FollowOptions& options() const;

  private:
    struct State;

    explicit Follower(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace tidemark::viz
