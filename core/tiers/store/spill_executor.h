// SpillExecutor: carries out a SpillEngine's decisions with a Transfers: makes and frees locations,
// starts copies, polls their ends. The same for a real program and for a replay; the owner decides
// when it runs a turn, and what happens to answers.
//
// The engine is called under `mutex`, everything else without it: transfers may take long.
// Thread-safety: one thread at a time runs a turn.
#pragma once

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

// For owners with a single thread.
struct NoMutex {
    void lock() {}

    void unlock() {}
};

template <class Mutex>
class SpillExecutor {
  public:
    // All must outlive it.
    SpillExecutor(SpillEngine& engine, Transfers& transfers, Mutex& mutex)
        : engine_(engine), transfers_(transfers), mutex_(mutex) {}

    // One turn: polls what has ended, lets the engine decide, carries it out. `observe(work)` sees
    // the work before it is done, `deliver(answers)` gets the answers. False: there was nothing to
    // do.
    template <class Observe, class Deliver>
    bool turn(bool stirred, Observe&& observe, Deliver&& deliver) {
        const bool happened = receive();
        {
            const std::lock_guard lock(mutex_);
            engine_.schedule(stirred);
            engine_.take_work(work_);
        }
        if (work_.empty())
            return happened;
        observe(std::as_const(work_));
        for (const CopyId copy : work_.cancelling)
            transfers_.cancel(copy);
        for (SpillWork::Leaving& leaving : work_.leaving)
            give_back(leaving);
        for (const SpillWork::Making& making : work_.making) {
            auto location = making.range ? transfers_.allocate_at(making.space, making.range)
                                         : transfers_.allocate(making.space, making.size);
            const std::lock_guard lock(mutex_);
            engine_.placed(making.buffer, std::move(location));
        }
        for (SpillWork::Starting& starting : work_.starting) {
            const CopyId copy = transfers_.start(std::move(starting.order));
            copies_.emplace(to_integer(copy), starting.buffer);
            const std::lock_guard lock(mutex_);
            engine_.started(starting.buffer, copy);
        }
        deliver(work_.answers);
        return true;
    }

  private:
    // The results of poll() and of the streams.
    bool receive() {
        ended_.clear();
        transfers_.poll(ended_);
        for (CopyDone& done : ended_)
            take_in(std::move(done));
        std::vector<WaitingFree> deferred;
        {
            const std::lock_guard lock(mutex_);
            deferred = engine_.awaited();
        }
        bool passed = false;
        for (const WaitingFree& waiting : deferred) {
            if (!std::all_of(waiting.after.begin(), waiting.after.end(),
                             [&](const UsePoint& point) { return transfers_.passed(point); }))
                continue;
            const std::lock_guard lock(mutex_);
            engine_.passed(waiting.deferred);
            passed = true;
        }
        return passed || !ended_.empty();
    }

    void take_in(CopyDone done) {
        const auto found = copies_.find(to_integer(done.copy));
        TM_CHECK(found != copies_.end());
        const BufferRef buffer = found->second;
        copies_.erase(found);
        const std::lock_guard lock(mutex_);
        engine_.copied(buffer, std::move(done));
    }

    void give_back(SpillWork::Leaving& leaving) {
        if (leaving.location)
            transfers_.free(*leaving.location);
        const Bytes freed = releasable(leaving.charge);
        if (leaving.charge)
            leaving.charge.space->uncharge(leaving.charge);
        const std::lock_guard lock(mutex_);
        engine_.left(leaving.deferred, freed);
    }

    SpillEngine& engine_;
    Transfers& transfers_;
    Mutex& mutex_;
    SpillWork work_;
    std::vector<CopyDone> ended_;
    std::unordered_map<std::uint64_t, BufferRef> copies_;  // in flight
};

}  // namespace tidemark
