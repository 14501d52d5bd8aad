// The imagined machine: its GPUs, each a SimDevice, and what the program holds of them.
//
// Addresses that the program sees are the simulator's, each device in a window of its own far above
// what a process can map: a pointer itself shows whether it is a device's, and a program that
// follows one dies immediately. Their order within a device is the driver's, as far as SimDevice
// knows it, because PyTorch takes the block at the lowest address.
//
// Everything but `Lock`'s own construction needs the lock. A child made by fork() has a machine of
// its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/imagined/contents.h"
#include "backends/imagined/settings.h"
#include "backends/sim/costs.h"
#include "backends/sim/sim_device.h"

namespace tidemark::imagined {

using Pointer = std::uint64_t;  // of the program: of a device, or of the host

constexpr int kFirstBus = 10;  // PCI bus of the first device; the others follow

struct Stream {
    StreamId id{0};
    int device = 0;
    int priority = 0;
    unsigned flags = 0;
};

struct Event {
    std::optional<EventId> point;  // of the last record
    int device = 0;
    Nanoseconds recorded = 0;
    std::uint64_t waits = 0;  // Machine::waits() at the last record
    int looks = 0;            // of threads that only watch, since then
};

// Physical memory of one cuMemCreate.
struct Physical {
    PhysicalId id{0};
    int device = 0;
    Bytes size = 0;
};

class Machine {
  public:
    static Machine& get();

    int gpus() const { return static_cast<int>(devices_.size()); }

    SimDevice& device(int index) { return *devices_[static_cast<std::size_t>(index)]; }

    Pointer to_pointer(int device, Address address) const;
    Address to_address(Pointer pointer) const;

    // The device that a pointer belongs to, or nothing for the host's.
    std::optional<int> device_of(Pointer pointer) const;

    // The stream behind a handle: the program's own, or one of the default ones of `device`.
    Stream stream_of(const void* handle, int device) const;
    Stream* make_stream(int device, unsigned flags, int priority);

    // Work of a kernel on a stream.
    void run(const Stream& stream);

    // How often the program has waited for a device.
    std::uint64_t waits() const { return waits_; }

    void count_wait() { ++waits_; }

    // What the context takes when this is first used on a device: "kernels", ...
    void first_use(int device, const std::string& what);

    // Memory that a library takes from the driver without PyTorch's knowledge; and from the
    // addresses of cudaMalloc.
    void hold(int device, Bytes memory, Bytes addresses);

    // What others than PyTorch's allocator take from the driver in allocations of their own.
    void take_beside(int device, Pointer at, Bytes size);
    void give_beside(int device, Pointer at);

    // Everything that isn't PyTorch's: the context, and the most that was taken besides.
    Bytes held(int device) const {
        const Context& context = contexts_[static_cast<std::size_t>(device)];
        return context.held + context.most_beside;
    }

    Contents contents;

    // Host memory that the device can reach: begin -> size.
    std::map<Pointer, std::uint64_t> pinned;
    std::set<Pointer> managed;                             // of it, what cudaFree frees
    std::unordered_map<std::uint64_t, Physical> physical;  // by handle
    std::uint64_t next_handle = 1;

    std::uint64_t refused = 0;  // how often a device had no memory left

    // Streams that have had work.
    std::size_t streams_used() const { return used_.size(); }

  private:
    Machine();

    struct Context {
        Bytes held = 0;
        std::set<std::string> used;
        std::unordered_map<Pointer, Bytes> beside;
        Bytes now_beside = 0, most_beside = 0;
    };

    CostProfile profile_;
    std::vector<Context> contexts_;
    std::vector<std::unique_ptr<SimDevice>> devices_;
    Pointer top_ = 0;  // where plain memory in the driver's order starts, in the simulator
    std::uint32_t streams_ = 0;
    std::uint64_t waits_ = 0;
    std::set<StreamId> used_;
};

// Holds the machine's lock as long as this exists.
class Lock {
  public:
    Lock();

    Machine* operator->() const { return &Machine::get(); }

  private:
    std::unique_lock<std::recursive_mutex> held_;
};

// Whether this thread has begun any work.
bool& launches();

// The device that this thread's calls are for, and its last error.
int& current_device();
int& last_error();

// `status`, kept for cudaGetLastError if it is an error.
int report(int status);

// The CUDA error for a simulator's error.
int to_status(const DeviceError& error);

template <class T>
int status_of(const DeviceResult<T>& result) {
    return result ? 0 : to_status(result.error());
}

}  // namespace tidemark::imagined
