// Plain writes at known offsets.
#include "traces/live/segment_files.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "traces/io/own_folder.h"
#include "traces/live/clock.h"

namespace tidemark::live {
namespace {

// A piece that has no name of its own yet.
struct Part {
    std::string path;
    FileDescriptor file;
};

// Whether it is one of our files that nobody writes: its program was killed before naming it.
bool is_left_behind(const std::string& path) {
    const Result<FileDescriptor> file = open_own_file(path, O_RDONLY);
    return file && ::flock(file->get(), LOCK_EX | LOCK_NB) == 0;
}

// A new file next to `path`: anything that others put there, especially a link, is neither followed
// nor touched.
Result<Part> create_part(const std::string& path) {
    constexpr int kAttempts = 100;
    for (int i = 0; i < kAttempts; ++i) {
        Part part{.path = path + (i == 0 ? ".part" : fmt::format(".part-{}", i + 1)), .file = {}};
        // 0, or why not.
        const auto create = [&part] {
            part.file = FileDescriptor(::open(part.path.c_str(),
                                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                              S_IRUSR | S_IWUSR));
            return part.file.valid() ? 0 : errno;
        };
        int code = create();
        if (code == EEXIST && is_left_behind(part.path)) {
            ::unlink(part.path.c_str());
            code = create();
        }
        if (code == 0)
            return part;
        if (code != EEXIST)
            return io_error("cannot be created", path, code);
    }
    return io_error("cannot be created", path, EEXIST);
}

}  // namespace

SegmentFiles::SegmentFiles(const Header& header, Bytes limit) : header_(header), limit_(limit) {
    header_.magic = kRecordingMagic;
    header_.rings = 0;
    header_.ring_slots = 0;
}

Result<void> SegmentFiles::begin_segment(std::uint64_t next, std::span<const Record> snapshot) {
    const std::uint32_t number = last_ + 1;
    const std::string path = segment_path(header_, number);
    TM_TRY(check_unused(path));
    // It gets its name when its start is complete, so readers find only complete snapshots.
    Part part;
    TM_ASSIGN(part, create_part(path));
    const std::string unnamed = part.path;
    FileDescriptor file = std::move(part.file);
    // Shows that somebody writes it (kept_recordings.h). Where locks aren't available, the process
    // shows it.
    static_cast<void>(::flock(file.get(), LOCK_EX | LOCK_NB));
    std::swap(file_, file);  // from here on `file` is the last one
    const std::uint64_t last_size = std::exchange(size_, 0);
    header_.segment = number;
    header_.first_sequence = next;
    header_.forgotten = forgotten_;
    Result<void> written = write_chunks(next, snapshot);
    if (written && ::rename(unnamed.c_str(), path.c_str()) != 0)
        written = io_error("cannot be created", path);
    if (!written) {
        ::unlink(unnamed.c_str());
        std::swap(file_, file);
        size_ = last_size;
        next_look_ = 0;
        return written;
    }
    if (file.valid())
        past_.push_back({last_size, next - first_sequence_});
    last_ = number;
    first_sequence_ = next;
    next_sequence_ = next;
    begun_ = size_;
    next_look_ = 0;
    refusal_ = 0;
    forget_oldest();
    return {};
}

// A recording that is being written isn't replaced.
Result<void> SegmentFiles::check_unused(const std::string& path) const {
    if (last_ != 0)
        return {};
    const FileDescriptor there(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (there.valid() && ::flock(there.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail(ErrorCode::io, "is being written by another program", path,
                    "give this recording a name of its own");
    return {};
}

Result<void> SegmentFiles::write_chunks(std::uint64_t next, std::span<const Record> snapshot) {
    seal(header_);
    if (const int code = file_.write_at(0, std::as_bytes(std::span(&header_, 1))); code != 0)
        return io_error("cannot be written", segment_path(header_, header_.segment), code);
    size_ = sizeof header_;
    while (!snapshot.empty()) {
        const std::span<const Record> piece = snapshot.first(whole_records(snapshot));
        TM_TRY(
            put({.first_sequence = next, .next_sequence = next, .flags = kSnapshot}, piece, false));
        snapshot = snapshot.subspan(piece.size());
    }
    return {};
}

Result<void> SegmentFiles::append(std::uint64_t first, std::uint64_t next,
                                  std::span<const Record> slots, bool last) {
    TM_TRY(put({.first_sequence = first, .next_sequence = next}, slots, last));
    next_sequence_ = next;
    return {};
}

// Whether the file still exists, and the disk has enough room for a recording: a recording must
// never be what fills the disk.
void SegmentFiles::look() {
    constexpr Bytes kLookEvery = 16_MiB;
    constexpr Nanoseconds kLookAfter = 1'000'000'000;
    constexpr Bytes kLeaveFree = 512_MiB;
    const Nanoseconds now = monotonic_now();
    if (size_ < next_look_ && now < next_look_time_ && refusal_ == 0)
        return;
    next_look_ = size_ + kLookEvery;
    next_look_time_ = now + kLookAfter;
    refusal_ = 0;

    struct stat file {};

    struct statvfs disk {};

    if (::fstat(file_.get(), &file) == 0 && file.st_nlink == 0)
        refusal_ = ENOENT;
    else if (::fstatvfs(file_.get(), &disk) == 0 && disk.f_bavail * disk.f_frsize < kLeaveFree)
        refusal_ = ENOSPC;
}

Result<void> SegmentFiles::put(Chunk chunk, std::span<const Record> slots, bool last) {
    seal(chunk, slots);
    const auto head = std::as_bytes(std::span(&chunk, 1));
    const auto body = std::as_bytes(slots);
    if (last)
        next_look_ = 0;
    look();
    int code = last && refusal_ == ENOSPC ? 0 : refusal_;
    if (code == 0)
        code = file_.write_at(size_, head);
    if (code == 0)
        code = file_.write_at(size_ + head.size(), body);
    if (code != 0) {
        // The part that was written would otherwise be behind a shorter chunk that follows.
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(size_)));
        return io_error("cannot be written", segment_path(header_, header_.segment), code);
    }
    size_ += head.size() + body.size();
    return {};
}

void SegmentFiles::forget_oldest() {
    while (limit_ != 0 && past_.size() >= kPieces) {
        ::unlink(segment_path(header_, first_segment()).c_str());
        forgotten_ += past_.front().sequences;
        past_.pop_front();
    }
}

}  // namespace tidemark::live
