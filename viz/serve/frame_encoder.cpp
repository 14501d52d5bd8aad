// Finds and compresses what changed.
#include "viz/serve/frame_encoder.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

#include "core/base/caught.h"
#include "core/base/check.h"
#include "viz/serve/wire.h"

namespace tidemark::viz {
namespace {

constexpr std::uint32_t kTile = 16;  // pixels
constexpr int kLevel = 4;
constexpr std::byte kFrameMessage{1};
constexpr std::byte kPlainFrameMessage{7};
constexpr Colour kOpaque = 0xff000000U;

const Colour* row_of(const Bitmap& bitmap, std::uint32_t y) {
    return bitmap.pixels.data() + std::size_t{y} * bitmap.width;
}

bool differs(const Bitmap& before, const Bitmap& now, const PixelBox& box) {
    for (std::uint32_t y = box.top; y < box.top + box.height; ++y) {
        const Colour* const row = row_of(now, y) + box.left;
        if (!std::equal(row, row + box.width, row_of(before, y) + box.left))
            return true;
    }
    return false;
}

// Appends the changed boxes of one row of tiles.
void add_row(const Bitmap& before, const Bitmap& now, const PixelBox& row,
             std::vector<PixelBox>& boxes) {
    if (!differs(before, now, row))
        return;
    bool joins = false;
    for (std::uint32_t left = 0; left < row.width; left += kTile) {
        const PixelBox tile{left, row.top, std::min(kTile, row.width - left), row.height};
        const bool changed = differs(before, now, tile);
        if (changed && joins)
            boxes.back().width += tile.width;
        else if (changed)
            boxes.push_back(tile);
        joins = changed;
    }
}

}  // namespace

std::vector<PixelBox> changed_boxes(const Bitmap& before, const Bitmap& now) {
    std::vector<PixelBox> boxes;
    if (now.width == 0 || now.height == 0)
        return boxes;
    if (before.width != now.width || before.height != now.height) {
        boxes.push_back({0, 0, now.width, now.height});
        return boxes;
    }
    for (std::uint32_t top = 0; top < now.height; top += kTile)
        add_row(before, now, {0, top, now.width, std::min(kTile, now.height - top)}, boxes);
    return boxes;
}

struct FrameEncoder::Deflater {
    Deflater() { check_memory(deflateInit(&stream, kLevel) == Z_OK); }

    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;

    ~Deflater() { deflateEnd(&stream); }

    // Appends `bytes`, compressed.
    void add(const std::vector<std::byte>& bytes, std::vector<std::byte>& target) {
        TM_CHECK(deflateReset(&stream) == Z_OK);
        const std::size_t begin = target.size();
        target.resize(begin + deflateBound(&stream, bytes.size()));
        // zlib reads only; its own macro would make the pointer const.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        stream.avail_in = static_cast<uInt>(bytes.size());
        stream.next_out = reinterpret_cast<Bytef*>(target.data() + begin);
        stream.avail_out = static_cast<uInt>(target.size() - begin);
        TM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
        target.resize(target.size() - stream.avail_out);
    }

    z_stream stream{};
};

FrameEncoder::FrameEncoder(FrameForm form) : form_(form) {
    if (form == FrameForm::compressed)
        deflater_ = std::make_unique<Deflater>();
}

FrameEncoder::~FrameEncoder() = default;

void FrameEncoder::add_packed(const Colour* row, std::size_t width) {
    const std::size_t begin = colours_.size();
    colours_.resize(begin + 3 * width);
    std::byte* target = colours_.data() + begin;
    for (std::size_t x = 0; x < width; ++x)
        for (const unsigned shift : {0U, 8U, 16U})
            *target++ = static_cast<std::byte>(row[x] >> shift & 0xffU);
}

void FrameEncoder::add_plain(const Colour* row, std::size_t width) {
    const std::size_t begin = colours_.size();
    colours_.resize(begin + sizeof(Colour) * width);
    for (std::size_t x = 0; x < width; ++x) {
        const Colour colour = row[x] | kOpaque;
        std::memcpy(colours_.data() + begin + sizeof(Colour) * x, &colour, sizeof(Colour));
    }
}

std::vector<std::byte> FrameEncoder::encode(const Bitmap& bitmap, std::uint32_t number) {
    TM_CHECK(bitmap.width <= kWidestScreen && bitmap.height <= kWidestScreen);
    std::vector<std::byte> message;
    const std::vector<PixelBox> boxes = changed_boxes(last_, bitmap);
    if (boxes.empty())
        return message;
    const bool plain = form_ == FrameForm::plain;
    message.push_back(plain ? kPlainFrameMessage : kFrameMessage);
    put_number(message, number, 4);
    put_number(message, bitmap.width, 2);
    put_number(message, bitmap.height, 2);
    put_number(message, static_cast<std::uint32_t>(boxes.size()), 2);
    colours_.clear();
    for (const PixelBox& box : boxes) {
        for (const std::uint32_t edge : {box.left, box.top, box.width, box.height})
            put_number(message, edge, 2);
        for (std::uint32_t y = box.top; y < box.top + box.height; ++y) {
            const Colour* const row = row_of(bitmap, y) + box.left;
            if (plain)
                add_plain(row, box.width);
            else
                add_packed(row, box.width);
        }
    }
    if (plain)
        message.insert(message.end(), colours_.begin(), colours_.end());
    else
        deflater_->add(colours_, message);
    last_.width = bitmap.width;
    last_.height = bitmap.height;
    last_.pixels.assign(bitmap.pixels.begin(), bitmap.pixels.end());
    return message;
}

}  // namespace tidemark::viz
