// RecordingChain: a recording from its oldest existing piece to its end, across its files, as it
// grows. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/live/recording_file.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// Records in order; a snapshot only where one is needed: at the start of what still exists.
struct ChainPiece {
    bool found = false;           // false: nothing follows, for now
    bool snapshot = false;        // names and what is live
    bool jumped = false;          // first of a snapshot: everything before it is gone
    std::uint64_t forgotten = 0;  // with `jumped`: this many records
    std::uint64_t next_sequence = 0;
    std::vector<Record> records = {};  // with payloads
};

class RecordingChain {
  public:
    // Reads the recording that `header` (of a shared file or of any piece) belongs to, from piece
    // `first` on, or from the next one that exists.
    RecordingChain(const Header& header, std::uint32_t first, Owner owner);

    // Continues behind piece `header`, which the user has named and which has been read: `next` is
    // the sequence that follows.
    static RecordingChain after(const Header& header, std::uint64_t next);

    // The next piece. `last` is the newest file, or 0 if that isn't known. Errors: io, also if a
    // file belongs to somebody else; bad_input.
    Result<ChainPiece> next(std::uint32_t last);

    // The header of the file that is being read, except the path, which is as given; as given if
    // none has been read yet.
    const Header& header() const { return header_; }

  private:
    std::uint32_t oldest_from(std::uint32_t number, std::uint32_t last) const;
    Result<bool> open_next(std::uint32_t last);
    Result<bool> open(std::uint32_t number);
    Result<ChainPiece> take(const FoundChunk& chunk);

    Header header_;
    Owner owner_;
    std::uint64_t session_;
    std::uint32_t wanted_;
    std::optional<RecordingFile> file_;
    bool begun_ = false;      // something was read
    bool continues_ = false;  // the file continues what was read: its snapshot has nothing new
    bool jump_reported_ = false;
    std::uint64_t next_ = 0;
    std::uint64_t gap_ = 0;
};

// The records of chunk bytes; for a damaged chunk, those before the damage. O(bytes).
std::vector<Record> records_of(std::span<const std::byte> slots);

}  // namespace tidemark::live
