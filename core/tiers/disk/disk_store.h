// DiskStore: the disk tier. Buffers of bytes by id, in files on one or several directories.
//
//     TM_ASSIGN(auto store, DiskStore::open(files, {.directories = {{.path = "/scratch"}}}));
//     TM_TRY(store->write(id, sources));                   // waits
//     DiskTicket reading = store->read_async(id, targets);
//     TM_TRY(reading.wait());
//
// Every buffer lies in files of its own, striped over directories in chunks, described and
// checksummed so that a file which was cut, torn or changed is recognised (disk_format.h,
// docs/format-spill.md). A buffer is there once its first file's head is written, which is the last
// thing that a write does; killed at any moment, the process leaves whole buffers and recognisable
// rubbish, and nothing else.
//
// Promises. Quotas are checked before anything is written: the store's files never exceed them. A
// write that fails leaves no file and no quota behind, and what was stored under the id before is
// still there. A read that fails leaves the buffer. Every failure is an Error that names file and
// offset; no_space for a quota or a full disk. A directory that fails is passed over while others
// have room: a write that it spoils is made again elsewhere.
//
// Transfers are direct (past the page cache) where the file system has that, several in flight.
// Sources and targets need no alignment; those that begin at multiples of 4096 and whose pieces
// are multiples of it are moved without a copy, others through buffers of the store.
//
// Thread-safety: every function may be called from any thread. Operations on *one* id that overlap
// are ordered by the caller, save that reads may overlap each other and an erase; other ids never
// wait for each other but for a free worker. Callbacks: none; no lock is held while a file is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

constexpr Bytes kNoQuota = ~Bytes{0};

struct DiskDirectory {
    std::string path;        // must exist
    Bytes quota = kNoQuota;  // of the store's files in it
};

// What to do with files that a dead process left.
enum class Leftovers : std::uint8_t {
    clean,    // remove all
    recover,  // keep whole buffers, whose checksums are right, under their ids; remove the rest
};

// Whether stored buffers survive the loss of power. They survive the death of the process always.
enum class SyncPolicy : std::uint8_t {
    none,  // not promised; spilled data is seldom worth it. Damage is still recognised
    data,  // a write that has completed is on the disk: an fsync for each file and directory
};

struct DiskStoreOptions {
    std::vector<DiskDirectory> directories;  // at least one, each a different one
    Bytes quota = kNoQuota;                  // of all together
    Bytes chunk = 4_MiB;   // unit of striping, checksums and transfers; a multiple of 4096
    unsigned depth = 4;    // transfers in flight per operation and directory of it
    unsigned workers = 2;  // operations at the same time; further ones queue, first come first
    unsigned stripes = 0;  // directories that a buffer is spread over at most; 0: all
    Leftovers leftovers = Leftovers::clean;
    SyncPolicy sync = SyncPolicy::none;
    bool keep_at_close = false;  // leave the files for a later `recover`; else they are removed
};

// A buffer that a dead process had stored.
struct RecoveredBuffer {
    BufferId id{};
    Bytes size = 0;
    std::uint64_t tag = 0;

    friend bool operator==(const RecoveredBuffer&, const RecoveredBuffer&) = default;
};

// What was found in a directory.
struct DirectoryReport {
    std::string path;
    std::optional<Error> error;       // why it is not used (missing, in use, unreadable, ...)
    std::uint64_t removed_files = 0;  // leftovers: all of them, or the torn and outdated ones
    Bytes removed_bytes = 0;
    std::vector<Error> faults;  // of torn files, unreadable ones, and those that would not go
};

struct DiskOpenReport {
    std::vector<DirectoryReport> directories;  // in order of the options
    std::vector<RecoveredBuffer> recovered;    // by id; stored in the new store
    std::vector<RecoveredBuffer> incomplete;   // left alone: a part lies in an unusable directory
};

// A directory's state, now.
struct DirectoryState {
    std::string path;
    Bytes used = 0;  // of its quota: files stored, being written, and those that would not go
    Bytes quota = kNoQuota;
    bool usable = false;              // opened
    std::uint64_t failed_writes = 0;  // since the last that succeeded: passed over if not 0
    std::optional<Error> last_error;  // of a write or removal
};

struct DiskUsage {
    Bytes stored = 0;  // bytes of buffers
    Bytes used = 0;    // bytes of their files, and of those being written: what quotas count
    Bytes quota = kNoQuota;
    std::uint64_t buffers = 0;
    std::uint64_t pending = 0;  // operations that have not completed
};

