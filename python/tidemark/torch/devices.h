// PyTorch's memory on each device: a context, which Python opens when it is first needed, and
// counts. The context knows the live blocks; they are counted here, since others may share it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "c_library.h"
#include "reclaim.h"

namespace tidemark::pytorch {

using c10::CachingAllocator::Stat;
using c10::CachingDeviceAllocator::DeviceStats;

// Opens the context of a device; returns 0 and writes the reason if that fails.
using Open = std::uint64_t (*)(int device, std::uint32_t* tag, char* why, std::size_t room);
inline Open open_context = nullptr;

inline std::uint64_t number_of(const void* pointer) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

inline void* pointer_of(std::uint64_t address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

inline std::int64_t signed_of(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

struct Device {
    std::atomic<Context> context = nullptr;
    std::atomic<int> open_scopes = 0;  // of pools: a graph may be in capture
    std::atomic<bool> has_strangers = false;
    std::uint32_t tag = 0;
    std::mutex mutex;  // guards everything below; don't call PyTorch or the library with it
    DeviceStats stats;  // of our allocations, and of those that PyTorch's own allocator serves
    std::uint64_t quota = 0;
    std::uint64_t retries_before = 0;  // at the last reset of the statistics
    double fraction = 1;
    std::set<std::uint64_t> strangers;  // streams from outside PyTorch: others may destroy them
    // Small and large segments of the context, counted when it had created and released this many.
    std::uint64_t created = 0;
    std::uint64_t released = 0;
    std::array<Stat, 3> segments{};
    std::array<Stat, 3> reserved{};
};

constexpr std::uint64_t kSmallSegment = std::uint64_t{2} << 20U;

constexpr std::size_t kMostDevices = 64;

// Lets calls run while another thread captures a graph in global mode; they don't become part
// of the graph.
class Relaxed {
  public:
    explicit Relaxed(const Device& device)
        : Relaxed(device.open_scopes.load(std::memory_order_relaxed) != 0) {}

    explicit Relaxed(bool needed) : needed_(needed) { exchange(); }

    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

    ~Relaxed() { exchange(); }

  private:
    // If it fails, there is no device to capture on.
    void exchange() noexcept {
        if (needed_)
            static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
    }

    bool needed_;
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// PyTorch has statistics of all, of small and of large allocations.
constexpr std::size_t kAll = 0;

inline std::size_t kind_of(std::uint64_t bytes) {
    return bytes <= std::uint64_t{1} << 20U ? 1 : 2;
}

inline void count(Device& device, const Block& block, bool granted) {
    const std::lock_guard lock(device.mutex);
    const auto change = [granted](Stat& stat, std::uint64_t amount) {
        granted ? stat.increase(amount) : stat.decrease(amount);
    };
    for (const std::size_t kind : {kAll, kind_of(block.granted)}) {
        for (auto* counted : {&device.stats.allocation, &device.stats.active})
            change((*counted)[kind], 1);
        for (auto* bytes : {&device.stats.allocated_bytes, &device.stats.active_bytes})
            change((*bytes)[kind], block.granted);
        change(device.stats.requested_bytes[kind], block.requested);
    }
}

inline void set_to(Stat& stat, std::uint64_t now) {
    const std::int64_t change = signed_of(now) - stat.current;
    if (change > 0)
        stat.increase(static_cast<std::size_t>(change));
    else
        stat.decrease(static_cast<std::size_t>(-change));
}

// Counts the segments if some were created or released since the last time.
inline void count_segments(Device& device, const Statistics& now) {
    const Context context = device.context.load();
    {
        const std::lock_guard lock(device.mutex);
        if (context == nullptr ||
            (device.created == now.segments_created && device.released == now.segments_released))
            return;
    }
    std::array<std::uint64_t, 3> segments{};
    std::array<std::uint64_t, 3> bytes{};
    std::uint64_t last = 0;
    for (const Region& region : regions_of(context)) {
        if (region.segment == last)
            continue;
        last = region.segment;
        const std::size_t kind = region.segment_bytes <= kSmallSegment ? 1 : 2;
        ++segments[kind];
        bytes[kind] += region.segment_bytes;
    }
    const std::lock_guard lock(device.mutex);
    device.created = now.segments_created;
    device.released = now.segments_released;
    for (const std::size_t kind : {1, 2}) {
        set_to(device.segments[kind], segments[kind]);
        set_to(device.reserved[kind], bytes[kind]);
    }
}

// Needs the device's mutex.
inline bool over_quota(const Device& device, std::uint64_t size) {
    const auto held = static_cast<std::uint64_t>(device.stats.requested_bytes[kAll].current);
    return device.quota != 0 && held + size > device.quota;
}

// A live allocation, and its device.
struct Found {
    int index = 0;
    Context context = nullptr;
    Block block{sizeof(Block)};
};

class Devices {
  public:
    Device& at(int index) {
        TORCH_CHECK(index >= 0 && index < static_cast<int>(kMostDevices), "tidemark: no device ",
                    index);
        return devices_[static_cast<std::size_t>(index)];
    }

    auto begin() { return devices_.begin(); }

    auto end() { return devices_.end(); }

    // Allocates `size` bytes; returns nothing if there is no room. Throws if the device fails.
    std::optional<Block> take(std::size_t size, int index, cudaStream_t stream) {
        Device& device = at(index);
        const Relaxed relaxed(device);
        const Context context = context_of(index);
        {
            const std::lock_guard lock(device.mutex);
            if (over_quota(device, size))
                return std::nullopt;
        }
        note_stranger(device, index, stream);
        const Request request{sizeof(Request), size, 0, number_of(stream), 0, 0, device.tag, 0};
        Block block{sizeof(Block), 0, size, 0, number_of(stream)};
        int status = library.alloc(context, &request, &block.address, &block.granted);
        if (status == kOutOfMemory && reclaim().reclaim(index, size))
            status = library.alloc(context, &request, &block.address, &block.granted);
        if (status == kOutOfMemory)
            return std::nullopt;
        check(status);
        count(device, block, true);
        return block;
    }

    // The live allocation that contains the pointer. It tries the current device first.
    std::optional<Found> find(const void* pointer) noexcept {
        const int first =
            opened_.load(std::memory_order_relaxed) > 1 ? current_or(0) : last_opened_.load();
        Found found;
        if (find_in(first, pointer, found))
            return found;
        for (int index = 0; index < static_cast<int>(kMostDevices); ++index) {
            if (index != first && find_in(index, pointer, found))
                return found;
        }
        return std::nullopt;
    }

    void give(const Found& found) noexcept {
        Device& device = devices_[static_cast<std::size_t>(found.index)];
        const Relaxed relaxed(device);
        if (library.free(found.context, found.block.address, 0,
                         stream_to_free(device, found.block.stream)) == 0)
            count(device, found.block, false);
    }

    // Opened without our lock: it waits for Python's lock, whose owner may wait for ours.
    Context context_of(int index) {
        Device& device = at(index);
        if (Context found = device.context.load(std::memory_order_acquire))
            return found;
        std::array<char, 512> why{};
        std::uint32_t tag = 0;
        const std::uint64_t handle = open_context(index, &tag, why.data(), why.size());
        TORCH_CHECK(handle != 0, "tidemark: ", why.data());
        device.tag = tag;
        const auto opened = static_cast<Context>(pointer_of(handle));
        if (device.context.exchange(opened, std::memory_order_acq_rel) == nullptr) {
            last_opened_ = index;
            ++opened_;
        }
        return opened;
    }

    // Of the device's context, if it is open.
    static Statistics statistics(const Device& device) {
        Statistics now{sizeof(Statistics)};
        if (const Context context = device.context.load(std::memory_order_acquire))
            check(library.statistics_of(context, &now));
        return now;
    }

  private:
    static int current_or(int otherwise) noexcept {
        c10::DeviceIndex index = 0;
        return c10::cuda::GetDevice(&index) == cudaSuccess ? index : otherwise;
    }

    // A stream that PyTorch got from outside (torch.cuda.ExternalStream): its id is its handle.
    static void note_stranger(Device& device, int index, cudaStream_t stream) {
        if (stream == nullptr || c10::cuda::device_count() == 0)  // a simulated device has none
            return;
        const auto current = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(index));
        if (current.stream() != stream ||
            static_cast<std::uint64_t>(current.id()) != number_of(stream))
            return;
        const std::lock_guard lock(device.mutex);
        device.strangers.insert(number_of(stream));
        device.has_strangers = true;
    }

    static std::uint64_t stream_to_free(Device& device, std::uint64_t stream) {
        if (!device.has_strangers.load(std::memory_order_acquire))
            return stream;
        const std::lock_guard lock(device.mutex);
        return device.strangers.count(stream) != 0 ? kStreamOfRequest : stream;
    }

    bool find_in(int index, const void* pointer, Found& found) noexcept {
        const Context context =
            devices_[static_cast<std::size_t>(index)].context.load(std::memory_order_acquire);
        found.index = index;
        found.context = context;
        return context != nullptr &&
               library.base_of(context, number_of(pointer), &found.block) == 0;
    }

    std::array<Device, kMostDevices> devices_;
    std::atomic<int> opened_ = 0;
    std::atomic<int> last_opened_ = 0;
};

}  // namespace tidemark::pytorch
