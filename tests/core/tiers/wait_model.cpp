// The states and steps of the protocols, and the search through them.
#include "tests/core/tiers/wait_model.h"

#include <unordered_map>
#include <utility>

namespace tidemark::model {
namespace {

// Where an actor is within a step of its program.
enum class Phase : std::uint8_t { begin, second, third, asleep };

struct Place {
    std::size_t step = 0;
    Phase phase = Phase::begin;
    std::vector<int> holds;
    SpaceMask freed = 0;  // and not told yet
};

struct State {
    std::vector<Place> places;
    std::vector<int> free;
    FairOrder<std::size_t> order;
    int waiting = 0;  // what notify() reads
    bool down = false;
    bool flag = false;      // upstream's channel
    bool less = false;      // somebody got less than he asked for
    int woken_by_down = 0;  // upstream: how many more may leave
};

// The choices of one step, one after another; all combinations by next().
class Choices {
  public:
    std::size_t pick(std::size_t options) {
        if (at_ == script_.size())
            script_.push_back({0, options});
        return script_[at_++].chosen;
    }

    bool next() {
        at_ = 0;
        while (!script_.empty() && script_.back().chosen + 1 == script_.back().options)
            script_.pop_back();
        if (script_.empty())
            return false;
        ++script_.back().chosen;
        return true;
    }

  private:
    struct Choice {
        std::size_t chosen;
        std::size_t options;
    };

    std::vector<Choice> script_;
    std::size_t at_ = 0;
};

class Checker {
  public:
    explicit Checker(const Scenario& scenario) : scenario_(scenario) {}

    Explored run() {
        visit(initial());
        for (std::size_t at = 0; at < states_.size() && wrong_.empty(); ++at)
            expand(at);
        if (wrong_.empty())
            check_progress();
        return {wrong_, states_.size()};
    }

    bool explains(const std::vector<std::vector<Seen>>& seen) {
        seen_ = &seen;
        visit(initial());
        for (std::size_t at = 0; at < states_.size(); ++at) {
            bool through = true;
            for (std::size_t actor = 0; actor < seen.size(); ++actor)
                through = through && states_[at].places[actor].step == seen[actor].size();
            if (through)
                return true;
            expand(at);
        }
        return false;
    }

  private:
    State initial() const {
        State first{{}, scenario_.free, FairOrder<std::size_t>(limit())};
        for (const Actor& actor : scenario_.actors) {
            Place place;
            place.holds = actor.holds;
            place.holds.resize(scenario_.free.size());
            first.places.push_back(place);
        }
        return first;
    }

    // Every call that had ended before this one began has been made.
    bool in_time(const State& state, std::size_t actor) const {
        const Seen& call = (*seen_)[actor][state.places[actor].step];
        for (std::size_t other = 0; other < seen_->size(); ++other)
            for (std::size_t at = state.places[other].step; at < (*seen_)[other].size(); ++at)
                if ((*seen_)[other][at].end < call.begin)
                    return false;
        return true;
    }

    // Everyone has what was seen.
    bool as_seen(const State& state) const {
        for (std::size_t actor = 0; actor < seen_->size(); ++actor) {
            const Place& place = state.places[actor];
            const auto& program = scenario_.actors[actor].program;
            if (place.step == 0 || program[place.step - 1].kind != Step::Kind::take ||
                (step_of(state, actor) != nullptr && place.phase != Phase::begin))
                continue;
            for (std::size_t space = 0; space < state.free.size(); ++space) {
                const int expected = (*seen_)[actor][place.step - 1].space;
                if ((place.holds[space] != 0) != (expected == static_cast<int>(space)))
                    return false;
            }
        }
        return true;
    }

    bool upstream() const { return scenario_.protocol == Protocol::upstream; }

    std::uint32_t limit() const {
        return scenario_.fault == Fault::no_closing ? ~std::uint32_t{0} : scenario_.bypass_limit;
    }

    const Step* step_of(const State& state, std::size_t actor) const {
        const auto& program = scenario_.actors[actor].program;
        const std::size_t at = state.places[actor].step;
        return at < program.size() ? &program[at] : nullptr;
    }

    bool enabled(const State& state, std::size_t actor) const {
        const Step* step = step_of(state, actor);
        if (step == nullptr)
            return false;
        if (seen_ != nullptr && state.places[actor].phase == Phase::begin && !in_time(state, actor))
            return false;
        if (state.places[actor].phase != Phase::asleep)
            return true;
        if (upstream())
            return state.flag || live(state) == 0 || (state.down && state.woken_by_down > 0);
        return step->gives_up;
    }

