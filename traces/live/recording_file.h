// A recording as its readers see it: a header, then chunks. The last chunk may be incomplete: it is
// being written, or its program died. RecordingFile reads them from a file that may grow, by plain
// reads, so truncating the file meanwhile harms nobody. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// Who may own a recording. `anyone`: the user has named it. If a shared file's header names it, it
// must be the user's own: not a link, and nobody else may write it.
enum class Owner : std::uint8_t { anyone, oneself };

class RecordingFile {
  public:
    // Never waits: a pipe is not a recording. Errors: not_found; io; those of parse_header.
    static Result<RecordingFile> open(const std::string& path, Owner owner);

    // For an open file; `path` is for messages. Errors: io; those of parse_header.
    static Result<RecordingFile> of(FileDescriptor file, const std::string& path);

    const FileDescriptor& descriptor() const { return file_; }

    const Header& header() const { return header_; }

    const std::string& path() const { return path_; }

    // The next complete chunk; not `whole` if there is none yet. Its slots are valid until the next
    // call. Errors: io; bad_input: what follows is not a chunk.
    Result<FoundChunk> next();

    // Where the next chunk starts, or will start.
    std::uint64_t offset() const { return offset_; }

  private:
    RecordingFile() = default;

    std::span<std::byte> room_for(std::size_t bytes);

    std::string path_;
    FileDescriptor file_;
    Header header_;
    std::uint64_t offset_ = 0;
    std::vector<std::byte> bytes_;  // never made smaller: filling it with zeros takes time
};

}  // namespace tidemark::live
