// Breaking bars into lines, and lines into pixels.
#include "viz/model/memory/bar_lines.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr std::uint32_t kNoPart = 0xffffffffU;

// What a line of pixels holds, while it is added up.
struct Pixel {
    double taken = 0;
    double memory = 0;
    double best = 0;
    std::uint8_t kind = 0;
    std::uint8_t shade = 0;
    bool waits = false;
    bool hole = false;
};

// Calls visit(pixel, share) for the pixels that [left, right) covers.
template <class Visit>
void for_each_pixel(double left, double right, std::uint32_t columns, Visit&& visit) {
    const auto first = static_cast<std::uint32_t>(std::max(0.0, std::floor(left)));
    for (std::uint32_t x = first; x < columns && x < right; ++x)
        visit(x, std::min(right, x + 1.0) - std::max(left, static_cast<double>(x)));
}

std::uint8_t to_share(double share) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * 255));
}

}  // namespace

BarLines::BarLines(const MemoryNow& now, std::span<const std::uint32_t> order,
                   std::uint32_t columns, std::uint32_t lines, double gap)
    : columns_(std::max(columns, 1U)), lines_(std::max(lines, 1U)) {
    double total = 0;
    for (const NowBar& bar : now.bars)
        total += static_cast<double>(bar.length);
    const double pixels = static_cast<double>(columns_) * lines_;
    const double bars = static_cast<double>(std::max<std::size_t>(now.bars.size(), 1));
    const double apart = std::min(gap, pixels / 4 / bars);
    scale_ = std::max(total, 1.0) / std::max(pixels - apart * (bars + 1), pixels / 2);
    // What the ends of lines cost shows when it is done.
    for (int i = 0; i < 40 && !lay_out(now, order, apart); ++i)
        scale_ *= 1.02;
}

// False if there are too few lines; then a part is missing.
bool BarLines::lay_out(const MemoryNow& now, std::span<const std::uint32_t> order, double gap) {
    constexpr double kLeast = 1e-6;  // pixels, at the end of a line
    parts_.clear();
    first_part_.assign(now.bars.size(), kNoPart);
    std::uint32_t line = 0;
    double x = 0;
    for (const std::uint32_t index : order) {
        const NowBar& bar = now.bars[index];
        first_part_[index] = static_cast<std::uint32_t>(parts_.size());
        Bytes done = 0;
        while (done < bar.length) {
            if (columns_ - x < kLeast) {
                ++line;
                x = 0;
            }
            if (line == lines_)
                return false;
            const double room = (columns_ - x) * scale_;
            const double left = static_cast<double>(bar.length - done);
            const Bytes size =
                left <= room ? bar.length - done : std::max<Bytes>(static_cast<Bytes>(room), 1);
            const double right =
                std::min(x + static_cast<double>(size) / scale_, static_cast<double>(columns_));
            parts_.push_back({index, line, done, done + size, x, right});
            done += size;
            x = left <= room ? right : columns_;
        }
        x = std::min(x + gap, static_cast<double>(columns_));
    }
    return true;
}

std::optional<BarPosition> BarLines::find(std::uint32_t line, double x) const {
    const auto after = std::partition_point(parts_.begin(), parts_.end(), [&](const BarPart& part) {
        return part.line < line || (part.line == line && part.left <= x);
    });
    if (after == parts_.begin())
        return std::nullopt;
    const BarPart& part = *(after - 1);
    if (part.line != line || x >= part.right)
        return std::nullopt;
    const auto within = static_cast<Bytes>((x - part.left) * scale_);
    return BarPosition{part.bar, std::min(part.begin + within, part.end - 1)};
}

std::vector<BarPart> BarLines::stretch(std::uint32_t bar, Bytes begin, Bytes end) const {
    std::vector<BarPart> found;
    const std::uint32_t first = bar < first_part_.size() ? first_part_[bar] : kNoPart;
    for (std::size_t i = first; i < parts_.size() && parts_[i].bar == bar; ++i) {
        BarPart part = parts_[i];
        if (part.end <= begin || part.begin >= end)
            continue;
        const Bytes from = std::max(part.begin, begin);
        const Bytes to = std::min(part.end, end);
        const double left = part.left + static_cast<double>(from - part.begin) / scale_;
        part.right = std::min(part.right, left + static_cast<double>(to - from) / scale_);
        part.left = left;
        part.begin = from;
        part.end = to;
        found.push_back(part);
    }
    return found;
}

std::vector<OccupancyCell> BarLines::cells(const MemoryNow& now, const History& history,
                                           const BlockClasses& classes) const {
    std::vector<Pixel> pixels(std::size_t{columns_} * lines_);
    const auto cover = [&](const BarPart& part, Bytes begin, Bytes end, auto&& visit) {
        const Bytes from = std::max(begin, part.begin);
        const Bytes to = std::min(end, part.end);
        if (from >= to)
            return;
        const double left = part.left + static_cast<double>(from - part.begin) / scale_;
        const double right = part.left + static_cast<double>(to - part.begin) / scale_;
        Pixel* line = &pixels[std::size_t{part.line} * columns_];
        for_each_pixel(left, right, columns_,
                       [&](std::uint32_t x, double share) { visit(line[x], share); });
    };
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const BarPart& part = parts_[i];
        const NowBar& bar = now.bars[part.bar];
        const bool view = bar.kind == SegmentKind::view;
        cover(part, part.begin, part.end, [view](Pixel& pixel, double share) {
            pixel.memory += view ? 0 : share;
            pixel.hole = pixel.hole || view;
        });
        for (std::uint32_t k = 0; k < bar.holes; ++k) {
            const NowHole& hole = now.holes[bar.first_hole + k];
            cover(part, hole.at, hole.at + hole.shown, [](Pixel& pixel, double share) {
                pixel.memory -= share;
                pixel.hole = true;
            });
        }
        const auto begin = now.blocks.begin() + bar.first_block;
        auto block = std::partition_point(begin, begin + bar.blocks, [&](const NowBlock& before) {
            return before.at + before.size <= part.begin;
        });
        for (; block != begin + bar.blocks && block->at < part.end; ++block) {
            const std::uint8_t kind = classes.of(history.block(block->block));
            cover(part, block->at, block->at + block->size, [&](Pixel& pixel, double share) {
                pixel.taken += share;
                if (share > pixel.best) {
                    pixel.best = share;
                    pixel.kind = kind;
                    pixel.shade = shade_of(block->block);
                    pixel.waits = block->waits;
                }
            });
        }
    }
    std::vector<OccupancyCell> result(pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        const Pixel& pixel = pixels[i];
        OccupancyCell& cell = result[i];
        cell.taken = to_share(pixel.taken);
        if (pixel.taken > 0)
            cell.taken = std::max<std::uint8_t>(cell.taken, 1);
        cell.memory = std::max(to_share(pixel.memory), cell.taken);
        cell.kind = pixel.kind;
        cell.flags =
            static_cast<std::uint8_t>(pixel.shade << kShadeBits | (pixel.waits ? kWaitingCell : 0) |
                                      (pixel.hole ? kReservedCell : 0));
    }
    return result;
}

}  // namespace tidemark::viz
