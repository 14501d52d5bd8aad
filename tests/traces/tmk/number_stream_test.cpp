// NumberStream: any numbers come back, and usual ones take the bits they should.
#include "traces/tmk/number_stream.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/property.h"
#include "tests/traces/tmk/random_trace.h"
#include "traces/tmk/stream_decoder.h"

using namespace tidemark;
using namespace tidemark::tmk;

namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr Attempts kAll{.delta = true, .dictionary = true};

ByteWriter encode(const Numbers& numbers, Attempts attempts = kAll) {
    ByteWriter out;
    StreamEncoder encoder;
    encoder.encode(numbers, attempts, out);
    return out;
}

// Reads the stream back in pieces of `piece`; empty if it was refused.
Numbers decode(std::span<const std::byte> bytes, std::size_t piece) {
    ByteReader in(bytes);
    Decompressor decompressor;
    StreamDecoder<std::uint64_t> decoder;
    if (!decoder.open(in, decompressor, kChunkEvents) || in.left() != 0)
        return {};
    const std::uint64_t bound = decoder.bound();
    Numbers numbers(decoder.left());
    for (std::size_t i = 0; i < numbers.size(); i += piece)
        decoder.read(numbers.data() + i, std::min(piece, numbers.size() - i));
    for (const std::uint64_t number : numbers)
        CHECK(number <= bound);
    return numbers;
}

Numbers made(std::size_t count, std::uint64_t (*number)(std::uint64_t i, Random& random)) {
    Random random(1);
    Numbers numbers(count);
    for (std::size_t i = 0; i < count; ++i)
        numbers[i] = number(i, random);
    return numbers;
}

}  // namespace

TEST_CASE("any numbers come back from a stream, in any pieces", "[tmk][property]") {
    CHECK(support::counterexample(support::effort(300), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const auto count = *rc::gen::inRange<std::size_t>(1, 3000);
              const std::uint64_t distinct = *rc::gen::inRange<std::uint64_t>(1, 5000);
              Numbers values(distinct);
              for (std::uint64_t& value : values)
                  value = support::any_number(random);
              Numbers numbers(count);
              for (std::uint64_t& number : numbers)
                  number = values[random.below(distinct)];
              if (*rc::gen::arbitrary<bool>())
                  std::ranges::sort(numbers);
              const Attempts attempts{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};

              const ByteWriter bytes = encode(numbers, attempts);

              const auto piece = *rc::gen::inRange<std::size_t>(1, 3000);
              RC_ASSERT(decode(bytes.bytes(), piece) == numbers);
          }) == "");
}

TEST_CASE("every width of bits comes back", "[tmk]") {
    for (unsigned width = 1; width <= 64; ++width) {
        Random random(width);
        Numbers numbers(1000);
        for (std::uint64_t& number : numbers)
            number = random.next() >> (64 - width);
        CHECK(decode(encode(numbers, {}).bytes(), 77) == numbers);
    }
}

TEST_CASE("no numbers are a stream too", "[tmk]") {
    const ByteWriter bytes = encode({});
    ByteReader in(bytes.bytes());
    Decompressor decompressor;
    StreamDecoder<std::uint32_t> decoder;

    REQUIRE(decoder.open(in, decompressor, 10));
    CHECK(decoder.left() == 0);
}

TEST_CASE("numbers take the space that their content needs", "[tmk]") {
    const auto size = [](const Numbers& numbers) { return encode(numbers).size(); };
    constexpr std::size_t kMany = 40'000;
    const std::size_t header = sizeof(StreamHeader);

    CHECK(size(made(kMany, [](std::uint64_t, Random&) { return std::uint64_t{12345}; })) == header);
    CHECK(size(made(kMany, [](std::uint64_t i, Random&) { return 1000 + 7 * i; })) == header);
    // A random bit each, of numbers that are far from zero and from each other.
    CHECK(size(made(kMany, [](std::uint64_t, Random& r) { return 1000 + 999 * r.below(2); })) ==
          header + kMany / 8 + kSlack);
    // Few outliers do not widen the rest: neither far above ...
    CHECK(size(made(kMany, [](std::uint64_t i, Random& r) {
              return i % 10'000 == 5 ? ~std::uint64_t{0} : r.below(16);
          })) == header + 4 * 10 + kMany / 2 + kSlack);
    // ... nor far below.
    CHECK(size(made(kMany, [](std::uint64_t i, Random& r) {
              return i % 10'000 == 5 ? 512 * i : 0x7f00'0000'0000U + 512 * r.below(65536);
          })) <= header + 4 * 10 + kMany * 17 / 8 + kSlack);
    // 256 distinct addresses take a byte each, and their list.
    CHECK(size(made(kMany, [](std::uint64_t, Random& r) {
              return r.below(256) * 0x1234'5678'9abcU;
          })) < kMany + 2 * header + 256 * 8);
    // What repeats is left to zstd.
    CHECK(size(made(kMany, [](std::uint64_t i, Random&) { return i % 2000 * (i % 2000); })) <
          kMany / 2);
}
