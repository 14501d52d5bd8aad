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

namespace {

std::string parent(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

}  // namespace

MemoryFiles::MemoryFiles(Bytes alignment, std::uint64_t seed)
    : alignment_(alignment), random_(seed) {}

MemoryFiles::~MemoryFiles() = default;

void MemoryFiles::add_directory(const std::string& path, Bytes space) {
    const std::lock_guard guard(lock_);
    directories_[path].space = space;
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

void MemoryFiles::die_after(std::uint64_t calls) {
    const std::lock_guard guard(lock_);
    alive_for_ = calls;
}

void MemoryFiles::restart(Survival survival) {
    const std::lock_guard guard(lock_);
    handles_.clear();
    for (auto& [path, directory] : directories_) {
        if (survival != Survival::everything)
            lose_power(directory, survival == Survival::random);
        for (auto& [name, file] : directory.now) {
            file->locked = false;
            file->synced = file->now;
        }
        directory.synced = directory.now;
    }
    alive_for_.reset();
    script_ = nullptr;
    short_one_in_ = 0;
    interrupted_one_in_ = 0;
}

void MemoryFiles::lose_power(Directory& directory, bool some_stays) {
    auto names = directory.synced;
    for (const auto& [path, file] : directory.now) {
        if (!names.contains(path) && some_stays && random_.below(2) == 0)
            names[path] = file;
    }
    std::erase_if(names, [&](const auto& entry) {
        return !directory.now.contains(entry.first) && some_stays && random_.below(2) == 0;
    });
    directory.now = names;
    for (auto& [path, file] : directory.now) {
        const std::vector<std::byte> written = file->now;
        file->now = file->synced;
        if (!some_stays)
            continue;
        if (random_.below(2) == 0)
            file->now.resize(written.size());
        for (std::size_t at = 0; at + kFileBlock <= file->now.size(); at += kFileBlock) {
            if (at + kFileBlock <= written.size() && random_.below(2) == 0)
                std::memcpy(file->now.data() + at, written.data() + at, kFileBlock);
        }
    }
}

std::vector<std::string> MemoryFiles::names(const std::string& path) const {
    const std::lock_guard guard(lock_);
    std::vector<std::string> names;
    for (const auto& [name, file] : directories_.at(path).now)
        names.push_back(name.substr(path.size() + 1));
    return names;
}

std::vector<std::byte> MemoryFiles::content(const std::string& path) const {
    const std::lock_guard guard(lock_);
    return directories_.at(parent(path)).now.at(path)->now;
}

void MemoryFiles::put(const std::string& path, std::vector<std::byte> content) {
    const std::lock_guard guard(lock_);
    auto& file = directories_.at(parent(path)).now[path];
    file = std::make_shared<File>();
    file->now = std::move(content);
}

std::size_t MemoryFiles::open_files() const {
    const std::lock_guard guard(lock_);
    return handles_.size();
}

Bytes MemoryFiles::bytes_in(const std::string& path) const {
    const std::lock_guard guard(lock_);
    return used(directories_.at(path));
}

Bytes MemoryFiles::used(const Directory& directory) const {
    Bytes sum = 0;
    for (const auto& [name, file] : directory.now)
        sum += file->now.size();
    return sum;
}

std::uint64_t MemoryFiles::nonce() {
    const std::lock_guard guard(lock_);
    return next_nonce_++;
}

// Counts the call, and says how it fails if it does.
std::optional<FileError> MemoryFiles::refuse(FileCall call, const std::string& path) {
    if (dead())
        return FileError{EIO};
    ++calls_;
    if (alive_for_)
        --*alive_for_;
    if (script_) {
        if (const int error = script_(call, path, calls_); error != 0)
            return FileError{error};
    }
    return std::nullopt;
}

MemoryFiles::Directory* MemoryFiles::directory_of(const std::string& path) {
    const auto found = directories_.find(parent(path));
    return found == directories_.end() ? nullptr : &found->second;
}

FileId MemoryFiles::add_handle(Handle handle) {
    handles_[next_handle_] = std::move(handle);
    return static_cast<FileId>(next_handle_++);
}

FileResult<FileId> MemoryFiles::lock(const std::string& path) {
    const std::lock_guard guard(lock_);
    if (const auto error = refuse(FileCall::lock, path))
        return tl::make_unexpected(*error);
    Directory* directory = directory_of(path);
    if (directory == nullptr)
        return tl::make_unexpected(FileError{ENOENT});
    auto& file = directory->now[path];
    if (!file)
        file = std::make_shared<File>();
    if (file->locked)
        return tl::make_unexpected(FileError{EWOULDBLOCK});
    file->locked = true;
    return add_handle({path, file, true, true});
}

FileResult<OpenFile> MemoryFiles::open(const std::string& path, FileAccess access) {
    const std::lock_guard guard(lock_);
    const bool create = access == FileAccess::create;
    if (const auto error = refuse(create ? FileCall::create : FileCall::open, path))
        return tl::make_unexpected(*error);
    Directory* directory = directory_of(path);
    if (directory == nullptr || (!create && !directory->now.contains(path)))
        return tl::make_unexpected(FileError{ENOENT});
    auto& file = directory->now[path];
    if (create && file)
        return tl::make_unexpected(FileError{EEXIST});
    if (create)
        file = std::make_shared<File>();
    return OpenFile{add_handle({path, file, create, false}), alignment_};
}

FileResult<void> MemoryFiles::close(FileId id) {
    const std::lock_guard guard(lock_);
    const auto found = handles_.find(static_cast<std::uint32_t>(id));
    if (found == handles_.end()) {
        TM_CHECK(dead() || next_handle_ > static_cast<std::uint32_t>(id));
        return {};  // of a process that has died since
    }
    const Handle handle = found->second;
    handles_.erase(found);
    const auto error = refuse(FileCall::close, handle.path);
    if (handle.lock && !dead())
        handle.file->locked = false;
    if (error)
        return tl::make_unexpected(*error);
    return {};
}

FileResult<Bytes> MemoryFiles::size(FileId id) {
    const std::lock_guard guard(lock_);
    const Handle& handle = handles_.at(static_cast<std::uint32_t>(id));
    if (const auto error = refuse(FileCall::size, handle.path))
        return tl::make_unexpected(*error);
    return handle.file->now.size();
}

FileResult<void> MemoryFiles::allocate(FileId id, Bytes size) {
    const std::lock_guard guard(lock_);
    const Handle& handle = handles_.at(static_cast<std::uint32_t>(id));
    if (const auto error = refuse(FileCall::allocate, handle.path))
        return tl::make_unexpected(*error);
    const Directory& directory = *directory_of(handle.path);
    if (used(directory) + size > directory.space)
        return tl::make_unexpected(FileError{ENOSPC});
    handle.file->now.resize(size);
    return {};
}

FileResult<void> MemoryFiles::sync(FileId id) {
    const std::lock_guard guard(lock_);
    const Handle& handle = handles_.at(static_cast<std::uint32_t>(id));
    if (const auto error = refuse(FileCall::sync, handle.path))
        return tl::make_unexpected(*error);
    handle.file->synced = handle.file->now;
    return {};
}

FileResult<void> MemoryFiles::sync_directory(const std::string& path) {
    const std::lock_guard guard(lock_);
    if (const auto error = refuse(FileCall::sync_directory, path))
        return tl::make_unexpected(*error);
    directories_.at(path).synced = directories_.at(path).now;
    return {};
}

FileResult<void> MemoryFiles::remove(const std::string& path) {
    const std::lock_guard guard(lock_);
    if (const auto error = refuse(FileCall::remove, path))
        return tl::make_unexpected(*error);
    Directory* directory = directory_of(path);
    if (directory == nullptr || directory->now.erase(path) == 0)
        return tl::make_unexpected(FileError{ENOENT});
    return {};
}

FileResult<std::vector<std::string>> MemoryFiles::list(const std::string& path) {
    {
        const std::lock_guard guard(lock_);
        if (const auto error = refuse(FileCall::list, path))
            return tl::make_unexpected(*error);
        if (!directories_.contains(path))
            return tl::make_unexpected(FileError{ENOENT});
    }
    return names(path);
}

FileResult<Bytes> MemoryFiles::free_space(const std::string& path) {
    const std::lock_guard guard(lock_);
    const Directory& directory = directories_.at(path);
    const Bytes in_use = used(directory);
    return in_use < directory.space ? directory.space - in_use : 0;
}

std::unique_ptr<BlockQueue> MemoryFiles::make_queue(unsigned depth) {
    return std::make_unique<MemoryQueue>(*this, depth);
}

// Under the lock.
BlockCompletion MemoryFiles::transfer(const BlockTransfer& transfer) {
    const Handle& handle = handles_.at(static_cast<std::uint32_t>(transfer.file));
    const bool reads = transfer.kind == BlockTransfer::Kind::read;
    TM_CHECK(reads || handle.writable);
    TM_CHECK(transfer.pieces.size() <= kMaxPieces);
    TM_CHECK(transfer.offset % alignment_ == 0);
    Bytes size = 0;
    for (const MemoryPiece& piece : transfer.pieces) {
        TM_CHECK(reinterpret_cast<std::uintptr_t>(piece.data) % alignment_ == 0);
        TM_CHECK(piece.size % alignment_ == 0);
        size += piece.size;
    }
    const bool last = alive_for_ == std::uint64_t{1};
    if (const auto error = refuse(reads ? FileCall::read : FileCall::write, handle.path))
        return {transfer.tag, 0, error->number};
    if (last && !reads) {  // it dies while this is written
        (void)move(transfer, *handle.file, random_.below(size + 1));
        return {transfer.tag, 0, EIO};
    }
    if (interrupted_one_in_ != 0 && random_.below(interrupted_one_in_) == 0)
        return {transfer.tag, 0, random_.below(2) == 0 ? EINTR : EAGAIN};
    if (short_one_in_ != 0 && random_.below(short_one_in_) == 0)
        size = random_.below(size) / alignment_ * alignment_ + (alignment_ == 1 ? 1 : 0);
    if (size == 0 && reads)
        return {transfer.tag, 0, EINTR};  // no read of nothing but at the end of the file
    return {transfer.tag, move(transfer, *handle.file, size), 0};
}

Bytes MemoryFiles::move(const BlockTransfer& transfer, File& file, Bytes size) {
    const bool reads = transfer.kind == BlockTransfer::Kind::read;
    if (reads)
        size = std::min(size, file.now.size() - std::min(transfer.offset, file.now.size()));
    else if (file.now.size() < transfer.offset + size)
        file.now.resize(transfer.offset + size);
    Bytes moved = 0;
    for (const MemoryPiece& piece : transfer.pieces) {
        const Bytes part = std::min(piece.size, size - moved);
        std::byte* there = file.now.data() + transfer.offset + moved;
        if (part > 0 && reads)
            std::memcpy(piece.data, there, part);
        else if (part > 0)
            std::memcpy(there, piece.data, part);
        moved += part;
    }
    return moved;
}

}  // namespace tidemark::support
