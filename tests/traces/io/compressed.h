// Bytes as the tools of each compression would write them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

namespace tidemark::support {

using ByteVector = std::vector<std::byte>;

inline ByteVector to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline ByteVector xz(const ByteVector& bytes) {
    ByteVector out(lzma_stream_buffer_bound(bytes.size()));
    std::size_t size = 0;
    const lzma_ret status = lzma_easy_buffer_encode(
        0, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()),
        bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
    out.resize(status == LZMA_OK ? size : 0);
    return out;
}

inline ByteVector zst(const ByteVector& bytes) {
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the zstd tool does
    ByteVector out(ZSTD_compressBound(bytes.size()));
    out.resize(ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size()));
    ZSTD_freeCCtx(context);
    return out;
}

inline ByteVector gz(const ByteVector& bytes) {
    z_stream stream{};
    deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    ByteVector out(deflateBound(&stream, bytes.size()) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace tidemark::support
