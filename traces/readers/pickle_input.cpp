// Refilling the window, and the errors that happen there.
#include "traces/readers/pickle_input.h"

#include <span>

#include <fmt/format.h>

#include "traces/readers/pickle_bytes.h"

namespace tidemark {
namespace {

constexpr std::size_t kLineMax = std::size_t{1} << 20U;
constexpr std::uint64_t kProgressEvery = std::uint64_t{4} << 20U;

}  // namespace

// Makes `count` bytes available behind the cursor. The opcode stays in the window, for messages.
bool PickleInput::refill(std::size_t count) {
    const auto done = static_cast<std::size_t>(cursor_ - opcode_);
    source_.consume(static_cast<std::size_t>(opcode_ - window_));
    Result<void> more = source_.need(done + count);
    const std::span<const std::byte> window = source_.window();
    window_ = opcode_ = reinterpret_cast<const unsigned char*>(window.data());
    cursor_ = window_ + done;
    end_ = window_ + window.size();
    if (!more) {
        error_ = std::move(more).error();
        return false;
    }
    if (progress_ && source_.raw_done() - reported_ >= kProgressEvery) {
        reported_ = source_.raw_done();
        progress_(reported_);
    }
    if (static_cast<std::size_t>(end_ - cursor_) >= count)
        return true;
    cut_off_ = true;
    opcode_ = end_;
    return fail_here(
        "the file ends here, in the middle of its data",
        "it is cut off: record or copy it again, or keep its complete part with --lenient");
}

bool PickleInput::fail_here(std::string what, std::string hint) {
    error_ = {ErrorCode::bad_input, std::move(what),
              fmt::format("{}:{:#x}", source_.name(), offset()), std::move(hint)};
    return false;
}

bool PickleInput::take_number(unsigned width, std::uint64_t& number) {
    const unsigned char* bytes = take(width);
    if (bytes == nullptr)
        return false;
    number = load(bytes, width);
    return true;
}

bool PickleInput::take_line(std::string_view& line) {
    std::size_t length = 0;
    for (;; ++length) {
        if (length > kLineMax)
            return fail_here("a line of text is longer than 1 MiB", "the file is damaged");
        if (static_cast<std::size_t>(end_ - cursor_) <= length && !refill(length + 1))
            return false;
        if (cursor_[length] == '\n')
            break;
    }
    line = {reinterpret_cast<const char*>(cursor_), length};
    cursor_ += length + 1;
    return true;
}

}  // namespace tidemark
