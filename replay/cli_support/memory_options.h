// MemoryOptions: the options that say how much memory a replay has, the same for every command
// that takes them.
//
// --memory is a card: what the driver calls its total, of which --overhead is not the allocator's.
// --limit is a bound on what the allocator may reserve. Without either, the recorded card and the
// recorded limit hold, as far as they are known; --limit none lifts the latter, and so does naming
// another card.
#pragma once

#include <optional>

#include "core/base/units.h"
#include "replay/cli_support/arguments.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

struct MemoryOptions {
    Bytes memory = 0;                    // 0 = not given
    std::optional<Bytes> overhead = {};  // none = card_overhead()
    std::optional<Bytes> limit = {};     // 0 = "none"

    void declare(Arguments& arguments) {
        arguments.bytes({"--memory", "SIZE", "size of the card (default: the recorded one's)"},
                        memory);
        arguments.limit(
            rarely({"--overhead", "SIZE",
                    "what others hold of --memory: CUDA contexts, libraries, other processes "
                    "(default: what they held of the recorded card, where its out-of-memory events "
                    "show it, else 768MiB, measured on an H200 while PyTorch trained)"}),
            overhead);
        arguments.limit({"--limit", "SIZE",
                         "limit on reserved memory (default: the recorded one; none: no limit)"},
                        limit);
    }

    void apply(Scenario& scenario) const {
        scenario.memory = memory;
        scenario.overhead = overhead;
        scenario.limit = limit;
    }
};

}  // namespace tidemark
