// The engine's invariants, checked from outside: for tests.
#include <algorithm>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {
namespace {

// `users`: of all its copies.
void check_holds(const SpillBuffer& buffer, std::uint32_t users) {
    const bool moved = buffer.move && (buffer.move->kind == MoveKind::overwrite ||
                                       buffer.move->source != kNoSpace);
    TM_CHECK(buffer.hold.readers + buffer.hold.pins + buffer.hold.sharers + buffer.hold.writers ==
             users + (moved ? 1 : 0));
    if (!buffer.gate || !buffer.gate->state().open)
        return;
    const Gate::State gate = buffer.gate->state();
    TM_CHECK(buffer.copy_in(buffer.own_space) && (gate.sealed || !buffer.move));
    TM_CHECK(!gate.writers || buffer.copies.size() == 1);
}

}  // namespace

void SpillEngine::check() const {
    std::size_t living = 0;
    std::size_t moving = 0;
    std::size_t waiting = 0;
    std::vector<std::size_t> spares(state_.spaces.size());
    std::vector<Bytes> charged(state_.spaces.size());
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id) {
        const SpillBuffer& buffer = state_.buffers[id];
        if (!buffer.living()) {
            TM_CHECK(buffer.copies.empty() && !buffer.move && buffer.waiting.empty());
            continue;
        }
        ++living;
        waiting += buffer.waiting.size();
        // The bytes are somewhere, unless the buffer has yet to get any.
        TM_CHECK(!buffer.copies.empty() || buffer.blank ||
                 (buffer.move && buffer.move->kind == MoveKind::create));
        std::uint32_t users = 0;
        for (std::size_t i = 0; i < buffer.copies.size(); ++i) {
            const BufferCopy& copy = buffer.copies[i];
            TM_CHECK(i == 0 || buffer.copies[i - 1].space < copy.space);
            TM_CHECK(copy.resident() == (state_.machine.spaces[copy.space].id.tier ==
                                         state_.machine.spaces[buffer.copies[0].space].id.tier));
            TM_CHECK(copy.resident() ==
                     !state_.spaces[copy.space].spares.contains({copy.stamp, id}));
            spares[copy.space] += copy.resident() ? 0U : 1U;
            charged[copy.space] += copy.charge.size;
            users += copy.users;
        }
        check_holds(buffer, users);
        TM_CHECK(buffer.move.has_value() == (buffer.state != BufferState::resident) ||
                 buffer.state == BufferState::ending);
        if (!buffer.move)
            continue;
        ++moving;
        TM_CHECK(moves_.moving()[buffer.move->moving_index] == id);
        TM_CHECK(buffer.move->source == kNoSpace || buffer.copy_in(buffer.move->source));
        charged[buffer.move->target] += buffer.move->charge.size;
    }
    std::vector<Bytes> leaving(state_.spaces.size());
    std::vector<Bytes> lined(state_.spaces.size());
    for (const DeferredFree& deferred : leaving_.deferred()) {
        if (!deferred.living)
            continue;
        charged[deferred.space] += deferred.charge.size;
        leaving[deferred.space] += deferred.credit;
    }
    for (const std::uint32_t id : moves_.moving()) {
        const BufferMove& move = *state_.buffers[id].move;
        if (move.kind == MoveKind::evict)
            leaving[move.source] += move.credit;
        if (state_.buffers[id].lines_up())
            lined[move.target] += move.size;
    }
    TM_CHECK(living == copies_.buffers() && moving == moves_.moving().size() &&
             waiting == accesses_.waiting());
    for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
        TM_CHECK(spares[i] == state_.spaces[i].spares.size());
        TM_CHECK(leaving[i] == state_.spaces[i].leaving && lined[i] == state_.spaces[i].lined);
        TM_CHECK(state_.spaces[i].unclaimed <= state_.spaces[i].leaving);
        TM_CHECK(charged[i] == state_.spaces[i].charged);
        TM_CHECK(charged[i] <= state_.spaces[i].memory->counters().allocated);
    }
}

}  // namespace tidemark
