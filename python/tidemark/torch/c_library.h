// The functions of libtidemark.so that PyTorch's memory needs, loaded by name, so that code that is
// compiled on a user's computer links only PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <dlfcn.h>

namespace tidemark::pytorch {

// As in tidemark.h.
constexpr int kOutOfMemory = 1;
constexpr std::uint64_t kStreamOfRequest = ~std::uint64_t{1};

struct Request {
    std::size_t struct_size;
    std::uint64_t bytes;
    std::uint64_t alignment;
    std::uint64_t stream;
    std::uint32_t pool;
    std::uint32_t flags;
    std::uint32_t tag;
    std::uint32_t reserved;
};

struct Block {
    std::size_t struct_size;
    std::uint64_t address;
    std::uint64_t requested;
    std::uint64_t granted;
    std::uint64_t stream;
    std::uint32_t pool;
    std::uint32_t tag;
    std::uint64_t number;
};

struct Statistics {
    std::size_t struct_size;
    std::uint64_t reserved, allocated, active, requested, cached, live;
    std::uint64_t peak_reserved, peak_allocated_least, peak_allocated_most;
    std::uint64_t peak_requested_least, peak_requested_most;
    std::uint64_t granted, hits, refused, freed, retries;
    std::uint64_t segments_created, segments_released, device_free, device_total;
};

// A piece of what a context holds; the pieces of a segment follow each other.
struct Region {
    std::uint64_t address, bytes, requested;
    std::uint64_t segment, segment_bytes, stream;
    std::uint32_t pool, state, expandable, reserved;

    bool is_allocated() const { return state == 0; }

    bool is_active() const { return state <= 1; }  // allocated or pending free
};

struct IpcHandle {
    std::size_t struct_size;
    std::uint64_t offset;
    char bytes[64];
};

struct Error {
    std::size_t struct_size;
    int status;
    const char *what, *where, *hint;
};

static_assert(sizeof(Request) == 48 && sizeof(Block) == 56 && sizeof(Statistics) == 168 &&
              sizeof(Region) == 64 && sizeof(IpcHandle) == 80);

using Context = void*;

// The functions of libtidemark.so that are used here.
struct Library {
    int (*alloc)(Context, const Request*, std::uint64_t* address, std::uint64_t* granted);
    int (*free)(Context, std::uint64_t address, std::uint64_t bytes, std::uint64_t stream);
    int (*base_of)(Context, std::uint64_t address, Block*);
    int (*record_use)(Context, std::uint64_t address, std::uint64_t stream);
    int (*trim)(Context, int wait);
    int (*statistics_of)(Context, Statistics*);
    int (*reset_peaks)(Context);
    int (*regions)(Context, Region*, std::size_t capacity, std::size_t* count);
    int (*ipc_export)(Context, std::uint64_t address, IpcHandle*);
    int (*peer_access)(Context, int device);
    int (*last_error)(Error*);
    const char* (*policy)(Context);
};

inline Library library;

inline std::string last_error() {
    Error error{sizeof(Error), 0, "", "", ""};
    library.last_error(&error);
    return error.what;
}

inline void check(int status) {
    TORCH_CHECK(status == 0, "tidemark: ", last_error());
}

inline std::vector<Region> regions_of(Context context) {
    std::vector<Region> regions;
    std::size_t count = 0;
    do {
        regions.resize(count);
        if (library.regions(context, regions.data(), regions.size(), &count) != 0)
            return {};
    } while (count > regions.size());
    regions.resize(count);
    return regions;
}

template <class Function>
bool find(void* from, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(from, name));
    return function != nullptr;
}

// Whether the library at `path` has them all.
inline bool load(const char* path) {
    void* const from = dlopen(path, RTLD_NOW);
    if (from == nullptr)
        return false;
    return find(from, "tm_alloc", library.alloc) && find(from, "tm_free", library.free) &&
           find(from, "tm_base_of", library.base_of) &&
           find(from, "tm_record_use", library.record_use) && find(from, "tm_trim", library.trim) &&
           find(from, "tm_statistics_of", library.statistics_of) &&
           find(from, "tm_reset_peaks", library.reset_peaks) &&
           find(from, "tm_context_regions", library.regions) &&
           find(from, "tm_ipc_export", library.ipc_export) &&
           find(from, "tm_peer_access", library.peer_access) &&
           find(from, "tm_last_error", library.last_error) &&
           find(from, "tm_context_policy", library.policy);
}

}  // namespace tidemark::pytorch
