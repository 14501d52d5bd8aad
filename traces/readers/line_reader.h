// LineReader: the lines of a text from a ByteSource, without copying them. Memory is bounded by the
// longest line, which is bounded too. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/byte_source.h"

namespace tidemark {

// No sane line is longer: beyond this the file is not what it claims to be.
constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

// `text`, from a file that may hold anything, for a message: printable, and cut after 40 bytes.
std::string excerpt(std::string_view text);

class LineReader {
  public:
    // `progress`, which may be empty, is called now and then with the bytes of the file that are
    // done. Both must outlive the reader.
    LineReader(ByteSource& source, const std::function<void(std::uint64_t)>& progress)
        : source_(source), progress_(progress) {}

    // Puts the next line, without "\n" or "\r\n", into `line`; false = the end. A byte order mark
    // before the first line is dropped. The view is valid until the next call. Errors: those of
    // the source; bad_input for a line above kLongestLine.
    Result<bool> next(std::string_view& line) {
        if (const void* end = find_newline(begin_, end_)) [[likely]] {
            take(line, static_cast<const char*>(end));
            return true;
        }
        return next_slow(line);
    }

    // Of the line given last, counted from 1.
    std::uint64_t number() const { return number_; }

    // False if the line given last was ended by the end of the text instead of a newline.
    bool terminated() const { return terminated_; }

    // "name:line" of the line given last: the `where` of an Error.
    std::string position() const;

  private:
    static const void* find_newline(const char* begin, const char* end);

    void take(std::string_view& line, const char* newline) {
        std::size_t length = static_cast<std::size_t>(newline - begin_);
        if (length != 0 && begin_[length - 1] == '\r')
            --length;
        line = {begin_, length};
        begin_ = newline + 1;
        ++number_;
    }

    Result<bool> next_slow(std::string_view& line);
    Result<bool> refill();

    ByteSource& source_;
    const std::function<void(std::uint64_t)>& progress_;
    const char* base_ = nullptr;   // of the window, as it was last looked at
    const char* begin_ = nullptr;  // the unread part of it
    const char* end_ = nullptr;
    std::uint64_t number_ = 0;
    bool terminated_ = true;
};

}  // namespace tidemark
