// The window over a stream, and the streams: plain ones and those that a Decoder decompresses.
#include "traces/io/byte_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "traces/io/decoder.h"
#include "traces/io/raw_input.h"
#include "traces/io/read_ahead.h"

namespace tidemark {
namespace {

constexpr std::size_t kReadAhead = std::size_t{1} << 20U;
constexpr std::uint64_t kWorthThread = 4 * kReadAhead;  // for less, no thread is started
constexpr std::size_t kInputBuffer = std::size_t{1} << 18U;

// The input as it is; `head` are the bytes that have been looked at already.
class PlainSource final : public ByteSource {
  public:
    PlainSource(std::string name, std::unique_ptr<RawInput> input, std::vector<std::byte> head)
        : ByteSource(std::move(name)), input_(std::move(input)), head_(std::move(head)) {
        static_assert(ReadAhead::kHeadroom >= kRoomInFront);
        if (input_->size() >= kWorthThread)
            ahead_ = std::make_unique<ReadAhead>(*input_);
    }

    FileDescriptor file() const override { return input_->file(); }

    std::uint64_t raw_done() const override { return done_; }

    std::uint64_t raw_size() const override { return input_->size(); }

  protected:
    Result<std::size_t> read(std::span<std::byte> target) override {
        std::size_t count = std::min(head_.size() - head_used_, target.size());
        if (count != 0) {
            std::memcpy(target.data(), head_.data() + head_used_, count);
            head_used_ += count;
        } else if (ahead_ == nullptr) {
            TM_ASSIGN(count, input_->read(target));
        } else {
            if (block_.empty()) {
                TM_ASSIGN(block_, ahead_->next());
            }
            count = std::min(block_.size(), target.size());
            if (count != 0)
                std::memcpy(target.data(), block_.data(), count);
            block_ = block_.subspan(count);
        }
        done_ += count;
        return count;
    }

    Result<std::span<std::byte>> next_block() override {
        if (ahead_ == nullptr || head_used_ != head_.size())
            return std::span<std::byte>();
        if (block_.empty()) {
            TM_ASSIGN(block_, ahead_->next());
        }
        done_ += block_.size();
        return std::exchange(block_, {});
    }

  private:
    std::unique_ptr<RawInput> input_;
    std::unique_ptr<ReadAhead> ahead_;  // of a large file
    std::span<std::byte> block_;        // its unread part
    std::vector<std::byte> head_;
    std::size_t head_used_ = 0;
    std::uint64_t done_ = 0;
};

class DecodedSource final : public ByteSource {
  public:
    DecodedSource(std::string name, std::unique_ptr<RawInput> input,
                  std::unique_ptr<Decoder> decoder, std::vector<std::byte> head)
        : ByteSource(std::move(name)),
          input_(std::move(input)),
          decoder_(std::move(decoder)),
          buffer_(std::move(head)),
          filled_(buffer_.size()) {
        buffer_.resize(kInputBuffer);
    }

    bool compressed() const override { return true; }

    std::uint64_t raw_done() const override { return done_; }

    std::uint64_t raw_size() const override { return input_->size(); }

  protected:
    Result<std::size_t> read(std::span<std::byte> target) override {
        for (;;) {
            if (used_ == filled_ && !ended_)
                TM_TRY(refill());
            const std::span<const std::byte> source(buffer_.data() + used_, filled_ - used_);
            auto step = decoder_->decode(source, target, ended_);
            if (!step) {
                step.error().where = fmt::format("{}:{:#x}", name(), done_);
                return tl::make_unexpected(std::move(step).error());
            }
            used_ += step->consumed;
            done_ += step->consumed;
            if (step->produced != 0)
                return step->produced;
            if (ended_ && step->consumed == 0) {
                cut_off_ = !decoder_->whole();
                return 0;
            }
        }
    }

  private:
    Result<void> refill() {
        TM_ASSIGN(filled_, input_->read(buffer_));
        used_ = 0;
        ended_ = filled_ == 0;
        return {};
    }

