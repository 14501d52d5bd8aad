// Drawing blocks into cells: areas by splats, kinds by asking which block covers most of a cell.
#include "replay/timeline/occupancy.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "replay/timeline/slices.h"
#include "replay/timeline/splat.h"
#include "replay/timeline/view_homes.h"

namespace tidemark {
namespace {

// A rectangle in the fixed-point coordinates of a Splat.
struct Patch {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t bottom = 0;
    std::uint32_t top = 0;
};

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

// Which kind takes most of each cell: the kind of the block that covers most of it. A block that
// covers little of many cells is asked for in a part of them only, by lot, so that a cell costs the
// same however many small blocks are in it. Column by column, as a Splat.
class Kinds {
  public:
    Kinds(std::uint32_t columns, std::uint32_t rows)
        : rows_(rows), best_(std::size_t{columns} * rows) {}

    void add(const Patch& patch, std::uint32_t lot, std::uint32_t kind) {
        if (patch.left >= patch.right || patch.bottom >= patch.top)
            return;
        Strip across[3];
        Strip up[3];
        const std::size_t columns = strips(patch.left, patch.right, Splat::kAcrossBits, across);
        const std::size_t rows = strips(patch.bottom, patch.top, Splat::kUpBits, up);
        offer(std::size_t{across[0].begin} * rows_ + up[0].begin, kSeen | kind);
        for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t k = 0; k < rows; ++k)
                fill(across[i], up[k], lot + static_cast<std::uint32_t>(i * 3 + k), kind);
    }

    void add(const Kinds& other) {
        for (std::size_t i = 0; i < best_.size(); ++i)
            offer(i, other.best_[i]);
    }

    // 0: nobody was asked for.
    std::uint32_t at(std::uint32_t column, std::uint32_t row) const {
        return best_[std::size_t{column} * rows_ + row] & (kSeen | 0xffffU);
    }

    static constexpr std::uint32_t kWaiting = 0x100;
    static constexpr unsigned kShade = 9;  // two bits from here
    static constexpr std::uint32_t kSeen = 0x8000;

  private:
    // Cells [begin, end) that are covered alike.
    struct Strip {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t covered;
    };

    static std::size_t strips(std::uint32_t from, std::uint32_t to, unsigned bits, Strip* strip) {
        const std::uint32_t cell = 1U << bits;
        const std::uint32_t first = from >> bits;
        const std::uint32_t last = (to - 1) >> bits;
        if (first == last) {
            strip[0] = {first, first + 1, to - from};
            return 1;
        }
        strip[0] = {first, first + 1, cell - (from & (cell - 1))};
        if (last == first + 1) {
            strip[1] = {last, last + 1, to - (last << bits)};
            return 2;
        }
        strip[1] = {first + 1, last, cell};
        strip[2] = {last, last + 1, to - (last << bits)};
        return 3;
    }

    void fill(const Strip& across, const Strip& up, std::uint32_t lot, std::uint32_t kind) {
        constexpr std::uint32_t kLittle = Splat::kFull / 16;
        std::uint32_t covered = across.covered * up.covered;
        if (covered < kLittle) {
            if (hash(lot) % kLittle >= covered)
                return;
            covered = kLittle;
        }
        const std::uint32_t offered =
            (covered >> (Splat::kAcrossBits + Splat::kUpBits - 15)) << 16 | kSeen | kind;
        for (std::uint32_t column = across.begin; column < across.end; ++column)
            for (std::uint32_t row = up.begin; row < up.end; ++row)
                offer(std::size_t{column} * rows_ + row, offered);
    }

    void offer(std::size_t cell, std::uint32_t offered) {
        best_[cell] = std::max(best_[cell], offered);
    }

    static std::uint32_t hash(std::uint32_t value) {
        value = (value ^ (value >> 16U)) * 0x7feb352dU;
        value = (value ^ (value >> 15U)) * 0x846ca68bU;
        return value ^ (value >> 16U);
    }

    std::uint32_t rows_;
    std::vector<std::uint32_t> best_;  // cover << 16 | kSeen | shade | kWaiting | kind: the
                                       // largest wins
};

// What one thread draws.
class BlockPainter {
  public:
    BlockPainter(const History& history, const AddressLayout& layout, const BlockClasses& classes,
                 const OccupancyFrame& frame, const OccupancyOptions& options,
                 const std::vector<ViewedPart>& viewed)
        : history_(history),
          layout_(layout),
          classes_(classes),
          frame_(frame),
          viewed_(viewed),
          options_(options),
          grid_(frame),
          end_(history.end(frame.unit)),
          areas(frame.columns, frame.rows),
          kinds(frame.columns, frame.rows) {}

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
                                   std::uint32_t{shade_of(index)} << Kinds::kShade;
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

    // Draws what of a block counts elsewhere there; where that ends.
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
        areas.add(std::max(left, counts_), std::max(right, counts_), bottom, top);
        const std::uint32_t lot = index * 0x9e3779b9U;
        kinds.add({left, freed, bottom, top}, lot, kind);
        kinds.add({freed, right, bottom, top}, lot + 16, kind | Kinds::kWaiting);
    }

    const History& history_;
    const AddressLayout& layout_;
    const BlockClasses& classes_;
    const OccupancyFrame& frame_;
    const std::vector<ViewedPart>& viewed_;
    const OccupancyOptions& options_;
    Grid grid_;
    Position end_;
    std::uint32_t counts_ = 0;  // from here on a block counts where it is drawn
    AddressPiece last_;         // where the block before lay: the next one is often there as well

