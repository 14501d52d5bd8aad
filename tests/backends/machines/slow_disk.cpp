// Ends in order of time.
#include "tests/backends/machines/slow_disk.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <queue>
#include <vector>

#include "core/base/check.h"

namespace tidemark::support {

class SlowQueue : public BlockQueue {
  public:
    SlowQueue(SlowDisk& disk, unsigned depth) : disk_(disk), depth_(depth) {}

    unsigned depth() const override { return depth_; }

    void submit(std::span<const BlockTransfer> transfers) override {
        for (const BlockTransfer& transfer : transfers)
            submit(transfer);
    }

    std::size_t wait(std::span<BlockCompletion> done) override {
        TM_CHECK(!ends_.empty() && !done.empty());
        const End end = ends_.top();
        ends_.pop();
        disk_.now_ = std::max(disk_.now_, end.when);
        done[0] = end.completion;
        return 1;
    }

  private:
    struct End {
        Nanoseconds when = 0;
        BlockCompletion completion;

        friend bool operator>(const End& a, const End& b) { return a.when > b.when; }
    };

    void submit(const BlockTransfer& transfer) {
        const bool reads = transfer.kind == BlockTransfer::Kind::read;
        Bytes size = 0;
        for (const MemoryPiece& piece : transfer.pieces)
            size += piece.size;
        TM_CHECK(transfer.offset + size <= disk_.open_.at(transfer.file));
        const double bandwidth = reads ? disk_.spec_.read : disk_.spec_.write;
        Nanoseconds& busy = disk_.busy_[reads && !disk_.spec_.shared ? 1 : 0];
        busy =
            std::max(busy, disk_.now_) + std::llround(static_cast<double>(size) * 1e9 / bandwidth);
        const std::uint64_t number = ++disk_.transfers_;
        const int error = disk_.script ? disk_.script(number) : 0;
        ends_.push({busy + disk_.spec_.latency, {transfer.tag, error == 0 ? size : 0, error}});
    }

    SlowDisk& disk_;
    unsigned depth_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

FileResult<OpenFile> SlowDisk::create_scratch(const std::string& /*directory*/) {
    const FileId id{++next_};
    open_[id] = 0;
    return OpenFile{id, spec_.alignment};
}

FileResult<void> SlowDisk::close(FileId file) {
    open_.erase(file);
    return {};
}

FileResult<void> SlowDisk::allocate(FileId file, Bytes offset, Bytes size) {
    open_.at(file) = offset + size;
    Bytes used = 0;
    for (const auto& [id, bytes] : open_)
        used += bytes;
    if (used > spec_.space)
        return tl::make_unexpected(FileError{ENOSPC});
    return {};
}

FileResult<void> SlowDisk::release(FileId /*file*/, Bytes /*offset*/, Bytes /*size*/) {
    return {};
}

FileResult<void> SlowDisk::sync(FileId /*file*/) {
    now_ += spec_.sync;
    return {};
}

FileResult<void> SlowDisk::forget(FileId /*file*/) {
    ++forgotten_;
    if (!spec_.forgets)
        return tl::make_unexpected(FileError{EBUSY});
    return {};
}

FileResult<Bytes> SlowDisk::free_space(const std::string& /*directory*/) {
    return spec_.space;
}

std::unique_ptr<BlockQueue> SlowDisk::make_queue(unsigned depth) {
    return std::make_unique<SlowQueue>(*this, depth);
}

}  // namespace tidemark::support
