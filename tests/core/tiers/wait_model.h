// An explicit-state checker for protocols of waiting: explores every interleaving of a few actors
// who take, wait for and give back memory, and reports the first state that no correct protocol
// reaches.
//
// Granularity: what happens under one lock is one step. A step under a space's lock (an attempt, a
// free) may come between any two attempts that another actor makes under the queue's lock; a step
// under the queue's lock may not. Memory is sequentially consistent, as the locks make it.
//
// The fair protocol is WaitQueue's, over the real FairOrder; the notes at the steps name the
// functions that they stand for. Its faults leave one thing out each, to show that the checker
// finds it. The other protocol is cuCascade's notification channel (specs A1.10, A1.11).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tiers/fair_order.h"

namespace tidemark::model {

struct Step {
    enum class Kind : std::uint8_t { take, give, shut_down };
    Kind kind = Kind::take;
    int size = 0;           // take
    SpaceMask spaces = 1;   // take
    int priority = 0;       // take
    bool gives_up = false;  // take: may time out at any moment
};

struct Actor {
    std::vector<Step> program;
    bool loops = false;           // begins anew when it is through
    std::vector<int> holds = {};  // at the beginning, by space
};

enum class Protocol : std::uint8_t { fair, upstream };

enum class Fault : std::uint8_t {
    none,
    raises_late,     // the number of those who wait is raised after the first attempt
    enters_late,     // the lock is dropped between the first attempt and the place in the order
    leaves_quietly,  // who gives up has nobody behind him tried
    no_closing,      // bypass without limit
    notices_early,   // notify() before the memory is free
};

struct Scenario {
    std::vector<Actor> actors;
    std::vector<int> free;  // by space
    Protocol protocol = Protocol::fair;
    Fault fault = Fault::none;
    std::uint32_t bypass_limit = kDefaultBypassLimit;
    // Which actor must always be served in the end, whatever the others do.
    std::optional<std::size_t> never_starves = {};
};

struct Explored {
    std::string wrong;       // empty: nothing
    std::size_t states = 0;  // explored
};

// Looks at every state that can be reached. O(states * actors), all of them kept.
Explored explore(const Scenario& scenario);

// What was seen of one step of a real actor, with the times at which the call began and ended (any
// clock that all share).
struct Seen {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    int space = -1;  // take: out of which, -1 if out of none
};

// Whether some interleaving of the protocol shows all that was seen, by actor and step: every step
// at moments between its begin and its end, and with that result. For programs without loops.
bool explains(const Scenario& scenario, const std::vector<std::vector<Seen>>& seen);

}  // namespace tidemark::model
