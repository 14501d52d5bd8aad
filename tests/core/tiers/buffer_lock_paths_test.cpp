// BufferLock, step by step: every order in which the atomic steps of a few threads can be taken,
// with the real rules of LockWord and a model of the queue (buffer_lock.cpp, one step for each
// change of the word and for each turn at the queue's mutex). Finds threads that wait for ever,
// threads that are in together and must not be, and words that do not end as they began. That it
// would find them is tested too, with faults of the kinds that such locks have.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/lock_word.h"

namespace tidemark {
namespace {

enum class Op : std::uint8_t {
    read,
    write,
    pin,
    upgrade,
    read_for,  // may give up at any time, here and below
    write_for,
    pin_for,
    upgrade_for,
    try_move,
    share_read,
    end_read,
    end_write,
    end_pin,
    downgrade,
    end_move,
    end_move_as_read,
    end_move_as_write,
};

// A thread's program: what it does, and where it goes on if that is refused.
struct Step {
    Op op;
    std::size_t otherwise = 99;  // 99: cannot be
};

using Program = std::vector<Step>;

// Known ways to get such a lock wrong.
enum class Fault : std::uint8_t {
    none,
    looks_then_queues,  // the word is looked at and marked in two steps
    first_only,         // an end lets in the first that waits, not those behind it
    forgets_upgrade,    // the last other reader does not look at the queue
    leaves_mark,        // the word says "queued" when nobody is
    newcomers_move,     // a mover does not care for pins
};

enum class Phase : std::uint8_t {
    at_op,
    wants_queue,  // for waiting
    arrives,      // under the mutex, here and at those with a star
    marks,        // * of Fault::looks_then_queues
    waits,
    gives_up,      // *
    gives_up_two,  // *
    wants_grant,   // the mutex, for letting others in
    grants,        // *
};

constexpr std::size_t kThreads = 4;

struct Thread {
    std::uint8_t pc = 0;
    Phase phase = Phase::at_op;
    bool granted = false;
    bool gave_up = false;
    bool blocked = false;  // of the walk along the queue
    std::uint8_t at = 0;
    bool seen = false;
    // What it holds, apart from the word: the truth.
    std::uint8_t readers = 0, writers = 0, pins = 0, movers = 0;
};

struct State {
    LockWord word;
    std::array<Thread, kThreads> threads;
    std::array<std::uint8_t, kThreads> queue{};
    std::uint8_t queued = 0;
    std::uint8_t mutex = kThreads;  // who has it; kThreads: nobody

    std::string key() const {
        std::string key(reinterpret_cast<const char*>(&word), sizeof word);
        for (const Thread& t : threads) {
            for (const unsigned byte :
                 {unsigned{t.pc}, static_cast<unsigned>(t.phase),
                  unsigned{t.granted} + 2U * t.gave_up + 4U * t.blocked + 8U * t.seen,
                  unsigned{t.at}, t.readers + 8U * t.writers + 16U * t.pins + 64U * t.movers})
                key.push_back(static_cast<char>(byte));
        }
        for (std::size_t i = 0; i < queued; ++i)
            key.push_back(static_cast<char>(queue[i]));
        key.push_back(static_cast<char>(mutex));
        return key;
    }
};

LockWish wish_of(Op op) {
    switch (op) {
        case Op::read:
        case Op::read_for:
            return LockWish::read;
        case Op::write:
        case Op::write_for:
            return LockWish::write;
        case Op::pin:
        case Op::pin_for:
            return LockWish::pin;
        default:
            return LockWish::upgrade;
    }
}

class Paths {
  public:
    Paths(std::vector<Program> programs, Fault fault)
        : programs_(std::move(programs)), fault_(fault) {}

    // "" or what went wrong first.
    std::string explore() {
        visit(State{});
        while (!open_.empty() && wrong_.empty()) {
            const State state = open_.back();
            open_.pop_back();
            const std::size_t before = steps_;
            bool done = true;
            for (std::size_t i = 0; i < programs_.size(); ++i) {
                done = done && finished(state, i);
                if (!finished(state, i))
                    step(state, i);
            }
            if (done && (state.word != LockWord{} || state.queued != 0))
                wrong_ = "the word does not end as it began";
            if (!done && steps_ == before)
                wrong_ = "threads wait for ever";
        }
        return wrong_;
    }

