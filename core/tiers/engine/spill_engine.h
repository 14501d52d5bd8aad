// SpillEngine: which buffer leaves a space, what is copied where and when, who gets access and who
// gets a reservation, as a state machine without lock, threads, clock or device. A real program
// has it behind a lock (TieredStore, tiered_store.h), a replay on the virtual clock
// (replay/tiers): what is predicted is what runs. SpillHands (spill_hands.h) carries out what it
// decides.
//
// Copies. A buffer has one *valid copy* at least, and at most one in each space: all hold the same
// bytes. The one in the fastest tier (of equals the first in order of spaces) is its home, the
// authoritative one. A valid copy below another one is a *spare*: kept because leaving the upper
// tier is free then, and the first to go when its own space needs room. Granting a write makes all
// other copies void. A place that is being filled is no copy until the fill has ended well, and a
// copy that was given up is none from that moment on: its place is freed when the program's queued
// work on the buffer has passed (specs A-T20, defect 23). So a failure anywhere leaves the bytes
// where they were. A *blank* buffer, which nobody has written to, has no bytes to lose: it leaves
// and comes back without a copy, and may be nowhere.
//
// Moves. A buffer has one move in flight at most: spill, fetch or its creation. A move waits in
// the target space's line for room, gets its place, and is copied. While it moves it is no victim;
// readers are served meanwhile where it is, and a reader makes a spill of it pointless: the copy
// becomes a spare. A writer cancels it.
//
// Room. Each space has a line of moves that want room, first come first served; its head makes
// room: spares first, then the victims of the space's policy, until what is leaving suffices. A
// victim's copy may wait in the line of a slower space, which does the same (the cascade); when
// that finds no room, the next slower one is tried. A head that can't be served even then is
// refused, or, if it is patient, tried again whenever something was let go. A victim whose copy
// fails stays, readable; it is not tried again before somebody asks for room anew.
//
// Groups. Accesses that belong together (all buffers of a kernel) are granted together. One that
// finds no room for all of its buffers lets go of those it has, so that two of them never wait for
// each other.
//
// Reservations are granted in fair order (fair_order.h); room is made for the first, out of what
// nobody has reserved, and moves that have no reservation wait meanwhile.
//
// Looking ahead. A forecast (forecast.h) tells the policies when buffers are used again; with
// SpillOptions::prefetch what it expects is brought back before its use, and what would have to
// leave before a peak leaves while the link has time (spill_ahead.cpp).
//
// Accounting. Every place is charged to its MemorySpace before it is made and given back after it
// was freed. What a departure is worth (its *credit*) is what `used` will fall by: nothing for
// bytes of a living reservation that isn't exceeded, nothing for memory that the store does not own
// (defect 27).
//
// Thread-safety: none. Lock order: the engine is called under the store's lock and takes spaces'
// locks inside (over-reservation policies must not call the store). Requests are O(log buffers) and
// what a policy passes over; an access to a buffer that is there and free is O(1) but for the
// policy; schedule() is O(work done + moves in flight).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/engine/spill_state.h"
#include "core/tiers/engine/tiered_buffer.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/machine/machine.h"
#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/victims/forecast.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

struct SpillOptions {
    VictimSpec victims;      // of every space that something can leave; default: lru
    bool keep_clean = true;  // what is copied between tiers stays in both until it is written
    bool upgrade = false;    // bring back what was spilled when there is room below spill_stop
    Bytes background_in_flight = 256_MiB;  // of spilling in the background, at a time, per space
    std::uint32_t place_attempts = 3;      // when the memory itself refuses what was charged
    std::shared_ptr<Forecast> forecast;    // null: nobody knows what comes
    bool guesses = true;                   // the forecast may be wrong
    bool prefetch = false;                 // brings back and sends away as it says
};

// The answer to a request. `refusal` says whether it was granted.
struct SpillAnswer {
    RequestId request{};
    std::optional<std::uint32_t> group;  // granted accesses: to be taken up, or turned down
    std::optional<StoreError> refusal;
    BufferRef buffer;               // of create,
    Place place;                    // and where it is
    FreeReport freed;               // of free_bytes
    MemoryReservation reservation;  // of reserve
};

// What is to be carried out, outside any lock, by one thread at a time.
struct SpillWork {
    // Make a place: answer with placed().
    struct Making {
        BufferRef buffer;
        SpaceId space;
        Bytes size = 0;
    };

    // Begin a copy: answer with started(), and later with copied().
    struct Starting {
        BufferRef buffer;
        CopyOrder order;
    };

