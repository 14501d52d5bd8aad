// PickleInput: the bytes of a pickle, opcode by opcode, from a ByteSource, and the Error that says
// where they stop making sense. The current opcode and what was taken of it stay in memory until
// the next one begins. A length is never believed before its bytes are there. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "traces/io/byte_source.h"

namespace tidemark {

class PickleInput {
  public:
    // `source` must outlive the input. `progress` may be empty.
    PickleInput(ByteSource& source, std::function<void(std::uint64_t)> progress)
        : source_(source), progress_(std::move(progress)) {}

    // The next opcode; null if there is none, as with take().
    const unsigned char* begin_opcode() {
        opcode_ = cursor_;
        return take(1);
    }

    // The next `count` bytes, valid until the next opcode; null if the stream ends before them or
    // cannot be read, and then error() says so.
    const unsigned char* take(std::size_t count) {
        if (static_cast<std::size_t>(end_ - cursor_) < count) [[unlikely]] {
            if (!refill(count))
                return nullptr;
        }
        return std::exchange(cursor_, cursor_ + count);
    }

    // A little-endian number of `width` <= 8 bytes. False: as with take().
    bool take_number(unsigned width, std::uint64_t& number);

    // The bytes before the next '\n', which is taken too. False: as with take(), or a line above 1
    // MiB.
    bool take_line(std::string_view& line);

    // The bytes that are in memory and have not been taken, [ahead(), end()).
    const unsigned char* ahead() const { return cursor_; }

    const unsigned char* end() const { return end_; }

    // Takes the bytes up to `to`, which is in [ahead(), end()].
    void skip_to(const unsigned char* to) { cursor_ = to; }

    // Drops from the source what has been taken. Nothing can be taken afterwards.
    void consume() {
        source_.consume(static_cast<std::size_t>(cursor_ - window_));
        window_ = opcode_ = cursor_ = end_ = nullptr;
    }

    // Of the current opcode in the uncompressed stream.
    std::uint64_t offset() const {
        return source_.offset() + static_cast<std::uint64_t>(opcode_ - window_);
    }

    // Makes error() a bad_input at the current opcode. Returns false.
    bool fail_here(std::string what, std::string hint = {});

    // What went wrong last; no `what` if nothing did.
    Error& error() { return error_; }

    // True when the stream has ended where more was to be taken.
    bool cut_off() const { return cut_off_; }

  private:
    bool refill(std::size_t count);

    ByteSource& source_;
    std::function<void(std::uint64_t)> progress_;
    std::uint64_t reported_ = 0;

    const unsigned char* window_ = nullptr;  // the source's, from here ...
    const unsigned char* opcode_ = nullptr;  // the opcode that is executed
    const unsigned char* cursor_ = nullptr;  // next unread byte
    const unsigned char* end_ = nullptr;     // ... to here
    Error error_;
    bool cut_off_ = false;
};

}  // namespace tidemark
