// Reads at offsets; incomplete chunks are read again next time.
#include "traces/live/recording_file.h"

#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "traces/io/own_folder.h"

namespace tidemark::live {

namespace {

Result<FileDescriptor> open_anyones(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT)
        return fail(ErrorCode::not_found, "there is no such file", path);
    if (!file.valid())
        return io_error("cannot be opened", path);

    struct stat status {};

    if (::fstat(file.get(), &status) != 0)
        return io_error("cannot be examined", path);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::io, "is not a regular file", path);
    return file;
}

}  // namespace

Result<RecordingFile> RecordingFile::open(const std::string& path, Owner owner) {
    TM_ASSIGN(FileDescriptor file,
              owner == Owner::oneself ? open_own_file(path, O_RDONLY) : open_anyones(path));
    return of(std::move(file), path);
}

Result<RecordingFile> RecordingFile::of(FileDescriptor opened, const std::string& path) {
    RecordingFile file;
    file.path_ = path;
    file.file_ = std::move(opened);
    file.bytes_.resize(sizeof(Header));
    TM_ASSIGN(const std::size_t count, file.file_.read_at(0, file.bytes_, path));
    TM_ASSIGN(file.header_,
              parse_header(std::span(file.bytes_).first(count), HeaderKind::recording, path));
    file.offset_ = sizeof(Header);
    return file;
}

std::span<std::byte> RecordingFile::room_for(std::size_t bytes) {
    if (bytes_.size() < bytes)
        bytes_.resize(bytes);
    return std::span(bytes_).first(bytes);
}

Result<FoundChunk> RecordingFile::next() {
    TM_ASSIGN(const std::size_t head, file_.read_at(offset_, room_for(sizeof(Chunk)), path_));
    FoundChunk found = find_chunk(std::span(bytes_).first(head));
    // Zeros: another program is recovering the end right now, and hasn't reached this point.
    if (found.needed == 0 && found.chunk.magic == 0)
        return FoundChunk{};
    if (found.needed == 0)
        return fail(ErrorCode::bad_input, "has bytes that are not a chunk",
                    fmt::format("{}:{:#x}", path_, offset_));
    if (head < sizeof(Chunk))
        return FoundChunk{};
    TM_ASSIGN(const std::size_t count, file_.read_at(offset_, room_for(found.needed), path_));
    found = find_chunk(std::span(bytes_).first(count));
    if (found.whole)
        offset_ += found.needed;
    return found;
}

}  // namespace tidemark::live