    // Free the place, if there is one, then give the charge back: answer with left().
    struct Leaving {
        std::uint64_t departure = 0;
        std::optional<Place> place;
        Charge charge;
        BufferId buffer{};
        bool dropped = false;  // it left to make room, without a copy
    };

    std::vector<Making> making;
    std::vector<Starting> starting;
    std::vector<CopyId> cancelling;
    std::vector<Leaving> leaving;
    std::vector<SpillAnswer> answers;

    bool empty() const {
        return making.empty() && starting.empty() && cancelling.empty() && leaving.empty() &&
               answers.empty();
    }

    void clear() {
        making.clear();
        starting.clear();
        cancelling.clear();
        leaving.clear();
        answers.clear();
    }
};

// A departure whose queued work has to pass before its place is freed.
struct WaitingDeparture {
    std::uint64_t departure = 0;
    std::vector<UsePoint> after;
};

// What `used` of its space falls by when `charge` is given back: less than its size if it was made
// through a reservation that lives. O(1), under the space's lock.
Bytes releasable(const Charge& charge);

class SpillEngine {
  public:
    // `spaces` are those of `machine`, in its order, and outlive the engine, as the machine does.
    SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                SpillOptions options);
    SpillEngine(const SpillEngine&) = delete;
    SpillEngine& operator=(const SpillEngine&) = delete;

    // Without buffers, moves and departures (TM_CHECK).
    ~SpillEngine();

    // Requests; each is answered once by an answer of later work. The program's wishes.
    RequestId create(const BufferSpec& spec);
    RequestId access(BufferRef buffer, const AccessSpec& spec);
    RequestId free_bytes(SpaceId space, Bytes size);
    RequestId reserve(const ReservationWish& wish);

    // Access to several buffers, each once, in the one space of `spec`, whose mode doesn't count.
    // Granted at once: nothing, and no answer comes.
    std::optional<RequestId> access_all(std::span<const UseWish> uses, const AccessSpec& spec);

    // What becomes of accesses that were granted by an answer: they count from now on, and other
    // copies of what they write are void; or the program can't have them, and nothing was written.
    void take_up(std::uint32_t group);
    void turn_down(std::uint32_t group);

    // Where a granted access is, and what its stream has to wait for first.
    Place place(BufferRef buffer, SpaceId space) const;
    std::vector<UsePoint> points_before(BufferRef buffer, const AccessSpec& spec) const;

    // A blank buffer that is nowhere yet: its first access gives it a place.
    BufferRef found(const BufferSpec& spec);

    // A buffer over memory that the program owns, at `place`: not charged, never freed.
    BufferRef adopt(const BufferSpec& spec, const Place& place);

    // Ends an access that was granted. `point`: the program's work on it has been queued up to
    // there; nothing if it has been done.
    void release(BufferRef buffer, SpaceId space, AccessMode mode, std::optional<UsePoint> point);

    // Ends a buffer. Errors: not_found; in_use while somebody has an access. Requests that wait for
    // it are refused.
    Outcome<void> destroy(BufferRef buffer);

    // The program's word on a buffer. False: it is gone.
    bool set_hint(BufferRef buffer, std::int32_t hint);
    bool set_next_use(BufferRef buffer, std::uint64_t operation);
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Has the buffer leave `space` if it may and can. False: it stays.
    bool evict(BufferRef buffer, SpaceId space);

    // The program begins a part of it that has a name: a step, a module.
    void mark(std::uint64_t name_hash);

    // The first of the requests that wait for others gets a last try, or is refused, when none of
    // these will let anything go: the caller knows that. False: nobody waits.
    bool give_up_one();

    // Decides all that can be decided now. `stirred`: something may have become free elsewhere, so
    // patient requests are tried again.
    void schedule(bool stirred);

    // Refuses everything that waits and cancels all moves; nothing new begins.
    void shut_down();

    // Ends every buffer. After shut_down(), when no move is in flight and nobody has an access.
    void end_all();

    // Whether a copy may end, or a point may pass. O(1).
    bool busy() const { return !moving_.empty() || departing() != 0; }

    // Whether there is anything for schedule() to look at, or for take_work() to take. O(1).
    bool restless() const {
        return changed_ || stirred_ || let_go_ || moved_on_ || room_came_ || !work_.empty();
    }

    // The work that has come up since the last call, in exchange for `done`, which is emptied; and
    // of it the answers alone, which any thread may deliver.
    void take_work(SpillWork& done);
    std::vector<SpillAnswer> take_answers();

    // What became of it.
    void placed(BufferRef buffer, tl::expected<Place, PlaceRefusal> place);
    void started(BufferRef buffer, CopyId copy);
    void copied(BufferRef buffer, CopyDone done);
    void left(std::uint64_t departure, Bytes freed);

    // Departures that wait for work to pass; passed() turns one into work.
    std::vector<WaitingDeparture> waiting_departures() const;
    void passed(std::uint64_t departure);

    // The charge of the place that a move fills, to be made smaller when its copy turned out to be
    // (TieredStore does it without the lock), and back.
    std::pair<Charge, Place> filled(BufferRef buffer) const;
    void set_filled(BufferRef buffer, const Charge& charge, const Place& place);

    // Figures. O(1) or O(buffers in flight).
    const SpillCounters& counters(SpaceId space) const;

    std::size_t buffers() const { return living_; }

    bool idle() const;  // no move, no departure, nobody waits

    std::size_t departing() const { return departures_.size() - free_departures_.size(); }

    std::size_t in_flight() const;

    // Where the buffer is: its valid copies, home first. Empty: gone, or not there yet.
    std::vector<SpaceId> where(BufferRef buffer) const;

    // Whether it has a valid copy in `space`. O(copies).
    bool resident(BufferRef buffer, SpaceId space) const;

    // Why the last copy that failed did; of no meaning while counters say that none has.
    const Error& last_failure() const { return last_failure_; }

    ForecastScore forecast_score() const {
        return options_.forecast ? options_.forecast->score() : ForecastScore{};
    }

    // Bytes of a buffer's copy in `space` that would really come free there. 0: none or no copy.
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Whether everything that must hold holds: for tests. O(buffers).
    void check() const;

  private:
    friend class SpaceResidents;

    static constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

    // The table of buffers (spill_engine.cpp).
    SpillBuffer* find(BufferRef ref);
    const SpillBuffer* find(BufferRef ref) const;
    BufferRef ref_of(std::uint32_t id) const;
    std::uint32_t new_buffer(const BufferSpec& spec);
    void end_life(std::uint32_t id);
    void end_buffer(std::uint32_t id);
    std::size_t position(SpaceId space) const;
    void refuse(RequestId request, StoreError error);
    double rate(std::size_t source, std::size_t target) const;
    bool anybody_waits() const;

    // Copies (spill_copies.cpp).
    void add_copy(std::uint32_t id, BufferCopy copy);
    void drop_copy(std::uint32_t id, std::size_t space, Departure why, RequestId claim,
                   bool makes_room = false);
    void drop_others(std::uint32_t id, std::size_t space);
    void depart(PlaceDeparture departure);
    void let_leave(const PlaceDeparture& departure);
    void note_leaving(std::size_t space, RequestId claim, Bytes credit);
    void note_left(std::size_t space, RequestId claim, Bytes credit);
    void classify(std::uint32_t id);
    void revise(std::uint32_t id);
    void touch(std::uint32_t id, const UseWish& use, std::size_t space);
    void note_gone(std::uint32_t id, std::size_t space);
    void forget_gone(std::uint32_t id);
    bool encoded_in(const SpillBuffer& buffer, std::size_t space) const;
    Bytes credit(const BufferCopy& copy) const;
    bool may_leave(std::size_t space, std::uint32_t id) const;
    BufferFacts facts(std::size_t space, std::uint32_t id) const;

    // Accesses (spill_access.cpp).
    void serve(std::uint32_t id);
    bool serve_first(std::uint32_t id);
    bool serve_reader(std::uint32_t id, WaitingUse waiting);
    bool serve_writer(std::uint32_t id, WaitingUse waiting);
    bool fetch_for(std::uint32_t id, WaitingUse waiting);
    bool used_elsewhere(const SpillBuffer& buffer, std::size_t space) const;
    void grant(std::uint32_t id, WaitingUse waiting);
    void hold(BufferCopy& copy);
    void let_go(std::uint32_t id, std::size_t space, AccessMode mode);

    // Groups (spill_groups.cpp).
    std::uint32_t new_group(RequestId request, const AccessSpec& spec);
    void enter(std::uint32_t group);
    bool grant_at_once(std::span<const UseWish> uses, const AccessSpec& spec, std::size_t space);
    bool free_now(const SpillBuffer& buffer, AccessMode mode, std::size_t space) const;
    void count_wish(std::uint32_t id, std::size_t space, AccessMode mode);
    void complete(std::uint32_t group);
    void withdraw(std::uint32_t group);
    void end_group(std::uint32_t group);
    void fail_group(std::uint32_t group, StoreError error);
    void fail_first(std::uint32_t id, StoreError error);
    void no_room_for_first(std::uint32_t id, StoreError error);
    void take_out(std::uint32_t id, WaitingUse waiting);
    bool might_fit(const AccessGroup& group) const;
    void line_up_parked();
    void enter_parked();

    // Moves (spill_moves.cpp).
    void begin_move(std::uint32_t id, BufferMove move);
    void line_up(std::uint32_t id, bool first);
    bool cancel_move(std::uint32_t id);
    BufferMove end_move(std::uint32_t id);
    void stay(BufferMove& move);
    void after_move(std::uint32_t id);
    void give_up_target(BufferMove& move);
    void fill(std::uint32_t id, Bytes stored);
    void filled_by_spill(std::uint32_t id, const BufferMove& move);
    void filled_by_fetch(std::uint32_t id, const BufferMove& move);
    void fail_move(std::uint32_t id, StoreError error);
    bool try_next_target(std::uint32_t id);
    std::size_t best_source(const SpillBuffer& buffer, std::size_t target) const;
    void size_up(const SpillBuffer& buffer, BufferMove& move) const;

    // Room (spill_room.cpp).
    void serve_line(std::size_t space);
    bool serve_head(std::size_t space);
    void no_room_for(std::uint32_t id, const MemorySpace& space);
    bool make_room(std::size_t space, Bytes need, ReservationId asking);
    std::optional<std::uint32_t> pick(std::size_t space, bool lenient);
    std::optional<std::uint32_t> pick_any(std::size_t space);
    void leave(std::uint32_t id, std::size_t space, RequestId claim);
    Bytes spare(std::size_t space) const;
    void claim_unclaimed(FreeRequest& request, Bytes need);
    void serve_frees(std::size_t space);
    bool serve_free(FreeRequest& request);
    void explain(FreeReport& report, std::size_t space) const;
    void spill_in_background(std::size_t space);
    void upgrade(std::size_t space);
    void unbar();
    void look_outside();

    // Reservations (spill_reservations.cpp).
    void serve_reservations();
    SpaceMask try_reservation(std::size_t waiting, SpaceMask open);
    bool make_room_for(const WaitingReservation& waiting);
    void refuse_reservation(std::size_t waiting, StoreError error);

    // Ahead of need (spill_ahead.cpp).
    void look_ahead(std::size_t space);
    void send_away(std::size_t space);
    bool short_of_room(std::size_t space) const;
    bool overflows(std::size_t space, std::uint64_t position) const;
    bool must_leave(std::size_t space, std::uint32_t id) const;
    void bring_back(std::size_t space);
    bool bring_in_ahead(std::size_t space, std::uint32_t id, std::uint64_t position, Bytes spare);
    bool link_has_time(Bytes queued, double bytes_per_ns) const;
    void refill(std::size_t space);
    void learn_order(std::size_t space);
    bool away(std::uint32_t id, std::size_t space) const;
    bool came_back(std::uint32_t id, std::size_t space) const;

    const MachineSpec& machine_;
    SpillOptions options_;
    std::vector<SpillSpace> spaces_;
    std::deque<SpillBuffer> buffers_;  // by id
    std::vector<std::uint32_t> free_ids_;
    std::vector<std::uint32_t> moving_;  // buffers with a move
    std::vector<std::uint32_t> barred_;
    Error last_failure_;
    std::vector<PlaceDeparture> departures_;  // by id, those that live and those to be used again
    std::vector<std::uint64_t> free_departures_;
    std::vector<std::uint64_t> waiting_departures_;
    std::vector<FreeRequest> frees_;  // in order of arrival
    std::deque<AccessGroup> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<std::uint32_t> parked_;  // groups, the one to try next first
    std::uint32_t trying_ = kNoGroup;    // of these the one that tries again
    std::size_t tries_left_ = 0;
    FairOrder<RequestId> reserving_;
    std::vector<WaitingReservation> reservations_;
    SpillWork work_;
    std::vector<double> rates_;  // bytes/ns from each space to each, directly or through a host
    std::vector<std::uint32_t> skipped_;
    std::size_t living_ = 0;
    std::size_t waiting_accesses_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t serials_ = 0;
    std::uint64_t stamps_ = 0;
    std::uint64_t operations_ = 0;  // of the program: the policies' time
    ReservationId asking_;          // that room is being made for
    bool lenient_ = false;          // all that can leave may
    bool changed_ = false;          // something was decided: look again
    bool stirred_ = false;          // room has come: patient creations are tried again
    bool let_go_ = false;           // somebody let go: parked groups are, too
    bool moved_on_ = false;         // the program did something: look ahead
    bool room_came_ = false;        // for what is to be brought back
    bool closing_ = false;
};

}  // namespace tidemark