    std::size_t states() const { return seen_.size(); }

  private:
    bool finished(const State& state, std::size_t i) const {
        return state.threads[i].pc >= programs_[i].size();
    }

    const Step& current(const State& state, std::size_t i) const {
        return programs_[i][state.threads[i].pc];
    }

    void visit(const State& state) {
        ++steps_;
        check(state);
        if (seen_.insert(state.key()).second)
            open_.push_back(state);
    }

    // Whoever is in must be allowed to be, and be counted.
    void check(const State& state) {
        unsigned readers = 0, writers = 0, pins = 0, movers = 0;
        for (const Thread& thread : state.threads) {
            readers += thread.readers;
            writers += thread.writers;
            pins += thread.pins;
            movers += thread.movers;
        }
        if (writers > 1 || movers > 1 || (writers == 1 && readers + movers != 0) ||
            (movers == 1 && readers + pins != 0))
            wrong_ = "threads are in together";
        const LockWord word = state.word;
        if (word.readers() != readers || word.pins() != pins || word.writing() != (writers == 1) ||
            word.moving() != (movers == 1))
            wrong_ = "the word is not what is";
    }

    static void hold(Thread& thread, LockWish wish) {
        switch (wish) {
            case LockWish::read:
                ++thread.readers;
                break;
            case LockWish::write:
                ++thread.writers;
                break;
            case LockWish::pin:
                ++thread.pins;
                break;
            case LockWish::upgrade:
                --thread.readers;
                ++thread.writers;
        }
    }

    static void next(Thread& thread) {
        ++thread.pc;
        thread.phase = Phase::at_op;
        thread.granted = false;
        thread.gave_up = false;
    }

    void refuse(State state, std::size_t i) {
        const std::size_t otherwise = current(state, i).otherwise;
        next(state.threads[i]);
        state.threads[i].pc = static_cast<std::uint8_t>(otherwise);
        if (otherwise == 99)
            wrong_ = "refused what cannot be";
        visit(state);
    }

    void step(State state, std::size_t i) {
        Thread& thread = state.threads[i];
        const bool free = state.mutex == kThreads;
        switch (thread.phase) {
            case Phase::at_op:
                return begin(state, i);
            case Phase::wants_queue:
            case Phase::wants_grant:
                if (!free)
                    return;
                state.mutex = static_cast<std::uint8_t>(i);
                thread.at = 0;
                thread.seen = thread.blocked = false;
                thread.phase = thread.phase == Phase::wants_queue ? Phase::arrives : Phase::grants;
                return visit(state);
            case Phase::arrives:
            case Phase::marks:
                return arrive(state, i);
            case Phase::waits:
                return wait(state, i);
            case Phase::gives_up:
            case Phase::gives_up_two:
                return give_up(state, i);
            case Phase::grants:
                return grant(state, i);
        }
    }

    void enter(State& state, std::size_t i, LockWish wish) {
        if (!state.word.admits(wish)) {
            state.threads[i].phase = Phase::wants_queue;
            return visit(state);
        }
        state.word = state.word.with(wish);
        hold(state.threads[i], wish);
        next(state.threads[i]);
        visit(state);
    }

    void begin(State& state, std::size_t i) {
        Thread& thread = state.threads[i];
        constexpr std::uint64_t kReader = LockWord::kReader;
        switch (current(state, i).op) {
            case Op::upgrade:
            case Op::read:
            case Op::write:
            case Op::pin:
            case Op::read_for:
            case Op::write_for:
            case Op::pin_for:
            case Op::upgrade_for:
                return enter(state, i, wish_of(current(state, i).op));
            case Op::try_move: {
                const std::uint64_t pins =
                    fault_ == Fault::newcomers_move ? state.word.pins() * LockWord::kPin : 0;
                if (!LockWord(state.word.bits() - pins).movable())
                    return refuse(state, i);
                ++thread.movers;
                return turn(state, i, 0, LockWord::kMoving);
            }
            case Op::share_read:
                ++thread.readers;
                return turn(state, i, 0, kReader);
            case Op::end_read:
                --thread.readers;
                return turn(state, i, kReader, 0);
            case Op::end_write:
                --thread.writers;
                return turn(state, i, LockWord::kWriter, 0);
            case Op::end_pin:
                --thread.pins;
                return turn(state, i, LockWord::kPin, 0);
            case Op::downgrade:
                --thread.writers;
                ++thread.readers;
                return turn(state, i, LockWord::kWriter, kReader);
            case Op::end_move:
                --thread.movers;
                return turn(state, i, LockWord::kMoving, 0);
            case Op::end_move_as_read:
                --thread.movers;
                ++thread.readers;
                return turn(state, i, LockWord::kMoving, kReader);
            case Op::end_move_as_write:
                --thread.movers;
                ++thread.writers;
                return turn(state, i, LockWord::kMoving, LockWord::kWriter);
        }
    }

