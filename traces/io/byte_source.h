// ByteSource: the bytes of a file, of standard input, or of a compressed stream, read once from
// start to end. Compression (.xz, .zst, .gz) is recognised by content and undone on the way, so
// readers don't notice it.
//
// A source keeps a window of unread bytes; readers look at the window and consume from its front.
// Memory O(window). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace tidemark {

class ByteSource {
  public:
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    // The unread bytes that are in memory. O(1); valid until the next need() or consume().
    std::span<const std::byte> window() const { return {begin_, end_}; }

    // Makes at least `count` bytes available in the window if the stream has that many; the window
    // is shorter only at the end of the stream. Errors: io; bad_input for a broken compressed
    // stream (where = name and compressed offset); cancelled. The window may be moved.
    Result<void> need(std::size_t count);

    // Drops the first `count` bytes of the window (at most its size). O(1).
    void consume(std::size_t count) {
        begin_ += count;
        offset_ += count;
    }

    // From now on need() fails with ErrorCode::cancelled if it would have to read and `cancelled`
    // returns true.
    void end_when(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

    // Offset of the window's first byte in the (uncompressed) stream.
    std::uint64_t offset() const { return offset_; }

    // True if the bytes are decompressed.
    virtual bool compressed() const { return false; }

    // The plain file whose bytes these are, unchanged; none for a pipe, or a compressed stream. It
    // is the file that was opened, whatever file has its name by now.
    virtual FileDescriptor file() const { return FileDescriptor(); }

    // True when the stream ended earlier than its compressed form declares: the window ends early.
    bool cut_off() const { return cut_off_; }

    // "path" or "standard input": for messages.
    const std::string& name() const { return name_; }

    // Bytes of the underlying file consumed so far and in total (0 if unknown): for progress.
    virtual std::uint64_t raw_done() const = 0;
    virtual std::uint64_t raw_size() const = 0;

  protected:
    explicit ByteSource(std::string name) : name_(std::move(name)) {}

    // Reads up to `target.size()` bytes; 0 = the end. May set cut_off_.
    virtual Result<std::size_t> read(std::span<std::byte> target) = 0;

    bool cut_off_ = false;

    // The next bytes where they are in memory, with kRoomInFront bytes before them that may be
    // overwritten; valid until the call after the next. Empty: not available this way; read() has
    // the rest.
    virtual Result<std::span<std::byte>> next_block() { return std::span<std::byte>(); }

    static constexpr std::size_t kRoomInFront = 4096;

  private:
    std::size_t first_size() const;  // of the buffer
    Result<bool> take_block();
    void make_room();

    std::string name_;
    std::function<bool()> cancelled_;
    std::vector<std::byte> buffer_;
    const std::byte* begin_ = nullptr;
    const std::byte* end_ = nullptr;
    std::uint64_t offset_ = 0;
    bool in_block_ = false;  // the window is, not in buffer_
    bool ended_ = false;
};

// `path` or "-" for standard input; compressed streams are decompressed. Errors: io (no such file,
// a folder, no permission), unsupported (a compression that is known but not supported).
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);

// Bytes in memory, which must outlive the source; decompressed as above. For tests and fuzzing.
Result<std::unique_ptr<ByteSource>> open_memory(std::span<const std::byte> bytes, std::string name);

}  // namespace tidemark
