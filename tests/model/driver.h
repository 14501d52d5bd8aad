// Driver: the memory and the streams of a device as a test wants them, deterministic and scripted:
// two instances that are asked the same things answer the same. The slow model of PyTorch's
// allocator uses it directly; DriverDevice (driver_device.h) makes a Device of it for the policy
// under test. What an allocator does with it that a recorded trace would show is logged, as Effects
// in the order in which they happen.
//
// Time is the number of the step that the test is at. The work that is queued on a stream in a step
// is done when the test says so (finish), or when somebody waits for it. Not thread-safe; copies
// are independent.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <vector>

#include "core/base/units.h"

namespace tidemark::model {

// What a trace of PyTorch's shows of an allocator's dealings with the device, and the reservations
// that it doesn't show.
struct Effect {
    enum class Kind : std::uint8_t {
        segment_alloc,
        segment_free,
        segment_map,
        segment_unmap,
        reserve,
        unreserve,
    };
    Kind kind = Kind::segment_alloc;
    Range range;

    friend bool operator==(const Effect&, const Effect&) = default;
};

std::ostream& operator<<(std::ostream& out, const Effect& effect);

struct DriverSetup {
    // Where the next segment or reservation is put.
    enum class Placement : std::uint8_t {
        ascending,    // above all that were ever made
        lowest_gap,   // as low as possible, so that addresses come back
        alternating,  // above and below those that were made, in turns
    };
    Bytes capacity = 1_GiB;
    Placement placement = Placement::ascending;
    bool free_waits = true;  // does segment_free wait for all streams, as cudaFree does?
};

class Driver {
  public:
    explicit Driver(const DriverSetup& setup);

    // The test's script. `taken_by_others` bytes are none of the allocator's; from `begin_refusal`
    // on, after `after` more pages or segments the next `count` are refused.
    void begin_step() { ++now_; }

    void finish(StreamId stream, unsigned percent);  // of the steps that are not done

    void take_by_others(Bytes size) { taken_by_others_ = size; }

    void begin_refusal(std::uint64_t after, std::uint64_t count);

    // Physical memory, for a page or a segment. False: refused.
    bool take(Bytes size);

    void give(Bytes size) { used_ -= size; }

    // Plain memory.
    std::optional<Address> segment_alloc(Bytes size);
    bool segment_free(Address address);  // false: not the begin of a segment

    // Virtual memory. `map` takes the range page by page; all of it or, when refused, nothing.
    Range reserve(Bytes size);
    bool unreserve(Range range);  // false: not a reservation
    bool map(Range range, Bytes page);
    void unmap(Range range);

    // Streams. `now` is the current step.
    std::uint64_t now() const { return now_; }

    bool done(StreamId stream, std::uint64_t step) const;

    void synchronize(StreamId stream) { done_[stream] = now_; }

    void synchronize_all() { all_done_ = now_; }

    Bytes capacity() const { return setup_.capacity; }

    Bytes used() const { return used_; }

    Bytes unused() const;

    void note(Effect::Kind kind, Range range) { effects_.push_back({kind, range}); }

    const std::vector<Effect>& effects() const { return effects_; }

    void clear_effects() { effects_.clear(); }

  private:
    // Ranges of addresses of one sort.
    struct Addresses {
        std::map<Address, Bytes> taken;
        std::uint64_t up = 0;    // the end of the highest one ever placed
        std::uint64_t down = 0;  // the begin of the lowest one
        std::uint64_t count = 0;
    };

    Address choose_address(Addresses& addresses, Bytes size) const;

    DriverSetup setup_;
    Bytes used_ = 0;
    Bytes taken_by_others_ = 0;
    std::uint64_t refuse_after_ = 0;
    std::uint64_t refusals_ = 0;
    Addresses segments_;
    Addresses reservations_;
    std::uint64_t now_ = 0;
    std::uint64_t all_done_ = 0;  // every stream is done with the steps up to here
    std::map<StreamId, std::uint64_t> done_;
    std::vector<Effect> effects_;
};

}  // namespace tidemark::model
