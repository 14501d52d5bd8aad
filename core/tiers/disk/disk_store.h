// DiskStore: the disk tier. Buffers of bytes by id, in scratch files of one or several directories.
//
//     TM_ASSIGN(auto store, DiskStore::open(files, {.directories = {"/scratch"}}));
//     TM_TRY(store->write(id, sources));                   // waits
//     DiskTicket reading = store->read_async(id, targets);
//     TM_TRY(reading.wait());
//
// A buffer's chunks go to the directories in turn (scratch_files.h). The files have no names: the
// buffers end with the store or with the process. A buffer exists as a whole from its commit on.
//
// Promises. A write that fails takes no space, and what was stored under the id before is still
// there. A read that fails leaves the buffer unchanged. A checksum detects content that has changed
// on the disk. Every failure is an Error that names the directory; no_space for a full disk, which
// is ordinary. A directory that fails is skipped while others have room.
//
// Transfers are direct (past the page cache) if the file system supports that, several in flight.
// Sources and targets need no alignment. Those that start at multiples of 4096, with pieces of a
// multiple of it, are moved without a copy; others go through buffers of the store.
//
// Thread-safety: every function may be called from any thread. The caller orders overlapping
// operations on *one* id, except that reads may overlap each other and an erase. Operations on
// other ids never wait for each other, except for a free worker. Callbacks: none; no lock is held
// while a file is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "core/base/units.h"
#include "core/base/work_queue.h"
#include "core/tiers/disk/block_files.h"
#include "core/tiers/disk/scratch_files.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

struct DiskStoreOptions {
    std::vector<std::string> directories;  // at least one
    Bytes chunk = 4_MiB;   // unit of striping, checksums and transfers; a multiple of 4096
    unsigned depth = 4;    // transfers in flight per operation and directory
    unsigned workers = 2;  // operations at the same time; others wait, first come, first served
};

struct DiskUsage {
    Bytes stored = 0;  // bytes of buffers
    Bytes used = 0;    // bytes of files: stored or being written, rounded up to 4096 per chunk
    std::uint64_t buffers = 0;
};

// The end of an asynchronous operation. A small shared handle: copies refer to the same operation.
// Dropping it does not cancel. Thread-safe.
class DiskTicket {
  public:
    struct State;

    explicit DiskTicket(std::shared_ptr<State> state) : state_(std::move(state)) {}

    // Whether it has ended. O(1).
    bool done() const;

    // Waits for the end and returns the result; may be called again.
    Result<void> wait() const;

  private:
    std::shared_ptr<State> state_;
};

struct DiskBuffer;  // one that is stored, or being written
class ChunkIo;

// A write in parts: see DiskStore::begin_write. Dropping the last copy abandons the write when its
// parts have ended. All copies must be dropped before the store ends.
class DiskWriter {
  private:
    friend class DiskStore;

    DiskWriter(BufferId id, std::shared_ptr<DiskBuffer> buffer)
        : id_(id), buffer_(std::move(buffer)) {}

    BufferId id_;
    std::shared_ptr<DiskBuffer> buffer_;
};

using SourceSpans = std::span<const std::span<const std::byte>>;
using TargetSpans = std::span<const std::span<std::byte>>;

class DiskStore {
  public:
    // Makes the files and starts the workers. Errors: bad_option for invalid options; io, no_space
    // for a directory that cannot be used, or if the system has no thread. `files` must outlive the
    // store.
    static Result<std::unique_ptr<DiskStore>> open(BlockFiles& files, DiskStoreOptions options);

    // Waits for operations in progress; the buffers are gone.
    ~DiskStore();

    DiskStore(const DiskStore&) = delete;
    DiskStore& operator=(const DiskStore&) = delete;

    const DiskStoreOptions& options() const { return options_; }

    // Reserves the space of a buffer of `size` bytes, which need never be in memory as a whole.
    // Parts are written in any order, also at the same time: each starts at a multiple of the chunk
    // size and ends at one or at the buffer's end. The spans' memory (not the array) must stay
    // unchanged until the ticket is done. When all have ended, `commit` makes it the buffer `id`
    // and replaces what was stored under it; without it nothing stays. Errors: no_space, io; of a
    // commit: bad_input while parts are missing or failed.
    Result<DiskWriter> begin_write(BufferId id, Bytes size);
    DiskTicket write_part(const DiskWriter& writer, Bytes offset, SourceSpans sources);
    Result<void> commit(const DiskWriter& writer);

    // All of the above, for the bytes of `sources`, one after another.
    Result<void> write(BufferId id, SourceSpans sources);

    // Reads the buffer from `offset` on until the targets are full. Whole chunks are checked:
    // reading part of one reads all of it. The memory belongs to the store until the ticket is
    // done; after a failure its content is undefined. Errors: not_found; io; bad_input beyond the
    // buffer's end, and for content that has changed.
    DiskTicket read_async(BufferId id, TargetSpans targets, Bytes offset = 0);
    Result<void> read(BufferId id, TargetSpans targets, Bytes offset = 0);

    // Erases the buffer; its space is free after the reads of it that are in progress. Errors:
    // not_found.
    Result<void> erase(BufferId id);

    // The size of a buffer whose write has completed. O(1).
    std::optional<Bytes> size(BufferId id) const;

    DiskUsage usage() const;  // O(1)

  private:
    using Operation = std::function<Result<void>(ChunkIo&)>;

    struct Job {
        Operation run;
        std::shared_ptr<DiskTicket::State> ticket;
    };

    DiskStore(BlockFiles& files, DiskStoreOptions options)
        : files_(files), options_(std::move(options)), scratch_(files) {}

    Result<void> start();
    DiskTicket push(Operation operation);
    void work();
    Result<void> write_chunks(ChunkIo& io, DiskBuffer& buffer, Bytes offset,
                              std::span<const MemoryPiece> source);

    BlockFiles& files_;
    DiskStoreOptions options_;
    ScratchFiles scratch_;

    mutable std::mutex lock_;  // of the table, and of which chunks are written
    std::unordered_map<BufferId, std::shared_ptr<DiskBuffer>> buffers_;
    Bytes stored_ = 0;

    WorkQueue<Job> jobs_;
    std::vector<Thread> workers_;
};

}  // namespace tidemark
