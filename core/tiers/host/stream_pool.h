// StreamPool: streams that are leased to one user at a time, for copies whose order matters only
// among themselves.
//
// A stream is a number, counted from the pool's first; the device makes it when it is first used.
// Whoever waits longest is served first: a returned stream is handed over, so that nobody who came
// later takes it. Thread-safe. Every call is O(1) but for its waiting; `shut_down` is O(waiting).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

class StreamPool;

// A stream for its holder alone; given back with the value. Must not outlive its pool.
class StreamLease {
  public:
    StreamLease(StreamLease&& other) noexcept;
    StreamLease& operator=(StreamLease&& other) noexcept;

    ~StreamLease() { reset(); }

    // Only while it holds one: not after `reset` or being moved from.
    StreamId stream() const;

    explicit operator bool() const { return pool_ != nullptr; }

    // Gives the stream back now. Work that is still queued on it stays ahead of its next holder's.
    void reset();

  private:
    friend class StreamPool;

    StreamLease(StreamPool& pool, StreamId stream) : pool_(&pool), stream_(stream) {}

    StreamPool* pool_;
    StreamId stream_;
};

// Why there is no stream: ordinary and small.
enum class StreamRefusal : std::uint8_t {
    timed_out,
    shut_down,
    out_of_numbers,  // StreamId has no further one to grow by
};

class StreamPool {
  public:
    // What to do while all are leased.
    enum class WhenBusy : std::uint8_t {
        block,  // wait
        grow,   // add a stream, which stays in the pool
    };

    // Streams `first`, `first` + 1, ... . Errors (bad_option): no streams, or more than there are
    // numbers from `first` on.
    static Result<std::unique_ptr<StreamPool>> make(StreamId first, std::uint32_t size);

    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    // A lease that outlives its pool is a broken invariant.
    ~StreamPool();

    // An idle stream, the one that was returned last if there are several. Waits for at most
    // `timeout` (nothing: for ever; zero: not at all), only with WhenBusy::block.
    tl::expected<StreamLease, StreamRefusal> acquire(
        WhenBusy when_busy, std::optional<std::chrono::nanoseconds> timeout = {});

    // Nobody gets a stream any more; all who wait are refused. Leases stay good.
    void shut_down();

    // Streams that nobody has now.
    std::uint32_t idle() const;

    // All streams: idle and leased.
    std::uint32_t size() const;

    // Calls of `acquire` that wait now.
    std::uint32_t waiting() const;

  private:
    friend class StreamLease;

    // One who waits, on its own stack.
    struct Waiter {
        std::condition_variable woken = {};
        std::optional<StreamId> stream = {};
    };

    StreamPool(StreamId first, std::uint32_t size);

    tl::expected<StreamLease, StreamRefusal> wait(std::unique_lock<std::mutex>& lock,
                                                  std::optional<std::chrono::nanoseconds> timeout);
    void give_back(StreamId stream);

    const std::uint32_t first_;
    mutable std::mutex mutex_;
    std::uint32_t size_;
    std::vector<StreamId> idle_;  // the last is next
    std::deque<Waiter*> waiters_;
    bool shut_down_ = false;
};

}  // namespace tidemark
