// The engine's invariants, looked at from outside: for tests.
#include <algorithm>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

void SpillEngine::check() const {
    std::size_t living = 0;
    std::size_t moving = 0;
    std::size_t waiting = 0;
    std::vector<std::size_t> spares(spaces_.size());
    std::vector<std::size_t> gone(spaces_.size());
    std::vector<Bytes> charged(spaces_.size());
    for (std::uint32_t id = 0; id < buffers_.size(); ++id) {
        const SpillBuffer& buffer = buffers_[id];
        if (!buffer.living) {
            TM_CHECK(buffer.copies.empty() && !buffer.move && buffer.waiting.empty());
            continue;
        }
        ++living;
        waiting += buffer.waiting.size();
        // Bytes are somewhere, unless they have yet to begin.
        TM_CHECK(!buffer.copies.empty() || buffer.blank ||
                 (buffer.move && buffer.move->kind == MoveKind::create));
        std::uint32_t users = 0;
        for (std::size_t i = 0; i < buffer.copies.size(); ++i) {
            const BufferCopy& copy = buffer.copies[i];
            TM_CHECK(i == 0 || buffer.copies[i - 1].space < copy.space);
            TM_CHECK(copy.resident == (machine_.spaces[copy.space].id.tier ==
                                       machine_.spaces[buffer.copies[0].space].id.tier));
            TM_CHECK(copy.owned == static_cast<bool>(copy.charge));
            TM_CHECK(copy.resident == !spaces_[copy.space].spares.contains({copy.stamp, id}));
            spares[copy.space] += copy.resident ? 0 : 1;
            charged[copy.space] += copy.charge.size;
            users += copy.users;
        }
        const bool moved_as_reader =
            buffer.move && !buffer.move->writing && buffer.move->source != kNoSpace;
        TM_CHECK(buffer.hold.readers + buffer.hold.pins + (buffer.hold.writing ? 1 : 0) ==
                 users + (moved_as_reader || (buffer.move && buffer.move->writing) ? 1 : 0));
        if (buffer.gone_from != kNoSpace)
            ++gone[buffer.gone_from];
        if (!buffer.move)
            continue;
        ++moving;
        TM_CHECK(moving_[buffer.move->place_among] == id);
        TM_CHECK(buffer.move->source == kNoSpace || buffer.copy_in(buffer.move->source));
        charged[buffer.move->target] += buffer.move->charge.size;
    }
    std::vector<Bytes> leaving(spaces_.size());
    std::vector<Bytes> lined(spaces_.size());
    for (const PlaceDeparture& departure : departures_) {
        if (!departure.living)
            continue;
        charged[departure.space] += departure.charge.size;
        leaving[departure.space] += departure.credit;
    }
    for (const std::uint32_t id : moving_) {
        const BufferMove& move = *buffers_[id].move;
        if (move.evict)
            leaving[move.source] += move.credit;
        if (move.stage == MoveStage::lining)
            lined[move.target] += move.size;
    }
    TM_CHECK(living == living_ && moving == moving_.size() && waiting == waiting_accesses_);
    for (std::size_t i = 0; i < spaces_.size(); ++i) {
        TM_CHECK(spares[i] == spaces_[i].spares.size() && gone[i] == spaces_[i].gone.size());
        TM_CHECK(leaving[i] == spaces_[i].leaving && lined[i] == spaces_[i].lined);
        TM_CHECK(spaces_[i].unclaimed <= spaces_[i].leaving);
        TM_CHECK(charged[i] == spaces_[i].charged);
        TM_CHECK(charged[i] <= spaces_[i].memory->counters().allocated);
    }
}

}  // namespace tidemark
