// Reading .tmk: by the index at its end, or by walking its blocks if the end is missing.
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "traces/tmk/chunk_decoder.h"
#include "traces/tmk/file_bytes.h"
#include "traces/tmk/index_block.h"
#include "traces/tmk/info_block.h"
#include "traces/tmk/salvage.h"
#include "traces/tmk/tmk.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

using namespace tmk;

Limits limits_of(const TraceInfo& info) {
    return {.slots = info.slot_count,
            .streams = info.streams.size(),
            .devices = info.devices.size(),
            .stacks = info.stacks.size(),
            .strings = info.strings.size()};
}

// Shared by a file's cursors.
struct OpenFile {
    std::string name;
    FileBytes bytes;
    Index index;
    TraceInfo info;
    std::uint64_t hash = 0;
    std::uint64_t info_hash = 0;
    bool salvaged = false;
};

class TmkCursor final : public TraceCursor {
  public:
    explicit TmkCursor(const OpenFile& file) : file_(file), limits_(limits_of(file.info)) {}

    Result<EventBatch> next() override {
        for (;;) {
            if (in_chunk_) {
                auto batch = decoder_.next();
                if (!batch)
                    return located(std::move(batch).error());
                if (batch->count != 0)
                    return batch;
                in_chunk_ = false;
                ++chunk_;
            }
            if (chunk_ == file_.index.chunks.size())
                return EventBatch{};
            TM_TRY(open_chunk(file_.index.chunks[chunk_]));
            in_chunk_ = true;
        }
    }

  private:
    Result<void> open_chunk(const IndexEntry& entry) {
        TM_ASSIGN(const auto bytes, file_.bytes.piece(entry.offset, entry.size, buffer_));
        const FoundBlock found = find_block(bytes, 0);
        if (!found.whole || !found.intact || found.block.size != entry.size ||
            found.block.kind != BlockKind::events)
            return located({ErrorCode::bad_input,
                            "a chunk of events is damaged",
                            {},
                            "record or import the trace again"});
        auto opened = decoder_.open(found.block.payload, limits_, file_.salvaged);
        if (!opened)
            return located(std::move(opened).error());
        if (decoder_.header().count != entry.count)
            return located(
                {ErrorCode::bad_input, "a chunk differs from what the index says", {}, {}});
        return {};
    }

    tl::unexpected<Error> located(Error error) const {
        error.where = fmt::format("{}:{:#x}", file_.name, file_.index.chunks[chunk_].offset);
        return tl::make_unexpected(std::move(error));
    }

    const OpenFile& file_;
    Limits limits_;
    PieceBuffer buffer_;  // the chunk, encoded
    ChunkDecoder decoder_;
    std::size_t chunk_ = 0;
    bool in_chunk_ = false;
};

class TmkTrace final : public Trace {
  public:
    explicit TmkTrace(OpenFile file) : file_(std::move(file)) {}

    const TraceInfo& info() const override { return file_.info; }

    std::uint64_t hash() const override { return file_.hash; }

    std::uint64_t file_hash() const override {
        ByteWriter sums;
        sums.put(file_.info_hash);
        PieceBuffer buffer;
        for (const IndexEntry& entry : file_.index.chunks) {
            // If a file ends too early, it has another hash.
            const auto sum = file_.bytes.piece(entry.offset, sizeof(std::uint64_t), buffer);
            sums.put(sum ? ByteReader(*sum).get<std::uint64_t>() : 0);
            sums.put(entry.size);
        }
        return hash_bytes(sums.bytes());
    }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<TmkCursor>(file_);
    }

  private:
    OpenFile file_;
};

