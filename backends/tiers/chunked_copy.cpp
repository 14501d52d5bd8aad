// See chunked_copy.h.
#include "backends/tiers/chunked_copy.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

std::vector<Range> pieces_of(const BlockRun& run, Bytes offset, Bytes size) {
    std::vector<Range> pieces;
    const Bytes block = run.block_size();
    while (size > 0) {
        const std::size_t number = offset / block;
        const Range whole = run.block(number);
        const Bytes inside = offset % block;
        const Bytes part = std::min(size, block - inside);
        TM_CHECK(whole.size != 0);
        const Address begin = whole.begin + inside;
        if (!pieces.empty() && pieces.back().begin + pieces.back().size == begin &&
            (inside != 0 || run.one_piece(number - 1, number)))
            pieces.back().size += part;
        else
            pieces.push_back({begin, part});
        offset += part;
        size -= part;
    }
    return pieces;
}

namespace {

std::vector<std::span<std::byte>> spans_of(const std::vector<Range>& memory) {
    std::vector<std::span<std::byte>> spans;
    for (const Range& range : memory)
        spans.emplace_back(pointer_of(range.begin), range.size);
    return spans;
}

// Copies bytes between two lists of pieces of the same length.
void copy_pieces(const std::vector<Range>& target, const std::vector<Range>& source) {
    std::size_t t = 0;
    Bytes filled = 0;
    for (const Range& from : source) {
        for (Bytes read = 0; read < from.size;) {
            const Bytes part = std::min(from.size - read, target[t].size - filled);
            std::memcpy(pointer_of(target[t].begin + filled), pointer_of(from.begin + read), part);
            read += part;
            filled += part;
            if (filled == target[t].size) {
                ++t;
                filled = 0;
            }
        }
    }
}

}  // namespace

ChunkedCopy::ChunkedCopy(CopyEndpoint source, CopyEndpoint target, Bytes size, Bytes chunk,
                         HostBlocks* staging)
    : source_(source), target_(target), size_(size), chunk_size_(chunk), staging_(staging) {}

ChunkedCopy::~ChunkedCopy() {
    TM_CHECK(chunks_.empty());
}

CopyEnd ChunkedCopy::end() const {
    TM_CHECK(ended_);
    if (error_)
        return CopyEnd::failed;
    return begun_ == size_ && !dropped_ ? CopyEnd::done : CopyEnd::cancelled;
}

void ChunkedCopy::fail_with(Error error) {
    stopped_ = true;
    if (!error_)
        error_ = std::move(error);
}

CopyChannel* ChunkedCopy::channel_of(const CopyEndpoint& location) const {
    if (const GpuEnd* gpu = std::get_if<GpuEnd>(&location))
        return gpu->channel;
    if (const DiskEnd* disk = std::get_if<DiskEnd>(&location))
        return disk->channel;
    return nullptr;
}

bool ChunkedCopy::has_credit(const CopyEndpoint& location) const {
    const CopyChannel* channel = channel_of(location);
    return !channel || channel->in_flight < channel->limit;
}

bool ChunkedCopy::advance() {
    if (ended_)
        return true;
    for (Chunk& chunk : chunks_)
        step(chunk);
    std::erase_if(chunks_, [](const Chunk& chunk) { return chunk.stage == Stage::done; });
    begin_chunks();
    if (chunks_.empty() && (stopped_ || begun_ == size_))
        finish();
    return ended_;
}

void ChunkedCopy::begin_chunks() {
    const DiskEnd* disk = std::get_if<DiskEnd>(&target_);
    if (disk && !writer_ && !stopped_ && begun_ == 0) {
        Result<DiskWriter> writer = disk->store->begin_write(disk->id, size_);
        if (writer)
            writer_ = *writer;
        else
            fail_with(std::move(writer).error());
    }
    while (!stopped_ && begun_ < size_ && begin_chunk()) {
    }
}

// False: not now.
bool ChunkedCopy::begin_chunk() {
    if (!has_credit(on_host(source_) ? target_ : source_))
        return false;
    Chunk chunk;
    chunk.offset = begun_;
    chunk.size = std::min(chunk_size_, size_ - begun_);
    if (!take_memory(chunk))
        return false;
    begun_ += chunk.size;
    if (on_host(source_))
        store(chunk);
    else
        load(chunk);
    if (chunk.stage != Stage::done)
        chunks_.push_back(std::move(chunk));
    return true;
}

bool ChunkedCopy::take_memory(Chunk& chunk) {
    for (const CopyEndpoint* location : {&source_, &target_}) {
        if (const HostEnd* host = std::get_if<HostEnd>(location)) {
            chunk.memory = pieces_of(*host->run, chunk.offset, chunk.size);
            return true;
        }
    }
    BlockResult<BlockRun> run =
        staging_ ? staging_->allocate(chunk.size) : tl::make_unexpected(BlockRefusal::no_pool);
    if (!run) {
        // Others have the staging blocks and will return them; or there are none for a chunk.
        const bool hopeless = !staging_ || staging_->usage().used == 0;
        if (hopeless)
            fail_with({ErrorCode::no_space, "no pinned blocks for a chunk to pass through",
                       "staging", std::string(to_text(run.error()))});
        return false;
    }
    chunk.staging = std::move(*run);
    chunk.memory = pieces_of(chunk.staging, 0, chunk.size);
    return true;
}

