// Which blocks have a band, and what remains of their owners' sums.
#include "viz/model/memory/block_bands.h"

#include <algorithm>
#include <utility>

#include "replay/timeline/column_edge.h"

namespace tidemark::viz {
namespace {

constexpr Bytes kTallPixels = 6;  // a band this high is drawn, however short its lifetime

// The columns in whose moments a block is live.
class BandFinder {
  public:
    BandFinder(BlockBands& bands, const BlockLevels& levels, const Cancelled& cancelled)
        : bands_(bands),
          levels_(levels),
          cancelled_(cancelled),
          first_(bands.first_known()),
          last_(bands.last_known()) {}

    // All bands, and the memory without one; `bands_` has moments, and sums of all blocks.
    void find() {
        if (first_ == last_)
            return;
        find_long();
        find_tall();
        keep_largest();
        take_from_owners();
        gather_before();
    }

  private:
    Position column_width() const { return bands_.look.window.length() / bands_.look.columns; }

    void find_long() {
        levels_.for_each(bands_.moments[first_], bands_.moments[last_ - 1], bands_.look.pixel,
                         column_width(),
                         [&](BlockIndex index, const Block& block) { add(index, block); });
    }

    // Bands that are high in a column for a moment: the peaks that users look for.
    void find_tall() {
        EventIndex last = kNever;
        for (std::size_t column = first_; column < last_ && !cancelled_; ++column) {
            const EventIndex moment = bands_.moments[column];
            if (moment == std::exchange(last, moment))
                continue;
            levels_.for_each(moment, moment, bands_.look.pixel * kTallPixels, 0,
                             [&](BlockIndex index, const Block& block) {
                                 if (too_short(block))
                                     add(index, block);
                             });
        }
        std::ranges::sort(bands_.bands, {}, &BlockBand::block);
        const auto twice = std::ranges::unique(bands_.bands, {}, &BlockBand::block);
        bands_.bands.erase(twice.begin(), twice.end());
    }

    // find_long() leaves it out.
    bool too_short(const Block& block) const {
        const History& history = bands_.series->history();
        return block.freed != kNever && history.position(bands_.look.unit, block.freed) -
                                                history.position(bands_.look.unit, block.born) <
                                            column_width();
    }

    void add(BlockIndex index, const Block& block) {
        if (const auto band = band_of(index, block))
            bands_.bands.push_back(*band);
    }

    // None: it is in no column, or the series doesn't count it.
    std::optional<BlockBand> band_of(BlockIndex index, const Block& block) const {
        if (block.born >= bands_.events)
            return std::nullopt;
        const std::uint8_t owner = bands_.series->owner_of(index);
        const auto from = bands_.moments.begin() + static_cast<std::ptrdiff_t>(first_);
        const auto to = bands_.moments.begin() + static_cast<std::ptrdiff_t>(last_);
        const auto begin = std::lower_bound(from, to, block.born);
        const auto end = std::lower_bound(begin, to, block.freed);
        if (owner == OwnerSeries::kNoOwner || begin == end)
            return std::nullopt;
        return BlockBand{index, block.size,
                         static_cast<std::uint32_t>(begin - bands_.moments.begin()),
                         static_cast<std::uint32_t>(end - bands_.moments.begin()), owner};
    }

    void keep_largest() {
        if (bands_.bands.size() <= BlockBands::kMost)
            return;
        const auto area = [](const BlockBand& band) {
            return static_cast<double>(band.size) * (band.last - band.first);
        };
        std::nth_element(bands_.bands.begin(),
                         bands_.bands.begin() + static_cast<std::ptrdiff_t>(BlockBands::kMost),
                         bands_.bands.end(), [&](const BlockBand& a, const BlockBand& b) {
                             return std::pair(area(b), a.block) < std::pair(area(a), b.block);
                         });
        bands_.bands.resize(BlockBands::kMost);
        std::ranges::sort(bands_.bands, {}, &BlockBand::block);
    }

    // Takes what `changes` add up to from column to column out of the owners' sums. For a live
    // program a sum may not include yet what has ended: nothing goes below zero.
    void take_from_owners() {
        const std::size_t owners = bands_.series->owners();
        std::vector<Bytes> changes((bands_.moments.size() + 1) * owners);
        for (const BlockBand& band : bands_.bands)
            change(changes, band);
        take(changes);
    }

    void change(std::vector<Bytes>& changes, const BlockBand& band) const {
        const std::size_t owners = bands_.series->owners();
        changes[band.first * owners + band.owner] += band.size;
        changes[band.last * owners + band.owner] -= band.size;  // wraps, and back
    }

    // Puts back what was taken out of each column.
    std::vector<Bytes> take(const std::vector<Bytes>& changes) {
        const std::size_t owners = bands_.series->owners();
        std::vector<Bytes> taken(bands_.moments.size());
        std::vector<Bytes> now(owners);
        for (std::size_t column = 0; column < bands_.moments.size(); ++column) {
            for (std::size_t owner = 0; owner < owners; ++owner) {
                now[owner] += changes[column * owners + owner];
                Bytes& rest = bands_.rest[column * owners + owner];
                const Bytes less = std::min(rest, now[owner]);
                rest -= less;
                taken[column] += less;
            }
        }
        return taken;
    }

