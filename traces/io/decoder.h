// Decoder: undoes one compression, piece by piece. Memory is bounded whatever the stream claims: xz
// and zstd streams that need a window above kDecoderMemory are refused. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace tidemark {

enum class Compression : std::uint8_t { none, xz, zstd, gzip, bzip2, lz4, zip };

// As far as the first bytes (kCompressionHead are enough) show.
constexpr std::size_t kCompressionHead = 256;  // an archive names its first member there
Compression compression_of(std::span<const std::byte> head);

// The most memory that a stream may need; `xz -9` needs 65 MiB, `zstd --ultra` 128 MiB.
constexpr std::size_t kDecoderMemory = std::size_t{512} << 20U;

class Decoder {
  public:
    struct Step {
        std::size_t consumed = 0;
        std::size_t produced = 0;
    };

    Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    virtual ~Decoder() = default;

    // Decodes from the front of `source` into the front of `target`. `at_end` means that nothing
    // follows `source`. No progress with `at_end` means the end: whole() tells whether it is
    // complete. Errors: bad_input (what is wrong, without `where`), unsupported.
    virtual Result<Step> decode(std::span<const std::byte> source, std::span<std::byte> target,
                                bool at_end) = 0;

    // True between streams: everything decoded so far was complete.
    virtual bool whole() const = 0;
};

// `compression` is not none. Errors: unsupported, for one that is known but not supported.
Result<std::unique_ptr<Decoder>> make_decoder(Compression compression);

}  // namespace tidemark
