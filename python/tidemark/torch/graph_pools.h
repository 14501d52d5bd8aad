// Memory of captured graphs for PyTorch's MemPools. PyTorch passes only a size, a device and a
// stream to a pool's functions, so each pool has its own functions, from a fixed number of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "c_library.h"
#include "devices.h"

namespace tidemark::pytorch {

struct GraphPiece {
    std::uint64_t address;
    std::uint64_t bytes;
};

// Thread-safe.
class GraphPools {
  public:
    static constexpr std::size_t kMost = 64;

    using Alloc = void* (*)(std::size_t size, int device, cudaStream_t stream);
    using Free = void (*)(void* pointer, std::size_t size, int device, cudaStream_t stream);

    // Returns functions for the private pool `number` of `context`, which must stay open until they
    // are vacant; -1 if all are in use.
    int open(Context context, std::uint32_t number) {
        for (std::size_t at = 0; at < kMost; ++at) {
            const std::lock_guard lock(pools_[at].mutex);
            if (is_vacant(pools_[at])) {
                pools_[at].context = context;
                pools_[at].number = number;
                pools_[at].open = true;
                return static_cast<int>(at);
            }
        }
        return -1;
    }

    // Says that there are no more requests.
    void close(int at) {
        GraphPool& pool = pools_.at(static_cast<std::size_t>(at));
        const std::lock_guard lock(pool.mutex);
        pool.open = false;
    }

    // Whether it is closed and has no live blocks.
    bool is_vacant(int at) {
        GraphPool& pool = pools_.at(static_cast<std::size_t>(at));
        const std::lock_guard lock(pool.mutex);
        return is_vacant(pool);
    }

    // Writes at most `capacity` live blocks; returns how many there are.
    std::size_t pieces(int at, GraphPiece* pieces, std::size_t capacity) {
        GraphPool& pool = pools_.at(static_cast<std::size_t>(at));
        const std::lock_guard lock(pool.mutex);
        std::size_t count = 0;
        for (const auto& [address, bytes] : pool.live) {
            if (count < capacity)
                pieces[count] = {address, bytes};
            ++count;
        }
        return count;
    }

    // Returns null if there is no room.
    void* take(std::size_t at, std::size_t size, cudaStream_t stream) {
        GraphPool& pool = pools_[at];
        const Relaxed relaxed(true);
        const std::lock_guard lock(pool.mutex);
        const Request request{sizeof(Request), size, 0, number_of(stream), pool.number, 0, 0, 0};
        std::uint64_t address = 0;
        if (!pool.open || library.alloc(pool.context, &request, &address, nullptr) != 0)
            return nullptr;
        pool.live.emplace(address, size);
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    }

    void give(std::size_t at, void* pointer) {
        GraphPool& pool = pools_[at];
        const Relaxed relaxed(true);
        const std::lock_guard lock(pool.mutex);
        if (pool.live.erase(number_of(pointer)) != 0)
            library.free(pool.context, number_of(pointer), 0, kStreamOfRequest);
    }

  private:
    struct GraphPool {
        std::mutex mutex;
        Context context = nullptr;
        std::uint32_t number = 0;
        bool open = false;
        std::map<std::uint64_t, std::uint64_t> live;  // bytes by address
    };

    static bool is_vacant(const GraphPool& pool) { return !pool.open && pool.live.empty(); }

    std::array<GraphPool, kMost> pools_;
};

// Never destroyed: tensors may outlive everything else.
inline GraphPools& graph_pools() {
    static auto* const made = new GraphPools;
    return *made;
}

template <std::size_t at>
void* take_from(std::size_t size, int /*device*/, cudaStream_t stream) {
    return graph_pools().take(at, size, stream);
}

template <std::size_t at>
void give_to(void* pointer, std::size_t /*size*/, int /*device*/, cudaStream_t /*stream*/) {
    graph_pools().give(at, pointer);
}

template <std::size_t... at>
std::pair<GraphPools::Alloc, GraphPools::Free> functions_of(std::size_t wanted,
                                                            std::index_sequence<at...> /*all*/) {
    constexpr std::array<GraphPools::Alloc, sizeof...(at)> kTake{take_from<at>...};
    constexpr std::array<GraphPools::Free, sizeof...(at)> kGive{give_to<at>...};
    return {kTake.at(wanted), kGive.at(wanted)};
}

}  // namespace tidemark::pytorch
