// Drawing blocks into cells: areas by splats, kinds by asking which block covers most of a cell. A
// few columns at a time, so that the working memory is small compared with the cells. Each strip of
// columns belongs to one thread, and no two strips share cells.
#include "replay/timeline/occupancy.h"

#include <algorithm>
#include <cmath>

#include "replay/timeline/cell_kinds.h"
#include "replay/timeline/column_edge.h"
#include "replay/timeline/slices.h"
#include "replay/timeline/splat.h"
#include "replay/timeline/view_homes.h"

namespace tidemark {
namespace {

// Adds the part of a rectangle that is in a strip to the strip's splat: each cell gets what it
// would get from the whole.
void add_within(Splat& splat, const ColumnStrip& strip, const CellPatch& patch) {
    const std::uint32_t begin = strip.begin * Splat::kAcross;
    const std::uint32_t end = strip.end * Splat::kAcross;
    splat.add(std::clamp(patch.left, begin, end) - begin,
              std::clamp(patch.right, begin, end) - begin, patch.bottom, patch.top);
}

// Positions and offsets in fixed-point coordinates.
class Grid {
  public:
    explicit Grid(const OccupancyFrame& frame)
        : frame_(frame),
          across_(static_cast<double>(frame.columns) * Splat::kAcross /
                  span(frame.begin, frame.end)),
          up_(static_cast<double>(frame.rows) * Splat::kUp /
              static_cast<double>(frame.top - frame.bottom)) {}

    std::uint32_t x(Position position) const {
        const Position inside = std::clamp(position, frame_.begin, frame_.end);
        return fixed(span(frame_.begin, inside) * across_, frame_.columns * Splat::kAcross);
    }

    std::uint32_t y(Bytes offset) const {
        const Bytes inside = std::clamp(offset, frame_.bottom, frame_.top);
        return fixed(static_cast<double>(inside - frame_.bottom) * up_, frame_.rows * Splat::kUp);
    }

  private:
    static double span(Position begin, Position end) {
        return static_cast<double>(static_cast<std::uint64_t>(end) -
                                   static_cast<std::uint64_t>(begin));
    }

    static std::uint32_t fixed(double value, std::uint32_t most) {
        return std::min(most, static_cast<std::uint32_t>(value + 0.5));
    }

    const OccupancyFrame& frame_;
    double across_;
    double up_;
};

// What all strips have in common.
struct Drawing {
    const History& history;
    const AddressLayout& layout;
    const BlockClasses& classes;
    const OccupancyFrame& frame;
    const OccupancyOptions& options;
    const std::vector<ViewedPart>& viewed;
};

// Draws the blocks of a strip.
class BlockPainter {
  public:
    BlockPainter(const Drawing& drawing, const ColumnStrip& strip)
        : history_(drawing.history),
          layout_(drawing.layout),
          classes_(drawing.classes),
          frame_(drawing.frame),
          viewed_(drawing.viewed),
          options_(drawing.options),
          strip_(strip),
          grid_(frame_),
          end_(history_.end(frame_.unit)),
          areas(strip.columns(), frame_.rows),
          kinds(strip, frame_.rows) {}

    void draw(BlockIndex index) {
        const Block block = history_.block(index);
        const std::uint32_t left = grid_.x(history_.position(frame_.unit, block.born));
        const std::uint32_t right = grid_.x(position(block.reused));
        if (left >= right)
            return;
        const std::uint32_t freed = block.freed == block.reused
                                        ? right
                                        : std::clamp(grid_.x(position(block.freed)), left, right);
        const std::uint16_t device = history_.site(block.site).device;
        const bool shows = !options_.shows || options_.shows(block);
        const std::uint32_t kind = (shows ? classes_.of(block) : kHiddenKind) |
                                   std::uint32_t{shade_of(index)} << CellKinds::kShade;
        counts_ = draw_viewed({index, left, freed, right, kind}, block, device);
        if (holds(last_, device, block)) {
            draw(left, freed, right, last_.offset + (block.address - last_.range.begin), block.size,
                 index, kind);
            return;
        }
        bool whole = false;
        layout_.for_each_stretch(device, {block.address, block.size},
                                 [&](Bytes offset, Bytes length) {
                                     draw(left, freed, right, offset, length, index, kind);
                                     whole = length == block.size;
                                 });
        if (const AddressPiece* piece = whole ? layout_.piece(device, block.address) : nullptr)
            last_ = *piece;
    }

