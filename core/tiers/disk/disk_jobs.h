// The operations that a disk store's workers do: what waits in the queue, and buffers as they see
// them.
#pragma once

#include <memory>
#include <vector>

#include "core/tiers/disk/disk_core.h"

namespace tidemark {

// A buffer that is stored. Readers and doom are under the core's lock, the rest does not change.
struct DiskEntry {
    StoredBuffer buffer;
    unsigned readers = 0;  // operations that will read it
    bool doomed = false;   // erased or replaced: the last reader removes its files
};

struct DiskJob {
    DiskJob() = default;
    DiskJob(const DiskJob&) = delete;
    DiskJob& operator=(const DiskJob&) = delete;
    virtual ~DiskJob() = default;

    // Does it. Everything that others can see has happened when it returns.
    virtual Result<void> run(DiskCore& core, ChunkIo& io) = 0;

    DiskCore::Ticket ticket = std::make_shared<DiskTicket::State>();
};

struct DiskWriteJob : DiskJob {
    DiskWriteJob(std::shared_ptr<DiskWriter::State> what, std::vector<MemoryPiece> from)
        : write(std::move(what)), source(std::move(from)) {}

    Result<void> run(DiskCore& core, ChunkIo& io) override;

    std::shared_ptr<DiskWriter::State> write;
    std::vector<MemoryPiece> source;
};

struct DiskPartJob : DiskJob {
    DiskPartJob(std::shared_ptr<DiskWriter::State> what, Bytes at, std::vector<MemoryPiece> from)
        : write(std::move(what)), offset(at), source(std::move(from)) {}

    Result<void> run(DiskCore& core, ChunkIo& io) override;

    std::shared_ptr<DiskWriter::State> write;
    Bytes offset;
    std::vector<MemoryPiece> source;
};

struct DiskCommitJob : DiskJob {
    explicit DiskCommitJob(std::shared_ptr<DiskWriter::State> what) : write(std::move(what)) {}

    Result<void> run(DiskCore& core, ChunkIo& io) override;

    std::shared_ptr<DiskWriter::State> write;
};

struct DiskReadJob : DiskJob {
    DiskReadJob(std::shared_ptr<DiskEntry> what, Bytes at, std::vector<MemoryPiece> to)
        : entry(std::move(what)), offset(at), target(std::move(to)) {}

    Result<void> run(DiskCore& core, ChunkIo& io) override;

    std::shared_ptr<DiskEntry> entry;
    Bytes offset;
    std::vector<MemoryPiece> target;
};

}  // namespace tidemark
