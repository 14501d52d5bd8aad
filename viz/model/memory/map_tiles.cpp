// Decides which heatmaps are made when, and which are shown.
#include "viz/model/memory/map_tiles.h"

#include <algorithm>
#include <cmath>

#include "viz/model/blocks/owners.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr Nanoseconds kMapTilesRest = 4;         // times the last heatmap's cost
constexpr Nanoseconds kLeastRest = 100'000'000;  // between two heatmaps of a run that grows
constexpr std::size_t kClasses = 16;

// Few blocks deserve fewer cells: these are ready sooner.
OccupancyFrame ground_frame(const History& history, const AddressLayout& layout, AxisUnit unit) {
    const bool many = history.counts().blocks > 2'000'000;
    return whole_frame(history, layout, unit, many ? 4096 : 2048, many ? 2048 : 1024);
}

Bytes part_of(Bytes length, double share) {
    return static_cast<Bytes>(std::clamp(share, 0.0, 1.0) * static_cast<double>(length));
}

std::pair<Bytes, Bytes> offsets(const AddressLayout& layout, const AddressWindow& addresses) {
    const Bytes length = std::max<Bytes>(layout.length(), 1);
    const Bytes bottom = std::min(part_of(length, addresses.begin), length - 1);
    return {bottom, std::clamp(part_of(length, addresses.end), bottom + 1, length)};
}

std::uint32_t cells(double length, double cell) {
    return static_cast<std::uint32_t>(std::clamp(std::round(length / cell), 1.0, 8192.0));
}

// None: all blocks are shown.
std::optional<BlockFilter> filter_of(const History& history, const Filter& filter,
                                     const Cancelled& cancelled) {
    if (!hides_something(filter))
        return std::nullopt;
    return BlockFilter(history, filter, cancelled);
}

// Both arguments must outlive the options.
OccupancyOptions options_of(const std::optional<BlockFilter>& filter, const Cancelled& cancelled) {
    OccupancyOptions options;
    options.cancel = &cancelled;
    if (filter)
        options.shows = [&filter](const Block& block) { return filter->lets_through(block); };
    return options;
}

// What is looked at with a quarter around it, so that the next step is already inside.
OccupancyFrame detail_frame(const MapGround& ground, const MapLook& look) {
    OccupancyFrame frame;
    frame.unit = look.unit;
    const Position reach = look.window.length() / 4;
    const Position last = std::max(ground.history->end(look.unit), look.window.end);
    frame.begin =
        std::max<Position>(std::min<Position>(0, look.window.begin), look.window.begin - reach);
    frame.end = look.window.end > last - reach ? last : look.window.end + reach;
    const auto [bottom, top] = offsets(ground.layout, look.addresses);
    const Bytes above = (top - bottom) / 4;
    frame.bottom = bottom > above ? bottom - above : 0;
    frame.top = std::min(top + above, std::max<Bytes>(ground.layout.length(), top));
    frame.columns = cells(static_cast<double>(frame.end - frame.begin),
                          static_cast<double>(look.window.length()) / look.columns);
    frame.rows = cells(static_cast<double>(frame.top - frame.bottom),
                       static_cast<double>(top - bottom) / look.rows);
    return frame;
}

// The blocks within a frame, if they are few.
class FewBlocks {
  public:
    FewBlocks(const MapGround& ground, const OccupancyFrame& frame, const BlockFilter* filter)
        : ground_(ground), history_(*ground.history), frame_(frame), filter_(filter) {}

    std::optional<std::vector<MapBlock>> find(const Cancelled& cancelled) {
        constexpr BlockIndex kMostLookedAt = 200'000;
        const EventIndex first = history_.event_from(frame_.unit, frame_.begin);
        const EventIndex beyond = history_.event_from(frame_.unit, frame_.end);
        if (beyond == 0)
            return found_;
        if (history_.born_before(beyond) - history_.born_before(first) > kMostLookedAt)
            return std::nullopt;
        history_.for_each_within(first == 0 ? 0 : first - 1, beyond - 1, [&](BlockIndex block) {
            if (found_.size() <= MapTiles::kFew && !cancelled)
                add(block);
        });
        if (found_.size() > MapTiles::kFew)
            return std::nullopt;
        return std::move(found_);
    }