    // One change of the word, and whether it sends the thread to the queue.
    void turn(State& state, std::size_t i, std::uint64_t from, std::uint64_t into) {
        state.word = LockWord(state.word.bits() - from + into);
        bool look = false;
        if (from == LockWord::kReader)
            look = fault_ == Fault::forgets_upgrade
                       ? state.word.calls() && state.word.readers() == 0
                       : state.word.calls();
        else if (from == LockWord::kWriter || from == LockWord::kMoving)
            look = state.word.queued();
        if (look)
            state.threads[i].phase = Phase::wants_grant;
        else
            next(state.threads[i]);
        visit(state);
    }

    void arrive(State& state, std::size_t i) {
        Thread& thread = state.threads[i];
        const LockWish wish = wish_of(current(state, i).op);
        if (thread.phase == Phase::arrives) {
            if (state.word.admits(wish)) {
                state.mutex = kThreads;
                return enter(state, i, wish);
            }
            if (wish == LockWish::upgrade && state.word.upgrading()) {
                state.mutex = kThreads;
                return refuse(state, i);
            }
            if (fault_ == Fault::looks_then_queues) {
                thread.phase = Phase::marks;
                return visit(state);
            }
        }
        state.word = state.word.with_waiter(wish);
        const auto first = state.queue.begin();
        if (wish == LockWish::upgrade) {
            std::copy_backward(first, first + state.queued, first + state.queued + 1);
            state.queue[0] = static_cast<std::uint8_t>(i);
        } else {
            state.queue[state.queued] = static_cast<std::uint8_t>(i);
        }
        ++state.queued;
        thread.phase = Phase::waits;
        state.mutex = kThreads;
        visit(state);
    }

    void wait(State state, std::size_t i) {
        Thread& thread = state.threads[i];
        if (state.mutex != kThreads)
            return;
        const Op op = current(state, i).op;
        const bool timed =
            op == Op::read_for || op == Op::write_for || op == Op::pin_for || op == Op::upgrade_for;
        if (thread.granted) {
            next(thread);
            visit(state);
        } else if (timed) {
            state.mutex = static_cast<std::uint8_t>(i);
            thread.phase = Phase::gives_up;
            visit(state);
        }
    }

    static void leave_queue(State& state, std::size_t i) {
        const auto end = state.queue.begin() + state.queued;
        std::remove(state.queue.begin(), end, static_cast<std::uint8_t>(i));
        --state.queued;
    }

    void unmark(State& state) {
        if (fault_ != Fault::leaves_mark)
            state.word = LockWord(state.word.bits() & ~LockWord::kQueued);
    }

    void give_up(State& state, std::size_t i) {
        Thread& thread = state.threads[i];
        if (thread.phase == Phase::gives_up) {
            leave_queue(state, i);
            if (wish_of(current(state, i).op) == LockWish::upgrade)
                state.word = LockWord(state.word.bits() & ~LockWord::kUpgrading);
            thread.phase = Phase::gives_up_two;
            return visit(state);
        }
        if (state.queued != 0) {
            thread.gave_up = true;
            thread.at = 0;
            thread.seen = thread.blocked = false;
            thread.phase = Phase::grants;
            return visit(state);
        }
        if (state.queued == 0)
            unmark(state);
        state.mutex = kThreads;
        refuse(state, i);
    }

