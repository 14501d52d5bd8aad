// Files in memory, and their misfortunes.
#include "tests/support/memory_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace tidemark::support {

// Transfers are made when they are waited for, in an order of chance.
class MemoryQueue : public BlockQueue {
  public:
    MemoryQueue(MemoryFiles& files, unsigned depth) : files_(files), depth_(depth) {}

    ~MemoryQueue() override { TM_CHECK(waiting_.empty()); }

    unsigned depth() const override { return depth_; }

    void submit(std::span<const BlockTransfer> transfers) override {
        waiting_.insert(waiting_.end(), transfers.begin(), transfers.end());
        TM_CHECK(waiting_.size() <= depth_);
    }

    std::size_t wait(std::span<BlockCompletion> done) override {
        TM_CHECK(!waiting_.empty() && !done.empty());
        const std::lock_guard guard(files_.lock_);
        std::size_t count = 0;
        do {
            const std::size_t chosen = files_.random_.below(waiting_.size());
            const BlockTransfer transfer = waiting_[chosen];
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
            done[count++] = files_.transfer(transfer);
        } while (count < done.size() && !waiting_.empty() && files_.random_.below(2) == 0);
        return count;
    }

  private:
    MemoryFiles& files_;
    unsigned depth_;
    std::vector<BlockTransfer> waiting_;
};

void MemoryFiles::add_directory(const std::string& path, Bytes space) {
    const std::lock_guard guard(lock_);
    directories_[path] = space;
}

void MemoryFiles::set_script(Script script) {
    const std::lock_guard guard(lock_);
    script_ = std::move(script);
}

void MemoryFiles::set_short(unsigned one_in) {
    const std::lock_guard guard(lock_);
    short_one_in_ = one_in;
}

void MemoryFiles::set_interrupted(unsigned one_in) {
    const std::lock_guard guard(lock_);
    interrupted_one_in_ = one_in;
}

std::uint64_t MemoryFiles::calls() const {
    const std::lock_guard guard(lock_);
    return calls_;
}

std::vector<std::byte>& MemoryFiles::content(const std::string& directory) {
    const std::lock_guard guard(lock_);
    File* last = nullptr;
    for (auto& [id, file] : files_)
        last = file.directory == directory ? &file : last;
    TM_CHECK(last != nullptr);
    return last->content;
}

std::size_t MemoryFiles::open_files() const {
    const std::lock_guard guard(lock_);
    return files_.size();
}

Bytes MemoryFiles::bytes_in(const std::string& directory) const {
    const std::lock_guard guard(lock_);
    return used(directory);
}

Bytes MemoryFiles::used(const std::string& directory) const {
    Bytes sum = 0;
    for (const auto& [id, file] : files_)
        sum += file.directory == directory ? file.blocks.size() * kFileBlock : 0;
    return sum;
}

// Counts the call, and says how it fails if it does.
std::optional<FileError> MemoryFiles::refuse(FileCall call, const std::string& directory) {
    ++calls_;
    if (script_) {
        if (const int error = script_(call, directory, calls_); error != 0)
            return FileError{error};
    }
    return std::nullopt;
}

FileResult<OpenFile> MemoryFiles::create_scratch(const std::string& directory) {
    const std::lock_guard guard(lock_);
    if (const auto error = refuse(FileCall::create, directory))
        return tl::make_unexpected(*error);
    if (!directories_.contains(directory))
        return tl::make_unexpected(FileError{ENOENT});
    const FileId id{next_++};
    files_[id].directory = directory;
    return OpenFile{id, alignment_};
}

FileResult<void> MemoryFiles::close(FileId id) {
    const std::lock_guard guard(lock_);
    const std::string directory = files_.at(id).directory;
    files_.erase(id);
    if (const auto error = refuse(FileCall::close, directory))
        return tl::make_unexpected(*error);
    return {};
}

