// BlockBands: a window of the axis as a stack over time in which large blocks have a band of their
// own, as high as they are large, from their allocation to their end; the rest is summed by owner.
// Older blocks are below newer ones in every window; when a block ends, everything above it drops.
//
//   top     memory without a band, by owner, in the order of OwnerSeries
//           blocks with a band, the oldest at the bottom
//   ground  memory from before the recording without a band
//
// A column shows the event after which most is allocated in it. Together it equals, to the byte,
// what History::series calls allocated there: bands are taken out of their owners' sums.
//
// Pure; for jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/owner_series.h"
#include "viz/model/blocks/owner_details.h"
#include "viz/model/memory/block_levels.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

// What the bands are made from.
struct BandLook {
    AxisUnit unit = AxisUnit::time;
    Window window;
    std::uint32_t columns = 1;  // of pixels
    Bytes pixel = 1;            // how many bytes are one high
    EventIndex preamble = 0;    // the first events that rebuild what was live before the recording

    friend bool operator==(const BandLook&, const BandLook&) = default;
};

struct BlockBand {
    BlockIndex block = 0;
    Bytes size = 0;
    std::uint32_t first = 0;  // it exists in columns [first, last)
    std::uint32_t last = 0;
    std::uint8_t owner = 0;  // of the series
};

struct BlockBands {
    BandLook look;
    std::shared_ptr<const OwnerSeries> series;
    std::size_t events = 0;           // of the series, that the answer knows of
    std::vector<EventIndex> moments;  // of each column; kNever: none, or it isn't known
    std::vector<BlockBand> bands;     // the oldest first
    std::vector<Bytes> before;        // for each column
    std::vector<Bytes> rest;          // for each column the series' owners()

    // The columns that have a moment: [first, last), in one piece.
    std::size_t first_known() const;
    std::size_t last_known() const;

    // Whether a block has a band, which may be in other columns. O(log bands).
    const BlockBand* band_of(BlockIndex block) const;

    // The column that a position of the axis is in; none outside.
    std::optional<std::size_t> column_at(Position position) const;

    // At most this many blocks have a band: those that take most of the picture.
    static constexpr std::size_t kMost = 8192;
};

// A block has a band if it is a pixel high and its lifetime is at least about a column, or if it is
// several pixels high in any column. `levels` is of the series' history and the look's unit.
// O(columns * (64 + log events) + bands + blocks from before the recording). Cancelled: nothing.
std::optional<BlockBands> make_bands(const std::shared_ptr<const OwnerSeries>& series,
                                     const BlockLevels& levels, const BandLook& look,
                                     const Cancelled& cancelled);

// A piece of a column, between two heights.
struct BandSlice {
    enum class Kind : std::uint8_t { before, band, rest };

    Kind kind = Kind::band;
    std::uint32_t index = 0;  // of bands; of a rest its owner
    Bytes low = 0;
    Bytes high = 0;

    friend bool operator==(const BandSlice&, const BandSlice&) = default;
};

// What a rest, or the memory from before, consists of in a column that has a moment.
struct RestQuestion {
    std::shared_ptr<const BlockBands> bands;
    std::size_t column = 0;
    BandSlice slice;

    friend bool operator==(const RestQuestion&, const RestQuestion&) = default;
};

// Its blocks, and the call stack that most of it is from. O(live blocks). Cancelled: wrong.
OwnerDetails rest_details(const History& history, const RestQuestion& question,
                          const Cancelled& cancelled);

// Goes through the columns from left to right, and returns each from the ground up.
class BandSweep {
  public:
    // `bands` must outlive it.
    explicit BandSweep(const BlockBands& bands) : bands_(bands) {}

    // Of a column that isn't before the last requested one. Nothing is empty; valid until the next
    // call. O(slices + bands that have started or ended since).
    std::span<const BandSlice> at(std::size_t column);

  private:
    const BlockBands& bands_;
    std::size_t next_ = 0;              // the first band that hasn't started
    std::vector<std::uint32_t> alive_;  // bands, the oldest first
    std::vector<BandSlice> slices_;
};

}  // namespace tidemark::viz
