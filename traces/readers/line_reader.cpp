// Finding line ends in the window of a ByteSource.
#include "traces/readers/line_reader.h"

#include <cstring>

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string excerpt(std::string_view text) {
    return printable(text.substr(0, 40)) + (text.size() > 40 ? "..." : "");
}

const void* LineReader::find_newline(const char* begin, const char* end) {
    return begin == end ? nullptr : std::memchr(begin, '\n', static_cast<std::size_t>(end - begin));
}

// Makes the window longer, keeping its unread part; false = there is no more.
Result<bool> LineReader::refill() {
    const bool first = base_ == nullptr;
    const auto unread = static_cast<std::size_t>(end_ - begin_);
    source_.consume(static_cast<std::size_t>(begin_ - base_));
    if (progress_)
        progress_(source_.raw_done());
    TM_TRY(source_.need(first ? kByteOrderMark.size() : unread + 1));
    const auto window = source_.window();
    base_ = begin_ = reinterpret_cast<const char*>(window.data());
    end_ = begin_ + window.size();
    if (first && std::string_view(begin_, window.size()).starts_with(kByteOrderMark))
        begin_ += kByteOrderMark.size();
    return static_cast<std::size_t>(end_ - begin_) > unread;
}

Result<bool> LineReader::next_slow(std::string_view& line) {
    for (;;) {
        const auto searched = static_cast<std::size_t>(end_ - begin_);
        if (searched > kLongestLine)
            return fail(ErrorCode::bad_input, "a line is longer than 16 MiB",
                        fmt::format("{}:{}", source_.name(), number_ + 1),
                        "this is not a text format that Tidemark knows");
        TM_ASSIGN(const bool more, refill());
        if (!more)
            break;
        if (const void* newline = find_newline(begin_ + searched, end_)) {
            take(line, static_cast<const char*>(newline));
            return true;
        }
    }
    if (begin_ == end_)
        return false;
    terminated_ = false;
    line = {begin_, static_cast<std::size_t>(end_ - begin_)};
    begin_ = end_;
    ++number_;
    return true;
}

std::string LineReader::position() const {
    return fmt::format("{}:{}", source_.name(), number_);
}

}  // namespace tidemark
