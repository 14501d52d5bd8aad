// Known bytes of imagined devices, held against an array that says of each byte what it is.
#include "backends/imagined/contents.h"

#include <array>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace tidemark::imagined {
namespace {

constexpr std::uint64_t kBegin = 0x10000;
constexpr std::size_t kSize = 64;

struct Model {
    std::array<std::optional<std::byte>, kSize> bytes{};

    void write(std::size_t at, const std::vector<std::byte>& what) {
        for (std::size_t index = 0; index < what.size(); ++index)
            bytes[at + index] = what[index];
    }

    void forget(std::size_t at, std::size_t size) {
        for (std::size_t index = at; index < at + size; ++index)
            bytes[index].reset();
    }

    std::optional<std::vector<std::byte>> read(std::size_t at, std::size_t size) const {
        std::vector<std::byte> found;
        for (std::size_t index = at; index < at + size; ++index) {
            if (!bytes[index])
                return {};
            found.push_back(*bytes[index]);
        }
        return found;
    }
};

std::optional<std::vector<std::byte>> read(const Contents& contents, std::size_t at,
                                           std::size_t size) {
    std::vector<std::byte> found(size);
    return contents.read(kBegin + at, found) ? std::optional(found) : std::nullopt;
}

TEST_CASE("contents are what was written last, or not known") {
    const bool held = rc::check([] {
        Contents contents;
        Model model;
        const int steps = *rc::gen::inRange(1, 40);
        for (int step = 0; step < steps; ++step) {
            const auto at = *rc::gen::inRange<std::size_t>(0, kSize);
            const auto size = *rc::gen::inRange<std::size_t>(0, kSize - at + 1);
            const auto value = static_cast<std::byte>(*rc::gen::inRange(0, 256));
            switch (*rc::gen::inRange(0, 4)) {
                case 0:
                    contents.fill(kBegin + at, value, size);
                    model.write(at, std::vector(size, value));
                    break;
                case 1:
                    contents.forget(kBegin + at, size);
                    model.forget(at, size);
                    break;
                case 2: {
                    const auto to = *rc::gen::inRange<std::size_t>(0, kSize - size + 1);
                    const auto source = model.read(at, size);
                    contents.copy(kBegin + to, kBegin + at, size);
                    source ? model.write(to, *source) : model.forget(to, size);
                    break;
                }
                default: {
                    Contents::Reader reader(contents);
                    std::vector<std::byte> found(size);
                    const bool known = reader.read(kBegin + at, found);
                    const auto expected = model.read(at, size);
                    const bool as_expected =
                        size == 0 || (known ? expected == found : !expected.has_value());
                    RC_ASSERT(as_expected);
                }
            }
            for (std::size_t index = 0; index < kSize; ++index) {
                const bool same = read(contents, index, 1) == model.read(index, 1);
                RC_ASSERT(same);
            }
            bool any = false;
            for (std::size_t index = at; index < at + size; ++index)
                any = any || model.bytes[index].has_value();
            RC_ASSERT(size == 0 || contents.any(kBegin + at, size) == any);
        }
    });
    REQUIRE(held);
}

TEST_CASE("the oldest contents go when there are too many") {
    Contents contents;
    const std::vector<std::byte> piece(Contents::kLargest, std::byte{1});
    constexpr std::size_t kPieces = Contents::kMost / Contents::kLargest;
    for (std::size_t one = 0; one <= kPieces; ++one)
        contents.write(one * Contents::kLargest, piece);
    CHECK_FALSE(contents.any(0, Contents::kLargest));
    CHECK(contents.any(kPieces * Contents::kLargest, 1));
    contents.write(0, std::vector(Contents::kLargest + 1, std::byte{2}));
    CHECK_FALSE(contents.any(0, 1));  // larger than what is kept
}

}  // namespace
}  // namespace tidemark::imagined