FileResult<void> MemoryFiles::allocate(FileId id, Bytes offset, Bytes size) {
    const std::lock_guard guard(lock_);
    File& file = files_.at(id);
    if (const auto error = refuse(FileCall::allocate, file.directory))
        return tl::make_unexpected(*error);
    for (Bytes at = offset; at < offset + size; at += kFileBlock) {
        if (used(file.directory) + kFileBlock > directories_.at(file.directory))
            return tl::make_unexpected(FileError{ENOSPC});
        file.blocks.insert(at);
    }
    file.content.resize(std::max<Bytes>(file.content.size(), offset + size));
    return {};
}

FileResult<void> MemoryFiles::release(FileId id, Bytes offset, Bytes size) {
    const std::lock_guard guard(lock_);
    File& file = files_.at(id);
    if (const auto error = refuse(FileCall::release, file.directory))
        return tl::make_unexpected(*error);
    file.blocks.erase(file.blocks.lower_bound(offset), file.blocks.lower_bound(offset + size));
    const Bytes end = std::min<Bytes>(offset + size, file.content.size());
    if (offset < end)
        std::memset(file.content.data() + offset, 0, end - offset);
    return {};
}

FileResult<void> MemoryFiles::sync(FileId id) {
    const std::lock_guard guard(lock_);
    if (const auto error = refuse(FileCall::sync, files_.at(id).directory))
        return tl::make_unexpected(*error);
    return {};
}

FileResult<Bytes> MemoryFiles::free_space(const std::string& directory) {
    const std::lock_guard guard(lock_);
    return directories_.at(directory) - used(directory);
}

std::unique_ptr<BlockQueue> MemoryFiles::make_queue(unsigned depth) {
    return std::make_unique<MemoryQueue>(*this, depth);
}

// Under the lock.
BlockCompletion MemoryFiles::transfer(const BlockTransfer& transfer) {
    File& file = files_.at(transfer.file);
    const bool reads = transfer.kind == BlockTransfer::Kind::read;
    TM_CHECK(transfer.pieces.size() <= kMaxPieces);
    TM_CHECK(transfer.offset % alignment_ == 0);
    Bytes size = 0;
    for (const MemoryPiece& piece : transfer.pieces) {
        TM_CHECK(reinterpret_cast<std::uintptr_t>(piece.data) % alignment_ == 0);
        TM_CHECK(piece.size % alignment_ == 0);
        size += piece.size;
    }
    if (const auto error = refuse(reads ? FileCall::read : FileCall::write, file.directory))
        return {transfer.tag, 0, error->number};
    if (interrupted_one_in_ != 0 && random_.below(interrupted_one_in_) == 0)
        return {transfer.tag, 0, random_.below(2) == 0 ? EINTR : EAGAIN};
    if (short_one_in_ != 0 && random_.below(short_one_in_) == 0)
        size = random_.below(size) / alignment_ * alignment_ + (alignment_ == 1 ? 1 : 0);
    if (size == 0 && reads)
        return {transfer.tag, 0, EINTR};  // no read of nothing but at the end of the file
    return {transfer.tag, move(transfer, file, size), 0};
}

Bytes MemoryFiles::move(const BlockTransfer& transfer, File& file, Bytes size) {
    const bool reads = transfer.kind == BlockTransfer::Kind::read;
    if (reads)
        size = std::min(size, file.content.size() - std::min(transfer.offset, file.content.size()));
    else
        TM_CHECK(transfer.offset + size <= file.content.size());  // it was allocated
    Bytes moved = 0;
    for (const MemoryPiece& piece : transfer.pieces) {
        const Bytes part = std::min(piece.size, size - moved);
        std::byte* there = file.content.data() + transfer.offset + moved;
        if (part > 0 && reads)
            std::memcpy(piece.data, there, part);
        else if (part > 0)
            std::memcpy(there, piece.data, part);
        moved += part;
    }
    return moved;
}

}  // namespace tidemark::support
