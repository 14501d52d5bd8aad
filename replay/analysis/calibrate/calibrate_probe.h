// Probe: a device whose calls are timed, and which frees what is left when it ends. Samples: what
// the calls have cost so far.
//
// Not thread-safe. O(log live memory) in addition to the call itself.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "backends/sim/profile_text.h"
#include "core/device/device.h"

namespace tidemark {

// Names of operations and states must be literals.
class Samples {
  public:
    struct Key {
        std::string_view operation;
        std::string_view state;
        Bytes bytes = 0;

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    void add(const Key& key, Nanoseconds cost) { samples_[key].push_back(cost); }

    // Forgets what was measured while things warmed up.
    void clear() { samples_.clear(); }

    // Moves what took longer than `limit`, of an operation on less than `below` bytes, to `state`.
    void set_apart(std::string_view operation, Bytes below, Nanoseconds limit,
                   std::string_view state);

    // Quantiles and mean of each key, in its order. O(samples log samples).
    std::vector<MeasuredCost> summary() const;

  private:
    std::map<Key, std::vector<Nanoseconds>> samples_;
};

// What happened to the processor's caches since the last call: a program's own work, as far as it
// matters to a driver.
enum class Between : std::uint8_t {
    nothing,
    little,  // the next event of a replay: the first-level cache is another
    much,    // many events
};

class Probe {
  public:
    Probe(Device& device, Samples& samples) : device_(device), samples_(samples) {}

    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

    ~Probe() { clean(); }

    Device& device() { return device_; }

    // Calls that take or give memory, timed as their DeviceCall's name in the given state, by the
    // size of what they are about. A range of several mappings is unmapped as it was mapped.
    DeviceResult<Address> malloc(Bytes size, std::string_view state);
    DeviceResult<void> free(Address address, std::string_view state);
    DeviceResult<Range> reserve(Bytes size);
    DeviceResult<void> unreserve(Range range);
    DeviceResult<PhysicalId> create(Bytes size);
    DeviceResult<void> release(PhysicalId physical);
    DeviceResult<void> map(Range range, PhysicalId physical, std::string_view state);
    DeviceResult<void> set_access(Range range, std::string_view state);
    DeviceResult<void> unmap(Range range, const Samples::Key& key);
    DeviceResult<Address> host_malloc(Bytes size);
    DeviceResult<void> host_free(Address address);

    // Not timed.
    DeviceResult<Address> hold(Bytes size);
    DeviceResult<Range> hold_room(Bytes size);
    DeviceResult<void> let_go(Address address);
    DeviceResult<void> let_go(Range room);

    // Frees what is left of a program that could not go on.
    void clean();

    // Any other call; `make` makes it. Its cost goes to `key`.
    template <class Make>
    auto timed(DeviceCall call, const Samples::Key& key, Between between, Make make)
        -> decltype(make()) {
        disturb(between);
        const Nanoseconds before = spent(call);
        auto result = make();
        if (result)
            samples_.add(key, spent(call) - before);
        return result;
    }

    Samples& samples() { return samples_; }

  private:
    Nanoseconds spent(DeviceCall call) const {
        return device_.counters().call_ns[static_cast<std::size_t>(call)];
    }

    void disturb(Between between);

    Device& device_;
    Samples& samples_;
    std::map<Address, Bytes> plain_;
    std::map<Address, Bytes> reserved_;
    std::map<PhysicalId, Bytes> handles_;
    std::map<Address, Bytes> mapped_;
    std::map<Address, Bytes> host_;
    std::vector<std::uint64_t> cache_ = std::vector<std::uint64_t>(std::size_t{1} << 15);
    std::uint64_t disturbed_ = 0;
};

}  // namespace tidemark
