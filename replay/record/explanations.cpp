// What may have happened around a request: every possibility.
#include <algorithm>

#include "replay/record/explanation.h"

namespace tidemark {
namespace {

// The search tries at most this many ways to distribute completions between the start of a request
// and its retry.
constexpr std::size_t kMostShares = 24;

// New memory shows whether expandable_segments is on; otherwise it is more likely as it was.
std::vector<bool> possible_switches(const Situation& at, bool infers, bool switched) {
    if (!infers)
        return {switched};
    const bool starts_on = at.spec.policy.options.boolean("expandable_segments");
    for (const std::size_t step : at.cursor.segments()) {
        const EventKind kind = at.cursor.event(step).kind;
        if (!is_release(kind))
            return {(kind == EventKind::segment_map) != starts_on};
    }
    return {switched, !switched};
}

struct Trim {
    bool pool_ended;
    bool emptied;
};

std::vector<Trim> possible_trims(const Situation& at) {
    std::vector<Trim> trims;
    if (at.request != nullptr)
        trims.push_back({false, false});
    if (at.cursor.releases()) {
        trims.push_back({false, true});
        if (!at.pools.ended(at.cursor).empty()) {
            trims.push_back({true, false});
            trims.push_back({true, true});
        }
    }
    if (trims.empty())
        trims.push_back({false, false});  // new memory that no request needs
    return trims;
}

}  // namespace

std::vector<Explanation> explanations(const Situation& at, const Hypotheses& hypotheses,
                                      bool switched) {
    std::vector<PoolId> pools{PoolId::default_pool};
    if (at.request != nullptr)
        pools = at.pools.pools_of_request(at.cursor);
    const std::vector<bool> switches = possible_switches(at, hypotheses.switches, switched);
    const std::size_t all = at.cursor.completions().size();
    const std::size_t fewest = at.request == nullptr ? all : all - std::min(all, kMostShares);
    std::vector<Explanation> ways;
    for (const Trim trim : possible_trims(at))
        for (std::size_t k = all + 1; k-- > fewest;)
            for (const PoolId pool : pools)
                for (const bool other : switches)
                    ways.push_back({.completed = k,
                                    .pool_ended = trim.pool_ended,
                                    .emptied = trim.emptied,
                                    .switched = other,
                                    .pool = pool});
    if (at.request == nullptr)
        return ways;
    const bool refused = at.request->kind == EventKind::out_of_memory;
    if (refused)
        ways.push_back({.completed = all, .in_scope = true, .switched = switched});
    // A failed request says how much the device had left.
    if (refused && at.request->address >= at.request->size)
        return ways;
    for (std::size_t k = all + 1; k-- > fewest;)
        for (const PoolId pool : pools)
            ways.push_back(
                {.completed = k, .device_full = true, .switched = switched, .pool = pool});
    return ways;
}

}  // namespace tidemark
