// ArenaCache: the default pool of the arena policy. Exact-size free lists over the driver's pool.
//
// Model: numr's allocator outside of captures (src/runtime/cuda/allocator.rs). A freed buffer goes
// to the list of its exact size and is reused first in, first out. A list holds 64 buffers, and all
// lists together `cap` bytes. Beyond that, the oldest buffer of the list, or of the largest size,
// goes to the driver's stream-ordered pool, which also serves misses. When that is full, everything
// cached is freed, the stream is waited for, the driver's pool is trimmed and asked once more. In
// numr the client has one stream. Here each stream has lists of its own, and a buffer that other
// streams used too (record_use) is ordered behind them before anybody else gets it.
//
// What the driver's pool keeps beyond the buffers counts as held, as it was at the last call: the
// pool may have released some since, when the program waited.
//
// A value that names its device only in calls. Not thread-safe. O(log sizes) a call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {

struct ArenaCacheSettings {
    Bytes cap = 1_GiB;          // most that the lists hold together
    Bytes threshold = 512_MiB;  // what the driver's pool keeps at a synchronization
};

class ArenaCache {
  public:
    static constexpr Bytes kUnit = 512;     // sizes, as the driver's pool rounds them
    static constexpr Bytes kAligned = 256;  // addresses, as it promises
    static constexpr std::uint32_t kMostOfASize = 64;

    explicit ArenaCache(const ArenaCacheSettings& settings) : settings_(settings) {}

    // A buffer for the request, which is below kLargestRequest.
    tl::expected<Allocation, OutOfMemory> allocate(const Request& request, Device& device,
                                                   AllocatorStats& stats);

    // The buffer's bytes are free from now on; may free other buffers to the driver.
    void deallocate(std::uint32_t node, Device& device, AllocatorStats& stats);

    void record_use(std::uint32_t node, StreamId stream) { buffers_[node].streams.add(stream); }

    // Frees what is cached to the driver's pool, as far as the device accepts it. Does not wait.
    void drain(Device& device, AllocatorStats& stats);

    // Bytes of all buffers, live and cached, plus what the driver's pool keeps.
    Bytes held() const { return buffered_ + slack_; }

    // Asks the device what its pool holds now.
    void look_at_pool(const Device& device);

    Bytes largest_cached() const;

    // Visits every buffer, by address. The rest of the driver's pool is at addresses that only the
    // driver knows, and is shown behind the highest buffer. O(buffers log buffers).
    void for_each_region(const std::function<void(const Region&)>& visit) const;

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    struct Buffer {
        enum class State : std::uint8_t { vacant, live, cached };

        Address begin = Address::null;
        Bytes size = 0;     // as the driver rounds it
        Bytes request = 0;  // exactly
        StreamId stream = StreamId::default_stream;
        StreamSet streams;           // that used it
        std::uint32_t next = kNone;  // in its list, younger
        State state = State::vacant;
    };

    struct Key {
        Bytes size = 0;
        StreamId stream = StreamId::default_stream;

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    // Cached buffers of one size, the oldest first.
    struct List {
        std::uint32_t first = kNone;
        std::uint32_t last = kNone;
        std::uint32_t count = 0;
    };

    using Lists = std::map<Key, List>;  // empty ones stay: programs repeat themselves

    DeviceResult<Address> ask(Bytes size, StreamId stream, Device& device, AllocatorStats& stats);
    tl::expected<std::uint32_t, OutOfMemory> take_cached(Lists::iterator list, StreamId stream,
                                                         Device& device);
    std::uint32_t pop(Lists::iterator list);
    void push(Lists::iterator list, std::uint32_t node);
    Lists::iterator largest_list();
    bool give_to_driver(Lists::iterator list, Device& device, AllocatorStats& stats);

    ArenaCacheSettings settings_;
    bool threshold_set_ = false;
    Bytes buffered_ = 0;
    Bytes slack_ = 0;
    Bytes cached_ = 0;
    Address last_ = Address::null;  // the last address that came from the driver
    std::vector<Buffer> buffers_;
    VacantIds vacant_;
    Lists lists_;
};

}  // namespace tidemark::policies
