// Graphs of the simulator: what was queued on captured streams, as steps with their addresses.
//
// A Recording is a capture in progress. A stream joins it by waiting for an event that was recorded
// in it, as with CUDA; every step must be known to the first stream at the end (it waits for the
// others), or the capture is lost. A Graph is its result: a launch repeats its steps in the order
// in which they were recorded, and takes as long as its longest chain of steps that wait for each
// other.
//
// Memory that malloc_async returns inside a capture belongs to the graph: its addresses stay, and
// each launch binds it again (GraphMemory). Where it is in the graph's piece of physical memory is
// decided here: a step's memory is reused for a later one only if that comes after the free in the
// graph's order. Two allocations never have the same address, though the driver may do that; so an
// address that is used after its free is detected.
//
// Not thread-safe. O(streams) a step; O(holes) for memory.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "backends/sim/costs.h"
#include "core/base/units.h"

namespace tidemark {

// One operation that is queued on a stream, or that a launch does.
struct GraphStep {
    enum class Kind : std::uint8_t {
        copy,
        fill,     // with the lowest byte of `pattern`
        pattern,  // with the four bytes of `pattern`, the lowest first
        take,     // from here on `target` is memory
        give,     // and to here
    };
    Kind kind = Kind::copy;
    Transfer transfer = Transfer::on_device;
    std::uint32_t pattern = 0;
    Address target = Address::null;
    Address source = Address::null;  // of a copy
    Bytes size = 0;
};

// A graph's own memory, `offset` bytes into what the graph gets for a launch.
struct GraphPiece {
    Range range;
    Bytes offset = 0;
    bool given_back = false;  // by a step of the graph
};

struct Graph {
    std::vector<GraphStep> steps;
    std::map<Address, GraphPiece> pieces;
    Bytes footprint = 0;       // what all pieces need at the same time
    Nanoseconds duration = 0;  // of the longest chain
    Nanoseconds done = std::numeric_limits<Nanoseconds>::min();  // when the last launch ends
};

class Recording {
  public:
    explicit Recording(StreamId first) { stream_index(first); }

    StreamId first() const { return streams_.front().stream; }

    bool has(StreamId stream) const { return find(stream) != nullptr; }

    bool has(EventId event) const { return points_.contains(to_integer(event)); }

    // The streams below are in the recording, and the events below have been recorded in it.
    void add(StreamId stream, const GraphStep& step, Nanoseconds duration);
    void record(StreamId stream, EventId event);

    // From now on `stream`, which joins if it isn't in, comes after `event`.
    void wait(StreamId stream, EventId event);

    // Memory at `range`, an address that nobody has, for what comes after.
    void take(StreamId stream, Range range);

    // Its end; false if nothing that was taken begins there, or no longer does.
    bool give(StreamId stream, Address address);

    // Was all of the range taken, and not freed since?
    bool holds(Range range) const;

    // The pieces taken so far.
    const std::map<Address, GraphPiece>& pieces() const { return graph_.pieces; }

    // Is every step known to the first stream?
    bool joined() const;

    // What was recorded; ends the recording.
    Graph finish();

  private:
    // For each stream, how many of its steps come before.
    using Clock = std::vector<std::uint64_t>;

    struct StreamState {
        StreamId stream = StreamId::default_stream;
        Clock known;
        Nanoseconds busy = 0;  // until when, from the launch on
    };

    struct Point {
        Clock known;
        Nanoseconds busy = 0;
    };

    // Memory of the footprint that step number `step` of a stream freed.
    struct Hole {
        Bytes size = 0;
        std::size_t index = 0;  // of the stream
        std::uint64_t step = 0;
    };

    static std::uint64_t at(const Clock& clock, std::size_t index);

    const StreamState* find(StreamId stream) const;
    std::size_t stream_index(StreamId stream);
    Bytes position(const StreamState& state, Bytes size);

    std::vector<StreamState> streams_;
    std::map<std::uint64_t, Point> points_;  // by event
    std::map<Bytes, Hole> holes_;            // by offset
    Graph graph_;
};

}  // namespace tidemark
