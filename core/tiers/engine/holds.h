// Holds: who uses a buffer, and up to where its streams have queued work on it.
//
// Users hold a copy through an access (BufferHold says how) or, if the buffer has a gate (gate.h),
// through pins, which the engine doesn't see. *Sealing* a gate turns its pins into one access,
// which ends with the last of them; a gate without pins is shut instead.
//
// A *point* is a position in a stream's queue of work. Pins only note their streams; a note becomes
// a point when somebody needs to know when that work is done.
//
// Invariant: a buffer's holds are the users of its copies, and its move if that copies or writes.
// SpillSpace::held is the bytes of copies with users that no existing reservation pays for.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class Holds {
  public:
    // Makes a point for a stream's work; nothing: the device is lost. Called under the owner's
    // lock.
    using Recorder = std::function<std::optional<UsePoint>(SpaceId, StreamId, bool wrote)>;

    explicit Holds(SpillState& state) : state_(state) {}

    // Call this before the first buffer that has a gate.
    void set_recorder(Recorder recorder) { record_ = std::move(recorder); }

    // Whether the copy in `space` may have one more user. A pin may not join while a writer is
    // waiting for one of several copies, as the others will be void then. All sharers are in one
    // space.
    bool may_hold(const SpillBuffer& buffer, std::size_t space, AccessMode mode) const;

    // Begins and ends a use of the copy in `space`.
    void hold(std::uint32_t id, std::size_t space, AccessMode mode);
    void let_go(std::uint32_t id, std::size_t space, AccessMode mode);

    // Whether copies other than the one in `space` have users.
    bool used_elsewhere(const SpillBuffer& buffer, std::size_t space) const;

    // Turns the pins of its gate, if any, into an access; otherwise shuts the gate.
    void seal(std::uint32_t id);

    // Shuts its gate. False: it is pinned.
    bool try_shut(std::uint32_t id);

    // The last pin of a sealed gate has ended (Gate::unpin).
    void unsealed(std::uint32_t id, bool writers);

    // An access that was granted in the buffer's own space (`share` if `write`, else `pin`) becomes
    // a pin.
    void admit(std::uint32_t id, bool write);

    // The stream's work on it has been queued up to there.
    static void note_use(SpillBuffer& buffer, UsePoint point);

    // All points of the buffer, including work that was only noted.
    std::vector<UsePoint> points(BufferRef buffer);

    // What the stream of an access has to wait for first.
    std::vector<UsePoint> points_before(BufferRef buffer, const AccessSpec& spec) const;

    // No more work comes on the stream, whose name may be reused. O(buffers).
    void stream_ended(StreamId stream);

  private:
    static std::uint32_t& count(BufferHold& hold, AccessMode mode);
    void settle_notes(std::uint32_t id, bool wrote);
    void settle(SpillBuffer& buffer, StreamId stream, bool wrote);

    SpillState& state_;
    Recorder record_;
};

}  // namespace tidemark