  private:
    static bool holds(const AddressPiece& piece, std::uint16_t device, const Block& block) {
        if (piece.device != device || block.address < piece.range.begin)
            return false;
        const Bytes within = block.address - piece.range.begin;
        return within < piece.range.size && block.size <= piece.range.size - within;
    }

    struct Drawn {
        BlockIndex index;
        std::uint32_t left;
        std::uint32_t freed;
        std::uint32_t right;
        std::uint32_t kind;
    };

    // Draws the part of a block that counts elsewhere at that place; returns where it ends.
    std::uint32_t draw_viewed(const Drawn& drawn, const Block& block, std::uint16_t device) {
        std::uint32_t until = 0;
        counts_ = 0;
        for (auto part = std::ranges::lower_bound(viewed_, drawn.index, {}, &ViewedPart::block);
             part != viewed_.end() && part->block == drawn.index; ++part) {
            until = part->until >= block.reused ? drawn.right : grid_.x(position(part->until));
            layout_.for_each_stretch(device, part->home, [&](Bytes offset, Bytes length) {
                draw(drawn.left, std::min(drawn.freed, until), until, offset, length, drawn.index,
                     drawn.kind);
            });
        }
        return until;
    }

    Position position(EventIndex event) const {
        return event == kNever ? end_ : history_.position(frame_.unit, event);
    }

    void draw(std::uint32_t left, std::uint32_t freed, std::uint32_t right, Bytes offset,
              Bytes length, BlockIndex index, std::uint32_t kind) {
        if (offset >= frame_.top || offset + length <= frame_.bottom)
            return;
        const std::uint32_t bottom = grid_.y(offset);
        const std::uint32_t top = grid_.y(offset + length);
        add_within(areas, strip_, {std::max(left, counts_), std::max(right, counts_), bottom, top});
        const std::uint32_t lot = index * 0x9e3779b9U;
        kinds.add({left, freed, bottom, top}, lot, kind);
        kinds.add({freed, right, bottom, top}, lot + 16, kind | CellKinds::kWaiting);
    }

    const History& history_;
    const AddressLayout& layout_;
    const BlockClasses& classes_;
    const OccupancyFrame& frame_;
    const std::vector<ViewedPart>& viewed_;
    const OccupancyOptions& options_;
    ColumnStrip strip_;
    Grid grid_;
    Position end_;
    std::uint32_t counts_ = 0;  // from here on a block counts where it is drawn
    AddressPiece last_;         // where the block before lay: the next one is often there as well

  public:
    Splat areas;
    CellKinds kinds;
};

class OccupancyArtist {
  public:
    OccupancyArtist(const History& history, const AddressLayout& layout,
                    const BlockClasses& classes, const OccupancyFrame& frame,
                    const OccupancyOptions& options)
        : history_(history),
          layout_(layout),
          classes_(classes),
          options_(options),
          counts_(history.counts()) {
        heatmap_.frame = frame;
        heatmap_.frame.columns = std::clamp(frame.columns, 1U, 8192U);
        heatmap_.frame.rows = std::clamp(frame.rows, 1U, 8192U);
        heatmap_.frame.end = std::max(frame.end, frame.begin + 1);
        heatmap_.frame.top = std::max(frame.top, frame.bottom + 1);
    }

    OccupancyHeatmap make() {
        const OccupancyFrame& frame = heatmap_.frame;
        heatmap_.cells.resize(std::size_t{frame.columns} * frame.rows);
        heatmap_.events = static_cast<EventIndex>(counts_.events);
        heatmap_.complete = draw_blocks();
        draw_segments();
        return std::move(heatmap_);
    }

  private:
    // What a strip shows: blocks that are live when it begins, and those that are allocated in it.
    struct Shown {
        std::vector<BlockIndex> older;
        BlockIndex begin = 0;
        BlockIndex end = 0;

        std::size_t count() const { return older.size() + (end - begin); }

        BlockIndex operator[](std::size_t i) const {
            return i < older.size() ? older[i]
                                    : static_cast<BlockIndex>(begin + (i - older.size()));
        }
    };

    std::vector<ColumnStrip> strips(std::size_t visits) const;
    Shown shown_in(const ColumnStrip& strip) const;
    bool draw_blocks();
    void keep_blocks(const ColumnStrip& strip, BlockPainter& painter);
    void settle_kinds();
    void draw_segments();
    void draw_segments(const ColumnStrip& strip);
    template <class Keep>
    void for_each_cell(const ColumnStrip& strip, Keep&& keep);

