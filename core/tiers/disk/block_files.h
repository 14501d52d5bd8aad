// BlockFiles: all that the disk tier knows of files. Below it stand the real ones (backends/disk:
// pread/pwrite on threads, io_uring) and, in tests, files in memory that fail and cut transfers
// short on demand.
//
// It is kept as thin as the kernel's own interface: a transfer may move less than was asked for or
// be interrupted, as pread and pwrite may. What to do about that is decided once, above
// (disk_transfer.h), for every implementation. A call that fails has changed nothing unless it says
// so. Errors are errno values: FileError; the caller knows which file and offset it asked for.
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

// An errno value; never 0. Small, as a DeviceError: the store makes an Error of it, with the path.
struct FileError {
    int number = 0;

    friend bool operator==(const FileError&, const FileError&) = default;
};

// "No space left on device (errno 28)". Thread-safe.
std::string to_text(FileError error);

template <class T>
using FileResult = tl::expected<T, FileError>;

enum class FileId : std::uint32_t {};  // an open file, until it is closed

// What offsets, sizes and ends of direct transfers are multiples of, in every file: no file system
// wants more.
constexpr Bytes kFileBlock = 4096;

struct OpenFile {
    FileId id{};
    // Memory of transfers begins at multiples of this, and each piece of a scattered transfer has a
    // size that is one; 1 where transfers go through the page cache because the file system has no
    // direct ones. A power of two, at most kFileBlock.
    Bytes memory_alignment = 1;
};

// A piece of the caller's memory. A write only reads it.
struct MemoryPiece {
    std::byte* data = nullptr;
    Bytes size = 0;
};

Bytes sum_of(std::span<const MemoryPiece> pieces);

// A transfer has at most so many pieces.
constexpr std::size_t kMaxPieces = 256;

struct BlockTransfer {
    enum class Kind : std::uint8_t { read, write };
    Kind kind = Kind::read;
    FileId file{};
    Bytes offset = 0;
    std::span<const MemoryPiece> pieces;  // array and memory stay until completion
    std::uint64_t tag = 0;                // the caller's own, given back at completion
};

// The end of a transfer: `moved` bytes from its front, at most what was asked for; less is
// ordinary, none at all means the end of the file (or, for a write, nothing got through). With an
// error (EINTR and EAGAIN among them) nothing is known of the memory or file range.
struct BlockCompletion {
    std::uint64_t tag = 0;
    Bytes moved = 0;
    int error = 0;  // an errno value, or 0
};

// Transfers in flight of one thread. Not to be destroyed before every transfer has completed: the
// kernel may still write to their memory.
class BlockQueue {
  public:
    BlockQueue() = default;
    BlockQueue(const BlockQueue&) = delete;
    BlockQueue& operator=(const BlockQueue&) = delete;
    virtual ~BlockQueue() = default;

    // How many transfers it holds at most. O(1).
    virtual unsigned depth() const = 0;

    // Starts `transfers`, in no order between them; with those in flight at most depth(). Each
    // completes exactly once, a refusal by the kernel included.
    virtual void submit(std::span<const BlockTransfer> transfers) = 0;

    // Waits until one of the transfers in flight (there must be one) has completed; fills `done`
    // with it and those that have completed by then, in any order. Gives their number.
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

    // Makes a file in the directory that has no name any more, to read and write, for direct
    // transfers where its file system has them. It ends when it is closed, or with the process.
    virtual FileResult<OpenFile> create_scratch(const std::string& directory) = 0;

    // The descriptor is gone even when it fails.
    virtual FileResult<void> close(FileId file) = 0;

    // Takes space on the disk for that part of a file, where its file system can promise it; until
    // written it reads as zeros, or as the end of the file. After a failure some may be there.
    virtual FileResult<void> allocate(FileId file, Bytes offset, Bytes size) = 0;

    // Gives the space of that part back to the disk; its content is lost. Errors: EOPNOTSUPP where
    // the file system cannot: it stays the file's.
    virtual FileResult<void> release(FileId file, Bytes offset, Bytes size) = 0;

    // Everything written to the file is on the disk when this has succeeded.
    virtual FileResult<void> sync(FileId file) = 0;

    // Takes a file that was synced out of the page cache, so that reads come from the disk. Errors:
    // EBUSY: some of it stayed; ENOTSUP: it cannot be known, as of whoever does not say otherwise.
    virtual FileResult<void> forget(FileId file);

    // What an unprivileged program could still write in this directory.
    virtual FileResult<Bytes> free_space(const std::string& directory) = 0;

    // A queue for up to `depth` (>= 1) transfers; never fails: an implementation falls back to a
    // simpler one where the kernel refuses.
    virtual std::unique_ptr<BlockQueue> make_queue(unsigned depth) = 0;
};

}  // namespace tidemark
