// WaitQueue: where threads wait for memory of any space of a machine, in one fair order.
//
// A request waits with an *attempt*: a call that tries to take what it wants from one of its
// spaces. Whoever frees capacity calls notify(), and that call itself makes the attempts of those
// who wait, in the order of fair_order.h, and wakes exactly those who were served. A woken thread
// has its memory; it never wakes to find it gone, and a request is tried on all of its spaces
// whatever was freed (cuCascade's defects 8 and 10).
//
// Why no wake-up is lost. Say that capacity is freed, F, and notify(), N, is called after that. A
// request w makes its first attempt and enters the order within one hold of the queue's lock; N
// holds the same lock.
//   - If w's hold comes before N's, w is in the order when N's round comes by, and is tried after
//   F.
//   - If it comes after N's, then w's first attempt comes after F, and sees what F freed.
// Without anyone waiting N takes no lock: it only reads the number of those who wait, which w
// raises before its first attempt. If N reads 0, w's raise comes after that read and so w's attempt
// after F. (This needs attempts and frees to be ordered with each other by a lock, or by
// sequentially consistent atomics: MemorySpace's lock does it.)
// What else may let a request run is a round's work too: one that leaves or is served while it
// holds its spaces closed (fair_order.h) has those behind it tried. So a request sleeps only while
// it does not fit or is closed out. Small cases of this are explored to the end by
// tests/core/tiers/wait_model.h.
//
// Lock order: the queue's lock comes before any space's. Attempts are made under it and take
// spaces' locks; whoever calls notify() or wait() holds no lock that an attempt takes. A notify()
// from within an attempt (a space that gives back half of what it tried to take) does nothing if
// the attempt fails, and is a round of its own if it succeeds.
//
// Thread-safety: every call may be made from any thread. The owner destroys the queue only when
// nobody will call wait() or notify() any more; threads that are within wait() by then are sent
// home, and waited for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/base/stopwatch.h"
#include "core/base/units.h"
#include "core/tiers/fair_order.h"
#include "core/tiers/owner.h"

namespace tidemark {

// Who waits, for what, and how long he would.
struct WaitRequest {
    SpaceMask spaces = kAllSpaces;  // any of which may serve it; not 0
    std::int32_t priority = 0;      // higher goes first
    // Nothing: for ever. Zero or less: not at all, the request is tried once.
    std::optional<std::chrono::nanoseconds> timeout = {};
    // Another thread ends the wait by its std::stop_source, with no lock held that an attempt
    // takes.
    std::stop_token cancel = {};
    // For deadlock detection and its report: whose request it is, and how much it wants (of each of
    // the spaces that it wants it from). A size of 0 is never found in a deadlock.
    OwnerId owner = OwnerId::nobody;
    std::string_view label = {};  // for a person; lives as long as the call
    Bytes size = 0;
};

enum class WaitEnd : std::uint8_t { granted, timed_out, cancelled, shut_down, deadlock };

std::string_view to_text(WaitEnd end);  // "granted", "timed out", ...

struct WaitResult {
    WaitEnd end = WaitEnd::granted;
    // Who holds what and waits for what, if the request was found in a deadlock: always with
    // WaitEnd::deadlock, and with the others if the queue only reports (OnDeadlock::report).
    std::string report = {};
};

// What a request does to be served. Called by whatever thread, one at a time, mostly under the
// queue's lock, until it succeeds; never after wait() or try_now() has returned.
class WaitAttempt {
  public:
    WaitAttempt() = default;
    WaitAttempt(const WaitAttempt&) = delete;
    WaitAttempt& operator=(const WaitAttempt&) = delete;

    // Tries to take what is wanted from the spaces `open`, a part of WaitRequest::spaces. Gives the
    // spaces that it took from; 0 if it does not fit, and then nothing has changed. Does not block,
    // but for a space's lock.
    virtual SpaceMask take(SpaceMask open) = 0;

  protected:
    ~WaitAttempt() = default;
};

// One who waits, as the detection sees him.
struct Waiter {
    OwnerId owner = OwnerId::nobody;
    std::string_view label;
    Bytes size = 0;  // of one of `spaces`
    SpaceMask spaces = 0;
    std::uint64_t arrival = 0;  // later ones have higher numbers
    WaitStanding standing;
};

// What a look at those who wait has shown.
struct WaitFindings {
    // The deadlock: who can never run, as positions among the waiters, rising; none: all is well.
    std::vector<std::size_t> stuck = {};
    std::size_t victim = 0;   // the one of them who should give up
    std::string report = {};  // who holds what and waits for what, for a person
    // Who could run but for the order, while the memory that he holds keeps those from running who
    // hold him up: to be let past (FairOrder::let_pass).
    std::vector<std::size_t> let_pass = {};
};

// Looks for deadlocks among those who wait, in their order (wait_graph.h). Called under the queue's
// lock: it may take spaces' locks, and calls nothing of the queue.
class DeadlockDetector {
  public:
    DeadlockDetector() = default;
    DeadlockDetector(const DeadlockDetector&) = delete;
    DeadlockDetector& operator=(const DeadlockDetector&) = delete;