    const History& history_;
    const AddressLayout& layout_;
    const BlockClasses& classes_;
    const OccupancyOptions& options_;
    HistoryCounts counts_;
    OccupancyHeatmap heatmap_;
};

// Strips of all columns: enough that each is small, but not too many, because each strip visits
// `visits` blocks and segments.
std::vector<ColumnStrip> OccupancyArtist::strips(std::size_t visits) const {
    constexpr std::size_t kCells = 1U << 19U;   // of a strip
    constexpr std::size_t kVisits = 1U << 21U;  // 0.05 s
    const OccupancyFrame& frame = heatmap_.frame;
    const std::size_t wanted = std::size_t{frame.columns} * frame.rows / kCells + 1;
    const std::size_t most = kVisits / std::max<std::size_t>(visits, 1) + 1;
    const auto count =
        static_cast<std::uint32_t>(std::min({wanted, most, std::size_t{frame.columns}}));
    std::vector<ColumnStrip> strips(count);
    for (std::uint32_t i = 0; i < count; ++i)
        strips[i] = {frame.columns * i / count, frame.columns * (i + 1) / count};
    return strips;
}

// With a column more at each side: where a block begins is rounded.
OccupancyArtist::Shown OccupancyArtist::shown_in(const ColumnStrip& strip) const {
    const OccupancyFrame& frame = heatmap_.frame;
    const auto first_from = [&](std::uint32_t column) {
        const Position edge = column_edge(frame.begin, frame.end, column, frame.columns);
        return history_.event_from(frame.unit, edge);
    };
    const EventIndex first = first_from(strip.begin > 0 ? strip.begin - 1 : 0);
    const EventIndex beyond = first_from(std::min(strip.end + 1, frame.columns));
    Shown shown;
    if (first > 0 && counts_.events > 0)
        history_.for_each_live(first - 1, [&](BlockIndex block) { shown.older.push_back(block); });
    shown.begin = history_.born_before(first);
    shown.end = std::max(shown.begin, history_.born_before(beyond));
    return shown;
}

bool OccupancyArtist::draw_blocks() {
    constexpr std::size_t kPays = 1U << 16U;    // blocks, or twice as many cells, for a thread
    constexpr std::size_t kAtOnce = 1U << 14U;  // between two looks at `cancel`
    const OccupancyFrame& frame = heatmap_.frame;
    const Shown whole = shown_in({0, frame.columns});
    const unsigned threads =
        threads_for(whole.count() + heatmap_.cells.size() / 2, kPays, options_.threads);
    const std::vector<ViewedPart> viewed = viewed_parts(history_, counts_);
    const Drawing drawing{history_, layout_, classes_, frame, options_, viewed};
    const std::vector<ColumnStrip> all = strips(whole.older.size());
    std::atomic<std::uint32_t> done = 0;  // columns
    const bool complete = parallel_for(all.size(), threads, [&](std::size_t i, unsigned thread) {
        BlockPainter painter(drawing, all[i]);
        const Shown shown = shown_in(all[i]);
        bool goes_on = true;
        for (std::size_t at = 0; at < shown.count() && goes_on; ++at) {
            painter.draw(shown[at]);
            goes_on = at % kAtOnce != 0 || options_.cancel == nullptr || !options_.cancel->load();
        }
        keep_blocks(all[i], painter);
        const std::uint32_t so_far = done.fetch_add(all[i].columns()) + all[i].columns();
        if (thread == 0 && options_.progress)
            options_.progress(static_cast<double>(so_far) / frame.columns);
        return goes_on;
    });
    settle_kinds();
    return complete;
}

// Visits a strip's cells in squares: they lie column by column here and row by row there.
template <class Keep>
void OccupancyArtist::for_each_cell(const ColumnStrip& strip, Keep&& keep) {
    constexpr std::uint32_t kSquare = 32;
    const OccupancyFrame& frame = heatmap_.frame;
    for (std::uint32_t left = strip.begin; left < strip.end; left += kSquare)
        for (std::uint32_t bottom = 0; bottom < frame.rows; bottom += kSquare)
            for (std::uint32_t row = bottom; row < std::min(bottom + kSquare, frame.rows); ++row)
                for (std::uint32_t column = left; column < std::min(left + kSquare, strip.end);
                     ++column)
                    keep(column, row, heatmap_.cells[std::size_t{row} * frame.columns + column]);
}

std::uint8_t share_of(std::uint32_t area) {
    const std::uint64_t inside = std::min(area, Splat::kFull);
    return static_cast<std::uint8_t>((inside * 255 + Splat::kFull / 2) / Splat::kFull);
}

constexpr std::uint8_t kNobodyWon = 0x80;  // OccupancyCell::flags, until settle_kinds()

void OccupancyArtist::keep_blocks(const ColumnStrip& strip, BlockPainter& painter) {
    painter.areas.finish();
    for_each_cell(strip, [&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        const std::uint32_t area = painter.areas.at(column - strip.begin, row);
        const std::uint32_t kind = painter.kinds.at(column, row);
        if (area == 0 && kind == 0)
            return;
        cell.taken = std::max<std::uint8_t>(1, share_of(area));
        cell.kind = static_cast<std::uint8_t>(kind & 0xffU);
        const std::uint32_t shade = (kind >> CellKinds::kShade & 3U) << kShadeBits;
        const std::uint32_t waits = (kind & CellKinds::kWaiting) != 0 ? kWaitingCell : 0U;
        cell.flags = static_cast<std::uint8_t>(kind == 0 ? kNobodyWon : shade | waits);
    });
}

// A cell without a drawn kind gets the kind of the one before.
void OccupancyArtist::settle_kinds() {
    const std::uint32_t columns = heatmap_.frame.columns;
    for (std::size_t i = 0; i < heatmap_.cells.size(); ++i) {
        OccupancyCell& cell = heatmap_.cells[i];
        if ((cell.flags & kNobodyWon) == 0)
            continue;
        cell.flags = 0;
        if (i % columns != 0)
            cell.kind = heatmap_.cells[i - 1].kind;
    }
}

void OccupancyArtist::draw_segments() {
    for (const ColumnStrip& strip : strips(counts_.segments))
        draw_segments(strip);
}

void OccupancyArtist::draw_segments(const ColumnStrip& strip) {
    const OccupancyFrame& frame = heatmap_.frame;
    const Grid grid(frame);
    const Position end = history_.end(frame.unit);
    const auto add = [&](Splat& splat, const Segment& segment) {
        const std::uint32_t left = grid.x(history_.position(frame.unit, segment.born));
        const std::uint32_t right =
            grid.x(segment.died == kNever ? end : history_.position(frame.unit, segment.died));
        layout_.for_each_stretch(
            segment.device, {segment.begin, segment.size}, [&](Bytes offset, Bytes length) {
                add_within(splat, strip, {left, right, grid.y(offset), grid.y(offset + length)});
            });
    };
    bool reserves = false;
    Splat areas(strip.columns(), frame.rows);
    for (std::size_t i = 0; i < counts_.segments; ++i) {
        const Segment segment = history_.segment(static_cast<SegmentIndex>(i));
        if (segment.kind == SegmentKind::reservation)
            reserves = true;
        else if (has_memory(segment.kind))
            add(areas, segment);
    }
    areas.finish();
    for_each_cell(strip, [&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        cell.memory = share_of(areas.at(column - strip.begin, row));
    });
    if (!reserves)
        return;
    areas.clear();
    for (std::size_t i = 0; i < counts_.segments; ++i) {
        const Segment segment = history_.segment(static_cast<SegmentIndex>(i));
        if (segment.kind == SegmentKind::reservation)
            add(areas, segment);
    }
    areas.finish();
    for_each_cell(strip, [&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        if (areas.at(column - strip.begin, row) != 0)
            cell.flags |= kReservedCell;
    });
}

}  // namespace

OccupancyHeatmap draw_occupancy(const History& history, const AddressLayout& layout,
                                const BlockClasses& classes, const OccupancyFrame& frame,
                                const OccupancyOptions& options) {
    return OccupancyArtist(history, layout, classes, frame, options).make();
}

OccupancyFrame whole_frame(const History& history, const AddressLayout& layout, AxisUnit unit,
                           std::uint32_t columns, std::uint32_t rows) {
    OccupancyFrame frame;
    frame.unit = unit;
    frame.end = std::max<Position>(1, history.end(unit));
    frame.top = std::max<Bytes>(1, layout.length());
    frame.columns = columns;
    frame.rows = rows;
    return frame;
}

}  // namespace tidemark