    std::unique_ptr<RawInput> input_;
    std::unique_ptr<Decoder> decoder_;
    std::vector<std::byte> buffer_;
    std::size_t used_ = 0;
    std::size_t filled_;
    std::uint64_t done_ = 0;
    bool ended_ = false;
};

Result<std::unique_ptr<ByteSource>> unwrap(std::unique_ptr<RawInput> input, std::string name) {
    std::vector<std::byte> head(kCompressionHead);
    std::size_t filled = 0;
    while (filled < head.size()) {
        TM_ASSIGN(const std::size_t count, input->read(std::span(head).subspan(filled)));
        if (count == 0)
            break;
        filled += count;
    }
    head.resize(filled);
    const Compression compression = compression_of(head);
    if (compression == Compression::none)
        return std::make_unique<PlainSource>(std::move(name), std::move(input), std::move(head));
    auto decoder = make_decoder(compression);
    if (!decoder) {
        decoder.error().where = std::move(name);
        return tl::make_unexpected(std::move(decoder).error());
    }
    return std::make_unique<DecodedSource>(std::move(name), std::move(input), std::move(*decoder),
                                           std::move(head));
}

}  // namespace

// Small files need no large buffer; the one extra byte shows where the file ends.
std::size_t ByteSource::first_size() const {
    const std::uint64_t whole = raw_size();
    return compressed() || whole == 0 || whole >= kReadAhead ? kReadAhead
                                                             : static_cast<std::size_t>(whole) + 1;
}

Result<void> ByteSource::need(std::size_t count) {
    while (window().size() < count && !ended_) {
        if (cancelled_ && cancelled_())
            return fail(ErrorCode::cancelled, "reading was cancelled", name_);
        TM_ASSIGN(const bool taken, take_block());
        if (taken)
            continue;
        make_room();
        const auto filled = static_cast<std::size_t>(end_ - buffer_.data());
        TM_ASSIGN(const std::size_t got, read(std::span(buffer_).subspan(filled)));
        end_ += got;
        ended_ = got == 0;
    }
    return {};
}

// Puts the unread bytes in front of the next block, if they are few and there is one.
Result<bool> ByteSource::take_block() {
    const std::span<const std::byte> unread = window();
    if (unread.size() > kRoomInFront)
        return false;
    TM_ASSIGN(const std::span<std::byte> block, next_block());
    if (block.empty())
        return false;
    std::byte* const begin = block.data() - unread.size();
    if (!unread.empty())
        std::memcpy(begin, unread.data(), unread.size());
    begin_ = begin;
    end_ = block.data() + block.size();
    in_block_ = true;
    return true;
}

// Room in buffer_ behind the window, which is moved there or to the buffer's start if necessary.
void ByteSource::make_room() {
    const std::size_t unread = window().size();
    std::size_t begin = in_block_ ? 0 : static_cast<std::size_t>(begin_ - buffer_.data());
    if (in_block_ || begin + unread == buffer_.size()) {
        // Grows only by bytes that have really come, so that a claimed length costs nothing.
        if (in_block_ && buffer_.size() < unread * 2)
            buffer_.resize(std::max(first_size(), unread * 2));
        if (unread != 0 && begin_ != buffer_.data())
            std::memmove(buffer_.data(), begin_, unread);
        if (unread * 2 >= buffer_.size())
            buffer_.resize(std::max(first_size(), buffer_.size() * 2));
        begin = 0;
        in_block_ = false;
    }
    begin_ = buffer_.data() + begin;
    end_ = begin_ + unread;
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
    TM_ASSIGN(auto input, open_raw_file(path));
    return unwrap(std::move(input), path == "-" ? "standard input" : path);
}

Result<std::unique_ptr<ByteSource>> open_memory(std::span<const std::byte> bytes,
                                                std::string name) {
    return unwrap(raw_memory(bytes), std::move(name));
}

}  // namespace tidemark
