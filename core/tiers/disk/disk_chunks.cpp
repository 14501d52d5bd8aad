// Chunks on their way: which memory each goes through, and its checksum.
#include "core/tiers/disk/disk_chunks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

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
    std::uint64_t chunk = 0;
    Bytes skip = 0;                   // from its beginning to what is wanted of it
    std::vector<MemoryPiece> memory;  // the caller's: what is wanted
    std::vector<MemoryPiece> moved;   // what the transfer is made with
    bool copied = false;              // by way of `copy`
    AlignedMemory copy;
};

// What is to be done with some chunks of a buffer.
struct ChunkIo::Task {
    BlockTransfer::Kind kind;
    const OpenStripes& stripes;
    MemoryCursor memory;
    std::uint64_t next = 0;  // chunks
    std::uint64_t end = 0;
    Bytes wanted_begin = 0;  // bytes of the buffer; none when only verified
    Bytes wanted_end = 0;
    std::span<std::uint64_t> taken = {};           // checksums of what is written, from `next` on
    std::span<const std::uint64_t> expected = {};  // of the whole buffer
    std::uint64_t first = next;
};

ChunkIo::ChunkIo(BlockFiles& files, unsigned depth, unsigned files_most)
    : depth_(depth),
      transfers_(files.make_queue(std::min(depth * files_most, kDiskChunksDeepest))),
      slots_(transfers_.depth()) {}

ChunkIo::~ChunkIo() = default;

ChunkResult ChunkIo::write(const OpenStripes& target, std::uint64_t first,
                           std::span<const MemoryPiece> source,
                           std::span<std::uint64_t> checksums) {
    const StripeLayout& layout = target.layout;
    const std::uint64_t end = first + checksums.size();
    Task task{.kind = BlockTransfer::Kind::write,
              .stripes = target,
              .memory = MemoryCursor(source),
              .next = first,
              .end = end,
              .wanted_begin = first * layout.chunk,
              .wanted_end = std::min(layout.size, end * layout.chunk),
              .taken = checksums};
    return run(task);
}

ChunkResult ChunkIo::read(const OpenStripes& source, std::span<const std::uint64_t> checksums,
                          Bytes offset, std::span<const MemoryPiece> target) {
    const StripeLayout& layout = source.layout;
    Bytes size = 0;
    for (const MemoryPiece& piece : target)
        size += piece.size;
    TM_CHECK(offset + size <= layout.size);
    if (size == 0)
        return {};
    Task task{.kind = BlockTransfer::Kind::read,
              .stripes = source,
              .memory = MemoryCursor(target),
              .next = offset / layout.chunk,
              .end = (offset + size - 1) / layout.chunk + 1,
              .wanted_begin = offset,
              .wanted_end = offset + size,
              .expected = checksums};
    return run(task);
}

ChunkResult ChunkIo::verify(const OpenStripes& source, std::span<const std::uint64_t> checksums) {
    Task task{.kind = BlockTransfer::Kind::read,
              .stripes = source,
              .memory = MemoryCursor({}),
              .end = source.layout.chunks(),
              .expected = checksums};
    return run(task);
}

// Keeps the queue full until all is done or something has failed, then drains it.
ChunkResult ChunkIo::run(Task& task) {
    const unsigned depth = std::min(transfers_.depth(), depth_ * task.stripes.layout.stripes);
    ChunkResult fault;
    unsigned unused = 0;  // slots from here on have not been used yet
    while (true) {
        while (!fault && task.next < task.end && unused < depth)
            fault = start(task, unused++);
        if (transfers_.in_flight() == 0)
            return fault;
        const WholeTransfers::End end = transfers_.wait();
        ChunkResult failed = finish(task, end);
        if (!fault)
            fault = failed;
        if (!fault && task.next < task.end)
            fault = start(task, end.slot);
    }
}

