// JsonBytes: a byte source as the input of a parser that takes characters one by one, as the JSON
// library's does, so that files of any size are read in one pass. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/model/trace.h"

namespace tidemark {

// The bytes of a source one by one, as the JSON library needs them. Ends early if the source fails,
// or if a token is longer than any that profilers write.
class JsonBytes {
  public:
    JsonBytes(ByteSource& source, const ReadOptions& options)
        : source_(source), options_(options) {}

    bool ends() {
        if (at_ < window_.size())
            return false;
        if (ended_)
            return true;
        source_.consume(window_.size());
        window_ = {};
        at_ = 0;
        problem_ = source_.need(1);
        if (problem_.has_value())
            window_ = source_.window();
        ended_ = window_.empty();
        if (options_.progress)
            options_.progress(source_.raw_done());
        return ended_;
    }

    char current() const { return static_cast<char>(window_[at_]); }

    void advance() {
        since_quote_ = current() == '"' ? 0 : since_quote_ + 1;
        ++at_;
        if (since_quote_ > kLongestToken) {
            too_long_ = ended_ = true;
            window_ = window_.first(at_);
        }
    }

    bool at_end() const { return ended_ && !too_long_; }

    bool too_long() const { return too_long_; }

    const Result<void>& read() const { return problem_; }

    std::string position() const {
        return fmt::format("{}:{:#x}", source_.name(), source_.offset() + at_);
    }

  private:
    static constexpr std::uint64_t kLongestToken = std::uint64_t{64} << 20U;  // between two quotes

    ByteSource& source_;
    const ReadOptions& options_;
    std::span<const std::byte> window_;
    std::size_t at_ = 0;
    std::uint64_t since_quote_ = 0;
    bool ended_ = false;
    bool too_long_ = false;
    Result<void> problem_;
};

class JsonIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    JsonIterator() = default;

    explicit JsonIterator(JsonBytes& bytes) : bytes_(&bytes) {}

    char operator*() const { return bytes_->current(); }

    JsonIterator& operator++() {
        bytes_->advance();
        return *this;
    }

    // Only against the end.
    friend bool operator==(const JsonIterator& one, const JsonIterator& other) {
        return one.is_end() == other.is_end();
    }

  private:
    bool is_end() const { return bytes_ == nullptr || bytes_->ends(); }

    JsonBytes* bytes_ = nullptr;
};

}  // namespace tidemark