    // One place of the queue a step.
    void grant(State& state, std::size_t i) {
        Thread& thread = state.threads[i];
        const bool enough = fault_ == Fault::first_only && thread.seen;
        if (thread.at < state.queued && !enough) {
            const std::size_t who = state.queue[thread.at];
            const LockWish wish = wish_of(current(state, who).op);
            const bool in_order = wish == LockWish::pin || !thread.blocked;
            thread.seen = true;
            if (in_order && state.word.grants(wish)) {
                state.word = state.word.with(wish);
                hold(state.threads[who], wish);
                state.threads[who].granted = true;
                leave_queue(state, who);
            } else {
                thread.blocked = thread.blocked || wish != LockWish::pin;
                ++thread.at;
            }
            return visit(state);
        }
        if (thread.seen && state.queued == 0)
            unmark(state);
        state.mutex = kThreads;
        if (thread.gave_up)
            return refuse(state, i);
        next(thread);
        visit(state);
    }

    std::vector<Program> programs_;
    Fault fault_;
    std::unordered_set<std::string> seen_;
    std::vector<State> open_;
    std::size_t steps_ = 0;
    std::string wrong_;
};

// What threads do with a buffer.
const std::vector<Program> kPrograms = {
    {{Op::read}, {Op::end_read}},
    {{Op::write}, {Op::end_write}},
    {{Op::pin}, {Op::end_pin}},
    {{Op::read_for, 2}, {Op::end_read}},
    {{Op::write_for, 2}, {Op::end_write}},
    {{Op::pin_for, 2}, {Op::end_pin}},
    {{Op::read}, {Op::upgrade, 3}, {Op::downgrade}, {Op::end_read}},
    {{Op::read},
     {Op::upgrade_for, 5},
     {Op::downgrade},
     {Op::share_read},
     {Op::end_read},
     {Op::end_read}},
    {{Op::write}, {Op::downgrade}, {Op::share_read}, {Op::end_read}, {Op::end_read}},
    {{Op::try_move, 2}, {Op::end_move}},
    {{Op::try_move, 3}, {Op::end_move_as_read}, {Op::end_read}},
    {{Op::try_move, 3}, {Op::end_move_as_write}, {Op::end_write}},
};

struct Found {
    std::string wrong;
    std::size_t states = 0;
};

// Every choice of `count` programs, with repetition.
Found explore_all(std::size_t count, Fault fault) {
    Found found;
    std::vector<std::size_t> chosen(count, 0);
    for (;;) {
        std::vector<Program> programs;
        std::string name;
        for (const std::size_t i : chosen) {
            programs.push_back(kPrograms[i]);
            name += ' ' + std::to_string(i);
        }
        Paths paths(programs, fault);
        if (const std::string wrong = paths.explore(); !wrong.empty())
            return {wrong + ", programs" + name, found.states};
        found.states += paths.states();
        std::size_t digit = count;
        while (digit > 0 && chosen[digit - 1] == kPrograms.size() - 1)
            --digit;
        if (digit == 0)
            return found;
        const std::size_t value = chosen[digit - 1] + 1;
        std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(digit) - 1, chosen.end(), value);
    }
}

}  // namespace

TEST_CASE(
    "no order of steps of two or three threads loses a wake-up or lets in two that exclude "
    "each other",
    "[tiers][buffer_lock]") {
    CHECK(explore_all(2, Fault::none).wrong.empty());
    const Found found = explore_all(3, Fault::none);
    CHECK(found.wrong == "");
    CHECK(found.states > 10'000);
}

TEST_CASE("the walk through all orders finds the faults that such locks have",
          "[tiers][buffer_lock]") {
    for (const Fault fault : {Fault::looks_then_queues, Fault::first_only, Fault::forgets_upgrade,
                              Fault::leaves_mark, Fault::newcomers_move}) {
        CAPTURE(static_cast<int>(fault));
        CHECK_FALSE(explore_all(3, fault).wrong.empty());
    }
}

TEST_CASE("no order of steps of four threads does either", "[tiers][buffer_lock][.long]") {
    const Found found = explore_all(4, Fault::none);
    WARN(found.states << " states");
    CHECK(found.wrong == "");
}

}  // namespace tidemark
