// TextOutput: collects text and passes it to an OutputFile in large pieces. Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "traces/io/output_file.h"

namespace tidemark::writers {

class TextOutput {
  public:
    // `file` must outlive this.
    explicit TextOutput(OutputFile& file) : file_(file) {}

    // `format` is an FMT_COMPILE string.
    template <class Format, class... Arguments>
    void print(const Format& format, const Arguments&... arguments) {
        fmt::format_to(std::back_inserter(buffer_), format, arguments...);
    }

    void append(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }

    // Call this after every line. Errors: those of the file.
    Result<void> spill() { return buffer_.size() < kPiece ? Result<void>() : flush(); }

    Result<void> flush() {
        const Result<void> done = file_.write(std::string_view(buffer_.data(), buffer_.size()));
        buffer_.clear();
        return done;
    }

  private:
    static constexpr std::size_t kPiece = std::size_t{1} << 16U;

    OutputFile& file_;
    fmt::memory_buffer buffer_;
};

}  // namespace tidemark::writers
