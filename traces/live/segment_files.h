// SegmentFiles: the files of a recording as its writer sees them. Chunks are appended to the last
// file by plain large writes. If there is a limit, a full file is followed by a new one that starts
// with what is live, and the oldest are removed.
//
// A chunk that couldn't be written completely is written again over its incomplete start, so a file
// always consists of complete chunks and at most one broken one at its end. Not thread-safe.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include <unistd.h>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/live/wire.h"

namespace tidemark::live {

class SegmentFiles {
  public:
    // `limit` as in PublishOptions.
    SegmentFiles(const Header& header, Bytes limit);
    SegmentFiles(const SegmentFiles&) = delete;
    SegmentFiles& operator=(const SegmentFiles&) = delete;

    // Opens the next file, with a header and `snapshot`, and removes the oldest if the limit
    // requires it. `next` is the first sequence of what follows. Errors: io, also if another
    // program writes a recording of that path; then the last file stays.
    Result<void> begin_segment(std::uint64_t next, std::span<const Record> snapshot);

    // Appends `slots` as a chunk of the sequences [first, next). `last`: nothing follows, and it
    // may use the room that recordings leave free. Errors: io; then nothing has changed.
    Result<void> append(std::uint64_t first, std::uint64_t next, std::span<const Record> slots,
                        bool last = false);

    // The next file must be started: the last one has had its share of the limit, or was removed.
    bool full() const {
        return limit_ != 0 && (refusal_ == ENOENT || size_ - begun_ >= limit_ / kPieces);
    }

    // Closes the last file, for a child made by fork(), which would keep its lock. The only
    // function that may be called there.
    void leave() { ::close(file_.get()); }

    std::uint32_t first_segment() const { return static_cast<std::uint32_t>(last_ - past_.size()); }

    std::uint32_t last_segment() const { return last_; }

    std::uint64_t forgotten() const { return forgotten_; }  // sequences in files that are gone

  private:
    // Number of files that share a limit, including the one being written.
    static constexpr std::uint64_t kPieces = 4;

    struct Past {
        std::uint64_t size = 0;
        std::uint64_t sequences = 0;
    };

    Result<void> write_chunks(std::uint64_t next, std::span<const Record> snapshot);
    Result<void> check_unused(const std::string& path) const;
    void look();
    Result<void> put(Chunk chunk, std::span<const Record> slots, bool last);
    void forget_oldest();

    Header header_;
    Bytes limit_;
    FileDescriptor file_;
    std::uint32_t last_ = 0;
    std::uint64_t size_ = 0;       // of the last file
    std::uint64_t begun_ = 0;      // of it, the size of the header and the snapshot
    std::uint64_t next_look_ = 0;  // at the disk, at this size or time
    Nanoseconds next_look_time_ = 0;
    int refusal_ = 0;  // why nothing may be written, at that time
    std::uint64_t first_sequence_ = 0;
    std::uint64_t next_sequence_ = 0;
    std::uint64_t forgotten_ = 0;
    std::deque<Past> past_;  // the existing files before the last
};

}  // namespace tidemark::live