// The end of an asynchronous operation. A small shared handle: copies are of the same operation.
// Dropping it does not cancel. Thread-safe.
class DiskTicket {
  public:
    struct State;

    explicit DiskTicket(std::shared_ptr<State> state) : state_(std::move(state)) {}

    // Whether it has ended. O(1).
    bool done() const;

    // Waits for the end and says how it went; may be asked again.
    Result<void> wait() const;

  private:
    std::shared_ptr<State> state_;
};

// A write in parts: see DiskStore::begin_write. Dropping the last copy abandons the write when its
// parts have ended. All copies are dropped before the store ends.
class DiskWriter {
  public:
    struct State;

    explicit DiskWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

    const std::shared_ptr<State>& state() const { return state_; }

  private:
    std::shared_ptr<State> state_;
};

class DiskCore;  // disk_core.h: all that is behind it

using SourceSpans = std::span<const std::span<const std::byte>>;
using TargetSpans = std::span<const std::span<std::byte>>;

class DiskStore {
  public:
    // Takes the directories (a lock file in each: no two live stores share one), deals with what
    // dead processes left, and starts the workers. A directory that cannot be used is reported and
    // left out. Errors: bad_option for options that make no sense; io when no directory is usable.
    // `files` must outlive the store.
    static Result<std::unique_ptr<DiskStore>> open(BlockFiles& files, DiskStoreOptions options);

    // Waits for what is under way; removes the files unless keep_at_close.
    ~DiskStore();

    DiskStore(const DiskStore&) = delete;
    DiskStore& operator=(const DiskStore&) = delete;

    const DiskStoreOptions& options() const;
    const DiskOpenReport& report() const;

    // Stores the bytes of `sources`, one after the other, as buffer `id`, in place of what was
    // stored under it: that is there until the new one is. The spans' memory (not the array) stays
    // as it is until the ticket is done. `tag` is the program's own and is kept with the buffer.
    // Errors: no_space, io; bad_input if the id is being written.
    DiskTicket write_async(BufferId id, SourceSpans sources, std::uint64_t tag = 0);
    Result<void> write(BufferId id, SourceSpans sources, std::uint64_t tag = 0);

    // Reads the buffer from `offset` on until the targets are full. Whole chunks are checked:
    // reading part of one reads all of it. The memory belongs to the store until the ticket is
    // done; after a failure its content means nothing. Errors: not_found; io; bad_input
    // beyond the buffer's end, and for a damaged file (cut, wrong checksum).
    DiskTicket read_async(BufferId id, TargetSpans targets, Bytes offset = 0);
    Result<void> read(BufferId id, TargetSpans targets, Bytes offset = 0);

    // Stores a buffer of `size` bytes that is never in memory as a whole. Parts are written in any
    // order, also at the same time: each begins at a multiple of the chunk size and ends at one or
    // at the buffer's end. When all have ended, `commit` makes it the buffer `id`; without it
    // nothing stays. A part that fails makes the commit fail; there is no second try on other
    // directories. Errors of begin: as those of write.
    Result<DiskWriter> begin_write(BufferId id, Bytes size, std::uint64_t tag = 0);
    DiskTicket write_part(const DiskWriter& writer, Bytes offset, SourceSpans sources);
    DiskTicket commit(const DiskWriter& writer);

    // Forgets the buffer and removes its files, after the reads of it that are under way. When a
    // file will not go: the buffer is forgotten, its bytes count until a later try succeeds (at
    // each erase, and when space is short), and the error is returned. Errors: not_found, io;
    // bad_input if the id is being written.
    Result<void> erase(BufferId id);

    // Of buffers whose write has completed. O(1).
    bool contains(BufferId id) const;
    std::optional<Bytes> size(BufferId id) const;
    std::optional<std::uint64_t> tag(BufferId id) const;

    // The bytes of quota that a buffer of `size` takes: its chunks rounded up to 4096, and a head
    // for each file if it is spread as far as it can be. An upper bound. O(directories).
    Bytes cost(Bytes size) const;

    // O(1) and O(directories).
    DiskUsage usage() const;
    std::vector<DirectoryState> directories() const;

  private:
    explicit DiskStore(std::unique_ptr<DiskCore> core);

    std::unique_ptr<DiskCore> core_;
};

}  // namespace tidemark
