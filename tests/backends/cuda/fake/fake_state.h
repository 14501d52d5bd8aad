// All that the fake CUDA driver knows: devices, contexts, streams with their queues, memory,
// graphs. Handles are numbers that are never reused, so that a stale one is recognised.
//
// One State per process, behind one lock: a call of the driver takes it (fake_call.h) and
// everything in these files is called under it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "tests/backends/cuda/fake/fake_control.h"
#include "tests/backends/cuda/fake/fake_space.h"

namespace tidemark::fake {

using Code = cuda::CUresult;

constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;  // in which plain memory is taken

struct Physical;

// A piece of kUnit bytes that plain memory below that size shares.
struct Chunk {
    Space space;
    std::shared_ptr<Physical> physical;
};

struct Device {
    std::uint64_t used = 0;  // bytes of physical memory
    Backing bytes;           // of plain and pool memory, and of handles that stay here
    std::vector<Chunk> chunks;
    std::uint64_t context = 0;  // the primary one; 0 = none yet
    std::uint64_t pool = 0;     // the default one
    Code lost = Code::success;  // after a fault nobody gets its primary context again
};

// A piece of physical memory. It goes when nothing holds it: no handle, no mapping.
struct Physical {
    Physical(int on, std::uint64_t bytes) : device(on), size(bytes) {}

    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;
    ~Physical();

    int device;  // -1: host memory
    std::uint64_t size;
    std::uint64_t offset = 0;           // in the device's file
    std::shared_ptr<Backing> own = {};  // or in a file of its own, offset 0
    bool charged = false;               // counts towards the device's memory
    const Backing& backing() const;
};

struct Context {
    int device = 0;
    bool primary = false;
    std::uint32_t retained = 0;
    Code lost = Code::success;  // what every call says since a kernel faulted
    std::uint64_t default_stream = 0;
};

// "The stream has done so many pieces of work."
struct Point {
    std::uint64_t stream = 0;
    std::uint64_t count = 0;
};

struct Operation {
    std::function<Code()> work;
    std::vector<Point> after;  // on other streams
};

// A capture under way, and what each of its streams has recorded and knows of the others.
struct Capture {
    cuda::CUstreamCaptureMode mode{};
    std::uint64_t origin = 0;  // the stream it began on
    std::uint64_t thread = 0;
    bool invalidated = false;
    std::vector<Operation> nodes;
    std::vector<std::uint64_t> allocations;  // addresses that its nodes allocate
    std::set<std::uint64_t> freed;           // and free again
    std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> knows;  // stream -> clock
};

struct Stream {
    std::uint64_t context = 0;
    bool waits_for_default = true;  // not made "non-blocking"
    std::deque<Operation> queue;
    std::uint64_t queued = 0;
    std::uint64_t done = 0;
    std::shared_ptr<Capture> capture = {};
    std::uint64_t number = 0;  // of all streams that ever were
};

struct Event {
    std::uint64_t context = 0;
    Point point = {};  // stream 0 = never recorded
    std::shared_ptr<Capture> capture = {};
    std::map<std::uint64_t, std::uint64_t> clock = {};
};

// A piece of memory that can be touched.
struct Span {
    enum class Kind : std::uint8_t { plain, pool, mapping, host, opened, graph };
    Kind kind = Kind::plain;
    std::uint64_t size = 0;
    int device = 0;                             // -1: host memory
    std::uint64_t context = 0;                  // plain and host memory goes with its context
    std::uint64_t readers = ~std::uint64_t{0};  // a bit a device
    std::uint64_t writers = ~std::uint64_t{0};
    std::shared_ptr<Physical> physical = {};
};

// A piece that a pool holds; it is one span all the while.
struct PoolBlock {
    std::uint64_t pool = 0;
    std::uint64_t size = 0;
    bool live = true;
    Point freed = {};  // where its last free is queued
};

struct Pool {
    int device = 0;
    std::uint64_t threshold = 0;
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    std::uint64_t reserved_high = 0;
    std::uint64_t used_high = 0;
    bool doomed = false;  // destroyed while some of its memory was in use
};

// Memory that a node of a graph allocates: its address is fixed when it is recorded.
struct GraphBlock {
    std::uint64_t size = 0;
    int device = 0;
    bool live = false;    // allocated by a launch, and not free again
    bool backed = false;  // has been launched: it keeps its memory, as the driver's graphs do
};

struct Graph {
    std::vector<Operation> nodes;
    std::vector<std::uint64_t> allocations;
    std::set<std::uint64_t> freed;
};

struct Executable {
    Graph graph;
    bool auto_free = false;
};

struct Module {
    std::uint64_t context = 0;
    std::string text;
};

struct Function {
    std::uint64_t module = 0;
    std::string name;
};

struct Plan {
    std::string call;
    std::uint64_t nth = 0;
    Code code = Code::success;
    Failure how = Failure::one;
    std::uint64_t seen = 0;
    std::uint64_t struck = 0;
};

// Members that others refer to when they go come first.
struct State {
    std::recursive_mutex mutex;
    Config config;
    bool configured = false;
    bool started = false;     // cuInit was called
    std::uint64_t epoch = 0;  // resets so far: what a thread remembers counts for one only
    std::uint64_t next_id = 0x1000;
    std::uint64_t abandoned = 0;
    std::uint64_t streams_made = 0;
    std::map<std::uint64_t, std::uint64_t> streams_gone;  // handle -> pieces of work
    std::uint64_t strays = 0;
    Plan plan;
    std::map<std::string, std::uint64_t> calls;

    Arena arena;
    std::vector<Device> devices;
    std::map<std::uint64_t, std::uint64_t> reservations;
    std::map<std::uint64_t, Span> spans;
    std::map<std::uint64_t, std::shared_ptr<Physical>> handles;
    std::map<std::uint64_t, std::uint64_t> registered;  // host memory of the program
    std::map<std::uint64_t, PoolBlock> pool_blocks;
    std::map<std::uint64_t, Pool> pools;
    std::map<std::uint64_t, GraphBlock> graph_blocks;
    std::map<std::uint64_t, Context> contexts;
    std::set<std::uint64_t> past_primaries;  // can still be made current, and that is all
    std::map<std::uint64_t, Stream> streams;
    std::map<std::uint64_t, Event> events;
    std::map<std::uint64_t, Graph> graphs;
    std::map<std::uint64_t, Executable> executables;
    std::map<std::uint64_t, Module> modules;
    std::map<std::uint64_t, Function> functions;

    std::uint64_t new_id() { return next_id += 0x10; }

    bool has_device(int ordinal) const {
        return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size();
    }
};

State& state();

// What a thread remembers.
struct Thread {
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;
    std::vector<std::uint64_t> contexts;  // a stack; its last is current
    cuda::CUstreamCaptureMode mode = cuda::CUstreamCaptureMode::global;
};

Thread& this_thread();

// The current context, or null: there is none, or it is gone.
Context* current_context();

// Forgets everything and begins again.
void begin_anew(const Config& config);

// Destroys a context and what goes with it; `given_up` counts that as left over.
void destroy_context(std::uint64_t id, bool given_up);

// A handle as the driver's interface has it, and back.
template <class Handle>
Handle as_handle(std::uint64_t id) {
    return reinterpret_cast<Handle>(id);
}

template <class Handle>
std::uint64_t as_id(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace tidemark::fake