// False if the end of the file is missing or damaged.
Result<bool> read_end(OpenFile& file) {
    if (file.bytes.size() < kHeaderSize + kTrailerSize)
        return false;
    PieceBuffer buffer;
    const std::uint64_t index_end = file.bytes.size() - kTrailerSize;
    TM_ASSIGN(const auto last, file.bytes.piece(index_end, kTrailerSize, buffer));
    ByteReader trailer(last);
    const auto index_offset = trailer.get<std::uint64_t>();
    if (trailer.get<std::array<std::uint8_t, kEndMagic.size()>>() != kEndMagic)
        return false;
    TM_ASSIGN(const FoundBlock index, file.bytes.block(index_offset, index_end, buffer));
    if (!index.whole || !index.intact || index.block.kind != BlockKind::index ||
        index_offset + index.block.size != index_end ||
        !decode_index(index.block.payload, index_offset, file.index))
        return false;
    TM_ASSIGN(const FoundBlock info,
              file.bytes.block(file.index.info_offset, index_offset, buffer));
    if (!info.whole || !info.intact || info.block.kind != BlockKind::info)
        return false;
    auto decoded = decode_info(info.block.payload);
    if (!decoded)
        return false;
    file.info = std::move(decoded->info);
    file.info_hash = decoded->content_hash;
    return true;
}

// What later steps rely on: existing tables, and a size of the live set that fits the events.
Result<void> check(const OpenFile& file) {
    const TraceInfo& info = file.info;
    std::uint64_t events = 0;
    for (const IndexEntry& entry : file.index.chunks)
        events += entry.count;
    if (info.event_count != events || info.slot_count > events || info.preamble_count > events ||
        info.devices.empty() || info.devices.size() > std::size_t{UINT16_MAX} + 1 ||
        info.streams.empty())
        return fail(ErrorCode::bad_input, "the table of names does not fit the events", file.name,
                    "record or import the trace again");
    return {};
}

Result<void> check_header(const OpenFile& file) {
    PieceBuffer buffer;
    TM_ASSIGN(const auto bytes, file.bytes.piece(0, kHeaderSize, buffer));
    if (!is_tmk(bytes))
        return fail(ErrorCode::bad_input, "is not a .tmk file", file.name);
    if (bytes.size() < kHeaderSize)
        return fail(ErrorCode::bad_input, "is cut off inside its header", file.name);
    ByteReader header(bytes.subspan(kMagic.size()));
    const auto version = header.get<std::uint32_t>();
    if (version != kVersion)
        return fail(ErrorCode::bad_input,
                    fmt::format("is a .tmk file of version {}, and only version {} is known",
                                version, kVersion),
                    file.name, "use the Tidemark that wrote it, or a newer one");
    if (header.get<std::uint32_t>() != 0)
        return fail(ErrorCode::bad_input, "has a damaged header", file.name);
    return {};
}

Result<std::unique_ptr<Trace>> open_file(OpenFile file) {
    TM_TRY(check_header(file));
    TM_ASSIGN(const bool whole, read_end(file));
    if (!whole) {
        TM_ASSIGN(Salvage kept, salvage(file.bytes, file.name));
        file.index = std::move(kept.index);
        file.info = std::move(kept.info);
        file.info_hash = kept.info_hash;
        file.salvaged = true;
    }
    TM_TRY(check(file));
    file.hash = content_hash(file.index, file.info_hash);
    return std::make_unique<TmkTrace>(std::move(file));
}

}  // namespace

bool is_tmk(std::span<const std::byte> head) {
    return head.size() >= kMagic.size() &&
           std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<std::unique_ptr<Trace>> open_tmk(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid())
        return io_error("cannot be opened", path);
    return open_tmk(std::move(file), path);
}

Result<std::unique_ptr<Trace>> open_tmk(FileDescriptor file, const std::string& name) {
    TM_ASSIGN(FileBytes bytes, FileBytes::of(std::move(file), name));
    return open_file({.name = name, .bytes = std::move(bytes), .index = {}, .info = {}});
}

Result<std::unique_ptr<Trace>> open_tmk(std::vector<std::byte> bytes, std::string name) {
    return open_file(
        {.name = std::move(name), .bytes = FileBytes(std::move(bytes)), .index = {}, .info = {}});
}

}  // namespace tidemark