  public:
    Splat areas;
    Kinds kinds;
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
    bool draw_blocks();
    void keep_blocks(BlockPainter& painter);
    void draw_segments();
    template <class Keep>
    void for_each_cell(Keep&& keep);

    const History& history_;
    const AddressLayout& layout_;
    const BlockClasses& classes_;
    const OccupancyOptions& options_;
    HistoryCounts counts_;
    OccupancyHeatmap heatmap_;
};

bool OccupancyArtist::draw_blocks() {
    const OccupancyFrame& frame = heatmap_.frame;
    const EventIndex first = history_.event_from(frame.unit, frame.begin);
    const EventIndex beyond = history_.event_from(frame.unit, frame.end);
    std::vector<BlockIndex> older;  // that were there when the heatmap begins
    if (first > 0 && counts_.events > 0)
        history_.for_each_live(first - 1, [&older](BlockIndex block) { older.push_back(block); });
    const BlockIndex begin = history_.born_before(first);
    const BlockIndex end = std::max(begin, history_.born_before(beyond));
    const std::size_t count = older.size() + (end - begin);

    constexpr std::size_t kPays = 1U << 19U;  // adding up two grids has its price
    const unsigned threads = threads_for(count, kPays, options_.threads);
    const std::vector<ViewedPart> viewed = viewed_parts(history_, counts_);
    std::vector<std::optional<BlockPainter>> painters(threads);
    std::atomic<std::size_t> done = 0;
    const auto draw = [&](unsigned thread, std::size_t from, std::size_t to) {
        std::optional<BlockPainter>& painter = painters[thread];
        if (!painter)
            painter.emplace(history_, layout_, classes_, frame, options_, viewed);
        for (std::size_t i = from; i < to; ++i)
            painter->draw(i < older.size() ? older[i]
                                           : static_cast<BlockIndex>(begin + (i - older.size())));
        const std::size_t so_far = done.fetch_add(to - from) + (to - from);
        if (thread == 0 && options_.progress)
            options_.progress(static_cast<double>(so_far) / static_cast<double>(count));
    };
    const bool complete = in_slices(count, threads, options_.cancel, draw);
    BlockPainter* all = nullptr;
    for (std::optional<BlockPainter>& painter : painters) {
        if (!painter)
            continue;
        if (all != nullptr) {
            all->areas.add(painter->areas);
            all->kinds.add(painter->kinds);
            painter.reset();
        } else {
            all = &*painter;
        }
    }
    if (all != nullptr)
        keep_blocks(*all);
    return complete;
}

// Visits cells in squares: they lie column by column here and row by row there.
template <class Keep>
void OccupancyArtist::for_each_cell(Keep&& keep) {
    constexpr std::uint32_t kSquare = 32;
    const OccupancyFrame& frame = heatmap_.frame;
    for (std::uint32_t left = 0; left < frame.columns; left += kSquare)
        for (std::uint32_t bottom = 0; bottom < frame.rows; bottom += kSquare)
            for (std::uint32_t row = bottom; row < std::min(bottom + kSquare, frame.rows); ++row)
                for (std::uint32_t column = left; column < std::min(left + kSquare, frame.columns);
                     ++column)
                    keep(column, row, heatmap_.cells[std::size_t{row} * frame.columns + column]);
}

std::uint8_t share_of(std::uint32_t area) {
    const std::uint64_t inside = std::min(area, Splat::kFull);
    return static_cast<std::uint8_t>((inside * 255 + Splat::kFull / 2) / Splat::kFull);
}

void OccupancyArtist::keep_blocks(BlockPainter& painter) {
    painter.areas.finish();
    for_each_cell([&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        const std::uint32_t area = painter.areas.at(column, row);
        std::uint32_t kind = painter.kinds.at(column, row);
        if (area == 0 && kind == 0)
            return;
        cell.taken = std::max<std::uint8_t>(1, share_of(area));
        if (kind == 0 && column > 0)  // nobody won the lot: as the one before
            kind = (&cell)[-1].kind;
        cell.kind = static_cast<std::uint8_t>(kind & 0xffU);
        const std::uint32_t shade = (kind >> Kinds::kShade & 3U) << kShadeBits;
        const std::uint32_t waits = (kind & Kinds::kWaiting) != 0 ? kWaitingCell : 0U;
        cell.flags = static_cast<std::uint8_t>(shade | waits);
    });
}

void OccupancyArtist::draw_segments() {
    const OccupancyFrame& frame = heatmap_.frame;
    const Grid grid(frame);
    const Position end = history_.end(frame.unit);
    const auto add = [&](Splat& splat, const Segment& segment) {
        const std::uint32_t left = grid.x(history_.position(frame.unit, segment.born));
        const std::uint32_t right =
            grid.x(segment.died == kNever ? end : history_.position(frame.unit, segment.died));
        layout_.for_each_stretch(
            segment.device, {segment.begin, segment.size}, [&](Bytes offset, Bytes length) {
                splat.add(left, right, grid.y(offset), grid.y(offset + length));
            });
    };
    bool reserves = false;
    Splat areas(frame.columns, frame.rows);
    for (std::size_t i = 0; i < counts_.segments; ++i) {
        const Segment segment = history_.segment(static_cast<SegmentIndex>(i));
        if (segment.kind == SegmentKind::reservation)
            reserves = true;
        else if (has_memory(segment.kind))
            add(areas, segment);
    }
    areas.finish();
    for_each_cell([&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        cell.memory = share_of(areas.at(column, row));
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
    for_each_cell([&](std::uint32_t column, std::uint32_t row, OccupancyCell& cell) {
        if (areas.at(column, row) != 0)
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