    // Under the queue's lock, or the channel's.
    bool locks(const State& state, std::size_t actor) const {
        const Place& place = state.places[actor];
        const Step& step = *step_of(state, actor);
        if (upstream())
            return true;  // every step of it is one of a single lock
        if (step.kind == Step::Kind::shut_down || place.phase == Phase::asleep)
            return true;
        return place.phase == Phase::third;
    }

    void advance(State& state, std::size_t actor) const {
        Place& place = state.places[actor];
        ++place.step;
        place.phase = Phase::begin;
        if (scenario_.actors[actor].loops && place.step == scenario_.actors[actor].program.size())
            place.step = 0;
    }

    void perform(State& state, std::size_t actor, Choices& choices) const {
        const Step& step = *step_of(state, actor);
        switch (step.kind) {
            case Step::Kind::take:
                return upstream() ? take_upstream(state, actor) : take(state, actor, choices);
            case Step::Kind::give:
                return upstream() ? give_upstream(state, actor) : give(state, actor, choices);
            case Step::Kind::shut_down:
                shut_down(state);
                advance(state, actor);
        }
    }

    // Of a space, under its lock: WaitAttempt::take.
    SpaceMask attempt(State& state, std::size_t actor, SpaceMask open) const {
        const Step& step = *step_of(state, actor);
        for (std::size_t space = 0; space < state.free.size(); ++space) {
            if ((open & space_bit(space)) == 0 || step.size > state.free[space])
                continue;
            state.free[space] -= step.size;
            state.places[actor].holds[space] += step.size;
            return space_bit(space);
        }
        return 0;
    }

    // Steps of others that need no queue's lock, as many as the choices say, up to what one of them
    // needs to take something and to give it back.
    void interfere(State& state, std::size_t actor, Choices& choices) const {
        for (int steps = 0; steps < 4; ++steps) {
            std::vector<std::size_t> others;
            for (std::size_t other = 0; other < state.places.size(); ++other)
                if (other != actor && enabled(state, other) && !locks(state, other))
                    others.push_back(other);
            const std::size_t choice = others.empty() ? 0 : choices.pick(others.size() + 1);
            if (choice == 0)
                return;
            perform(state, others[choice - 1], choices);
        }
    }

    // WaitQueue::round, by `actor`.
    void round(State& state, std::size_t actor, SpaceMask freed, Choices& choices) const {
        if (freed == 0)
            return;
        // The order is out of the state while its round is made: nobody else may see it.
        FairOrder<std::size_t> order = std::move(state.order);
        bool first = true;  // what comes before the first attempt can come before the round
        order.try_each(
            [&](std::size_t waiter, SpaceMask open) {
                if (!std::exchange(first, false))
                    interfere(state, actor, choices);
                const SpaceMask taken = attempt(state, waiter, open);
                if (taken != 0) {
                    --state.waiting;
                    advance(state, waiter);
                }
                return taken;
            },
            freed);
        state.order = std::move(order);
    }

    void take(State& state, std::size_t actor, Choices& choices) const {
        Place& place = state.places[actor];
        const Step& step = *step_of(state, actor);
        switch (place.phase) {
            case Phase::begin:  // WaitQueue::wait reads the number of those who wait
                place.phase = state.waiting == 0 && !state.down ? Phase::second : Phase::third;
                return;
            case Phase::second:  // and tries without a lock
                if (attempt(state, actor, step.spaces) != 0)
                    advance(state, actor);
                else
                    place.phase = Phase::third;
                return;
            case Phase::third:
                return enter(state, actor, choices);
            case Phase::asleep:  // WaitQueue::leave
                give_up(state, actor, choices);
        }
    }

    // WaitQueue::enter.
    void enter(State& state, std::size_t actor, Choices& choices) const {
        const Step& step = *step_of(state, actor);
        if (state.down)
            return advance(state, actor);
        const bool late = scenario_.fault == Fault::raises_late;
        state.waiting += late ? 0 : 1;
        interfere(state, actor, choices);
        FairOrder<std::size_t> order = state.order;
        order.push(actor, step.priority, step.spaces);
        const bool served = order.try_one(
            actor, [&](std::size_t, SpaceMask open) { return attempt(state, actor, open); });
        if (scenario_.fault == Fault::enters_late && !served && choices.pick(2) == 1)
            return give_way(state, actor, choices);
        state.order = std::move(order);
        if (late) {
            interfere(state, actor, choices);
            ++state.waiting;
        }
        if (served) {
            --state.waiting;
            return advance(state, actor);
        }
        state.places[actor].phase = Phase::asleep;
    }

