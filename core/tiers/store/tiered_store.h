// TieredStore: buffers of bytes that live in the spaces of a machine and move between them: GPU,
// host and disk as one memory. The spill engine (spill_engine.h) for a real program: thread-safe,
// with answers that come later (pending.h), driven by pump() or by a thread of its own.
//
//     TieredStore store(machine, spaces, transfers, {});
//     store.start_worker();
//     BufferRef buffer = *store.create({.size = 1_GiB, .space = gpu}).take();
//     Access access = *store.acquire(buffer, {.space = gpu, .mode = AccessMode::write,
//                                             .stream = s}).take();
//     launch(kernel, s, access.address());
//     access.release();                      // after what is queued on s now
//     store.free_bytes(gpu, 10_GiB).take();  // as much as can leave, and why not more
//
// An access keeps its buffer where it is until it is released; the bytes are there for work that is
// queued on the access's stream after it was granted. The program calls from any thread.
//
// Nothing is lost: a copy that fails leaves the buffer where it was, readable, with all accounts
// exact, and whoever wanted it moved gets the error. Every request is answered, also at close().
//
// A patient request waits as long as somebody may let go of room: while accesses are open, memory
// is reserved or in use by others, or copies are under way. Where nothing of it is so, it is
// refused with what holds the room.
//
// Thread-safety: all functions, but the destructor. Lock order: queue > store > space > inside; no
// lock is held while memory is made or freed, copies are begun or answers are given. Capacity is
// given back to MemorySpaces without locks, so that their listeners may call the store.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/threads.h"
#include "core/tiers/engine/spill_engine.h"
#include "core/tiers/engine/tiered_buffer.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/spaces/oom_policy.h"
#include "core/tiers/store/pending.h"
#include "core/tiers/store/pin.h"
#include "core/tiers/store/spill_executor.h"

namespace tidemark {

class TieredStore;

// The right to use a buffer in a space. Move-only; released by its destruction.
class Access {
  public:
    Access() = default;  // to nothing
    Access(Access&& other) noexcept;
    Access& operator=(Access&& other) noexcept;

    ~Access() { release(); }

    explicit operator bool() const { return store_ != nullptr; }

    BufferRef buffer() const { return buffer_; }

    const BlockLocation& location() const { return location_; }

    AccessMode mode() const { return mode_; }

    // Where the bytes are (Transfers::pieces), and where they begin.
    std::vector<Range> pieces() const;
    Address address() const;

    // Ends it. The program's work on the buffer is what has been queued on the access's stream so
    // far; nothing waits for it here. (On the host it has been done: a device that still copies
    // from or to these blocks is the program's to wait for.) A released access is of nothing.
    void release();

  private:
    friend class TieredStore;

    TieredStore* store_ = nullptr;
    BufferRef buffer_;
    AccessMode mode_ = AccessMode::read;
    StreamId stream_ = StreamId::default_stream;
    BlockLocation location_;
};

struct StoreOptions {
    SpillOptions spill;
    // Without a worker: calls drive the engine on as far as that needs no waiting. False: only
    // pump() does.
    bool pump_in_calls = true;
    Nanoseconds heartbeat = 5'000'000;   // a worker looks at the spaces' thresholds so often
    Nanoseconds poll_interval = 20'000;  // and at copies in flight
    // Hears what becomes of buffers that have gates, in order, without locks, from whichever thread
    // drives the engine; must not call the store.
    std::function<void(std::span<const BufferEvent>)> on_moves;
    // Consulted now and then by whoever waits in wait() or close(), on its thread, without locks:
    // an Error ends the wait (a signal has come, the time is over).
    std::function<std::optional<Error>()> wait_ends;
};

class TieredStore {
  public:
    // `spaces` are those of `machine`, in its order. All outlive the store.
    TieredStore(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                Transfers& transfers, StoreOptions options);
    TieredStore(const TieredStore&) = delete;
    TieredStore& operator=(const TieredStore&) = delete;

    // close(). All accesses have been released.
    ~TieredStore();

    // A new buffer.
    Pending<Result<BufferRef>> create(const BufferSpec& spec);

    // A buffer over the program's own memory, contiguous at `location`, which outlives it: nothing
    // is charged, and nothing is freed when it leaves, so it is never taken to make room (defect
    // 27).
    BufferRef adopt(const BufferSpec& spec, const BlockLocation& location);

    // Ends a buffer. Its memory comes free when the work on it has passed. Errors: not_found;
    // bad_input: somebody has an access. Accesses that are waited for are refused (not_found).
    Result<void> destroy(BufferRef buffer);

    // Brings the buffer to a space if it is elsewhere, and keeps it there until the access is
    // released. First come, first served per buffer.
    Pending<Result<Access>> acquire(BufferRef buffer, const AccessSpec& spec);

    // Several at once, each with its mode, in the space of `spec`: all are granted together, in the
    // order of `uses` (a buffer that is there twice once, by its stronger mode). While it waits for
    // room it holds none of them, so that two requests never wait for each other.
    Pending<Result<std::vector<Access>>> acquire_all(std::span<const BufferUse> uses,
                                                     const AccessSpec& spec);

    // Sets memory aside, in the first of the spec's spaces that has it; room is made out of what
    // nobody has reserved. Patient: waits in fair order.
    Pending<Result<MemoryReservation>> reserve(const ReservationSpec& spec);

    // Brings it there without keeping it. By default only into room that there is (below the start
    // of spilling), else refused with no_room. To a slower space: writes it back, so that leaving
    // the faster one will be free (SpillOptions::keep_clean).
    Pending<Result<void>> prefetch(BufferRef buffer, SpaceId space, bool make_room = false);