    // What was live before the recording and has no band moves from its owners to the ground.
    void gather_before() {
        const History& history = bands_.series->history();
        const BlockIndex end = history.born_before(bands_.look.preamble);
        std::vector<Bytes> changes((bands_.moments.size() + 1) * bands_.series->owners());
        auto next = bands_.bands.begin();
        for (BlockIndex index = 0; index < end && !cancelled_; ++index) {
            while (next != bands_.bands.end() && next->block < index)
                ++next;
            if (next != bands_.bands.end() && next->block == index)
                continue;
            if (const auto band = band_of(index, history.block(index)))
                change(changes, *band);
        }
        bands_.before = take(changes);
    }

    BlockBands& bands_;
    const BlockLevels& levels_;
    const Cancelled& cancelled_;
    std::size_t first_;  // columns that have moments
    std::size_t last_;
};

}  // namespace

std::size_t BlockBands::first_known() const {
    const auto known = std::ranges::find_if(moments, [](EventIndex at) { return at != kNever; });
    return static_cast<std::size_t>(known - moments.begin());
}

std::size_t BlockBands::last_known() const {
    std::size_t last = moments.size();
    while (last > first_known() && moments[last - 1] == kNever)
        --last;
    return last;
}

const BlockBand* BlockBands::band_of(BlockIndex block) const {
    const auto found = std::ranges::lower_bound(bands, block, {}, &BlockBand::block);
    return found == bands.end() || found->block != block ? nullptr : &*found;
}

std::optional<std::size_t> BlockBands::column_at(Position position) const {
    if (position < look.window.begin || position >= look.window.end)
        return std::nullopt;
    const auto share = static_cast<double>(position - look.window.begin) /
                       static_cast<double>(look.window.length());
    auto column =
        std::min(static_cast<std::size_t>(share * look.columns), std::size_t{look.columns} - 1);
    const auto edge = [&](std::size_t at) {
        return column_edge(look.window.begin, look.window.end, at, look.columns);
    };
    while (column > 0 && edge(column) > position)
        --column;
    while (column + 1 < look.columns && edge(column + 1) <= position)
        ++column;
    return column;
}

std::optional<BlockBands> make_bands(const std::shared_ptr<const OwnerSeries>& series,
                                     const BlockLevels& levels, const BandLook& look,
                                     const Cancelled& cancelled) {
    BlockBands bands;
    bands.look = look;
    bands.series = series;
    bands.events = series->events();
    bands.moments.resize(look.columns);
    bands.before.resize(look.columns);
    bands.rest.resize(std::size_t{look.columns} * series->owners());
    std::vector<SeriesColumn> columns(look.columns);
    series->history().series(look.unit, look.window.begin, look.window.end, columns);
    if (cancelled)
        return std::nullopt;
    series->columns(columns, bands.moments, bands.rest);
    BandFinder(bands, levels, cancelled).find();
    if (cancelled)
        return std::nullopt;
    return bands;
}

OwnerDetails rest_details(const History& history, const RestQuestion& question,
                          const Cancelled& cancelled) {
    const BlockBands& bands = *question.bands;
    const BlockIndex preamble = history.born_before(bands.look.preamble);
    const bool before = question.slice.kind == BandSlice::Kind::before;
    return sum_live(
        history, bands.moments[question.column],
        [&](BlockIndex index) {
            return (index < preamble) == before && bands.band_of(index) == nullptr &&
                   (before ? bands.series->owner_of(index) != OwnerSeries::kNoOwner
                           : bands.series->owner_of(index) == question.slice.index);
        },
        cancelled);
}

std::span<const BandSlice> BandSweep::at(std::size_t column) {
    std::erase_if(alive_, [&](std::uint32_t band) { return bands_.bands[band].last <= column; });
    for (; next_ < bands_.bands.size() && bands_.bands[next_].first <= column; ++next_) {
        if (bands_.bands[next_].last > column)
            alive_.push_back(static_cast<std::uint32_t>(next_));
    }
    slices_.clear();
    Bytes low = 0;
    const auto add = [&](BandSlice::Kind kind, std::uint32_t index, Bytes size) {
        if (size > 0)
            slices_.push_back({kind, index, low, low + size});
        low += size;
    };
    add(BandSlice::Kind::before, 0, bands_.before[column]);
    for (const std::uint32_t band : alive_)
        add(BandSlice::Kind::band, band, bands_.bands[band].size);
    const std::size_t owners = bands_.series->owners();
    for (std::size_t owner = 0; owner < owners; ++owner)
        add(BandSlice::Kind::rest, static_cast<std::uint32_t>(owner),
            bands_.rest[column * owners + owner]);
    return slices_;
}

}  // namespace tidemark::viz
