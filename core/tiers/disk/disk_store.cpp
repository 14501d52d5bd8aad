// The table of buffers, and the workers that move them.
#include "core/tiers/disk/disk_store.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include <fmt/format.h>

#include "core/base/caught.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "core/tiers/disk/disk_chunks.h"

namespace tidemark {

struct DiskTicket::State {
    std::mutex lock;
    std::condition_variable changed;
    std::optional<Result<void>> outcome;

    void finish(Result<void> result) {
        {
            const std::lock_guard guard(lock);
            TM_CHECK(!outcome);
            outcome = std::move(result);
        }
        changed.notify_all();
    }
};

// Frees its space when the last one that writes, reads or stores it releases it.
struct DiskBuffer {
    explicit DiskBuffer(ScratchFiles& files) : scratch(files) {}

    DiskBuffer(const DiskBuffer&) = delete;
    DiskBuffer& operator=(const DiskBuffer&) = delete;

    ~DiskBuffer() {
        for (const DiskChunk& chunk : chunks)
            scratch.release(chunk.extent);
    }

    ScratchFiles& scratch;
    Bytes size = 0;
    std::vector<DiskChunk> chunks;
};

namespace {

constexpr unsigned kDiskStoreDeepest = 128;
constexpr unsigned kMostWorkers = 64;
constexpr Bytes kLargestChunk = 1_GiB;

Result<void> check(const DiskStoreOptions& options) {
    const auto bad = [](std::string what) {
        return fail(ErrorCode::bad_option, std::move(what), "disk store");
    };
    if (options.directories.empty())
        return bad("needs a directory");
    if (options.chunk == 0 || options.chunk % kFileBlock != 0 || options.chunk > kLargestChunk)
        return bad(fmt::format("a chunk of {} bytes: must be a multiple of {}, at most {}",
                               options.chunk, kFileBlock, kLargestChunk));
    if (options.depth == 0 || options.depth > kDiskStoreDeepest)
        return bad(fmt::format("a depth of {}: must be 1 to {}", options.depth, kDiskStoreDeepest));
    if (options.workers == 0 || options.workers > kMostWorkers)
        return bad(fmt::format("{} workers: must be 1 to {}", options.workers, kMostWorkers));
    return {};
}

std::string name_of(BufferId id) {
    return fmt::format("buffer {}", to_integer(id));
}

std::vector<MemoryPiece> pieces_of(SourceSpans sources) {
    std::vector<MemoryPiece> pieces;
    for (const std::span<const std::byte> source : sources)
        pieces.push_back({const_cast<std::byte*>(source.data()), source.size()});  // only read
    return pieces;
}

std::vector<MemoryPiece> pieces_of(TargetSpans targets) {
    std::vector<MemoryPiece> pieces;
    for (const std::span<std::byte> target : targets)
        pieces.push_back({target.data(), target.size()});
    return pieces;
}

DiskTicket finished(Result<void> result) {
    auto ticket = std::make_shared<DiskTicket::State>();
    ticket->finish(std::move(result));
    return DiskTicket(std::move(ticket));
}

}  // namespace

bool DiskTicket::done() const {
    const std::lock_guard guard(state_->lock);
    return state_->outcome.has_value();
}

Result<void> DiskTicket::wait() const {
    std::unique_lock guard(state_->lock);
    state_->changed.wait(guard, [&] { return state_->outcome.has_value(); });
    return *state_->outcome;
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(BlockFiles& files, DiskStoreOptions options) {
    TM_TRY(check(options));
    std::unique_ptr<DiskStore> store(new DiskStore(files, std::move(options)));
    TM_TRY(store->start());
    return store;
}

Result<void> DiskStore::start() {
    for (const std::string& directory : options_.directories)
        TM_TRY(scratch_.add(directory));
    workers_.reserve(options_.workers);
    TM_ASSIGN(Thread first, Thread::start("tm-disk", [this] { work(); }));
    workers_.push_back(std::move(first));
    for (Thread& other : start_threads("tm-disk", options_.workers - 1, [this] { work(); }))
        workers_.push_back(std::move(other));
    return {};
}

DiskStore::~DiskStore() {
    jobs_.close();
    workers_.clear();  // waits for them
}

DiskTicket DiskStore::push(Operation operation) {
    auto ticket = std::make_shared<DiskTicket::State>();
    jobs_.push({std::move(operation), ticket});
    return DiskTicket(std::move(ticket));
}

void DiskStore::work() {
    std::optional<ChunkIo> io;
    const auto run = [&](Job& job) -> Result<void> {
        try {
            if (!io)
                io.emplace(files_, scratch_, options_.depth);
            return job.run(*io);
        } catch (...) {
            return tl::make_unexpected(error_of(std::current_exception()));
        }
    };
    while (std::optional<Job> job = jobs_.pop()) {
        Result<void> result = run(*job);
        job->run = nullptr;  // frees the space of what is no longer stored before it is reported
        job->ticket->finish(std::move(result));
    }
}

Result<DiskWriter> DiskStore::begin_write(BufferId id, Bytes size) {
    auto buffer = std::make_shared<DiskBuffer>(scratch_);
    buffer->size = size;
    buffer->chunks.reserve(size / options_.chunk + 1);
    for (Bytes begun = 0; begun < size; begun += options_.chunk) {
        const Bytes part = std::min(options_.chunk, size - begun);
        TM_ASSIGN(const ScratchExtent extent, scratch_.allocate(part));
        buffer->chunks.push_back({.extent = extent, .size = part});
    }
    return DiskWriter(id, std::move(buffer));
}

DiskTicket DiskStore::write_part(const DiskWriter& writer, Bytes offset, SourceSpans sources) {
    std::vector<MemoryPiece> pieces = pieces_of(sources);
    const Bytes size = sum_of(pieces);
    const Bytes whole = writer.buffer_->size;
    if (offset > whole || size > whole - offset || offset % options_.chunk != 0 ||
        (size % options_.chunk != 0 && offset + size != whole))
        return finished(fail(ErrorCode::bad_input,
                             fmt::format("{} bytes from {} on are not whole chunks of {}", size,
                                         offset, format_bytes(options_.chunk)),
                             name_of(writer.id_)));
    return push([this, buffer = writer.buffer_, offset, pieces = std::move(pieces)](ChunkIo& io) {
        return write_chunks(io, *buffer, offset, pieces);
    });
}

Result<void> DiskStore::write_chunks(ChunkIo& io, DiskBuffer& buffer, Bytes offset,
                                     std::span<const MemoryPiece> source) {
    const Bytes count = (sum_of(source) + options_.chunk - 1) / options_.chunk;
    const std::span<DiskChunk> chunks =
        std::span(buffer.chunks).subspan(offset / options_.chunk, count);
    TM_TRY(io.write(chunks, source));
    const std::lock_guard guard(lock_);
    for (DiskChunk& chunk : chunks)
        chunk.written = true;
    return {};
}

Result<void> DiskStore::commit(const DiskWriter& writer) {
    std::shared_ptr<DiskBuffer> stored = writer.buffer_;  // then what it replaces
    const std::lock_guard guard(lock_);
    const auto& chunks = stored->chunks;
    if (!std::all_of(chunks.begin(), chunks.end(), [](const auto& one) { return one.written; }))
        return fail(ErrorCode::bad_input, "has parts that were not written", name_of(writer.id_));
    stored_ += stored->size;
    std::swap(buffers_[writer.id_], stored);
    stored_ -= stored ? stored->size : 0;
    return {};
}

Result<void> DiskStore::write(BufferId id, SourceSpans sources) {
    TM_ASSIGN(const DiskWriter writer, begin_write(id, sum_of(pieces_of(sources))));
    TM_TRY(write_part(writer, 0, sources).wait());
    return commit(writer);
}

DiskTicket DiskStore::read_async(BufferId id, TargetSpans targets, Bytes offset) {
    std::vector<MemoryPiece> pieces = pieces_of(targets);
    const Bytes size = sum_of(pieces);
    std::shared_ptr<DiskBuffer> buffer;
    {
        const std::lock_guard guard(lock_);
        const auto found = buffers_.find(id);
        if (found == buffers_.end())
            return finished(fail(ErrorCode::not_found, "is not stored", name_of(id)));
        buffer = found->second;
    }
    if (offset > buffer->size || size > buffer->size - offset)
        return finished(
            fail(ErrorCode::bad_input,
                 fmt::format("has {} bytes: cannot read {} from {} on", buffer->size, size, offset),
                 name_of(id)));
    return push(
        [this, buffer = std::move(buffer), offset, pieces = std::move(pieces)](ChunkIo& io) {
            const std::span<DiskChunk> chunks(buffer->chunks);
            const Bytes first = std::min<Bytes>(offset / options_.chunk, chunks.size());
            return io.read(chunks.subspan(first), offset % options_.chunk, pieces);
        });
}

Result<void> DiskStore::read(BufferId id, TargetSpans targets, Bytes offset) {
    return read_async(id, targets, offset).wait();
}

Result<void> DiskStore::erase(BufferId id) {
    std::shared_ptr<DiskBuffer> erased;
    const std::lock_guard guard(lock_);
    const auto found = buffers_.find(id);
    if (found == buffers_.end())
        return fail(ErrorCode::not_found, "is not stored", name_of(id));
    erased = std::move(found->second);
    buffers_.erase(found);
    stored_ -= erased->size;
    return {};
}

std::optional<Bytes> DiskStore::size(BufferId id) const {
    const std::lock_guard guard(lock_);
    const auto found = buffers_.find(id);
    return found == buffers_.end() ? std::nullopt : std::optional(found->second->size);
}

DiskUsage DiskStore::usage() const {
    const std::lock_guard guard(lock_);
    return {stored_, scratch_.used(), buffers_.size()};
}

}  // namespace tidemark
