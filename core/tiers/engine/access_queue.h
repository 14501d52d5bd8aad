// AccessQueue: who gets access to which buffers, and when. Per buffer, first come, first served.
//
// Accesses that belong together (all buffers of a kernel) are a group and are granted together; a
// single one is a group of one. Readers share a buffer, a writer is alone, and pins only keep it
// where it is. A buffer that isn't in the requested space is fetched there. A reader makes a spill
// of the buffer pointless: the copy becomes a spare. A writer cancels it.
//
// Invariant: a group that finds no room for all of its buffers is refused or, if it is patient,
// parked: it holds nothing and is in no queue until something is released. So two groups never wait
// for each other. One parked group tries at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/moves.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class AccessQueue {
  public:
    AccessQueue(SpillState& state, Holds& holds, CopyTable& copies, Moves& moves)
        : state_(state), holds_(holds), copies_(copies), moves_(moves) {}

    // SpillEngine's functions of these names.
    RequestId access(BufferRef buffer, const AccessSpec& spec);
    std::optional<RequestId> access_all(std::span<const BufferUse> uses, const AccessSpec& spec);
    void take_up(std::uint32_t group);
    void turn_down(std::uint32_t group);

    // Grants what can be granted of a buffer that was released.
    void serve(std::uint32_t id);

    // The same for a buffer whose move has ended. If the move failed, the first one that waits for
    // it is refused or, if it is patient and only room was missing, parked.
    void moved(MoveEnd end);

    // Refuses the group whose use is the first that waits for the buffer.
    void fail_first(std::uint32_t id, Error error);

    // Parked groups try again, one after another: together they might take each other's buffers.
    void retry_parked();

    void enter_parked();

    // The first parked one gets a last try. False: there is none.
    bool give_up_one();

    // Refuses the group of a request that has not been granted. False: it has been.
    bool withdraw_request(RequestId request, Error why);

    // The space that the request waits for; kNoSpace: there is none that has not been granted.
    std::size_t space_of(RequestId request) const;

    // Refuses the parked ones.
    void refuse_parked();

    bool anybody_parked() const { return !parked_.empty(); }

    std::size_t waiting() const { return waiting_; }

  private:
    static constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

    struct Group {
        struct Use : BufferUse {
            bool granted = false;
        };

        RequestId request = RequestId::none;  // none: this one is free
        AccessSpec spec;
        std::size_t space = 0;
        std::vector<Use> uses;
        std::uint32_t missing = 0;  // not granted yet
        std::uint32_t retries = 0;  // because copies failed that would have made room
        bool parked = false;        // holds nothing, until something is released
    };

    void no_room_for_first(std::uint32_t id, Error error);
    bool serve_first(std::uint32_t id);
    bool serve_reader(std::uint32_t id, WaitingUse waiting);
    bool serve_writer(std::uint32_t id, WaitingUse waiting);
    bool fetch_for(std::uint32_t id, WaitingUse waiting);
    void grant(std::uint32_t id, WaitingUse waiting);
    bool grant_at_once(std::span<const BufferUse> uses, const AccessSpec& spec, std::size_t space);
    bool free_now(const SpillBuffer& buffer, AccessMode mode, std::size_t space) const;
    void count_use(std::uint32_t id, std::size_t space, AccessMode mode);

    std::uint32_t new_group(RequestId request, const AccessSpec& spec);
    void end_group(std::uint32_t group);
    void enter(std::uint32_t group);
    void complete(std::uint32_t group);
    void withdraw(std::uint32_t group);
    void take_out(std::uint32_t id, WaitingUse waiting);
    void fail_group(std::uint32_t group, Error error);
    std::uint32_t group_of(RequestId request) const;
    void try_parked(std::uint32_t group);
    bool might_fit(const Group& group) const;

    SpillState& state_;
    Holds& holds_;
    CopyTable& copies_;
    Moves& moves_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<std::uint32_t> parked_;  // the one to try next first
    std::uint32_t trying_ = kNoGroup;    // the one of these that tries again
    std::size_t tries_left_ = 0;
    std::size_t waiting_ = 0;  // uses
};

}  // namespace tidemark
