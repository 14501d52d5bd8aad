// DiskCore: what is behind a DiskStore: its buffers, its counters, the queue of operations and the
// workers that do them.
//
// One lock guards the tables; no file is touched and nothing is waited for while it
// is held. A worker takes an operation, does its transfers, and only then takes the lock to make
// the result visible, so that whoever reads the tables sees whole operations. Quota is charged when
// an operation is accepted and given back when its files are gone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/threads.h"
#include "core/base/work_queue.h"
#include "core/tiers/disk/disk_recovery.h"
#include "core/tiers/disk/disk_space.h"
#include "core/tiers/disk/disk_store.h"
#include "core/tiers/disk/disk_stripes.h"

namespace tidemark {

struct DiskTicket::State {
    std::mutex lock;
    std::condition_variable changed;
    std::optional<Result<void>> outcome;

    void finish(Result<void> result);
};

// A write that has been accepted: its location is charged, its id taken. Gives both back at its end
// unless it was committed.
struct DiskWriter::State {
    State(DiskCore& owner, BufferId buffer_id, std::uint64_t buffer_tag);
    ~State();

    DiskCore& core;
    BufferId id;
    std::uint64_t tag;
    std::uint64_t sequence = 0;
    FilePlacement placement;
    std::unique_ptr<StripeFiles> files;
    std::vector<std::uint64_t> checksums;

    // Under the core's lock.
    std::vector<bool> written;  // a flag for each chunk
    unsigned parts = 0;         // under way
    bool failed = false;        // a part did
    bool committing = false;    // no more parts
    bool ended = false;         // published, or given back
};

// A buffer that is stored. Readers and doom are under the core's lock, the rest does not change.
struct DiskEntry {
    StoredBuffer buffer;
    unsigned readers = 0;  // operations that will read it
    bool doomed = false;   // erased or replaced: the last reader removes its files
};

class DiskCore {
  public:
    using Write = DiskWriter::State;
    using Ticket = std::shared_ptr<DiskTicket::State>;

    DiskCore(BlockFiles& files, DiskStoreOptions options, OpenedDirectories opened);

    // Waits for all operations, then removes what is stored unless it is to be kept.
    ~DiskCore();

    DiskCore(const DiskCore&) = delete;
    DiskCore& operator=(const DiskCore&) = delete;

    // Starts the workers. Errors (io): the system has no thread for even one.
    Result<void> start();

    const DiskStoreOptions& options() const { return options_; }

    const DiskOpenReport& report() const { return report_; }

    // The operations of DiskStore, under the names that they have there.
    Ticket write(BufferId id, SourceSpans sources, std::uint64_t tag);
    Ticket read(BufferId id, TargetSpans targets, Bytes offset);
    Result<std::shared_ptr<Write>> begin(BufferId id, Bytes size, std::uint64_t tag);
    Ticket write_part(std::shared_ptr<Write> write, Bytes offset, SourceSpans sources);
    Ticket commit(std::shared_ptr<Write> write);
    Result<void> erase(BufferId id);

    struct Facts {
        Bytes size = 0;
        std::uint64_t tag = 0;
    };

    std::optional<Facts> find(BufferId id) const;
    Bytes cost(Bytes size) const;
    DiskUsage usage() const;
    std::vector<DirectoryState> directories() const;

    // Gives back what a write holds: its files, location and id.
    void abandon(Write& write);

  private:
    // An operation for a worker. Everything that others can see has happened when it returns.
    using Operation = std::function<Result<void>(ChunkIo&)>;

    struct Job {
        Operation run;
        Ticket ticket;
    };

    Result<std::shared_ptr<Write>> accept(BufferId id, Bytes size, std::uint64_t tag);
    Result<bool> try_accept(Write& write, Bytes size);
    bool allocate(Write& write, Bytes size, const std::vector<bool>& avoid);
    Result<void> begin_part(Write& write, Bytes offset, Bytes size);
    Result<void> begin_commit(Write& write);
    Ticket push(Operation operation);
    void work();

    // What workers do (disk_jobs.cpp).
    Result<void> write_whole(ChunkIo& io, Write& write, std::span<const MemoryPiece> source);
    Result<void> write_some(ChunkIo& io, Write& write, Bytes offset,
                            std::span<const MemoryPiece> source);
    Result<void> seal(ChunkIo& io, Write& write);
    Result<void> read_some(ChunkIo& io, DiskEntry& entry, Bytes offset,
                           std::span<const MemoryPiece> target);
    StripeResult attempt(ChunkIo& io, Write& write, std::span<const MemoryPiece> source);
    void publish(Write& write);
    SpillHead identity(const Write& write) const;
    std::vector<std::string> paths(const FilePlacement& placement, std::uint64_t sequence) const;
    void note_failure(std::uint32_t directory, const Error& error);
    tl::unexpected<Error> give_up(Write& write, const StripeFailure& failure);
    void drop_files(Write& write);
    Result<void> remove_files(const StoredBuffer& buffer);
    Result<void> remove_file(const std::string& path, StripeLocation location);
    void retry_stranded();

    BlockFiles& files_;
    const DiskStoreOptions options_;
    const std::uint64_t incarnation_;
    DiskOpenReport report_;
    std::vector<FileId> locks_;

    mutable std::mutex lock_;  // all that follows but the queue and its workers
    DirectorySpace space_;
    std::unordered_map<BufferId, std::shared_ptr<DiskEntry>> entries_;
    std::unordered_set<BufferId> writing_;
    std::uint64_t next_sequence_;
    std::uint64_t pending_ = 0;
    std::uint64_t writers_ = 0;  // that have not ended
    Bytes stored_ = 0;

    WorkQueue<Job> jobs_;
    std::vector<Thread> workers_;  // last: they use all of the above (defect 17)
};

}  // namespace tidemark
