// A recording as its readers see it: a header, then chunks, of which the last may not be whole: it
// is being written, or its program died. RecordingFile reads them from a file that may grow, by
// plain reads, so that a file that is cut short meanwhile harms nobody. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/file_descriptor.h"
#include "traces/live/wire.h"

namespace tidemark::live {

class RecordingFile {
  public:
    // Errors: io; those of parse_header.
    static Result<RecordingFile> open(const std::string& path);

    const Header& header() const { return header_; }

    const std::string& path() const { return path_; }

    // The next whole chunk; not `whole` if there is none yet. Its slots are valid until the next
    // call. Errors: io; bad_input: what follows is no chunk.
    Result<FoundChunk> next();

    // Where the next chunk begins, or would.
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
