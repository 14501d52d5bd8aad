// The workers' side of a disk store.
#include <utility>

#include "core/base/caught.h"
#include "core/base/check.h"
#include "core/tiers/disk/disk_core.h"

namespace tidemark {

void DiskTicket::State::finish(Result<void> result) {
    {
        const std::lock_guard guard(lock);
        TM_CHECK(!outcome);
        outcome = std::move(result);
    }
    changed.notify_all();
}

DiskCore::Ticket DiskCore::push(Operation operation) {
    auto ticket = std::make_shared<DiskTicket::State>();
    {
        const std::lock_guard guard(lock_);
        ++pending_;
    }
    jobs_.push({std::move(operation), ticket});
    return ticket;
}

void DiskCore::work() {
    std::optional<ChunkIo> io;
    const auto run = [&](Job& job) -> Result<void> {
        try {
            if (!io)
                io.emplace(files_, options_.depth,
                           static_cast<unsigned>(options_.directories.size()));
            return job.run(*io);
        } catch (...) {
            return tl::make_unexpected(error_of(std::current_exception()));
        }
    };
    while (std::optional<Job> job = jobs_.pop()) {
        Result<void> result = run(*job);
        job->run = nullptr;  // a write that nobody commits any more goes before it is reported
        {
            const std::lock_guard guard(lock_);
            --pending_;
        }
        job->ticket->finish(std::move(result));
    }
}

// Tries one location after another until no directory is left that has not failed.
Result<void> DiskCore::write_whole(ChunkIo& io, Write& write, std::span<const MemoryPiece> source) {
    const Bytes size = write.placement.layout.size;
    std::vector<bool> avoid(options_.directories.size());
    std::optional<Error> first;
    while (true) {
        const StripeResult result = attempt(io, write, source);
        if (result) {
            publish(write);
            return {};
        }
        const StripeFailure& failure = result.error();
        const std::uint32_t directory = write.placement.stripes[failure.stripe].directory;
        avoid[directory] = true;
        if (!first)
            first = failure.error;
        drop_files(write);
        note_failure(directory, failure.error);
        const std::unique_lock guard(lock_);
        if (failure.error.code == ErrorCode::bad_option || !allocate(write, size, avoid))
            break;
    }
    abandon(write);
    return tl::make_unexpected(std::move(*first));
}

StripeResult DiskCore::attempt(ChunkIo& io, Write& write, std::span<const MemoryPiece> source) {
    write.files = std::make_unique<StripeFiles>(files_, write.placement.layout,
                                                paths(write.placement, write.sequence));
    TM_TRY(write.files->create());
    TM_TRY(write.files->write_chunks(io, 0, source, write.checksums));
    return write.files->seal(io, identity(write), write.checksums, options_.sync);
}

Result<void> DiskCore::write_some(ChunkIo& io, Write& write, Bytes offset,
                                  std::span<const MemoryPiece> source) {
    const StripeLayout layout = write.placement.layout;
    Bytes size = 0;
    for (const MemoryPiece& piece : source)
        size += piece.size;
    const std::uint64_t first = offset / layout.chunk;
    const std::uint64_t end = (offset + size - 1) / layout.chunk + 1;
    const StripeResult result = write.files->write_chunks(
        io, first, source, std::span(write.checksums).subspan(first, end - first));
    if (!result)
        note_failure(write.placement.stripes[result.error().stripe].directory,
                     result.error().error);
    const std::lock_guard guard(lock_);
    --write.parts;
    if (!result) {
        write.failed = true;
        return tl::make_unexpected(result.error().error);
    }
    for (std::uint64_t chunk = first; chunk < end; ++chunk)
        write.written[chunk] = true;
    return {};
}

Result<void> DiskCore::seal(ChunkIo& io, Write& write) {
    const StripeResult result =
        write.files->seal(io, identity(write), write.checksums, options_.sync);
    if (result) {
        publish(write);
        return {};
    }
    return give_up(write, result.error());
}

SpillHead DiskCore::identity(const Write& write) const {
    SpillHead head;
    head.incarnation = incarnation_;
    head.sequence = write.sequence;
    head.buffer = to_integer(write.id);
    head.tag = write.tag;
    return head;
}

// Puts a written buffer in the table, in place of what is there under its id.
void DiskCore::publish(Write& write) {
    auto entry = std::make_shared<DiskEntry>(DiskEntry{
        {write.id, write.tag, write.sequence, write.placement, std::move(write.checksums)}});
    write.files.reset();
    std::shared_ptr<DiskEntry> replaced;
    {
        const std::lock_guard guard(lock_);
        for (const StripeLocation location : write.placement.stripes)
            space_.note_success(location.directory);
        stored_ += write.placement.layout.size;
        replaced = std::exchange(entries_[write.id], std::move(entry));
        if (replaced) {
            stored_ -= replaced->buffer.placement.layout.size;
            replaced->doomed = true;
            if (replaced->readers > 0)
                replaced.reset();  // the last of them removes the files
        }
        write.ended = true;
        --writers_;
    }
    if (replaced)
        (void)remove_files(replaced->buffer);
    const std::lock_guard guard(lock_);
    writing_.erase(write.id);
}

Result<void> DiskCore::read_some(ChunkIo& io, DiskEntry& entry, Bytes offset,
                                 std::span<const MemoryPiece> target) {
    const StoredBuffer& buffer = entry.buffer;
    StripeResult result;
    {
        StripeFiles files(files_, buffer.placement.layout,
                          paths(buffer.placement, buffer.sequence));
        result = files.open();
        if (result)
            result = files.read(io, buffer.checksums, offset, target);
    }
    bool remove = false;
    {
        const std::lock_guard guard(lock_);
        remove = --entry.readers == 0 && entry.doomed;
    }
    if (remove)
        (void)remove_files(buffer);
    if (!result)
        return tl::make_unexpected(std::move(result.error().error));
    return {};
}

}  // namespace tidemark
