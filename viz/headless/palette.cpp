// Cuts and settles.
#include "viz/headless/palette.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/base/check.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kParts = 3;  // red, green, blue
constexpr int kSettlings = 3;
constexpr Colour kOpaque = 0xff000000U;

std::uint32_t part_of(Colour colour, std::size_t part) {
    return colour >> (8 * part) & 0xffU;
}

std::uint32_t distance(Colour a, Colour b) {
    std::uint32_t sum = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
        const std::uint32_t apart = part_of(a, part) - part_of(b, part);  // its square is right
        sum += apart * apart;
    }
    return sum;
}

// Sums of colours, weighted by how often each occurs.
struct Sums {
    std::uint64_t count = 0;
    std::array<std::uint64_t, kParts> sum{};
    std::array<std::uint64_t, kParts> squares{};

    void add(Colour colour, std::uint64_t times) {
        count += times;
        for (std::size_t part = 0; part < kParts; ++part) {
            const std::uint64_t value = part_of(colour, part);
            sum[part] += value * times;
            squares[part] += value * value * times;
        }
    }

    double error(std::size_t part) const {
        const auto total = static_cast<double>(sum[part]);
        return static_cast<double>(squares[part]) - total * total / static_cast<double>(count);
    }

    std::size_t widest() const {
        std::size_t widest = 0;
        for (std::size_t part = 1; part < kParts; ++part)
            if (error(part) > error(widest))
                widest = part;
        return widest;
    }

    Colour mean() const {
        Colour colour = kOpaque;
        for (std::size_t part = 0; part < kParts; ++part)
            colour |= static_cast<Colour>((sum[part] + count / 2) / count) << (8 * part);
        return colour;
    }
};

// Some of the different colours: their numbers in the order of the cutting.
struct ColourBox {
    std::size_t begin = 0;
    std::size_t end = 0;
    Sums sums;

    double error() const {
        return end - begin < 2 ? 0 : sums.error(0) + sums.error(1) + sums.error(2);
    }
};

}  // namespace

Palette::Palette(std::span<const Colour> pixels, std::size_t most) {
    TM_CHECK(most >= 1 && most <= 256);
    std::vector<Colour> sorted(pixels.begin(), pixels.end());
    for (Colour& colour : sorted)
        colour |= kOpaque;
    std::ranges::sort(sorted);
    for (const Colour colour : sorted) {
        if (entries_.empty() || entries_.back().colour != colour)
            entries_.push_back({colour, 0, 0});
        ++entries_.back().count;
    }
    if (entries_.size() > most) {
        cut(most);
        for (int i = 0; i < kSettlings; ++i)
            settle();
        return;
    }
    for (Entry& entry : entries_) {
        entry.index = static_cast<std::uint8_t>(colours_.size());
        colours_.push_back(entry.colour);
    }
}

void Palette::cut(std::size_t most) {
    std::vector<std::size_t> order(entries_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto box_of = [&](std::size_t begin, std::size_t end) {
        ColourBox box{begin, end, {}};
        for (std::size_t i = begin; i < end; ++i)
            box.sums.add(entries_[order[i]].colour, entries_[order[i]].count);
        return box;
    };
    std::vector<ColourBox> boxes{box_of(0, order.size())};
    while (boxes.size() < most) {
        ColourBox& worst = *std::ranges::max_element(boxes, {}, &ColourBox::error);
        if (worst.error() <= 0)
            break;
        const std::size_t part = worst.sums.widest();
        const std::uint64_t count = worst.sums.count;
        const std::uint64_t sum = worst.sums.sum[part];
        const auto middle = std::stable_partition(
            order.begin() + static_cast<std::ptrdiff_t>(worst.begin),
            order.begin() + static_cast<std::ptrdiff_t>(worst.end), [&](std::size_t i) {
                return part_of(entries_[i].colour, part) * count <= sum;  // up to the mean
            });
        const auto at = static_cast<std::size_t>(middle - order.begin());
        if (at == worst.begin || at == worst.end)
            break;  // all the same in that part: rounding made an error of it
        const ColourBox upper = box_of(at, worst.end);
        worst = box_of(worst.begin, at);
        boxes.push_back(upper);
    }
    for (const ColourBox& box : boxes)
        colours_.push_back(box.sums.mean());
}

void Palette::settle() {
    std::vector<Sums> sums(colours_.size());
    for (Entry& entry : entries_) {
        const auto nearest = std::ranges::min_element(
            colours_, {}, [&](Colour colour) { return distance(entry.colour, colour); });
        entry.index = static_cast<std::uint8_t>(nearest - colours_.begin());
        sums[entry.index].add(entry.colour, entry.count);
    }
    for (std::size_t i = 0; i < colours_.size(); ++i)
        if (sums[i].count > 0)
            colours_[i] = sums[i].mean();
}

std::uint8_t Palette::index_of(Colour colour) const {
    const auto found = std::ranges::lower_bound(entries_, colour | kOpaque, {}, &Entry::colour);
    TM_CHECK(found != entries_.end());
    return found->index;
}

}  // namespace tidemark::viz