    // The faulty one: others use the lock between the attempt and the place in the order.
    void give_way(State& state, std::size_t actor, Choices& choices) const {
        for (std::size_t other = 0; other < state.places.size(); ++other)
            while (other != actor && step_of(state, other) != nullptr &&
                   step_of(state, other)->kind == Step::Kind::give)
                perform(state, other, choices);
        state.order.push(actor, step_of(state, actor)->priority, step_of(state, actor)->spaces);
        state.places[actor].phase = Phase::asleep;
    }

    void give_up(State& state, std::size_t actor, Choices& choices) const {
        const SpaceMask closed = state.order.erase(actor);
        --state.waiting;
        advance(state, actor);
        if (scenario_.fault != Fault::leaves_quietly)
            round(state, actor, closed, choices);
    }

    SpaceMask free_all(State& state, std::size_t actor) const {
        SpaceMask freed = 0;
        Place& place = state.places[actor];
        for (std::size_t space = 0; space < state.free.size(); ++space) {
            freed |= place.holds[space] != 0 ? space_bit(space) : 0;
            state.free[space] += place.holds[space];
            place.holds[space] = 0;
        }
        return freed;
    }

    // A space's release, and WaitQueue::notify.
    void give(State& state, std::size_t actor, Choices& choices) const {
        Place& place = state.places[actor];
        const bool early = scenario_.fault == Fault::notices_early;
        if (place.phase == Phase::begin) {
            place.freed = early ? kAllSpaces : free_all(state, actor);
            place.phase = Phase::second;
        } else if (place.phase == Phase::second && state.waiting != 0) {
            place.phase = Phase::third;
        } else {
            if (place.phase == Phase::third)
                round(state, actor, place.freed, choices);
            if (early)
                free_all(state, actor);
            place.freed = 0;
            advance(state, actor);
        }
    }

    void shut_down(State& state) const {
        state.down = true;
        state.woken_by_down = 1;
        if (upstream())
            return;
        std::vector<std::size_t> left;
        state.order.for_each([&](std::size_t waiter, WaitStanding) { left.push_back(waiter); });
        for (const std::size_t waiter : left)
            advance(state, waiter);
        state.order.clear();
        state.waiting = 0;
    }

    // Upstream's channel is a sticky flag that one waiter consumes. Living reservations: notifiers.
    int live(const State& state) const {
        int count = 0;
        for (const Place& place : state.places)
            for (const int held : place.holds)
                count += held != 0 ? 1 : 0;
        for (std::size_t actor = 0; actor < state.places.size(); ++actor) {
            const Step* step = step_of(state, actor);
            const bool posting = step != nullptr && step->kind == Step::Kind::give &&
                                 state.places[actor].phase == Phase::second;
            count += posting ? 1 : 0;
        }
        return count;
    }

    // Tries every space, then waits for the first alone.
    void take_upstream(State& state, std::size_t actor) const {
        Place& place = state.places[actor];
        const Step& step = *step_of(state, actor);
        if (place.phase == Phase::begin || place.phase == Phase::second) {
            const SpaceMask first = step.spaces & (~step.spaces + 1);
            const SpaceMask open = place.phase == Phase::begin ? step.spaces : first;
            if (attempt(state, actor, open) != 0)
                advance(state, actor);
            else
                place.phase = Phase::asleep;
        } else if (state.down) {
            --state.woken_by_down;
            advance(state, actor);
        } else if (state.flag) {
            state.flag = false;
            place.phase = Phase::second;
        } else {
            state.less = true;  // nobody holds anything: he gets what there is
            advance(state, actor);
        }
    }

    void give_upstream(State& state, std::size_t actor) const {
        Place& place = state.places[actor];
        if (place.phase == Phase::begin) {
            free_all(state, actor);
            place.phase = Phase::second;
        } else {
            state.flag = true;
            advance(state, actor);
        }
    }

    // Somebody is on the way who will look after those who sleep.
    bool pending(const State& state) const {
        for (std::size_t actor = 0; actor < state.places.size(); ++actor) {
            const Step* step = step_of(state, actor);
            const bool telling = step != nullptr && step->kind == Step::Kind::give &&
                                 state.places[actor].phase != Phase::begin;
            const bool woken = upstream() && step != nullptr && step->kind == Step::Kind::take &&
                               state.places[actor].phase == Phase::second;
            if (telling || woken)
                return true;
        }
        return state.flag;
    }

    bool fits(const State& state, std::size_t actor, SpaceMask open) const {
        for (std::size_t space = 0; space < state.free.size(); ++space)
            if ((open & space_bit(space)) != 0 && step_of(state, actor)->size <= state.free[space])
                return true;
        return false;
    }

