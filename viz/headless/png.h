// PNG: pictures as files. The one home of libpng.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/output_target.h"
#include "viz/draw/bitmap.h"

namespace tidemark::viz {

constexpr std::uint32_t kWidestBitmap = 16384;  // pixels, in either direction

// `picture` without its alpha as the bytes of a PNG: the same for the same pixels and libpng.
// Errors: bad_option (no pixels, or more than kWidestBitmap).
Result<std::vector<std::byte>> encode_png(const Bitmap& bitmap);

// Writes it to `target`, whole or not at all. Errors: those of encode_png and of OutputFile.
Result<void> write_png(const Bitmap& bitmap, const OutputTarget& target);

// The same where nothing but another PNG of ours may be.
inline Result<void> write_png(const Bitmap& bitmap, const std::string& path) {
    return write_png(bitmap, OutputTarget{.path = path, .kind = FileKind::png});
}

// Reads any PNG as opaque pixels. Errors: io; bad_input (no PNG, damaged, too large).
Result<Bitmap> read_png(const std::string& path);

}  // namespace tidemark::viz