  private:
    void add(BlockIndex index) {
        const Block block = history_.block(index);
        MapBlock shown;
        shown.block = index;
        shown.born = history_.position(frame_.unit, block.born);
        shown.freed = position(block.freed);
        shown.gone = position(block.reused);
        if (shown.gone < frame_.begin || shown.born >= frame_.end)
            return;
        const bool shows = filter_ == nullptr || filter_->lets_through(block);
        shown.kind = shows ? ground_.classes.of(block) : kHiddenKind;
        ground_.layout.for_each_stretch(
            history_.site(block.site).device, {block.address, block.size},
            [&](Bytes offset, Bytes length) {
                if (offset >= frame_.top || offset + length <= frame_.bottom)
                    return;
                shown.offset = offset;
                shown.length = length;
                found_.push_back(shown);
            });
    }

    Position position(EventIndex event) const {
        return event == kNever ? history_.end(frame_.unit) : history_.position(frame_.unit, event);
    }

    const MapGround& ground_;
    const History& history_;
    const OccupancyFrame& frame_;
    const BlockFilter* filter_;
    std::vector<MapBlock> found_;
};

}  // namespace

BlockTrait shown_trait(const History& history, ColourBy colour_by) {
    constexpr std::uint32_t kEnough = 4096;
    const auto sites =
        static_cast<std::uint32_t>(std::min<std::size_t>(history.counts().sites, kEnough));
    bool tags = false;
    bool stacks = false;
    for (std::uint32_t i = 0; i < sites && !(tags && stacks); ++i) {
        tags = tags || history.site(i).tag != 0;
        stacks = stacks || history.site(i).stack != 0;
    }
    switch (colour_by) {
        case ColourBy::stream:
            return BlockTrait::stream;
        case ColourBy::size:
            return BlockTrait::size;
        case ColourBy::age:
            return BlockTrait::life;
        case ColourBy::tag:
            if (tags)
                return BlockTrait::tag;
            break;
        case ColourBy::stack:
            break;
    }
    return stacks ? BlockTrait::stack : BlockTrait::size;
}

BlockClasses classes_of(const History& history, BlockTrait trait, const Cancelled& cancelled) {
    return classes_of(history, trait, kClasses, cancelled);
}

std::shared_ptr<const MapGround> make_ground(const std::shared_ptr<const History>& history,
                                             const MapLook& look, const Cancelled& cancelled,
                                             std::atomic<double>* progress) {
    auto ground = std::make_shared<MapGround>();
    ground->history = history;
    ground->look = look;
    ground->events = static_cast<EventIndex>(history->counts().events);
    ground->layout =
        AddressLayout::of(*history, &cancelled, RowSharing::where_it_helps, look.order);
    ground->classes = classes_of(*history, look.trait, cancelled);
    if (cancelled)
        return nullptr;
    const std::optional<BlockFilter> filter = filter_of(*history, look.filter, cancelled);
    OccupancyOptions options = options_of(filter, cancelled);
    if (progress != nullptr)
        options.progress = [progress](double share) { progress->store(share); };
    ground->whole = draw_occupancy(*history, ground->layout, ground->classes,
                                   ground_frame(*history, ground->layout, look.unit), options);
    return cancelled ? nullptr : ground;
}

std::shared_ptr<const MapDetail> make_detail(const std::shared_ptr<const MapGround>& ground,
                                             const MapLook& look, const Cancelled& cancelled) {
    auto detail = std::make_shared<MapDetail>();
    detail->ground = ground;
    detail->look = look;
    const History& history = *ground->history;
    const std::optional<BlockFilter> filter = filter_of(history, look.filter, cancelled);
    const OccupancyFrame frame = detail_frame(*ground, look);
    detail->heatmap = draw_occupancy(history, ground->layout, ground->classes, frame,
                                     options_of(filter, cancelled));
    detail->blocks = FewBlocks(*ground, frame, filter ? &*filter : nullptr).find(cancelled);
    return cancelled ? nullptr : detail;
}

