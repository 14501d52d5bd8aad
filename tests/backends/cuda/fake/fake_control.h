// What a test says to the fake CUDA driver beside the driver's own calls: how many devices there
// are, which call fails, when queued work is done, what is left over. The library is loaded at run
// time, like the real one; nothing is linked.
//
// A program that is started by a test gets its fake through the environment: TIDEMARK_CUDA_DRIVER
// names the library, TIDEMARK_FAKE_CUDA_CONFIG holds a configuration as text (see `Config`).
//
// One fake per process, whoever loads it: tests that use it begin with `reset`. Thread-safe, as the
// driver is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <dlfcn.h>

namespace tidemark::fake {

// What is pretended. As text: "devices=2,memory=1073741824,vmm=0,fail=cuMemCreate:3:2", where the
// names are those below, and fail=CALL:NTH:CODE[:one|all|lost] is `fail` (CALL `any` is all calls).
struct Config {
    std::uint32_t devices = 1;
    std::uint32_t driver_version = 13000;
    std::uint64_t memory = std::uint64_t{1} << 30;         // bytes of each device
    std::uint64_t granularity = std::uint64_t{2} << 20;    // of VMM
    std::uint64_t address_space = std::uint64_t{1} << 46;  // bytes that can be addressed in all
    std::uint32_t vmm = 1;      // 0: the device has no virtual memory management
    std::uint32_t pools = 1;    // 0: no stream-ordered memory
    std::uint32_t ipc = 1;      // 0: no handles for other processes
    std::uint32_t peers = 1;    // 0: no device reaches another
    std::uint32_t recycle = 0;  // 1: a new stream has the handle of the one destroyed last
    std::uint32_t by_hand = 0;  // 1: queued work is done when `progress` says so, or somebody waits
};

// How long a failure lasts.
enum class Failure : std::uint32_t {
    one,   // the n-th call only
    all,   // the n-th and those after it
    lost,  // the n-th; from then on every call that needs the context fails with that code
};

// What lives at the moment.
struct Leaks {
    std::uint64_t allocations = 0;       // cuMemAlloc
    std::uint64_t pool_allocations = 0;  // cuMemAllocAsync
    std::uint64_t host_allocations = 0;  // pinned, and registered
    std::uint64_t handles = 0;           // of physical memory, not released or still mapped
    std::uint64_t mappings = 0;
    std::uint64_t reservations = 0;
    std::uint64_t streams = 0;
    std::uint64_t events = 0;
    std::uint64_t graphs = 0;  // and executable ones
    std::uint64_t modules = 0;
    std::uint64_t pools = 0;      // made by the program
    std::uint64_t opened = 0;     // IPC
    std::uint64_t contexts = 0;   // made, or primary and retained
    std::uint64_t abandoned = 0;  // what lived when its context was given up, and went with it

    std::uint64_t total() const {
        return allocations + pool_allocations + host_allocations + handles + mappings +
               reservations + streams + events + graphs + modules + pools + opened + contexts +
               abandoned;
    }
};

// The fake's door. Holds the library as long as it lives.
class Control {
  public:
    // Loads the library; `loaded()` says whether that worked.
    explicit Control(const char* library) : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {}

    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    ~Control() {
        if (handle_ != nullptr)
            dlclose(handle_);
    }

    bool loaded() const { return handle_ != nullptr; }

    // Forgets everything that lives, all counts and failures, and begins again.
    void reset(const Config& config = {}) { call<void>("tidemark_fake_reset", &config); }

    // The `nth` call from now (1 is the next) of that name fails with `code`; "" counts the calls
    // of all names. Replaces the failure told before; nth 0 ends it.
    void fail(const char* name, std::uint64_t nth, int code, Failure how = Failure::one) {
        call<void>("tidemark_fake_fail", name, nth, code, static_cast<std::uint32_t>(how));
    }

    // How often the failure struck.
    std::uint64_t failures() const { return call<std::uint64_t>("tidemark_fake_failures"); }

    // How often a call named a stream that was destroyed.
    std::uint64_t strays() const { return call<std::uint64_t>("tidemark_fake_strays"); }

    // How often a call was made since `reset`; "" sums over all.
    std::uint64_t calls(const char* name) const {
        return call<std::uint64_t>("tidemark_fake_calls", name);
    }

    Leaks leaks() const {
        Leaks found;
        call<void>("tidemark_fake_leaks", &found);
        return found;
    }

    // The same in words: "2 handles, 1 stream", or "" when nothing lives.
    std::string leaks_text() const { return call<const char*>("tidemark_fake_leaks_text"); }

    // Does up to `count` pieces of queued work, oldest streams first; returns how many were done.
    std::uint64_t progress(std::uint64_t count = ~std::uint64_t{0}) {
        return call<std::uint64_t>("tidemark_fake_progress", count);
    }

    // Pieces of work that are queued and not done.
    std::uint64_t pending() const { return call<std::uint64_t>("tidemark_fake_pending"); }

    // A kernel faults now: all calls in contexts of the device fail with `code` from here on.
    void lose(int device, int code) { call<void>("tidemark_fake_lose", device, code); }

    // Reads or writes device memory as a kernel would; false where it would fault.
    bool peek(std::uint64_t address, void* target, std::size_t size) const {
        return call<int>("tidemark_fake_peek", address, target, size) != 0;
    }

  private:
    template <class R, class... Arguments>
    R call(const char* name, Arguments... arguments) const {
        using Function = R (*)(Arguments...);
        return reinterpret_cast<Function>(dlsym(handle_, name))(arguments...);
    }

    void* handle_;
};

}  // namespace tidemark::fake
