// Choosing the row: computes the price for each choice of ends and number of whole handles, and
// takes the tightest of the cheapest.
#include "core/policies/extent_stitch.h"

#include <algorithm>
#include <utility>

namespace tidemark::policies {
namespace {

using Piece = ExtentLine::Piece;
using List = std::vector<Piece>;

Bytes size_of(const List& list, std::size_t first) {
    return first < list.size() ? list[first].range.size : 0;
}

// The smallest of a list (the largest first) that has `size` bytes; null if none has.
const Piece* smallest_from(const List& list, Bytes size) {
    const auto end = std::partition_point(
        list.begin(), list.end(), [size](const Piece& piece) { return piece.range.size >= size; });
    return end == list.begin() ? nullptr : &*std::prev(end);
}

// A suffix and a prefix of different handles.
struct Ends {
    const Piece* suffix = nullptr;
    const Piece* prefix = nullptr;

    Bytes size() const { return suffix->range.size + prefix->range.size; }
};

// The smallest pair of at least `size` bytes.
Ends tightest_ends(const ExtentLine::Pieces& pieces, Bytes size) {
    Ends best;
    for (const Piece& suffix : pieces.suffixes) {
        for (const Piece& prefix : pieces.prefixes) {
            const Ends pair{&suffix, &prefix};
            if (pair.size() < size)
                break;  // the others of this suffix are smaller
            if (suffix.handle != prefix.handle &&
                (best.suffix == nullptr || pair.size() < best.size()))
                best = pair;
        }
    }
    return best;
}

// The largest pair.
Ends largest_ends(const ExtentLine::Pieces& pieces) {
    Ends best;
    for (const Piece& suffix : pieces.suffixes) {
        for (const Piece& prefix : pieces.prefixes) {
            if (suffix.handle == prefix.handle)
                continue;
            const Ends pair{&suffix, &prefix};
            if (best.suffix == nullptr || pair.size() > best.size())
                best = pair;
            break;
        }
    }
    return best;
}

// Which ends a row has, and how many whole handles.
struct Shape {
    bool suffix = false;
    bool prefix = false;
    std::size_t wholes = 0;
    Bytes fresh = 0;
};

// The tightest row of a shape whose parts have `size` bytes.
ExtentRow row_of(const Shape& shape, const ExtentLine::Pieces& pieces, Bytes size) {
    ExtentRow row;
    row.fresh = shape.fresh;
    size -= shape.fresh;
    const bool ends = shape.suffix || shape.prefix;
    const std::size_t fixed = ends || shape.wholes == 0 ? shape.wholes : shape.wholes - 1;
    Bytes have = 0;
    for (std::size_t i = 0; i < fixed; ++i) {
        row.wholes.push_back(pieces.wholes[i]);
        have += pieces.wholes[i].range.size;
    }
    const Bytes missing = size - have;
    if (shape.suffix && shape.prefix) {
        const Ends pair = tightest_ends(pieces, missing);
        row.suffix = *pair.suffix;
        row.prefix = *pair.prefix;
        have += pair.size();
    } else if (shape.suffix) {
        row.suffix = *smallest_from(pieces.suffixes, missing);
        have += row.suffix->range.size;
    } else if (shape.prefix) {
        row.prefix = *smallest_from(pieces.prefixes, missing);
        have += row.prefix->range.size;
    } else if (shape.wholes != 0) {
        row.wholes.push_back(*smallest_from(pieces.wholes, missing));
        have += row.wholes.back().range.size;
    }
    row.excess = have - size;
    return row;
}

}  // namespace

double ExtentPrices::of(std::size_t mappings, std::size_t created, Bytes fresh) const {
    const Bytes beyond = fresh - std::min(fresh, budget);
    return static_cast<double>(mappings) + creation * static_cast<double>(created) +
           static_cast<double>(beyond) * byte;
}

std::optional<ExtentRow> stitched_row(const ExtentLine::Pieces& pieces, Bytes size,
                                      const ExtentPrices& prices) {
    const Ends both = largest_ends(pieces);
    const Bytes suffix = size_of(pieces.suffixes, 0);
    const Bytes prefix = size_of(pieces.prefixes, 0);
    std::optional<ExtentRow> best;
    const auto consider = [&](Shape shape, Bytes ends) {
        const std::size_t end_count = (shape.suffix ? 1U : 0U) + (shape.prefix ? 1U : 0U);
        Bytes have = ends;
        for (;; ++shape.wholes) {
            shape.fresh = have < size ? align_up(size - have, prices.granularity) : 0;
            const std::size_t created = shape.fresh != 0 ? 1 : 0;
            const std::size_t handles = end_count + shape.wholes + created;
            const double price = prices.of(handles, created, shape.fresh);
            if (handles >= 2 && shape.fresh < size && (!best || price <= best->price)) {
                ExtentRow row = row_of(shape, pieces, size);
                row.price = price;
                if (!best || price < best->price || row.excess < best->excess)
                    best = std::move(row);
            }
            if (have >= size || shape.wholes == pieces.wholes.size() ||
                (ends != 0 && have - ends + pieces.wholes[shape.wholes].range.size >= size))
                break;
            have += pieces.wholes[shape.wholes].range.size;
        }
    };
    consider({}, 0);
    if (suffix != 0)
        consider({.suffix = true}, suffix);
    if (prefix != 0)
        consider({.prefix = true}, prefix);
    if (both.suffix != nullptr)
        consider({.suffix = true, .prefix = true}, both.size());
    return best;
}

}  // namespace tidemark::policies