    virtual WaitFindings find(std::span<const Waiter> waiters) = 0;

  protected:
    ~DeadlockDetector() = default;
};

enum class OnDeadlock : std::uint8_t {
    report,       // everybody goes on waiting; WaitResult::report says so in the end
    fail_victim,  // the member whose wait closed the circle ends with WaitEnd::deadlock
};

struct WaitOptions {
    std::uint32_t bypass_limit = kDefaultBypassLimit;  // see fair_order.h
    DeadlockDetector* detector = nullptr;              // none: no detection; outlives the queue
    OnDeadlock on_deadlock = OnDeadlock::fail_victim;
    // Detection runs when a request begins to wait, and again whenever one has waited for so long:
    // holds may change hands without anyone beginning to wait.
    std::chrono::nanoseconds detect_every = std::chrono::milliseconds(100);
};

// What has become of the requests that could not be served at once, try_now() left out.
struct WaitCounters {
    std::uint64_t waits = 0;
    std::uint64_t granted = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t shut_down = 0;
    std::uint64_t deadlocked = 0;  // ended by one
    std::uint64_t deadlocks = 0;   // found
};

class WaitQueue {
  public:
    explicit WaitQueue(WaitOptions options = {});
    WaitQueue(const WaitQueue&) = delete;
    WaitQueue& operator=(const WaitQueue&) = delete;

    // Shuts down, and waits until everyone has left.
    ~WaitQueue();

    // Waits until `attempt` has succeeded (granted), or says what came before. A request that can
    // be served at once is, also with a timeout of zero; a cancelled one or one of a queue that is
    // shut down is not. O(waiting) to begin with, and the detection's time.
    WaitResult wait(const WaitRequest& request, WaitAttempt& attempt);

    // The same with a callable `SpaceMask(SpaceMask open)`.
    template <class Take>

    requires(!std::is_base_of_v<WaitAttempt, std::remove_cvref_t<Take>>) WaitResult
        wait(const WaitRequest& request, Take&& take) {
        Call<Take> attempt(take);
        return wait(request, static_cast<WaitAttempt&>(attempt));
    }

    // Tries once without waiting, and passes nobody who may not be passed. Timeout, cancellation
    // and owner do not matter. False also after shut_down(). O(waiting); without a lock of its own
    // if nobody waits.
    bool try_now(const WaitRequest& request, WaitAttempt& attempt);

    template <class Take>

    requires(!std::is_base_of_v<WaitAttempt, std::remove_cvref_t<Take>>) bool try_now(
        const WaitRequest& request, Take&& take) {
        Call<Take> attempt(take);
        return try_now(request, static_cast<WaitAttempt&>(attempt));
    }

    // Capacity has been freed in the spaces `freed`, or anything else has happened that may let a
    // request succeed. Serves and wakes whoever can now run. One atomic load if nobody waits; else
    // O(waiting) attempts. The caller holds no lock of a space.
    void notify(SpaceMask freed = kAllSpaces);

    // Ends every wait, those to come too. Idempotent.
    void shut_down();

    // How many wait now. O(1), no lock.
    std::size_t waiting() const { return waiting_.load(); }

    WaitCounters counters() const;

  private:
    struct Place;
    class Inside;

    template <class Take>
    class Call final : public WaitAttempt {
      public:
        explicit Call(Take& take) : take_(take) {}

        SpaceMask take(SpaceMask open) override { return take_(open); }

      private:
        Take& take_;
    };

    using Lock = std::unique_lock<std::mutex>;

    WaitResult wait_slowly(const WaitRequest& request, WaitAttempt& attempt);
    void enter(Place& place);
    void sleep(Lock& lock, Place& place);
    bool try_alone(Place& place);
    void round(SpaceMask freed);
    SpaceMask make(Place& place, SpaceMask open, SpaceMask& notified);
    void leave(Place& place, WaitEnd end);
    void finish(Place& place, WaitEnd end);
    void cancel(Place& place);
    void detect();
    bool resolve();
    std::uint64_t& counter(WaitEnd end);

    const WaitOptions options_;
    mutable std::mutex mutex_;
    FairOrder<Place*> order_;
    std::uint64_t arrivals_ = 0;
    WaitCounters counters_;
    SpaceMask notified_within_ = 0;  // by the attempt being made
    Stopwatch since_detection_;
    std::uint32_t inside_ = 0;  // threads within wait()
    std::condition_variable drained_;

    std::atomic<std::size_t> waiting_ = 0;  // requests in order_, or about to enter it
    std::atomic<bool> down_ = false;
    std::atomic<std::thread::id> attempting_;  // the thread whose round is being made
};

}  // namespace tidemark
