// MapTiles: what the address map shows, made while people look. A heatmap of the whole run comes
// first and stays; a sharp one of what is looked at, a bit larger than the screen, follows each
// movement as soon as it is ready; until then the last ones are shown stretched. Heatmaps that were
// seen recently are kept, so that the way back is short. Where few blocks are in view, they are
// available one by one.
//
// Long work is done by jobs; what a frame costs grows with its pixels. A history that grows is
// drawn again and again, for a fifth of one core's time at most. The screen's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/stopwatch.h"
#include "replay/timeline/address_layout.h"
#include "replay/timeline/block_classes.h"
#include "replay/timeline/occupancy.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// What is looked at.
struct MapLook {
    AxisUnit unit = AxisUnit::time;
    Window window;
    AddressWindow addresses;
    std::uint32_t columns = 1;  // pixels of the box
    std::uint32_t rows = 1;
    BlockTrait trait = BlockTrait::tag;
    Filter filter;
    RowOrder order = RowOrder::address;

    // Some heatmaps that were made for it are usable for the other.
    bool same_kind(const MapLook& other) const {
        return unit == other.unit && trait == other.trait && filter == other.filter &&
               order == other.order;
    }

    friend bool operator==(const MapLook&, const MapLook&) = default;
};

// A block in view: a rectangle.
struct MapBlock {
    BlockIndex block = kNoBlock;
    Position born = 0;
    Position freed = 0;
    Position gone = 0;
    Bytes offset = 0;
    Bytes length = 0;
    std::uint8_t kind = 0;  // of BlockClasses, or kHiddenKind

    friend bool operator==(const MapBlock&, const MapBlock&) = default;
};

// What all heatmaps of a run share.
struct MapGround {
    std::shared_ptr<const History> history;
    AddressLayout layout;
    BlockClasses classes;
    OccupancyHeatmap whole;
    MapLook look;  // whose unit, trait and filter it was made for
    EventIndex events = 0;
};

// A heatmap of a part, and its blocks if they are few.
struct MapDetail {
    std::shared_ptr<const MapGround> ground;
    MapLook look;  // that it was made for
    OccupancyHeatmap heatmap;
    std::optional<std::vector<MapBlock>> blocks;
};

class MapTiles {
  public:
    // Each frame, with what is to be seen in it. Starts what is missing.
    void look(const std::shared_ptr<const History>& history, const MapLook& look);

    // Waits until the heatmaps that look() requested are ready: for stills.
    void finish();

    bool busy() const { return ground_job_.running() || detail_job_.running(); }

    // Null until the first heatmap is ready. Its layout is what AddressWindow is a share of.
    const MapGround* ground() const { return ground_.get(); }

    // Of the heatmap of all, 0 to 1, while there is none yet.
    double progress() const { return progress_ == nullptr ? 0 : progress_->load(); }

    // Changes when the cells do.
    std::uint64_t revision() const { return revision_; }

    // Calls `put(column, row, cell)` for each pixel of the look; row 0, that of the lowest
    // addresses, is at the top. ground() must be ready. O(pixels), about 3 ns each.
    template <class Put>
    void for_each_cell(Put&& put) const;

    // One of them. O(1).
    OccupancyCell cell(std::uint32_t column, std::uint32_t row) const;

    // The blocks in view, if they are few and known; null otherwise. Some are outside.
    const std::vector<MapBlock>* blocks() const;

    // The block that takes `offset` of the layout at `position`; of several very small ones within
    // `slack` bytes and positions the nearest. kNoBlock if there is none.
    BlockIndex pick(Position position, Bytes offset, Position slack, Bytes slack_bytes) const;

    // The lowest and the highest offset of the layout that is in the look.
    Bytes bottom() const { return bottom_; }

    Bytes top() const { return top_; }

    // At most this many are shown one by one.
    static constexpr std::size_t kFew = 5000;
    static constexpr std::size_t kKeptBytes = std::size_t{24} << 20U;

  private:
    // Which column of a heatmap each column of the look shows, or kOutside; the same of rows.
    struct Sampling {
        std::vector<std::uint32_t> columns;
        std::vector<std::uint32_t> rows;
    };

    static constexpr std::uint32_t kOutside = 0xffffffffU;

    void accept(std::shared_ptr<const MapGround> ground);
    void accept(std::shared_ptr<const MapDetail> detail);
    void start_missing();
    void start_ground();
    bool ground_is_stale() const;
    void choose();  // what is shown of the available ones
    bool is_sharp(const MapDetail& detail) const;
    bool belongs(const MapDetail& detail) const;
    Sampling sample(const OccupancyFrame& frame) const;

    std::shared_ptr<const History> history_;
    MapLook look_;
    Bytes bottom_ = 0;
    Bytes top_ = 1;
    std::uint64_t revision_ = 0;
    std::shared_ptr<const MapGround> ground_;
    std::shared_ptr<const MapGround> next_;              // newer, but its detail is missing so far
    std::shared_ptr<const MapDetail> detail_;            // what is shown over the ground
    std::deque<std::shared_ptr<const MapDetail>> kept_;  // the latest first
    std::shared_ptr<std::atomic<double>> progress_;
    Stopwatch since_ground_;  // was started
    Stopwatch ground_done_;
    Nanoseconds ground_cost_ = 0;
    Sampling over_;   // the detail
    Sampling under_;  // the whole
    Job<std::shared_ptr<const MapGround>> ground_job_;
    Job<std::shared_ptr<const MapDetail>> detail_job_;
};

// The two works themselves, for callers that can wait. `cancelled` makes them give up: null then.
std::shared_ptr<const MapGround> make_ground(const std::shared_ptr<const History>& history,
                                             const MapLook& look, const Cancelled& cancelled,
                                             std::atomic<double>* progress = nullptr);
std::shared_ptr<const MapDetail> make_detail(const std::shared_ptr<const MapGround>& ground,
                                             const MapLook& look, const Cancelled& cancelled);

// What maps are coloured by if the session requests `colour_by`: where nothing has a tag or a
// stack, the next best trait in which blocks differ. O(sites), at most a few thousand.
BlockTrait shown_trait(const History& history, ColourBy colour_by);

// The classes that all maps of a run have.
BlockClasses classes_of(const History& history, BlockTrait trait, const Cancelled& cancelled);

template <class Put>
void MapTiles::for_each_cell(Put&& put) const {
    const OccupancyHeatmap& whole = ground_->whole;
    const OccupancyHeatmap* over = detail_ == nullptr ? nullptr : &detail_->heatmap;
    const OccupancyCell nothing;
    for (std::uint32_t row = 0; row < look_.rows; ++row) {
        const std::uint32_t below = under_.rows[row];
        const std::uint32_t above = over == nullptr ? kOutside : over_.rows[row];
        const OccupancyCell* under_row =
            below == kOutside ? nullptr : &whole.cells[std::size_t{below} * whole.frame.columns];
        const OccupancyCell* over_row =
            above == kOutside ? nullptr : &over->cells[std::size_t{above} * over->frame.columns];
        for (std::uint32_t column = 0; column < look_.columns; ++column) {
            if (over_row != nullptr && over_.columns[column] != kOutside)
                put(column, row, over_row[over_.columns[column]]);
            else if (under_row != nullptr && under_.columns[column] != kOutside)
                put(column, row, under_row[under_.columns[column]]);
            else
                put(column, row, nothing);
        }
    }
}

}  // namespace tidemark::viz
