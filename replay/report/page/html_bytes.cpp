// Packing. zlib is told to write no header of its own.
#include "replay/report/page/html_bytes.h"

#include <zlib.h>

#include "core/base/caught.h"
#include "core/base/check.h"

namespace tidemark::report {

void put_number(std::string& bytes, std::uint64_t number) {
    while (number >= 0x80) {
        bytes += static_cast<char>((number & 0x7f) | 0x80);
        number >>= 7;
    }
    bytes += static_cast<char>(number);
}

void put_difference(std::string& bytes, std::int64_t difference) {
    const auto bits = static_cast<std::uint64_t>(difference);
    put_number(bytes, bits << 1 ^ (difference < 0 ? ~std::uint64_t{0} : 0));
}

std::string deflated(std::string_view bytes) {
    constexpr int kNoHeader = -15;
    constexpr int kMemoryLevel = 8;
    z_stream stream{};
    check_memory(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kNoHeader, kMemoryLevel,
                              Z_DEFAULT_STRATEGY) == Z_OK);
    std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    TM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            three = three << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        for (std::size_t letter = 0; letter < 4; ++letter) {
            const bool padding = i + letter > bytes.size();
            text += padding ? '=' : kLetters[three >> (18 - 6 * letter) & 0x3f];
        }
    }
    return text;
}

}  // namespace tidemark::report
