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
SegmentFiles::SegmentFiles(const Header& header, Bytes limit) : header_(header), limit_(limit) {
    header_.magic = kRecordingMagic;
    header_.rings = 0;
    header_.ring_slots = 0;
}

Result<void> SegmentFiles::begin_segment(std::uint64_t next, std::span<const Record> snapshot) {
    const std::uint32_t number = last_ + 1;
    const std::string path = segment_path(header_, number);
    // It gets its name when it has its begin: readers find whole snapshots only.
    const std::string unnamed = path + ".part";
    FileDescriptor file(
        ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid())
        return io_error("cannot be created", path);
    // Says that somebody writes it (kept_recordings.h). Where locks can't be had, the process does.
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
        return written;
    }
    if (file.valid())
        past_.push_back({last_size, next - first_sequence_});
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
    if (const int code = file_.write_at(0, std::as_bytes(std::span(&header_, 1))); code != 0)
        return io_error("cannot be written", segment_path(header_, header_.segment), code);
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

    room_ = ::fstatvfs(file_.get(), &disk) != 0 || disk.f_bavail * disk.f_frsize >= kLeaveFree;
    return room_;
}

Result<void> SegmentFiles::put(Chunk chunk, std::span<const Record> slots) {
    seal(chunk, slots);
    const auto head = std::as_bytes(std::span(&chunk, 1));
    const auto body = std::as_bytes(slots);
    int code = may_grow() ? file_.write_at(size_, head) : ENOSPC;
    if (code == 0)
        code = file_.write_at(size_ + head.size(), body);
    if (code != 0)
        return io_error("cannot be written", segment_path(header_, header_.segment), code);
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
