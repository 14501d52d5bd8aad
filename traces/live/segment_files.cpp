// Plain writes at known offsets.
#include "traces/live/segment_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace tidemark::live {
namespace {

tl::unexpected<Error> refused(std::string_view what, const std::string& path, int code) {
    return fail(ErrorCode::io, std::string(what) + ": " + std::generic_category().message(code),
                path);
}

// All of `bytes` at `offset`, or the reason.
int write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t count =
            ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : ENOSPC;
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return 0;
}

}  // namespace

SegmentFiles::SegmentFiles(const Header& header, Bytes limit) : header_(header), limit_(limit) {
    header_.magic = kRecordingMagic;
    header_.rings = 0;
    header_.ring_slots = 0;
}

SegmentFiles::~SegmentFiles() {
    if (file_ >= 0)
        ::close(file_);
}

Result<void> SegmentFiles::begin_segment(std::uint64_t next, std::span<const Record> snapshot) {
    const std::uint32_t number = last_ + 1;
    const std::string path = segment_path(header_, number);
    // It gets its name when it has its begin: readers find whole snapshots only.
    const std::string unnamed = path + ".part";
    const int file = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return refused("cannot be created", path, errno);
    // Says that somebody writes it (kept_recordings.h). Where locks can't be had, the process does.
    static_cast<void>(::flock(file, LOCK_EX | LOCK_NB));
    const int last_file = std::exchange(file_, file);
    const std::uint64_t last_size = std::exchange(size_, 0);
    header_.segment = number;
    header_.first_sequence = next;
    header_.forgotten = forgotten_;
    Result<void> written = write_chunks(next, snapshot);
    if (written && ::rename(unnamed.c_str(), path.c_str()) != 0)
        written = refused("cannot be created", path, errno);
    if (!written) {
        ::close(file);
        ::unlink(unnamed.c_str());
        file_ = last_file;
        size_ = last_size;
        return written;
    }
    if (last_file >= 0) {
        ::close(last_file);
        past_.push_back({last_size, next - first_sequence_});
    }
    last_ = number;
    first_sequence_ = next;
    next_sequence_ = next;
    begun_ = size_;
    next_look_ = 0;
    forget_oldest();
    return {};
}

Result<void> SegmentFiles::write_chunks(std::uint64_t next, std::span<const Record> snapshot) {
    seal(header_);
    if (const int code = write_all(file_, std::as_bytes(std::span(&header_, 1)), 0); code != 0)
        return refused("cannot be written", segment_path(header_, header_.segment), code);
    size_ = sizeof header_;
    while (!snapshot.empty()) {
        const std::span<const Record> piece = snapshot.first(whole_records(snapshot));
        TM_TRY(put({.first_sequence = next, .next_sequence = next, .flags = kSnapshot}, piece));
        snapshot = snapshot.subspan(piece.size());
    }
    return {};
}

Result<void> SegmentFiles::append(std::uint64_t first, std::uint64_t next,
                                  std::span<const Record> slots) {
    TM_TRY(put({.first_sequence = first, .next_sequence = next}, slots));
    next_sequence_ = next;
    return {};
}

// Whether the disk has so much room that a recording may take some: it must never be what fills it.
bool SegmentFiles::may_grow() {
    constexpr Bytes kLookEvery = 16_MiB;
    constexpr Bytes kLeaveFree = 512_MiB;
    if (size_ < next_look_ && room_)
        return true;
    next_look_ = size_ + kLookEvery;

    struct statvfs disk {};

    room_ = ::fstatvfs(file_, &disk) != 0 || disk.f_bavail * disk.f_frsize >= kLeaveFree;
    return room_;
}

Result<void> SegmentFiles::put(Chunk chunk, std::span<const Record> slots) {
    seal(chunk, slots);
    const auto head = std::as_bytes(std::span(&chunk, 1));
    const auto body = std::as_bytes(slots);
    int code = may_grow() ? write_all(file_, head, size_) : ENOSPC;
    if (code == 0)
        code = write_all(file_, body, size_ + head.size());
    if (code != 0)
        return refused("cannot be written", segment_path(header_, header_.segment), code);
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
