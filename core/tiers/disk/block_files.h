// BlockFiles: everything that the disk tier knows about files. Implemented by real files
// (backends/disk: pread/pwrite on threads, io_uring) and, in tests, by files in memory that fail
// and cut transfers short on demand.
//
// It is as thin as the kernel's own interface: a transfer may move less than requested or be
// interrupted, as pread and pwrite may. How to handle that is decided once for every
// implementation, in the layer above (disk_transfer.h). A call that fails has changed nothing
// unless it says so. Errors are errno values: FileError; the caller knows the file and offset of
// its call.
//
// Thread-safety: every call of BlockFiles may be made from any thread; a BlockQueue belongs to one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "core/base/units.h"

namespace tidemark {

// An errno value; never 0. Small, like a DeviceError: the store turns it into an Error, with the
// path.
struct FileError {
    int number = 0;

    friend bool operator==(const FileError&, const FileError&) = default;
};

// "No space left on device (errno 28)". Thread-safe.
std::string to_text(FileError error);

template <class T>
using FileResult = tl::expected<T, FileError>;

enum class FileId : std::uint32_t {};  // an open file, until it is closed

// Offsets, sizes and ends of direct transfers are multiples of this, in every file: no file system
// needs more.
constexpr Bytes kFileBlock = 4096;

struct OpenFile {
    FileId id{};
    // Memory of transfers starts at multiples of this, and the size of each piece of a scattered
    // transfer is a multiple too; 1 where transfers go through the page cache because the file
    // system has no direct ones. A power of two, at most kFileBlock.
    Bytes memory_alignment = 1;
};

// A piece of the caller's memory. A write only reads it.
struct MemoryPiece {
    std::byte* data = nullptr;
    Bytes size = 0;
};

Bytes sum_of(std::span<const MemoryPiece> pieces);

// The most pieces of a transfer.
constexpr std::size_t kMaxPieces = 256;

struct BlockTransfer {
    enum class Kind : std::uint8_t { read, write };
    Kind kind = Kind::read;
    FileId file{};
    Bytes offset = 0;
    std::span<const MemoryPiece> pieces;  // array and memory stay until completion
    std::uint64_t tag = 0;                // the caller's own, returned at completion
};

// The end of a transfer: `moved` bytes from its front, at most the requested number. Less is
// ordinary; none means the end of the file (or, for a write, that nothing was written). With an
// error (including EINTR and EAGAIN) the state of the memory or file range is unknown.
struct BlockCompletion {
    std::uint64_t tag = 0;
    Bytes moved = 0;
    int error = 0;  // an errno value, or 0
};

// One thread's transfers in flight. Must not be destroyed before every transfer has completed: the
// kernel may still write to their memory.
class BlockQueue {
  public:
    BlockQueue() = default;
    BlockQueue(const BlockQueue&) = delete;
    BlockQueue& operator=(const BlockQueue&) = delete;
    virtual ~BlockQueue() = default;

    // The most transfers that it holds. O(1).
    virtual unsigned depth() const = 0;

    // Starts `transfers`, in no particular order; with those in flight at most depth(). Each
    // completes exactly once, even if the kernel refuses it.
    virtual void submit(std::span<const BlockTransfer> transfers) = 0;

    // Waits until one of the transfers in flight (there must be one) has completed; fills `done`
    // with it and all others that have completed by then, in any order. Returns their number.
    virtual std::size_t wait(std::span<BlockCompletion> done) = 0;
};

class BlockFiles {
  public:
    BlockFiles() = default;
    BlockFiles(const BlockFiles&) = delete;
    BlockFiles& operator=(const BlockFiles&) = delete;
    virtual ~BlockFiles() = default;

    // "posix", "io_uring", ...: what transfers are made with.
    virtual std::string_view name() const = 0;

    // Makes a file in the directory that has no name any longer, to read and write, for direct
    // transfers if its file system supports them. It ends when it is closed, or with the process.
    virtual FileResult<OpenFile> create_scratch(const std::string& directory) = 0;

    // Closes the descriptor, even if the call fails.
    virtual FileResult<void> close(FileId file) = 0;

    // Reserves disk space for that part of a file, if its file system can promise it; until written
    // it reads as zeros, or as the end of the file. After a failure some of the space may be
    // reserved.
    virtual FileResult<void> allocate(FileId file, Bytes offset, Bytes size) = 0;

    // Returns the space of that part to the disk; its content is lost. Errors: EOPNOTSUPP if the
    // file system cannot do it: the file keeps the space.
    virtual FileResult<void> release(FileId file, Bytes offset, Bytes size) = 0;

    // After success, everything written to the file is on the disk.
    virtual FileResult<void> sync(FileId file) = 0;

    // Removes a synced file from the page cache, so that reads come from the disk. Errors: EBUSY:
    // some of it stayed; ENOTSUP: it cannot be determined, which is the default.
    virtual FileResult<void> forget(FileId file);

    // How much an unprivileged program could still write in this directory.
    virtual FileResult<Bytes> free_space(const std::string& directory) = 0;

    // A queue for up to `depth` (>= 1) transfers; never fails: an implementation falls back to a
    // simpler one where the kernel refuses.
    virtual std::unique_ptr<BlockQueue> make_queue(unsigned depth) = 0;
};

}  // namespace tidemark
