// ChunkedCopy: one copy of bytes between two locations, cut into chunks of which several are in
// flight.
//
// Between a GPU and host blocks a chunk is one batch of copies on the GPU's stream of that
// direction; between host blocks and a disk it is one transfer of the disk store directly from or
// to the blocks. If neither end is host memory a chunk goes through pinned blocks of a staging
// pool: loaded, then stored, while others are loaded (read ahead, write behind). A *channel* limits
// what is in flight in one direction of a GPU or disk, over all copies: those that started first
// come first.
//
// Whatever goes wrong, the copy ends only when nothing of it is in flight: until its end, blocks
// and locations belong to it (specs A4, defects 18 and 23). A disk buffer exists after the last
// step, or not at all.
//
// Not thread-safe: one thread drives all copies of a channel. Addresses of host blocks are those of
// this process. O(chunks in flight + pieces started) a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/device/device.h"
#include "core/tiers/disk/disk_store.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/host/host_blocks.h"

namespace tidemark {

struct CopyChannel {
    unsigned limit = 4;  // chunks in flight
    unsigned in_flight = 0;
};

// Memory of a GPU, as seen by one direction.
struct GpuEnd {
    Device* device = nullptr;
    StreamId stream = StreamId::default_stream;
    CopyChannel* channel = nullptr;
    Address address = Address::null;
};

struct HostEnd {
    const BlockRun* run = nullptr;
};

struct DiskEnd {
    DiskStore* store = nullptr;
    CopyChannel* channel = nullptr;
    BufferId id{};
};

using CopyEndpoint = std::variant<GpuEnd, HostEnd, DiskEnd>;

// The pieces of `run` that contain bytes [offset, offset + size); neighbours joined.
std::vector<Range> pieces_of(const BlockRun& run, Bytes offset, Bytes size);

class ChunkedCopy {
  public:
    // Between locations of at least `size` bytes. `chunk` is a multiple of the disk store's, if one
    // end is a disk. `staging` may be null if one end is host memory.
    ChunkedCopy(CopyEndpoint source, CopyEndpoint target, Bytes size, Bytes chunk,
                HostBlocks* staging);
    ChunkedCopy(const ChunkedCopy&) = delete;
    ChunkedCopy& operator=(const ChunkedCopy&) = delete;

    // Nothing of it may be in flight (TM_CHECK): it has ended.
    ~ChunkedCopy();

    // Continues as far as possible without waiting. True: it has ended.
    bool advance();

    // Starts no further chunk; what is in flight ends.
    void stop() { stopped_ = true; }

    // How it ended; call this after its end.
    CopyEnd end() const;

    const Error& error() const { return *error_; }

  private:
    enum class Stage : std::uint8_t { loading, loaded, storing, done };

    struct Chunk {
        Bytes offset = 0;
        Bytes size = 0;
        Stage stage = Stage::loading;
        std::vector<Range> memory;  // on the host: of a location, or staging
        BlockRun staging;
        std::optional<EventId> event;
        std::optional<DiskTicket> ticket;
    };

    bool on_host(const CopyEndpoint& location) const {
        return std::holds_alternative<HostEnd>(location);
    }

    void begin_chunks();
    bool begin_chunk();
    bool take_memory(Chunk& chunk);
    void step(Chunk& chunk);
    void load(Chunk& chunk);
    void store(Chunk& chunk);
    void queue_gpu(const GpuEnd& gpu, Chunk& chunk, bool to_host);
    bool in_flight_over(Chunk& chunk, const CopyEndpoint& location);
    bool has_credit(const CopyEndpoint& location) const;
    CopyChannel* channel_of(const CopyEndpoint& location) const;
    void fail_with(Error error);
    void finish();

    CopyEndpoint source_;
    CopyEndpoint target_;
    Bytes size_;
    Bytes chunk_size_;
    HostBlocks* staging_;
    Bytes begun_ = 0;
    std::vector<Chunk> chunks_;  // in flight, in order
    bool stopped_ = false;
    bool dropped_ = false;  // some of what was started never reached the target
    bool ended_ = false;
    std::optional<Error> error_;
    std::optional<DiskWriter> writer_;
};

}  // namespace tidemark
