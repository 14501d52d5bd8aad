// SpillEngine: the decisions of the live spill engine, as a state machine without lock, threads,
// clock or device: which buffer leaves a space, what is copied where and when, who gets access.
// TieredStore (tiered_store.h) puts a lock around it and carries its effects out; tests drive it
// through that in every order.
//
// Copies. A buffer has one *valid copy* at least, and at most one in each space: all hold the same
// bytes. The one in the fastest tier (of equals the first in order of spaces) is its home, the
// authoritative one. A valid copy below another one is a *spare*: kept because leaving the upper
// tier is free then, and the first to go when its own space needs room. Granting a write makes all
// other copies void. A place that is being filled is no copy until the fill has ended well, and a
// copy that was given up is none from that moment on: its place is freed when the program's queued
// work on the buffer has passed (specs A-T20, defect 23). So a failure anywhere leaves the bytes
// where they were.
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
// Accounting. Every place is charged to its MemorySpace before it is made and given back after it
// was freed. What a departure is worth (its *credit*) is what `used` will fall by: nothing for
// bytes of a living reservation that isn't exceeded, nothing for memory that the store does not own
// (defect 27).
//
// Thread-safety: none. Lock order: the engine is called under the store's lock and takes spaces'
// locks inside (over-reservation policies must not call the store). Requests are O(log buffers) and
// what a policy passes over; schedule() is O(work done + moves in flight).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/machine.h"
#include "core/tiers/memory_space.h"
#include "core/tiers/spill_state.h"
#include "core/tiers/tiered_buffer.h"
#include "core/tiers/transfer.h"
#include "core/tiers/victim_policy.h"

namespace tidemark {

struct SpillOptions {
    VictimSpec victims;      // of every space that something can leave
    bool keep_clean = true;  // what is copied between tiers stays in both until it is written
    bool upgrade = false;    // bring back what was spilled when there is room below spill_stop
    Bytes background_in_flight = 256_MiB;  // of spilling in the background, at a time, per space
    std::uint32_t place_attempts = 3;      // when the memory itself refuses what was charged
};

// The answer to a request. `refusal` says whether it was granted.
struct SpillAnswer {
    RequestId request{};
    std::optional<StoreError> refusal;
    BufferRef buffer;
    AccessMode mode = AccessMode::read;
    Place place;                  // granted accesses: where
    std::vector<UsePoint> after;  // what the access's stream has to wait for first
    FreeReport freed;             // of free_bytes
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

    // Decides all that can be decided now. `stirred`: something may have become free elsewhere, so
    // patient requests are tried again.
    void schedule(bool stirred);

    // Refuses everything that waits and cancels all moves; nothing new begins.
    void shut_down();

    // Ends every buffer. After shut_down(), when no move is in flight and nobody has an access.
    void end_all();

    // The work that has come up since the last call; and of it the answers alone, which any thread
    // may deliver.
    SpillWork take_work();
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

    std::size_t departing() const { return departures_.size(); }

    std::size_t in_flight() const;

    // Where the buffer is: its valid copies, home first. Empty: gone, or not there yet.
    std::vector<SpaceId> where(BufferRef buffer) const;

    // Bytes of a buffer's copy in `space` that would really come free there. 0: none or no copy.
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Whether everything that must hold holds: for tests. O(buffers).
    void check() const;

  private:
    friend class SpaceResidents;
    friend class SpillEngineProbe;  // tests

    // The table of buffers (spill_engine.cpp).
    SpillBuffer* find(BufferRef ref);
    const SpillBuffer* find(BufferRef ref) const;
    BufferRef ref_of(std::uint32_t id) const;
    std::uint32_t new_buffer(const BufferSpec& spec);
    void end_buffer(std::uint32_t id);
    std::size_t position(SpaceId space) const;
    void refuse(RequestId request, StoreError error);

    // Copies (spill_copies.cpp).
    void add_copy(std::uint32_t id, BufferCopy copy);
    void drop_copy(std::uint32_t id, std::size_t space, Departure why, RequestId claim);
    void depart(PlaceDeparture departure);
    void classify(std::uint32_t id);
    void revise(std::uint32_t id);
    void touch(std::uint32_t id, std::size_t space);
    void note_gone(std::uint32_t id, std::size_t space);
    void forget_gone(std::uint32_t id);
    bool encoded_in(const SpillBuffer& buffer, std::size_t space) const;
    Bytes credit(const BufferCopy& copy) const;
    bool may_leave(std::size_t space, std::uint32_t id) const;
    BufferFacts facts(std::size_t space, std::uint32_t id) const;

    // Accesses (spill_access.cpp).
    void serve(std::uint32_t id);
    bool serve_first(std::uint32_t id);
    bool serve_reader(std::uint32_t id, const WaitingAccess& access);
    bool serve_writer(std::uint32_t id, const WaitingAccess& access);
    void grant(std::uint32_t id, std::size_t space, const WaitingAccess& access);
    bool fetch_for(std::uint32_t id, const WaitingAccess& access);
    void fail_first(std::uint32_t id, StoreError error);

    // Moves (spill_moves.cpp).
    void begin_move(std::uint32_t id, BufferMove move);
    void line_up(std::uint32_t id, bool first);
    bool cancel_move(std::uint32_t id);
    BufferMove end_move(std::uint32_t id);
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
    bool make_room(std::size_t space, Bytes need);
    std::optional<std::uint32_t> pick(std::size_t space);
    void leave(std::uint32_t id, std::size_t space, RequestId claim);
    Bytes pledged(std::size_t space, std::optional<RequestId> claim) const;
    void claim_unclaimed(FreeRequest& request, Bytes need);
    void serve_frees(std::size_t space);
    bool serve_free(FreeRequest& request);
    void explain(FreeReport& report, std::size_t space) const;
    void spill_in_background(std::size_t space);
    void upgrade(std::size_t space);
    void unbar();

    const MachineSpec& machine_;
    SpillOptions options_;
    std::vector<SpillSpace> spaces_;
    std::deque<SpillBuffer> buffers_;  // by id
    std::vector<std::uint32_t> free_ids_;
    std::vector<std::uint32_t> moving_;  // buffers with a move
    std::vector<std::uint32_t> barred_;
    std::map<std::uint64_t, PlaceDeparture> departures_;
    std::vector<FreeRequest> frees_;  // in order of arrival
    SpillWork work_;
    std::size_t living_ = 0;
    std::size_t waiting_accesses_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t serials_ = 0;
    std::uint64_t stamps_ = 0;
    std::uint64_t operations_ = 0;  // of the program: the policies' time
    bool changed_ = false;          // something was decided: look again
    bool closing_ = false;
};

}  // namespace tidemark
