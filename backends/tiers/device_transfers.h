// DeviceTransfers: the real Transfers. Memory of GPUs by their allocators, host memory in pinned
// blocks, disk buffers in disk stores; copies in chunks (chunked_copy.h) on streams of their own,
// one for each direction of a GPU, so that both directions run at the same time.
//
// The polling thread does everything. It never waits except in the destructor and for a device that
// failed. A copy starts when the program's work on its source has passed, and doesn't delay others
// meanwhile. Works on every Device: on the simulator host blocks have to come from a device whose
// host memory is the process's own.
//
// Thread-safety: as Transfers says, if the devices are thread-safe; allocators are called under a
// lock, one call at a time per GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/tiers/chunked_copy.h"
#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/tiers/engine/transfer.h"

namespace tidemark {

// Streams that nobody else uses, if the program numbers its own from 0.
constexpr StreamId kCopyOutStream{0x7fff'0001};
constexpr StreamId kCopyInStream{0x7fff'0002};

struct GpuSpace {
    SpaceId space;
    Device* device = nullptr;
    // Where its memory comes from; null: the device's own malloc, whose free waits for all its
    // work. Either nobody else uses it, or it is thread-safe.
    Allocator* allocator = nullptr;
    // The only stream that the allocator knows: memory freed to it is free on all of them.
    StreamId locations = StreamId::default_stream;
    StreamId out = kCopyOutStream;
    StreamId in = kCopyInStream;
};

struct HostSpace {
    SpaceId space;
    HostBlocks* blocks = nullptr;
};

struct DiskSpace {
    SpaceId space;
    DiskStore* store = nullptr;
};

struct DeviceTransfersConfig {
    std::vector<GpuSpace> gpus;
    std::vector<HostSpace> hosts;  // a space's granularity is the size of its blocks
    std::vector<DiskSpace> disks;
    // Pinned blocks through which chunks pass between a GPU and a disk or another GPU. Null: such
    // copies fail. Blocks are multiples of 4096 bytes.
    HostBlocks* staging = nullptr;
    Bytes chunk = 32_MiB;    // rounded up to the chunks of the disk stores
    unsigned in_flight = 4;  // chunks, per direction of a GPU
};

class DeviceTransfers final : public Transfers {
  public:
    // Everything that the config names must outlive the transfers.
    explicit DeviceTransfers(DeviceTransfersConfig config);
    ~DeviceTransfers() override;

    // A location in GPU memory that the program owns: `free` only removes the location.
    BlockLocation adopt(SpaceId space, Range range);

    // Bytes of locations that couldn't be freed, because a device or a file refused. Freeing memory
    // is retried when more is needed (no device frees while a graph is captured); files are retried
    // by their store.
    Bytes given_up() const { return given_up_.load(); }

    // Copies that have started and not ended. For the polling thread.
    std::size_t in_flight() const { return flights_.size(); }

    Result<BlockLocation> allocate(SpaceId space, Bytes size) override;
    Result<BlockLocation> allocate_at(SpaceId space,
                                      std::shared_ptr<const AddressRange> range) override;
    void free(const BlockLocation& location) override;
    std::vector<Range> pieces(const BlockLocation& location) const override;
    Result<UsePoint> record(SpaceId space, StreamId stream, bool wrote) override;
    Result<void> order(SpaceId space, StreamId stream, std::span<const UsePoint> points) override;
    bool passed(const UsePoint& point) override;
    CopyId start(CopyOrder order) override;
    void cancel(CopyId copy) override;
    void poll(std::vector<CopyDone>& ended) override;

  private:
    // Physical memory at addresses that are kept.
    struct MappedRange {
        std::shared_ptr<const AddressRange> range;
        PhysicalId physical{};
        bool mapped = false;  // else only the memory is left
    };

    struct Gpu {
        GpuSpace space;
        CopyChannel out;
        CopyChannel in;
        std::unique_ptr<std::mutex> allocating;
        std::vector<Range> unfreed = {};  // under that mutex, like what follows
        std::vector<MappedRange> unmapped = {};
    };

    struct Disk {
        DiskSpace space;
        CopyChannel reads;
        CopyChannel writes;
    };

    // The memory or file of a location.
    struct Record {
        Allocation memory;
        MappedRange mapping = {};  // or this
        bool adopted = false;
        BlockRun run;
        BufferId file{};
        Bytes size = 0;
    };

    struct Flight {
        CopyOrder order;
        std::unique_ptr<ChunkedCopy> copy;  // once it has started
        bool cancelled = false;
    };

    Gpu* gpu(SpaceId space);
    Disk* disk(SpaceId space);
    HostBlocks* blocks(SpaceId space);
    Record* record_of(const BlockLocation& location);
    const Record* record_of(const BlockLocation& location) const;
    BlockLocation enter(SpaceId space, Bytes size, Record record);
    std::unique_ptr<Record> remove(const BlockLocation& location);
    Result<BlockLocation> allocate_gpu(Gpu& gpu, Bytes size);
    Result<BlockLocation> allocate_host(SpaceId space, HostBlocks& blocks, Bytes size);
    void free_gpu(Gpu& gpu, const Record& record);
    void free_refused(Gpu& gpu);
    static bool end_mapping(Gpu& gpu, MappedRange& mapping);
    CopyEndpoint end_of(const BlockLocation& location, bool source);
    void begin(Flight& flight);
    bool advance(Flight& flight);
    static CopyDone done(std::uint64_t id, const Flight& flight);

    DeviceTransfersConfig config_;
    std::vector<Gpu> gpus_;    // fixed after construction
    std::vector<Disk> disks_;  // the same
    std::atomic<Bytes> given_up_ = 0;

    mutable std::mutex mutex_;  // guards the table of locations
    std::map<std::uint64_t, std::unique_ptr<Record>> records_;
    std::uint64_t next_location_ = 1;
    VacantIds files_;  // names of files on disks

    std::map<std::uint64_t, Flight> flights_;  // of the polling thread, oldest first
    std::uint64_t next_copy_ = 1;
};

}  // namespace tidemark
