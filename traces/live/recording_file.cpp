// Reads at offsets; what isn't whole is read again next time.
#include "traces/live/recording_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tidemark::live {

Result<RecordingFile> RecordingFile::open(const std::string& path) {
    RecordingFile file;
    file.path_ = path;
    file.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file.file_ < 0)
        return fail(ErrorCode::io, "cannot be opened: " + std::generic_category().message(errno),
                    path);
    file.bytes_.resize(sizeof(Header));
    TM_ASSIGN(const std::size_t count, file.read_at(0, file.bytes_));
    TM_ASSIGN(file.header_,
              parse_header(std::span(file.bytes_).first(count), HeaderKind::recording, path));
    file.offset_ = sizeof(Header);
    return file;
}

RecordingFile::RecordingFile(RecordingFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      header_(other.header_),
      offset_(other.offset_),
      bytes_(std::move(other.bytes_)) {}

RecordingFile& RecordingFile::operator=(RecordingFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(header_, other.header_);
    std::swap(offset_, other.offset_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

RecordingFile::~RecordingFile() {
    if (file_ >= 0)
        ::close(file_);
}

Result<std::size_t> RecordingFile::read_at(std::uint64_t offset,
                                           std::span<std::byte> target) const {
    std::size_t done = 0;
    while (done < target.size()) {
        const ssize_t count = ::pread(file_, target.data() + done, target.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail(ErrorCode::io, "cannot be read: " + std::generic_category().message(errno),
                        path_);
        if (count == 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

std::span<std::byte> RecordingFile::room_for(std::size_t bytes) {
    if (bytes_.size() < bytes)
        bytes_.resize(bytes);
    return std::span(bytes_).first(bytes);
}

Result<FoundChunk> RecordingFile::next() {
    TM_ASSIGN(const std::size_t head, read_at(offset_, room_for(sizeof(Chunk))));
    FoundChunk found = find_chunk(std::span(bytes_).first(head));
    // Zeros: somebody recovers the end just now, and has not come so far.
    if (found.needed == 0 && found.chunk.magic == 0)
        return FoundChunk{};
    if (found.needed == 0)
        return fail(ErrorCode::bad_input, "has bytes that are no chunk",
                    fmt::format("{}:{:#x}", path_, offset_));
    if (head < sizeof(Chunk))
        return FoundChunk{};
    TM_ASSIGN(const std::size_t count, read_at(offset_, room_for(found.needed)));
    found = find_chunk(std::span(bytes_).first(count));
    if (found.whole)
        offset_ += found.needed;
    return found;
}

}  // namespace tidemark::live
