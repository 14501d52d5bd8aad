// The files of one buffer.
#include "core/tiers/disk/disk_stripes.h"

#include <cerrno>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

}  // namespace

std::string spill_path(const std::string& directory, SpillName name) {
    return directory + "/" + to_text(name);
}

Error file_error(FileError error, const std::string& action, const std::string& path) {
    const bool full = error.number == ENOSPC || error.number == EDQUOT;
    return {full ? ErrorCode::no_space : ErrorCode::io,
            fmt::format("cannot be {}: {}", action, to_text(error)), path,
            full ? "free space there or lower its quota" : ""};
}

Error chunk_error(const ChunkFault& fault, bool writing, const std::string& path) {
    const std::string where = fmt::format("{}:{:#x}", path, fault.offset);
    switch (fault.kind) {
        case ChunkFault::Kind::system:
            return file_error({fault.error}, writing ? "written" : "read", where);
        case ChunkFault::Kind::end_of_file:
            return {ErrorCode::bad_input, "the file ends early", where, ""};
        case ChunkFault::Kind::checksum:
            return {ErrorCode::bad_input, "the chunk's checksum is wrong: its content has changed",
                    where, ""};
        case ChunkFault::Kind::no_memory:
            break;
    }
    return {ErrorCode::bad_option, "no memory for a copy of the chunk", where,
            "align the memory to 4096 bytes, or make chunks smaller"};
}

StripeFiles::StripeFiles(BlockFiles& files, StripeLayout layout, std::vector<std::string> paths)
    : files_(files), open_{layout, {}}, paths_(std::move(paths)) {
    TM_CHECK(paths_.size() == layout.stripes);
}

StripeFiles::~StripeFiles() {
    (void)close();
}

StripeResult StripeFiles::create() {
    for (std::uint32_t stripe = 0; stripe < paths_.size(); ++stripe) {
        const auto file = files_.open(paths_[stripe], FileAccess::create);
        if (!file)
            return failure(file.error(), "created", stripe);
        ++created_;
        open_.files.push_back(*file);
        const Bytes size = open_.layout.file_size(stripe);
        if (const auto space = files_.allocate(file->id, size); !space)
            return failure(space.error(), fmt::format("given {} bytes", size), stripe);
    }
    return {};
}

StripeResult StripeFiles::open() {
    for (std::uint32_t stripe = 0; stripe < paths_.size(); ++stripe) {
        const auto file = files_.open(paths_[stripe], FileAccess::read);
        if (!file)
            return failure(file.error(), "opened", stripe);
        open_.files.push_back(*file);
    }
    return {};
}

StripeResult StripeFiles::write_chunks(ChunkIo& io, std::uint64_t first,
                                       std::span<const MemoryPiece> source,
                                       std::span<std::uint64_t> checksums) {
    return report(io.write(open_, first, source, checksums), true);
}

StripeResult StripeFiles::read(ChunkIo& io, std::span<const std::uint64_t> checksums, Bytes offset,
                               std::span<const MemoryPiece> target) {
    return report(io.read(open_, checksums, offset, target), false);
}

StripeResult StripeFiles::verify(ChunkIo& io, std::span<const std::uint64_t> checksums) {
    return report(io.verify(open_, checksums), false);
}

StripeResult StripeFiles::seal(ChunkIo& io, SpillHead head,
                               std::span<const std::uint64_t> checksums, SyncPolicy sync) {
    const std::uint32_t stripes = open_.layout.stripes;
    AlignedMemory memory;
    if (!memory.grow(open_.layout.head_size(0)))  // no other is larger
        return report(ChunkFault{.kind = ChunkFault::Kind::no_memory}, true);
    head.layout = open_.layout;
    for (std::uint32_t stripe = stripes; stripe-- > 0;) {
        head.stripe = stripe;
        head.checksums.clear();
        for (std::uint64_t chunk = stripe; chunk < checksums.size(); chunk += stripes)
            head.checksums.push_back(checksums[chunk]);
        const Bytes size = open_.layout.head_size(stripe);
        encode_head(head, memory.first(size));
        ChunkResult result = io.write_head(open_.files[stripe], memory, size);
        if (result)
            result->stripe = stripe;
        if (auto written = report(result, true); !written)
            return written;
    }
    if (sync == SyncPolicy::data) {
        if (auto synced = sync_all(); !synced)
            return synced;
    }
    return close();
}

StripeResult StripeFiles::sync_all() {
    for (std::uint32_t stripe = 0; stripe < paths_.size(); ++stripe) {
        if (const auto synced = files_.sync(open_.files[stripe].id); !synced)
            return failure(synced.error(), "synced", stripe);
        const std::string directory = directory_of(paths_[stripe]);
        if (const auto synced = files_.sync_directory(directory); !synced)
            return tl::make_unexpected(
                StripeFailure{file_error(synced.error(), "synced", directory), stripe});
    }
    return {};
}

StripeResult StripeFiles::close() {
    StripeResult result;
    for (std::uint32_t stripe = 0; stripe < open_.files.size(); ++stripe) {
        const auto closed = files_.close(open_.files[stripe].id);
        if (!closed && result)
            result = failure(closed.error(), "closed", stripe);
    }
    open_.files.clear();
    return result;
}

StripeResult StripeFiles::report(const ChunkResult& result, bool writing) const {
    if (!result)
        return {};
    return tl::make_unexpected(
        StripeFailure{chunk_error(*result, writing, paths_[result->stripe]), result->stripe});
}

tl::unexpected<StripeFailure> StripeFiles::failure(FileError error, const std::string& action,
                                                   std::uint32_t stripe) const {
    return tl::make_unexpected(StripeFailure{file_error(error, action, paths_[stripe]), stripe});
}

}  // namespace tidemark
