// Chunks in transit: which memory each goes through, and its checksum.
#include "core/tiers/disk/disk_chunks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr unsigned kDiskChunksDeepest =
    1024;  // transfers of one worker, however many directories there are

bool aligned(const std::vector<MemoryPiece>& pieces, Bytes alignment) {
    const auto fits = [&](const MemoryPiece& piece) {
        return (reinterpret_cast<std::uintptr_t>(piece.data) | piece.size) % alignment == 0;
    };
    return pieces.size() <= kMaxPieces && std::all_of(pieces.begin(), pieces.end(), fits);
}

void gather(const std::vector<MemoryPiece>& source, std::byte* target) {
    for (const MemoryPiece& piece : source) {
        std::memcpy(target, piece.data, piece.size);
        target += piece.size;
    }
}

void scatter(const std::byte* source, const std::vector<MemoryPiece>& target) {
    for (const MemoryPiece& piece : target) {
        std::memcpy(piece.data, source, piece.size);
        source += piece.size;
    }
}

std::uint64_t checksum_of(std::span<const MemoryPiece> pieces) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (const MemoryPiece& piece : pieces)
        XXH3_64bits_update(&state, piece.data, piece.size);
    return XXH3_64bits_digest(&state);
}

}  // namespace

bool AlignedMemory::grow(Bytes size) {
    if (size <= size_)
        return true;
    auto* memory =
        static_cast<std::byte*>(std::aligned_alloc(kFileBlock, align_up(size, kFileBlock)));
    if (memory == nullptr)
        return false;
    data_.reset(memory);
    size_ = size;
    return true;
}

void AlignedMemory::Free::operator()(std::byte* data) const {
    std::free(data);
}

void MemoryCursor::take(Bytes size, std::vector<MemoryPiece>& target) {
    target.clear();
    while (size > 0) {
        TM_CHECK(!pieces_.empty());
        const MemoryPiece& front = pieces_.front();
        const Bytes part = std::min(size, front.size - offset_);
        if (part > 0)
            target.push_back({front.data + offset_, part});
        offset_ += part;
        size -= part;
        if (offset_ == front.size) {
            pieces_ = pieces_.subspan(1);
            offset_ = 0;
        }
    }
}

// A chunk in flight.
struct ChunkIo::Slot {
    DiskChunk* chunk = nullptr;
    Bytes skip = 0;                   // from its start to the requested part
    std::vector<MemoryPiece> memory;  // the caller's: for the requested part
    std::vector<MemoryPiece> moved;   // the memory that the transfer uses
    bool copied = false;              // through `copy`
    AlignedMemory copy;

    std::uint64_t checksum() const {
        const MemoryPiece whole{copy.data(), chunk->size};
        return checksum_of(copied ? std::span(&whole, 1) : std::span(moved));
    }
};

// The task for some chunks of a buffer.
struct ChunkIo::Task {
    BlockTransfer::Kind kind;
    std::span<DiskChunk> chunks;  // those that have not been started
    Bytes skip = 0;               // into the first of them
    MemoryCursor memory;
    Bytes wanted = 0;  // left in it
};

ChunkIo::ChunkIo(BlockFiles& files, ScratchFiles& scratch, unsigned depth)
    : scratch_(scratch),
      transfers_(files.make_queue(
          std::min(depth * static_cast<unsigned>(scratch.directories()), kDiskChunksDeepest))),
      slots_(transfers_.depth()) {}

ChunkIo::~ChunkIo() = default;

Result<void> ChunkIo::write(std::span<DiskChunk> chunks, std::span<const MemoryPiece> source) {
    Task task{BlockTransfer::Kind::write, chunks, 0, MemoryCursor(source), sum_of(source)};
    return run(task);
}

Result<void> ChunkIo::read(std::span<DiskChunk> chunks, Bytes skip,
                           std::span<const MemoryPiece> target) {
    Task task{BlockTransfer::Kind::read, chunks, skip, MemoryCursor(target), sum_of(target)};
    return run(task);
}

// Keeps the queue full until everything is done or something has failed, then drains it.
Result<void> ChunkIo::run(Task& task) {
    Result<void> result;
    unsigned unused = 0;  // slots from here on have not been used yet
    while (true) {
        while (result && task.wanted > 0 && unused < transfers_.depth())
            result = start(task, unused++);
        if (transfers_.in_flight() == 0)
            return result;
        const WholeTransfers::End end = transfers_.wait();
        Result<void> finished = finish(task, end);
        if (result)
            result = std::move(finished);
        if (result && task.wanted > 0)
            result = start(task, end.slot);
    }
}

Result<void> ChunkIo::start(Task& task, unsigned index) {
    Slot& slot = slots_[index];
    TM_CHECK(!task.chunks.empty());
    slot.chunk = &task.chunks.front();
    task.chunks = task.chunks.subspan(1);
    slot.skip = std::exchange(task.skip, 0);
    const ScratchExtent& extent = slot.chunk->extent;
    const OpenFile& file = scratch_.file(extent.directory);
    const Bytes part = std::min(slot.chunk->size - slot.skip, task.wanted);
    task.memory.take(part, slot.memory);
    task.wanted -= part;
    slot.copied = part != extent.size || !aligned(slot.memory, file.memory_alignment);
    if (!slot.copied) {
        slot.moved = slot.memory;
    } else {
        if (!slot.copy.grow(extent.size))
            return fail(ErrorCode::bad_option, "no memory for a copy of the chunk",
                        where(*slot.chunk),
                        "align the memory to 4096 bytes, or make chunks smaller");
        slot.moved.assign(1, {slot.copy.data(), extent.size});
    }
    if (task.kind == BlockTransfer::Kind::write) {
        if (slot.copied) {
            gather(slot.memory, slot.copy.data());
            std::memset(slot.copy.data() + part, 0, extent.size - part);
        }
        slot.chunk->checksum = slot.checksum();
    }
    transfers_.start(
        index, {.kind = task.kind, .file = file.id, .offset = extent.offset, .pieces = slot.moved},
        file.memory_alignment);
    return {};
}

Result<void> ChunkIo::finish(const Task& task, const WholeTransfers::End& end) {
    Slot& slot = slots_[end.slot];
    const bool writes = task.kind == BlockTransfer::Kind::write;
    const std::uint32_t directory = slot.chunk->extent.directory;
    if (writes)
        scratch_.note(directory, end.error == 0);
    if (end.error == WholeTransfers::kEndOfFile)
        return fail(ErrorCode::bad_input, "the file ends early", where(*slot.chunk));
    if (end.error != 0)
        return tl::make_unexpected(
            file_error({end.error}, writes ? "written" : "read", where(*slot.chunk)));
    if (writes)
        return {};
    if (slot.checksum() != slot.chunk->checksum)
        return fail(ErrorCode::bad_input, "the chunk's checksum is wrong: its content has changed",
                    where(*slot.chunk));
    if (slot.copied)
        scatter(slot.copy.data() + slot.skip, slot.memory);
    return {};
}

std::string ChunkIo::where(const DiskChunk& chunk) const {
    return fmt::format("{}, scratch file at {:#x}", scratch_.directory(chunk.extent.directory),
                       chunk.extent.offset);
}

}  // namespace tidemark