ChunkResult ChunkIo::start(Task& task, unsigned index) {
    Slot& slot = slots_[index];
    const StripeLayout& layout = task.stripes.layout;
    const bool writes = task.kind == BlockTransfer::Kind::write;
    slot.chunk = task.next++;
    const std::uint32_t stripe = layout.stripe_of(slot.chunk);
    const OpenFile& file = task.stripes.files[stripe];
    const Bytes begin = slot.chunk * layout.chunk;
    const Bytes size = layout.chunk_size(slot.chunk);
    const Bytes padded = align_up(size, kFileBlock);
    const Bytes from = std::max(begin, task.wanted_begin);
    const Bytes to = std::max(from, std::min(begin + size, task.wanted_end));
    slot.skip = from - begin;
    task.memory.take(to - from, slot.memory);
    slot.copied = to - from != padded || !aligned(slot.memory, file.memory_alignment);
    if (!slot.copied) {
        slot.moved = slot.memory;
    } else {
        if (!slot.copy.grow(padded))
            return ChunkFault{ChunkFault::Kind::no_memory, 0, stripe, layout.offset_of(slot.chunk)};
        slot.moved.assign(1, {slot.copy.data(), padded});
    }
    if (writes && slot.copied) {
        gather(slot.memory, slot.copy.data());
        std::memset(slot.copy.data() + size, 0, padded - size);
    }
    if (writes) {
        const MemoryPiece whole{slot.copy.data(), size};
        task.taken[slot.chunk - task.first] =
            spill_checksum(slot.copied ? std::span(&whole, 1) : std::span(slot.moved));
    }
    transfers_.start(index,
                     {.kind = task.kind,
                      .file = file.id,
                      .offset = layout.offset_of(slot.chunk),
                      .pieces = slot.moved},
                     file.memory_alignment);
    return {};
}

ChunkResult ChunkIo::finish(const Task& task, const WholeTransfers::End& end) {
    Slot& slot = slots_[end.slot];
    const StripeLayout& layout = task.stripes.layout;
    ChunkFault fault{.kind = ChunkFault::Kind::system,
                     .error = end.error,
                     .stripe = layout.stripe_of(slot.chunk),
                     .offset = layout.offset_of(slot.chunk)};
    if (end.error != 0) {
        if (end.error == WholeTransfers::kEndOfFile)
            fault.kind = ChunkFault::Kind::end_of_file;
        fault.offset += end.moved;
        return fault;
    }
    if (task.kind == BlockTransfer::Kind::write)
        return {};
    const MemoryPiece whole{slot.copy.data(), layout.chunk_size(slot.chunk)};
    const std::uint64_t checksum =
        spill_checksum(slot.copied ? std::span(&whole, 1) : std::span(slot.moved));
    if (checksum != task.expected[slot.chunk]) {
        fault.kind = ChunkFault::Kind::checksum;
        return fault;
    }
    if (slot.copied)
        scatter(slot.copy.data() + slot.skip, slot.memory);
    return {};
}

ChunkResult ChunkIo::write_head(const OpenFile& file, const AlignedMemory& head, Bytes size) {
    return move_head(file, BlockTransfer::Kind::write, {head.data(), size});
}

ChunkResult ChunkIo::read_head(const OpenFile& file, AlignedMemory& head, Bytes size) {
    return move_head(file, BlockTransfer::Kind::read, {head.data(), size});
}

ChunkResult ChunkIo::move_head(const OpenFile& file, BlockTransfer::Kind kind, MemoryPiece piece) {
    transfers_.start(0, {.kind = kind, .file = file.id, .pieces = std::span(&piece, 1)},
                     file.memory_alignment);
    const WholeTransfers::End end = transfers_.wait();
    if (end.error == 0)
        return {};
    const bool cut = end.error == WholeTransfers::kEndOfFile;
    return ChunkFault{cut ? ChunkFault::Kind::end_of_file : ChunkFault::Kind::system, end.error, 0,
                      end.moved};
}

}  // namespace tidemark
