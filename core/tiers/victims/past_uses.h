// PastUses: guesses when a buffer will be used next, only from what the program did before. In this
// order:
//   - after the mean of the gaps between the buffer's own uses;
//   - with its companions: when a buffer is used again after a long time, the buffers that were
//     used
//     soon after it last time are expected as soon after it now (the state of a session that
//     continues, a layer's weights). So a returning group isn't evicted because of its own first
//     members, as it is with lru.
//
// Time is a count of the program's operations, above 0. Every operation is O(1). Thread-safety:
// none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

class PastUses {
  public:
    // `window`: how long after a buffer its companions are used; 0: there are none.
    explicit PastUses(std::uint64_t window) : window_(window) {}

    // The buffer is used at `now`.
    void note(BufferId id, std::uint64_t now) {
        if (to_integer(id) >= pasts_.size()) [[unlikely]]
            pasts_.resize(to_integer(id) + 1);
        Past& past = pasts_[to_integer(id)];
        if (past.last != 0) {
            past.sum += now - past.last;
            ++past.gaps;
            note_return(past.last, now);
        }
        past.last = now;
    }

    // It has been freed.
    void end(BufferId id) {
        if (to_integer(id) < pasts_.size())
            pasts_[to_integer(id)] = {};
    }

    // Its next use: a position > now, or kUnknownUse.
    std::uint64_t expected(BufferId id, std::uint64_t now) const {
        if (to_integer(id) >= pasts_.size() || pasts_[to_integer(id)].gaps == 0)
            return kUnknownUse;
        const Past& past = pasts_[to_integer(id)];
        const std::uint64_t own = past.last + past.sum / past.gaps;
        return own > now ? own : with_companions(past.last, now);
    }

  private:
    struct Past {
        std::uint64_t last = 0;  // 0: not used yet
        std::uint64_t sum = 0;   // of its gaps
        std::uint64_t gaps = 0;
    };

    // Where in the past the program probably is again, and how long ago that was.
    struct Return {
        std::uint64_t last = 0;
        std::uint64_t shift = 0;  // 0: none
        std::uint64_t now = 0;
    };

    // A buffer that comes back sooner is not a return, and shifts that differ by less are the same
    // one.
    std::uint64_t near() const { return window_ / 8; }

    // A buffer that was used at `last` is used at `now`. Of several returns the latest are kept.
    void note_return(std::uint64_t last, std::uint64_t now) {
        const std::uint64_t shift = now - last;
        if (window_ == 0 || shift <= near())
            return;
        Return* oldest = &returns_[0];
        for (Return& known : returns_) {
            const bool same = known.shift + near() >= shift && shift + near() >= known.shift;
            if (known.shift != 0 && same) {
                if (last >= known.last)
                    known = {last, shift, now};
                return;
            }
            if (known.now < oldest->now)
                oldest = &known;
        }
        *oldest = {last, shift, now};
    }

    // When a buffer that was used at `last` comes again, if it belongs to one of the returns.
    std::uint64_t with_companions(std::uint64_t last, std::uint64_t now) const {
        for (const Return& known : returns_) {
            const bool along = last > known.last && last <= known.last + window_;
            if (known.shift != 0 && along && last + known.shift > now)
                return last + known.shift;
        }
        return kUnknownUse;
    }

    std::uint64_t window_;
    std::vector<Past> pasts_;  // by id
    std::array<Return, 4> returns_;
};

}  // namespace tidemark
