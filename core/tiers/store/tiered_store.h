// TieredStore: buffers of bytes that are in the spaces of a machine and move between them: GPU,
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
// queued on the access's stream after it was granted. The program may call from any thread.
//
// Nothing is lost: a copy that fails leaves the buffer where it was, readable, with all accounts
// exact, and whoever requested the move gets the error. Every request is answered, even at close().
//
// A patient request waits as long as somebody may release room: while accesses are open, memory is
// reserved or in use by others, or copies are in progress. If none of this is the case, it is
// refused with what holds the room.
//
// Thread-safety: all functions except the destructor. Lock order: queue > store > space > inside;
// no lock is held while memory is made or freed, copies are started or answers are delivered.
// Capacity is returned to MemorySpaces without locks, so their listeners may call the store.
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

    // The ranges of the bytes (Transfers::pieces), and where they start.
    std::vector<Range> pieces() const;
    Address address() const;

    // Ends it. The program's work on the buffer is what has been queued on the access's stream so
    // far; this call waits for nothing. (On the host the work must be done: the program has to wait
    // for a device that still copies from or to these blocks.) A released access is empty.
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
    // Without a worker: calls drive the engine as far as possible without waiting. False: only
    // pump() does.
    bool pump_in_calls = true;
    Nanoseconds heartbeat = 5'000'000;   // how often a worker checks the spaces' thresholds
    Nanoseconds poll_interval = 20'000;  // and at copies in flight
    // Is told what becomes of buffers that have gates, in order, without locks, by whichever thread
    // drives the engine; must not call the store.
    std::function<void(std::span<const BufferEvent>)> on_moves;
    // Called now and then in wait() or close(), on the waiting thread, without locks: an Error ends
    // the wait (a signal has arrived, or time is up).
    std::function<std::optional<Error>()> wait_ends;
};

class TieredStore {
  public:
    // `spaces` are those of `machine`, in its order. All must outlive the store.
    TieredStore(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                Transfers& transfers, StoreOptions options);
    TieredStore(const TieredStore&) = delete;
    TieredStore& operator=(const TieredStore&) = delete;

    // close(). All accesses must have been released.
    ~TieredStore();

    // A new buffer.
    Pending<Result<BufferRef>> create(const BufferSpec& spec);

    // A buffer over the program's own memory, contiguous at `location`, which must outlive it:
    // nothing is charged, and nothing is freed when it leaves, so it is never evicted to make room
    // (defect 27).
    BufferRef adopt(const BufferSpec& spec, const BlockLocation& location);

    // Ends a buffer. Its memory becomes free when the work on it has passed. Errors: not_found;
    // bad_input: somebody has access. Waiting accesses are refused (not_found).
    Result<void> destroy(BufferRef buffer);

    // Brings the buffer to a space if it is elsewhere, and keeps it there until the access is
    // released. First come, first served per buffer.
    Pending<Result<Access>> acquire(BufferRef buffer, const AccessSpec& spec);

    // Several at once, each with its mode, in the space of `spec`: all are granted together, in the
    // order of `uses` (a buffer that is listed twice counts once, with its stronger mode). While it
    // waits for room it holds none of them, so two requests never wait for each other.
    Pending<Result<std::vector<Access>>> acquire_all(std::span<const BufferUse> uses,
                                                     const AccessSpec& spec);

    // Reserves memory, in the first of the spec's spaces that has it; room is made from unreserved
    // memory. Patient: waits in fair order.
    Pending<Result<MemoryReservation>> reserve(const ReservationSpec& spec);

    // Brings it there without keeping it. By default only into existing room (below the start of
    // spilling), else refused with no_room. To a slower space: writes it back, so that leaving the
    // faster one costs nothing later (SpillOptions::keep_clean).
    Pending<Result<void>> prefetch(BufferRef buffer, SpaceId space, bool make_room = false);

    // Frees `size` bytes of the space, as far as possible, and reports how many and why not more.
    Pending<FreeReport> free_bytes(SpaceId space, Bytes size);

    // The same in the form that the out-of-memory policy `spill-and-retry` needs. Valid as long as
    // the store; it waits, so it must not be called from within the store (Transfers).
    Spiller& spiller(SpaceId space);

    // Facts that the program states about a buffer (BufferFacts). False: it is gone. Its next use
    // is the store's access after this many; 0: unknown, kNeverUsed: none.
    bool set_hint(BufferRef buffer, std::int32_t hint);
    bool set_next_use(BufferRef buffer, std::uint64_t accesses);
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Which buffers would leave `space` next, in order, until `size` bytes would be free, or none
    // could leave any longer. Nothing leaves.
    std::vector<VictimCandidate> candidates(SpaceId space, Bytes size);

    // Evicts the buffer from `space` to a slower one, as if room were needed. False: it may not
    // leave, or is elsewhere.
    bool evict(BufferRef buffer, SpaceId space);

    // The program starts a named part of itself (a step, a layer): forecasts that learn from the
    // past recognise it.
    void mark(std::string_view name);

    // Drives everything as far as possible without waiting. False: there was nothing to do, or
    // another thread is driving.
    bool pump();

    // Waits for an answer; without a worker this thread drives the engine meanwhile. If
    // StoreOptions::wait_ends ends a wait, its request is withdrawn.
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

    // Refuses a request that has not been granted, for the given reason (SpillEngine::withdraw);
    // `request` is Pending::request. False: too late.
    bool withdraw(std::uint64_t request, Error why);

    // Starts a thread that pumps, until close(). At most once. Errors (io): the system has no
    // thread; the store continues without one.
    Result<void> start_worker();

    // Waits until no copy is in flight, and nothing is leaving. Requests that wait for somebody
    // else continue to wait. Not `for_ever`: as close().
    Result<void> drain(bool for_ever = true);

    // Refuses everything that waits and all later requests (shut_down), ends copies in flight, then
    // all buffers. Waits for the devices; not `for_ever`: only as long as wait_ends has no Error,
    // which is then the answer, and the next close() continues. All accesses must have been
    // released. Idempotent.
    Result<void> close(bool for_ever = true);

    // Figures of one moment.
    SpillCounters counters(SpaceId space) const;
    std::size_t buffers() const;
    std::size_t in_flight() const;
    std::vector<SpaceId> where(BufferRef buffer) const;  // valid copies, home first
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Checks every invariant of the engine (TM_CHECK). O(buffers); for tests.
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

    // How often to check whether a wait has ended.
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

    mutable std::mutex mutex_;  // guards the engine and its requests
    SpillEngine engine_;
    std::unordered_map<std::uint64_t, Requested> requests_;

    std::atomic<bool> pumping_ = false;   // one thread drives
    SpillExecutor<std::mutex> executor_;  // of the pumping thread

    std::mutex rest_;  // of the worker, and of threads that wait while another one pumps
    std::condition_variable stirred_;
    bool awake_ = false;
    bool stopping_ = false;
    std::atomic<bool> has_worker_ = false;
    Thread worker_;
};

}  // namespace tidemark