    // Gives `size` bytes of the space back, as far as possible, and says how far and why.
    Pending<FreeReport> free_bytes(SpaceId space, Bytes size);

    // The same as the out-of-memory policy `spill-and-retry` wants it. Lives as long as the store;
    // waits, so it is not called from within the store (Transfers).
    Spiller& spiller(SpaceId space);

    // The program's word on a buffer (BufferFacts). False: it is gone. Its next use is the access
    // of the store that comes after so many; 0: nobody knows, kNeverUsed: none.
    bool set_hint(BufferRef buffer, std::int32_t hint);
    bool set_next_use(BufferRef buffer, std::uint64_t accesses);
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Which buffers would leave `space` next, in order, until `size` bytes would be free, or none
    // could any more. Nothing leaves.
    std::vector<VictimCandidate> candidates(SpaceId space, Bytes size);

    // Has the buffer leave `space` for a slower one, as if room were needed. False: it may not, or
    // is not there.
    bool evict(BufferRef buffer, SpaceId space);

    // The program begins something that has a name (a step, a layer): what learns from its past
    // knows it again.
    void mark(std::string_view name);

    // Drives everything on as far as it goes without waiting. False: nothing was to be done, or
    // another thread is at it.
    bool pump();

    // Waits for an answer; without a worker this thread drives the engine meanwhile. A wait that
    // StoreOptions::wait_ends ends has its request withdrawn.
    template <class T>
    T wait(Pending<T> pending) {
        while (!pending.ready()) {
            if (has_worker_.load())
                (void)pending.wait_for(kLookAround);
            else if (!pump())
                pause();
            auto why = options_.wait_ends ? options_.wait_ends() : std::nullopt;
            if (why && withdraw(pending.request(), std::move(*why)))
                break;
        }
        return pending.take();
    }

    // Refuses what has not been granted, for the given reason (SpillEngine::withdraw); `request` is
    // Pending::request. False: too late.
    bool withdraw(std::uint64_t request, Error why);

    // Starts a thread that pumps, until close(). Once at most. Errors (io): the system has no
    // thread; the store goes on as one without.
    Result<void> start_worker();

    // Waits until no copy is in flight, and nothing is leaving. Requests that wait for somebody
    // else go on waiting. Not `for_ever`: as close().
    Result<void> drain(bool for_ever = true);

    // Refuses what waits and what is asked for from now on (shut_down), ends copies in flight, then
    // all buffers. Waits for the devices; not `for_ever`: as long as wait_ends has no Error, which
    // is the answer then, and the next close() goes on with it. All accesses have been released.
    // Idempotent.
    Result<void> close(bool for_ever = true);

    // Figures of one moment.
    SpillCounters counters(SpaceId space) const;
    std::size_t buffers() const;
    std::size_t in_flight() const;
    std::vector<SpaceId> where(BufferRef buffer) const;  // valid copies, home first
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Every invariant of the engine (TM_CHECK). O(buffers); for tests.
    void check() const;

  private:
    friend class Access;
    friend class PinDesk;

    class SpaceSpiller final : public Spiller {
      public:
        SpaceSpiller(TieredStore& store, SpaceId space) : store_(store), space_(space) {}

        Result<Bytes> free_bytes(Bytes size) override;

        SpaceId space() const { return space_; }

      private:
        TieredStore& store_;
        SpaceId space_;
    };

    struct Created {
        Promise<Result<BufferRef>> promise;
    };

    struct Acquired {
        Promise<Result<Access>> promise;
        BufferUse use;
        AccessSpec spec;
    };

    struct AcquiredAll {
        Promise<Result<std::vector<Access>>> promise;
        std::vector<BufferUse> uses;
        AccessSpec spec;
    };

    struct Pinned {
        Promise<Result<std::vector<BufferPin>>> promise;
        std::vector<PinUse> uses;
    };

    struct Reserved {
        Promise<Result<MemoryReservation>> promise;
    };

    struct Prefetched {
        Promise<Result<void>> promise;
    };

    struct Freed {
        Promise<FreeReport> promise;
    };

    using Requested =
        std::variant<Created, Acquired, AcquiredAll, Pinned, Reserved, Prefetched, Freed>;

    // How often it is looked whether a wait is over.
    static constexpr std::chrono::milliseconds kLookAround{10};

    template <class Request, class Kind>
    auto submit(Request&& request, Kind kind);
    template <class Call>
    auto call(Call&& call);
    template <class Kind>
    void deliver(Kind& request, SpillAnswer& answer);
    void end_access(Access& access);
    void after_call();
    void deliver(std::vector<SpillAnswer>& answers);
    Result<std::vector<Access>> hand_out(std::span<const BufferUse> uses, const AccessSpec& spec,
                                         std::optional<std::uint32_t> group);
    void settle(std::uint32_t group, bool taken);
    void work();
    void pause();

    const MachineSpec& machine_;
    Transfers& transfers_;
    const StoreOptions options_;
    std::vector<std::unique_ptr<SpaceSpiller>> spillers_;

    mutable std::mutex mutex_;  // of the engine and what was asked of it
    SpillEngine engine_;
    std::unordered_map<std::uint64_t, Requested> requests_;

    std::atomic<bool> pumping_ = false;   // one thread drives
    SpillExecutor<std::mutex> executor_;  // of the pumping thread

    std::mutex rest_;  // of the worker, and of those who wait while somebody else pumps
    std::condition_variable stirred_;
    bool awake_ = false;
    bool stopping_ = false;
    std::atomic<bool> has_worker_ = false;
    Thread worker_;
};

}  // namespace tidemark