void ChunkedCopy::step(Chunk& chunk) {
    if (chunk.stage == Stage::loading && in_flight_over(chunk, source_))
        chunk.stage = on_host(target_) ? Stage::done : Stage::loaded;
    if (chunk.stage == Stage::loaded) {
        if (stopped_) {
            chunk.stage = Stage::done;
            dropped_ = true;
        } else if (has_credit(target_)) {
            store(chunk);
        }
    }
    if (chunk.stage == Stage::storing && in_flight_over(chunk, target_))
        chunk.stage = Stage::done;
}

void ChunkedCopy::load(Chunk& chunk) {
    chunk.stage = Stage::loading;
    if (const GpuEnd* gpu = std::get_if<GpuEnd>(&source_)) {
        queue_gpu(*gpu, chunk, true);
        return;
    }
    const DiskEnd& disk = std::get<DiskEnd>(source_);
    const std::vector<std::span<std::byte>> spans = spans_of(chunk.memory);
    chunk.ticket = disk.store->read_async(disk.id, spans, chunk.offset);
    ++disk.channel->in_flight;
}

void ChunkedCopy::store(Chunk& chunk) {
    chunk.stage = Stage::storing;
    if (const GpuEnd* gpu = std::get_if<GpuEnd>(&target_)) {
        queue_gpu(*gpu, chunk, false);
        return;
    }
    if (const DiskEnd* disk = std::get_if<DiskEnd>(&target_)) {
        std::vector<std::span<const std::byte>> sources;
        for (const std::span<std::byte> span : spans_of(chunk.memory))
            sources.emplace_back(span);
        chunk.ticket = disk->store->write_part(*writer_, chunk.offset, sources);
        ++disk->channel->in_flight;
        return;
    }
    const HostEnd& host = std::get<HostEnd>(target_);
    const HostEnd& from = std::get<HostEnd>(source_);
    copy_pieces(pieces_of(*host.run, chunk.offset, chunk.size),
                pieces_of(*from.run, chunk.offset, chunk.size));
    chunk.stage = Stage::done;
}

void ChunkedCopy::queue_gpu(const GpuEnd& gpu, Chunk& chunk, bool to_host) {
    std::vector<CopyRange> copies;
    Address address = gpu.address + chunk.offset;
    for (const Range& piece : chunk.memory) {
        copies.push_back(to_host ? CopyRange{piece.begin, address, piece.size}
                                 : CopyRange{address, piece.begin, piece.size});
        address = address + piece.size;
    }
    const DeviceResult<void> queued = gpu.device->copy_batch(copies, gpu.stream);
    if (!queued)
        fail_with(gpu.device->explain(queued.error()));
    // A part of a batch that was refused may be in flight too.
    const DeviceResult<EventId> event = gpu.device->record(gpu.stream);
    if (event) {
        chunk.event = *event;
        ++gpu.channel->in_flight;
        return;
    }
    fail_with(gpu.device->explain(event.error()));
    // A device for which not even a wait succeeds is lost, and so is its work.
    (void)gpu.device->synchronize(gpu.stream);
    chunk.stage = Stage::done;
}

// Whether what the chunk has in flight at `location` has ended.
bool ChunkedCopy::in_flight_over(Chunk& chunk, const CopyEndpoint& location) {
    if (const GpuEnd* gpu = std::get_if<GpuEnd>(&location)) {
        const DeviceResult<bool> complete = gpu->device->complete(*chunk.event);
        if (complete && !*complete)
            return false;
        // While a graph is captured nobody may ask.
        if (!complete && complete.error().status == DeviceStatus::not_permitted)
            return false;
        if (!complete) {
            fail_with(gpu->device->explain(complete.error()));
            (void)gpu->device->synchronize(gpu->stream);
        }
        chunk.event.reset();
    } else {
        if (!chunk.ticket->done())
            return false;
        if (Result<void> how = chunk.ticket->wait(); !how)
            fail_with(std::move(how).error());
        chunk.ticket.reset();
    }
    --channel_of(location)->in_flight;
    return true;
}

// Nothing is in flight any longer: it has ended.
void ChunkedCopy::finish() {
    if (writer_) {
        if (stopped_ || begun_ != size_)
            dropped_ = true;
        else if (Result<void> how = std::get<DiskEnd>(target_).store->commit(*writer_); !how)
            fail_with(std::move(how).error());
        writer_.reset();
    }
    ended_ = true;
}

}  // namespace tidemark
