// ByteSource: the same bytes out of every wrapping, in any steps, and a plain message for what is
// wrong.
#include "traces/io/byte_source.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/test_folder.h"
#include "tests/traces/io/compressed.h"

using namespace tidemark;
using support::ByteVector;
using support::to_bytes;

namespace {

// Compressible, and longer than any buffer inside.
ByteVector sample(std::size_t size = 1'200'000) {
    Random random(7);
    ByteVector bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.below(16));
    return bytes;
}

// Reads to the end, in steps of `step` bytes.
Result<ByteVector> read_all(ByteSource& source, std::size_t step) {
    ByteVector all;
    for (;;) {
        TM_TRY(source.need(step));
        const auto window = source.window();
        if (window.empty())
            return all;
        const std::size_t count = std::min(step, window.size());
        REQUIRE(source.offset() == all.size());
        all.insert(all.end(), window.begin(), window.begin() + static_cast<std::ptrdiff_t>(count));
        source.consume(count);
    }
}

Result<ByteVector> read_all(const ByteVector& bytes, bool* cut_off = nullptr) {
    TM_ASSIGN(const auto source, open_memory(bytes, "sample"));
    TM_ASSIGN(ByteVector all, read_all(*source, 65536));
    if (cut_off != nullptr)
        *cut_off = source->cut_off();
    return all;
}

ByteVector together(ByteVector a, const ByteVector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::string error_of(const ByteVector& bytes) {
    const auto all = read_all(bytes);
    return all ? "no error" : to_text(all.error());
}

}  // namespace

TEST_CASE("a source gives the bytes of every wrapping, whatever the steps", "[io]") {
    const ByteVector plain = sample();
    const std::size_t step =
        GENERATE(std::size_t{1000}, std::size_t{300'000}, std::size_t{1} << 30);
    for (const ByteVector& wrapped :
         {plain, support::xz(plain), support::zst(plain), support::gz(plain)}) {
        const auto source = open_memory(wrapped, "sample");
        REQUIRE(source);
        CHECK((*source)->raw_size() == wrapped.size());

        const auto all = read_all(**source, step);

        REQUIRE(all);
        CHECK(*all == plain);
        CHECK_FALSE((*source)->cut_off());
        CHECK((*source)->raw_done() == wrapped.size());
        CHECK((*source)->compressed() == (wrapped.size() != plain.size()));
    }
}

TEST_CASE("several compressed streams in a row are one", "[io]") {
    const ByteVector begin = to_bytes("begin, ");
    const ByteVector end = to_bytes("end");
    const ByteVector whole = together(begin, end);

    CHECK(*read_all(together(support::xz(begin), support::xz(end))) == whole);
    CHECK(*read_all(together(support::zst(begin), support::zst(end))) == whole);
    CHECK(*read_all(together(support::gz(begin), support::gz(end))) == whole);
    CHECK(*read_all(together(support::gz(begin), ByteVector(512))) == begin);
}

TEST_CASE("a compressed stream cut anywhere gives its beginning and says so", "[io]") {
    const ByteVector plain = sample(20'000);
    for (const ByteVector& wrapped :
         {support::xz(plain), support::zst(plain), support::gz(plain)}) {
        for (std::size_t size = 8; size < wrapped.size(); size += 37) {
            bool cut_off = false;
            const auto all = read_all(
                ByteVector(wrapped.begin(), wrapped.begin() + static_cast<std::ptrdiff_t>(size)),
                &cut_off);
            REQUIRE(all);
            CHECK(cut_off);
            REQUIRE(all->size() <= plain.size());
            CHECK(std::equal(all->begin(), all->end(), plain.begin()));
        }
    }
}

TEST_CASE("a damaged compressed stream is an error with its name and place", "[io]") {
    const ByteVector plain = sample(200'000);
    for (ByteVector wrapped : {support::xz(plain), support::zst(plain), support::gz(plain)}) {
        for (std::size_t i = wrapped.size() / 2; i < wrapped.size() / 2 + 64; ++i)
            wrapped[i] = ~wrapped[i];

        const std::string error = error_of(wrapped);

        CHECK_THAT(error, Catch::StartsWith("sample:0x"));
        CHECK_THAT(error, Catch::Contains("damaged"));
    }
}

TEST_CASE("what follows a gzip stream and is none is an error", "[io]") {
    CHECK_THAT(error_of(together(support::gz(sample(100)), to_bytes("rubbish"))),
               Catch::Contains("damaged"));
}

TEST_CASE("an .xz that asks for gigabytes of memory is refused", "[io]") {
    ByteVector wrapped = support::xz(sample(1000));
    // The LZMA2 filter (0x21) has one byte of properties, the size of its dictionary: 4 GiB - 1,
    // with the header's CRC corrected.
    const std::array filter{std::byte{0x21}, std::byte{1}};
    const auto found = std::search(wrapped.begin(), wrapped.end(), filter.begin(), filter.end());
    REQUIRE(found != wrapped.end());
    found[2] = std::byte{40};
    const std::size_t header = (std::to_integer<std::size_t>(wrapped[12]) + 1) * 4;
    const std::uint32_t crc =
        lzma_crc32(reinterpret_cast<const std::uint8_t*>(wrapped.data() + 12), header - 4, 0);
    std::memcpy(wrapped.data() + 12 + header - 4, &crc, sizeof crc);

    CHECK_THAT(error_of(wrapped), Catch::Contains("512 MiB"));
}

TEST_CASE("compressions that cannot be undone are named", "[io]") {
    CHECK_THAT(error_of(to_bytes("BZh91AY&SY......")), Catch::Contains("bunzip2"));
    CHECK_THAT(error_of(to_bytes("PK\x03\x04............")), Catch::Contains("zip archive"));
    CHECK_THAT(error_of(to_bytes("\x04\x22\x4d\x18............")), Catch::Contains("unlz4"));
    CHECK(error_of(to_bytes("BZh9")) == "no error");
}

TEST_CASE("a claimed length takes no memory before the bytes have come", "[io]") {
    const ByteVector plain = to_bytes("short");
    const auto source = open_memory(plain, "sample");
    REQUIRE(source);

    REQUIRE((*source)->need(std::size_t{1} << 60U));

    CHECK((*source)->window().size() == 5);
}

TEST_CASE("a folder, a missing file and an empty one are told apart", "[io]") {
    const auto folder = open_bytes(TIDEMARK_SOURCE_DIR);
    const auto missing = open_bytes(TIDEMARK_SOURCE_DIR "/no-such-file");
    const auto empty = open_bytes("/dev/null");

    REQUIRE_FALSE(folder);
    CHECK_THAT(to_text(folder.error()), Catch::Contains("is a folder"));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ErrorCode::io);
    CHECK_THAT(to_text(missing.error()),
               Catch::Contains("no-such-file") && Catch::Contains("No such"));
    REQUIRE(empty);
    REQUIRE((*empty)->need(1));
    CHECK((*empty)->window().empty());
    CHECK_FALSE((*empty)->cut_off());
}

TEST_CASE("a file is read like memory", "[io]") {
    const ByteVector plain = sample(100'000);
    const support::TestFolder folder;
    const std::string path = folder.write("a.xz", support::xz(plain));

    const auto source = open_bytes(path);

    REQUIRE(source);
    CHECK((*source)->name() == path);
    CHECK(*read_all(**source, 4096) == plain);
}