void MapTiles::look(const std::shared_ptr<const History>& history, const MapLook& wanted) {
    MapLook look = wanted;
    look.columns = std::clamp(look.columns, 1U, 4096U);
    look.rows = std::clamp(look.rows, 1U, 4096U);
    const bool other = history_ != history || (ground_ && !ground_->look.same_kind(look));
    const bool moved = look != look_;
    if (history_ != history) {
        ground_ = nullptr;
        detail_ = nullptr;
        kept_.clear();
    }
    history_ = history;
    look_ = look;
    if (auto ground = ground_job_.take())
        accept(std::move(*ground));
    if (auto detail = detail_job_.take())
        accept(std::move(*detail));
    if (other || moved)
        choose();
    start_missing();
}

void MapTiles::finish() {
    constexpr int kEnough = 8;  // a run that grows would never be done
    for (int i = 0; i < kEnough && busy(); ++i) {
        if (auto ground = ground_job_.wait())
            accept(std::move(*ground));
        start_missing();
        if (auto detail = detail_job_.wait())
            accept(std::move(*detail));
        start_missing();
    }
}

void MapTiles::accept(std::shared_ptr<const MapGround> ground) {
    ground_cost_ = since_ground_.elapsed();
    ground_done_ = {};
    if (!ground || ground->history != history_)
        return;
    if (ground_ && ground_->look.same_kind(ground->look)) {
        next_ = std::move(ground);
        return;
    }
    ground_ = std::move(ground);
    next_ = nullptr;
    choose();
}

void MapTiles::accept(std::shared_ptr<const MapDetail> detail) {
    if (!detail || (detail->ground != ground_ && detail->ground != next_))
        return;
    if (detail->ground == next_) {
        ground_ = next_;
        next_ = nullptr;
        kept_.clear();
    }
    kept_.push_front(std::move(detail));
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (const auto& kept : kept_) {
        bytes += kept->heatmap.cells.size() * sizeof(OccupancyCell);
        if (count > 0 && bytes > kKeptBytes)
            break;
        ++count;
    }
    kept_.resize(count);
    choose();
}

bool MapTiles::ground_is_stale() const {
    if (!ground_ || !ground_->look.same_kind(look_))
        return true;
    const auto events = next_ ? next_->events : ground_->events;
    return history_->counts().events != events &&
           ground_done_.elapsed() > std::max(kLeastRest, kMapTilesRest * ground_cost_);
}

void MapTiles::start_missing() {
    if (!history_)
        return;
    if (!ground_job_.running() && ground_is_stale())
        start_ground();
    const std::shared_ptr<const MapGround>& ground = next_ ? next_ : ground_;
    if (!ground || !ground->look.same_kind(look_) || detail_job_.running() ||
        ground->layout.length() == 0)
        return;
    if (!next_ && detail_ && is_sharp(*detail_))
        return;
    detail_job_.start([ground, look = look_](const Cancelled& cancelled) {
        return make_detail(ground, look, cancelled);
    });
}

void MapTiles::start_ground() {
    since_ground_ = {};
    progress_ = std::make_shared<std::atomic<double>>(0.0);
    ground_job_.start(
        [history = history_, look = look_, progress = progress_](const Cancelled& cancelled) {
            return make_ground(history, look, cancelled, progress.get());
        });
}

bool MapTiles::belongs(const MapDetail& detail) const {
    const OccupancyFrame& frame = detail.heatmap.frame;
    return detail.ground == ground_ && detail.look.same_kind(look_) &&
           frame.begin < look_.window.end && frame.end > look_.window.begin &&
           frame.bottom < top_ && frame.top > bottom_;
}

// As many pixels as cells, and all of the look in it.
bool MapTiles::is_sharp(const MapDetail& detail) const {
    const MapLook& made = detail.look;
    const OccupancyFrame& frame = detail.heatmap.frame;
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6 * std::abs(a + b); };
    const Position end = std::min(look_.window.end, history_->end(look_.unit));
    if (detail.ground == ground_ && made == look_)
        return true;
    return belongs(detail) && frame.begin <= look_.window.begin && frame.end >= end &&
           frame.bottom <= bottom_ && frame.top >= top_ &&
           near(static_cast<double>(made.window.length()) / made.columns,
                static_cast<double>(look_.window.length()) / look_.columns) &&
           near((made.addresses.end - made.addresses.begin) / made.rows,
                (look_.addresses.end - look_.addresses.begin) / look_.rows);
}