    // The spaces that the rules leave to a sleeper: all, but those closed by one before him.
    std::vector<SpaceMask> open_spaces(const State& state) const {
        std::vector<SpaceMask> open(state.places.size(), kAllSpaces);
        SpaceMask closed = 0;
        state.order.for_each([&](std::size_t waiter, WaitStanding standing) {
            open[waiter] = ~closed;
            if (standing.closes)
                closed |= step_of(state, waiter)->spaces;
        });
        return open;
    }

    std::string fault_of(const State& state) const {
        if (state.less)
            return "somebody got less than he asked for";
        if (pending(state))
            return {};
        const std::vector<SpaceMask> open = open_spaces(state);
        for (std::size_t actor = 0; actor < state.places.size(); ++actor) {
            if (state.places[actor].phase != Phase::asleep)
                continue;
            if (state.down && !enabled(state, actor))
                return "somebody sleeps after the end";
            if (fits(state, actor, open[actor] & step_of(state, actor)->spaces))
                return "somebody sleeps though he fits";
        }
        return {};
    }

    std::string key(const State& state) const {
        std::string text;
        const auto put = [&text](auto number) {
            text += std::to_string(number);
            text += ' ';
        };
        for (const Place& place : state.places) {
            put(place.step);
            put(static_cast<int>(place.phase));
            put(place.freed);
            for (const int held : place.holds)
                put(held);
        }
        for (const int free : state.free)
            put(free);
        state.order.for_each([&](std::size_t waiter, WaitStanding standing) {
            put(waiter);
            put(scenario_.fault == Fault::no_closing ? 0 : standing.passed);
        });
        put(state.waiting);
        put(state.down);
        put(state.flag);
        put(state.less);
        put(state.woken_by_down);
        return text;
    }

    std::size_t visit(const State& state) {
        const auto [found, fresh] = known_.emplace(key(state), states_.size());
        if (fresh) {
            states_.push_back(state);
            next_.emplace_back();
            if (wrong_.empty())
                wrong_ = fault_of(state);
        }
        return found->second;
    }

    void expand(std::size_t at) {
        for (std::size_t actor = 0; actor < scenario_.actors.size(); ++actor) {
            if (!enabled(states_[at], actor))
                continue;
            Choices choices;
            do {
                State after = states_[at];
                perform(after, actor, choices);
                if (seen_ != nullptr && !as_seen(after))
                    continue;
                const std::size_t target = visit(after);  // may move next_
                next_[at].push_back(target);
            } while (choices.next());
        }
    }

    // Nobody is left asleep when nothing can happen any more, and the one who must not starve is
    // served on every path: while he sleeps nothing can go on for ever.
    void check_progress() {
        for (std::size_t at = 0; at < states_.size(); ++at)
            for (const Place& place : states_[at].places)
                if (next_[at].empty() && place.phase == Phase::asleep)
                    wrong_ = "somebody sleeps for ever";
        if (!scenario_.never_starves)
            return;
        std::vector<int> colour(states_.size());  // 1: on the path, 2: done
        for (std::size_t at = 0; at < states_.size(); ++at)
            if (starving(at) && colour[at] == 0 && has_cycle(at, colour))
                wrong_ = "somebody may wait for ever while others are served";
    }

    bool starving(std::size_t at) const {
        return states_[at].places[*scenario_.never_starves].phase == Phase::asleep;
    }

    // Depth first, without recursion: paths are long.
    bool has_cycle(std::size_t root, std::vector<int>& colour) const {
        std::vector<std::pair<std::size_t, std::size_t>> path = {{root, 0}};
        colour[root] = 1;
        while (!path.empty()) {
            auto& [at, edge] = path.back();
            if (edge == next_[at].size()) {
                colour[at] = 2;
                path.pop_back();
                continue;
            }
            const std::size_t target = next_[at][edge++];
            if (!starving(target) || colour[target] == 2)
                continue;
            if (colour[target] == 1)
                return true;
            colour[target] = 1;
            path.emplace_back(target, 0);
        }
        return false;
    }

    const Scenario& scenario_;
    std::vector<State> states_;
    std::vector<std::vector<std::size_t>> next_;
    std::unordered_map<std::string, std::size_t> known_;
    std::string wrong_;
    const std::vector<std::vector<Seen>>* seen_ = nullptr;
};

}  // namespace

Explored explore(const Scenario& scenario) {
    return Checker(scenario).run();
}

bool explains(const Scenario& scenario, const std::vector<std::vector<Seen>>& seen) {
    return Checker(scenario).explains(seen);
}

}  // namespace tidemark::model
