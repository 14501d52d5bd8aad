// The page of torch.cuda._memory_viz: const local_files = [{"name": "...", "base64": "gASV..."}].
#include <array>
#include <cstdint>
#include <string_view>

#include "traces/readers/torch_file.h"

namespace tidemark::torch {
namespace {

constexpr std::string_view kMark = "\"base64\":";

std::string_view window_of(const ByteSource& source) {
    return {reinterpret_cast<const char*>(source.window().data()), source.window().size()};
}

// The value of a letter of base64 (RFC 4648, 4), or 64.
unsigned digit_of(char letter) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const std::array<std::uint8_t, 256> digits = [&] {
        std::array<std::uint8_t, 256> table{};
        table.fill(64);
        for (std::size_t i = 0; i < kLetters.size(); ++i)
            table[static_cast<unsigned char>(kLetters[i])] = static_cast<std::uint8_t>(i);
        return table;
    }();
    return digits[static_cast<unsigned char>(letter)];
}

// The bytes that base64 letters in another source stand for, up to the first other letter.
class Base64Source final : public ByteSource {
  public:
    explicit Base64Source(ByteSource& letters) : ByteSource(letters.name()), letters_(letters) {}

    bool compressed() const override { return true; }

    std::uint64_t raw_done() const override { return letters_.raw_done(); }

    std::uint64_t raw_size() const override { return letters_.raw_size(); }

  protected:
    Result<std::size_t> read(std::span<std::byte> target) override {
        std::size_t made = 0;
        while (target.size() - made >= 3 && !ended_) {
            TM_TRY(letters_.need(4));
            const std::string_view window = window_of(letters_);
            std::size_t used = 0;
            for (; window.size() - used >= 4 && target.size() - made >= 3; used += 4) {
                const std::size_t count = decode(window.substr(used, 4), target.subspan(made));
                made += count;
                ended_ = count < 3;
                if (ended_)
                    break;
            }
            letters_.consume(used);
            ended_ = ended_ || used == 0;
        }
        return made;
    }

  private:
    // Of four letters up to three bytes.
    static std::size_t decode(std::string_view four, std::span<std::byte> target) {
        std::uint32_t bits = 0;
        std::size_t letters = 0;
        for (; letters < 4 && digit_of(four[letters]) < 64; ++letters)
            bits |= digit_of(four[letters]) << (18 - 6 * letters);
        const std::size_t count = letters * 6 / 8;
        for (std::size_t i = 0; i < count; ++i)
            target[i] = static_cast<std::byte>(bits >> (16 - 8 * i) & 255U);
        return count;
    }

    ByteSource& letters_;
    bool ended_ = false;
};

}  // namespace

bool begins_memory_page(std::string_view head) {
    return head.starts_with("<!DOCTYPE html>") &&
           (head.find("MemoryViz") != std::string_view::npos ||
            head.find("local_files") != std::string_view::npos);
}

Result<void> read_memory_page(ByteSource& source, File& file, const ReadOptions& options) {
    for (bool found = false; !found;) {
        TM_TRY(source.need(kMark.size() + 1));
        const std::string_view window = window_of(source);
        if (window.size() <= kMark.size())
            return fail(ErrorCode::bad_input, "the page holds no snapshot", source.name(),
                        "give the snapshot.pickle that it was made from");
        const std::size_t mark = window.find(kMark);
        found = mark != std::string_view::npos;
        source.consume(found ? mark + kMark.size() : window.size() - kMark.size() + 1);
    }
    for (bool quoted = false; !quoted;) {
        TM_TRY(source.need(1));
        const std::string_view window = window_of(source);
        if (window.empty() || (window[0] != ' ' && window[0] != '"'))
            return fail(ErrorCode::bad_input, "the page's snapshot is not a text", source.name());
        quoted = window[0] == '"';
        source.consume(1);
    }
    Base64Source pickle(source);
    return read_pickles(pickle, file, options);
}

}  // namespace tidemark::torch