void MapTiles::choose() {
    ++revision_;
    detail_ = nullptr;
    if (!ground_)
        return;
    std::tie(bottom_, top_) = offsets(ground_->layout, look_.addresses);
    for (const auto& kept : kept_) {
        if (detail_ == nullptr && belongs(*kept))
            detail_ = kept;
        if (is_sharp(*kept)) {
            detail_ = kept;
            break;
        }
    }
    under_ = sample(ground_->whole.frame);
    if (ground_->look.unit != look_.unit)
        std::fill(under_.columns.begin(), under_.columns.end(), kOutside);
    if (detail_)
        over_ = sample(detail_->heatmap.frame);
}

MapTiles::Sampling MapTiles::sample(const OccupancyFrame& frame) const {
    Sampling result;
    const auto fill = [](std::vector<std::uint32_t>& cells, std::uint32_t pixels, double first,
                         double step, std::uint32_t count) {
        cells.resize(pixels);
        for (std::uint32_t i = 0; i < pixels; ++i) {
            const double cell = std::floor(first + (i + 0.5) * step);
            const bool inside = cell >= 0 && cell < count;
            cells[i] = inside ? static_cast<std::uint32_t>(cell) : kOutside;
        }
    };
    const double across = frame.columns / static_cast<double>(frame.end - frame.begin);
    fill(result.columns, look_.columns,
         static_cast<double>(look_.window.begin - frame.begin) * across,
         static_cast<double>(look_.window.length()) / look_.columns * across, frame.columns);
    const double down = frame.rows / static_cast<double>(frame.top - frame.bottom);
    fill(result.rows, look_.rows,
         (static_cast<double>(bottom_) - static_cast<double>(frame.bottom)) * down,
         static_cast<double>(top_ - bottom_) / look_.rows * down, frame.rows);
    return result;
}

OccupancyCell MapTiles::cell(std::uint32_t column, std::uint32_t row) const {
    const auto from = [&](const OccupancyHeatmap& heatmap,
                          const Sampling& sampling) -> const OccupancyCell* {
        const bool inside = column < sampling.columns.size() && row < sampling.rows.size() &&
                            sampling.columns[column] != kOutside && sampling.rows[row] != kOutside;
        return inside ? &heatmap.at(sampling.columns[column], sampling.rows[row]) : nullptr;
    };
    if (const OccupancyCell* over = detail_ ? from(detail_->heatmap, over_) : nullptr)
        return *over;
    const OccupancyCell* under = ground_ ? from(ground_->whole, under_) : nullptr;
    return under != nullptr ? *under : OccupancyCell{};
}

const std::vector<MapBlock>* MapTiles::blocks() const {
    if (!detail_ || !detail_->blocks)
        return nullptr;
    const OccupancyFrame& frame = detail_->heatmap.frame;
    const bool covers = frame.begin <= look_.window.begin && frame.end >= look_.window.end &&
                        frame.bottom <= bottom_ && frame.top >= top_;
    return covers ? &*detail_->blocks : nullptr;
}

BlockIndex MapTiles::pick(Position position, Bytes offset, Position slack,
                          Bytes slack_bytes) const {
    const std::optional<EventIndex> event =
        ground_ ? event_at(*history_, look_.unit, position) : std::nullopt;
    if (!event)
        return kNoBlock;
    if (const auto at = ground_->layout.location(offset, *event)) {
        const BlockIndex block = history_->find(at->device, at->address, *event);
        if (block != kNoBlock)
            return block;
    }
    BlockIndex nearest = kNoBlock;
    double least = 1;
    const auto away = [](double begin, double end, double at, double reach) {
        const double distance = at < begin ? begin - at : at >= end ? at - end + 1 : 0;
        return distance / std::max(reach, 1e-9);
    };
    const std::vector<MapBlock>* known = blocks();
    for (std::size_t i = 0; known != nullptr && i < known->size(); ++i) {
        const MapBlock& block = (*known)[i];
        const double bottom = static_cast<double>(block.offset);
        const double distance =
            std::max(away(static_cast<double>(block.born), static_cast<double>(block.gone),
                          static_cast<double>(position), static_cast<double>(slack)),
                     away(bottom, bottom + static_cast<double>(block.length),
                          static_cast<double>(offset), static_cast<double>(slack_bytes)));
        if (distance < least) {
            least = distance;
            nearest = block.block;
        }
    }
    return nearest;
}

}  // namespace tidemark::viz
