// How addresses become an axis: overlapping segments make rows, rows are cut where there never was
// anything, and are put one above the other.
#include "replay/timeline/address_layout.h"

#include <map>
#include <queue>
#include <tuple>

#include "replay/timeline/slices.h"

namespace tidemark {
namespace {

constexpr Bytes kWholePage = 32_MiB;             // smaller gaps are shown as they are
constexpr Bytes kLongestPiece = Bytes{1} << 50;  // beyond that the numbers must be wrong
constexpr unsigned kGapShare = 32;               // so is a gap below this part of all memory

// Addresses that belong together, `last` included: so that 2^64 - 1 fits.
struct Extent {
    std::uint16_t device = 0;
    Bytes begin = 0;
    Bytes last = 0;
    EventIndex born = 0;
    EventIndex died = kNever;
    SegmentKind kind = SegmentKind::segment;
    SegmentIndex segment = kNoSegment;

    bool operator<(const Extent& other) const {
        return std::tie(device, begin, last, segment) <
               std::tie(other.device, other.begin, other.last, other.segment);
    }
};

Bytes last_of(Address begin, Bytes size) {
    const Bytes first = to_integer(begin);
    return size > ~Bytes{0} - first ? ~Bytes{0} : first + size - 1;
}

// Sorted, with those that overlap or are less than `gap` apart made one.
void merge(std::vector<Extent>& extents, Bytes gap) {
    std::sort(extents.begin(), extents.end());
    std::size_t kept = 0;
    for (const Extent& extent : extents) {
        Extent* before = kept == 0 ? nullptr : &extents[kept - 1];
        if (before != nullptr && before->device == extent.device &&
            (extent.begin <= before->last || extent.begin - before->last <= gap)) {
            before->last = std::max(before->last, extent.last);
            before->born = std::min(before->born, extent.born);
            before->died = std::max(before->died, extent.died);
        } else {
            extents[kept++] = extent;
        }
    }
    extents.resize(kept);
}

}  // namespace

class AddressLayoutMaker {
  public:
    AddressLayoutMaker(const History& history, const std::atomic<bool>* cancel, RowSharing sharing,
                       RowOrder order)
        : history_(history),
          cancel_(cancel),
          sharing_(sharing),
          order_(order),
          counts_(history.counts()) {}

    AddressLayout make() {
        add_segments();
        index_addresses();
        add_blocks();
        arrange();
        index_addresses();
        return std::move(layout_);
    }

  private:
    using Bands = std::vector<std::vector<std::uint32_t>>;  // the rows of each band

    void add_segments();
    void add_row(const Extent* begin, const Extent* end);
    void add_piece(std::uint32_t row, Bytes begin, Bytes last);
    void add_blocks();
    std::vector<Extent> uncovered_blocks() const;
    bool covered(const AddressPiece& piece, const Block& block, std::uint16_t device) const;
    void index_addresses();
    void arrange();
    Bands bands(bool shared) const;
    Bytes length_of(const Bands& bands) const;
    void lay_out(const Bands& bands);

    const History& history_;
    const std::atomic<bool>* cancel_;
    RowSharing sharing_;
    RowOrder order_;
    HistoryCounts counts_;
    Bytes memory_ = 0;  // of all segments and pages, each byte once
    AddressLayout layout_;
};

void AddressLayoutMaker::add_segments() {
    std::vector<Extent> extents;
    std::vector<Extent> memory;
    for (std::size_t i = 0; i < counts_.segments; ++i) {
        const auto index = static_cast<SegmentIndex>(i);
        const Segment segment = history_.segment(index);
        if (segment.size == 0)
            continue;
        extents.push_back({segment.device, to_integer(segment.begin),
                           last_of(segment.begin, segment.size), segment.born, segment.died,
                           segment.kind, index});
        if (has_memory(segment.kind))
            memory.push_back(extents.back());
    }
    merge(memory, 0);
    for (const Extent& extent : memory)
        memory_ += std::min(extent.last - extent.begin + 1, kLongestPiece);

    std::sort(extents.begin(), extents.end());
    for (std::size_t i = 0; i < extents.size();) {
        Bytes last = extents[i].last;
        SegmentKind kind = extents[i].kind;
        std::size_t end = i + 1;
        const auto belongs = [&](const Extent& next) {
            if (next.device != extents[i].device)
                return false;
            const bool pages = kind == SegmentKind::mapping && next.kind == SegmentKind::mapping;
            return next.begin <= last || (pages && next.begin == last + 1);
        };
        for (; end < extents.size() && belongs(extents[end]); ++end) {
            last = std::max(last, extents[end].last);
            kind = extents[end].kind;
        }
        add_row(&extents[i], extents.data() + end);
        i = end;
    }
}

// One row of segments that overlap, cut where its reservation never had pages for long.
void AddressLayoutMaker::add_row(const Extent* begin, const Extent* end) {
    AddressRow row;
    row.device = begin->device;
    row.kind = begin->kind;
    row.segment = begin->segment;
    row.segments = static_cast<std::uint32_t>(end - begin);
    row.first_piece = static_cast<std::uint32_t>(layout_.pieces_.size());
    row.born = kNever;
    row.died = 0;
    row.view =
        std::any_of(begin, end,
                    [](const Extent& extent) { return extent.kind == SegmentKind::view; }) &&
        std::none_of(begin, end, [](const Extent& extent) { return has_memory(extent.kind); });
    const auto number = static_cast<std::uint32_t>(layout_.rows_.size());
    const Bytes gap = std::max(kWholePage, memory_ / kGapShare);
    Bytes last = begin->last;
    bool open = false;
    Bytes piece = 0;
    Bytes piece_last = 0;
    for (const Extent* extent = begin; extent != end; ++extent) {
        last = std::max(last, extent->last);
        row.born = std::min(row.born, extent->born);
        row.died = std::max(row.died, extent->died);
        row.segment = std::min(row.segment, extent->segment);
        if (extent->kind == SegmentKind::reservation) {
            row.kind = SegmentKind::reservation;
            if (extent->last - extent->begin >= gap)
                continue;
        }
        if (open && extent->begin > piece_last && extent->begin - piece_last > gap) {
            add_piece(number, piece, piece_last);
            open = false;
        }
        piece = open ? piece : extent->begin;
        piece_last = open ? std::max(piece_last, extent->last) : extent->last;
        open = true;
    }
    if (!open)
        return;  // a huge reservation that never had a page
    row.range = {Address{begin->begin}, last - begin->begin + 1};
    add_piece(number, piece, piece_last);
    row.pieces = static_cast<std::uint32_t>(layout_.pieces_.size()) - row.first_piece;
    layout_.rows_.push_back(row);
}

void AddressLayoutMaker::add_piece(std::uint32_t row, Bytes begin, Bytes last) {
    AddressPiece piece;
    piece.range = {Address{begin}, std::min(last - begin, kLongestPiece - 1) + 1};
    piece.row = row;
    layout_.pieces_.push_back(piece);
}

bool AddressLayoutMaker::covered(const AddressPiece& piece, const Block& block,
                                 std::uint16_t device) const {
    return piece.device == device && block.address >= piece.range.begin &&
           last_of(block.address, block.size) <= AddressLayout::last_byte(piece.range);
}

// What blocks take outside all pieces, each byte once.
std::vector<Extent> AddressLayoutMaker::uncovered_blocks() const {
    constexpr std::size_t kMany = 1U << 18U;
    const unsigned threads = threads_for(counts_.blocks, kMany);
    std::vector<std::vector<Extent>> found(threads);
    const auto look = [&](unsigned thread, std::size_t begin, std::size_t end) {
        std::vector<Extent>& extents = found[thread];
        AddressPiece piece;
        for (std::size_t i = begin; i < end; ++i) {
            const Block block = history_.block(static_cast<BlockIndex>(i));
            const std::uint16_t device = history_.site(block.site).device;
            if (block.size == 0 || (piece.range.size != 0 && covered(piece, block, device)))
                continue;
            const std::size_t at = layout_.first_reaching(device, block.address);
            if (at < layout_.by_address_.size()) {
                piece = layout_.pieces_[layout_.by_address_[at]];
                if (covered(piece, block, device))
                    continue;
            }
            extents.push_back({device, to_integer(block.address),
                               last_of(block.address, block.size), block.born, block.reused,
                               SegmentKind::segment, kNoSegment});
        }
        if (extents.size() > kMany)
            merge(extents, kWholePage);
    };
    in_slices(counts_.blocks, threads, cancel_, look);
    for (unsigned thread = 1; thread < threads; ++thread)
        found[0].insert(found[0].end(), found[thread].begin(), found[thread].end());
    merge(found[0], kWholePage);
    return std::move(found[0]);
}

// Rows for blocks that no piece holds, without what the pieces do hold.
void AddressLayoutMaker::add_blocks() {
    for (const Extent& extent : uncovered_blocks()) {
        Bytes begin = extent.begin;
        const auto add = [&](Bytes last) {
            AddressRow row;
            row.device = extent.device;
            row.range = {Address{begin}, last - begin + 1};
            row.first_piece = static_cast<std::uint32_t>(layout_.pieces_.size());
            row.pieces = 1;
            row.born = extent.born;
            row.died = extent.died;
            add_piece(static_cast<std::uint32_t>(layout_.rows_.size()), begin, last);
            layout_.rows_.push_back(row);
        };
        bool done = false;
        for (std::size_t i = layout_.first_reaching(extent.device, Address{begin});
             i < layout_.by_address_.size() && !done; ++i) {
            const AddressPiece piece = layout_.pieces_[layout_.by_address_[i]];
            const Bytes from = to_integer(piece.range.begin);
            if (piece.device != extent.device || from > extent.last)
                break;
            if (from > begin)
                add(from - 1);
            const Bytes last = AddressLayout::last_byte(piece.range);
            done = last >= extent.last;
            begin = last + 1;
        }
        if (!done)
            add(extent.last);
    }
}

void AddressLayoutMaker::index_addresses() {
    std::vector<AddressPiece>& pieces = layout_.pieces_;
    layout_.by_address_.resize(pieces.size());
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
        pieces[i].device = layout_.rows_[pieces[i].row].device;
        layout_.by_address_[i] = i;
    }
    std::sort(layout_.by_address_.begin(), layout_.by_address_.end(),
              [&pieces](std::uint32_t a, std::uint32_t b) {
                  return std::tie(pieces[a].device, pieces[a].range.begin) <
                         std::tie(pieces[b].device, pieces[b].range.begin);
              });
}

// Which rows share a band of the axis: each new row takes a band of about its height that is empty
// again.
AddressLayoutMaker::Bands AddressLayoutMaker::bands(bool shared) const {
    const std::vector<AddressRow>& rows = layout_.rows_;
    std::vector<std::uint32_t> order(rows.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&rows](std::uint32_t a, std::uint32_t b) {
        return std::tie(rows[a].born, a) < std::tie(rows[b].born, b);
    });
    using End = std::pair<EventIndex, std::uint32_t>;  // of the life in a band
    std::priority_queue<End, std::vector<End>, std::greater<>> living;
    std::map<std::pair<std::uint16_t, Bytes>, std::vector<std::uint32_t>> empty;
    Bands result;
    for (const std::uint32_t index : order) {
        const AddressRow& row = rows[index];
        for (; !living.empty() && living.top().first <= row.born; living.pop()) {
            const AddressRow& first = rows[result[living.top().second].front()];
            empty[{first.device, first.length}].push_back(living.top().second);
        }
        auto fit = empty.lower_bound({row.device, row.length});
        std::uint32_t band = 0;
        if (shared && fit != empty.end() && fit->first.first == row.device &&
            fit->first.second <= row.length + row.length / 4) {
            band = fit->second.back();
            fit->second.pop_back();
            if (fit->second.empty())
                empty.erase(fit);
            result[band].push_back(index);
        } else {
            band = static_cast<std::uint32_t>(result.size());
            result.push_back({index});
        }
        living.emplace(row.died, band);
    }
    return result;
}

Bytes AddressLayoutMaker::length_of(const Bands& bands) const {
    Bytes sum = 0;
    for (const std::vector<std::uint32_t>& band : bands)
        sum = std::min(AddressLayout::kLongest, sum + layout_.rows_[band.front()].length);
    return sum;
}

void AddressLayoutMaker::arrange() {
    for (AddressRow& row : layout_.rows_) {
        row.length = 0;
        for (std::uint32_t i = 0; i < row.pieces; ++i)
            row.length += layout_.pieces_[row.first_piece + i].range.size;
    }
    Bands chosen = bands(false);
    if (sharing_ != RowSharing::never) {
        Bands shared = bands(true);
        const bool helps = length_of(shared) < length_of(chosen) / 2;
        if (helps || sharing_ == RowSharing::always) {
            layout_.shares_ = shared.size() < chosen.size();
            chosen = std::move(shared);
        }
    }
    lay_out(chosen);
}

// Puts the bands one above the other, by the addresses or births of their first rows.
void AddressLayoutMaker::lay_out(const Bands& bands) {
    std::vector<AddressRow> rows;
    std::vector<AddressPiece> pieces;
    std::vector<const std::vector<std::uint32_t>*> order;
    for (const std::vector<std::uint32_t>& band : bands)
        order.push_back(&band);
    std::sort(order.begin(), order.end(), [this](const auto* a, const auto* b) {
        const AddressRow& one = layout_.rows_[a->front()];
        const AddressRow& other = layout_.rows_[b->front()];
        const bool by_birth = order_ == RowOrder::birth;
        const EventIndex born = by_birth ? one.born : 0;
        const EventIndex other_born = by_birth ? other.born : 0;
        return std::tie(one.device, born, one.range.begin) <
               std::tie(other.device, other_born, other.range.begin);
    });
    for (const std::vector<std::uint32_t>* band : order) {
        const Bytes height = layout_.rows_[band->front()].length;
        if (height > AddressLayout::kLongest - layout_.length_)
            break;
        layout_.bands_.push_back(static_cast<std::uint32_t>(rows.size()));
        for (const std::uint32_t index : *band) {
            AddressRow row = layout_.rows_[index];
            const std::uint32_t first = row.first_piece;
            row.offset = layout_.length_;
            row.first_piece = static_cast<std::uint32_t>(pieces.size());
            Bytes offset = row.offset;
            for (std::uint32_t i = 0; i < row.pieces; ++i) {
                AddressPiece piece = layout_.pieces_[first + i];
                piece.offset = offset;
                piece.row = static_cast<std::uint32_t>(rows.size());
                offset += piece.range.size;
                pieces.push_back(piece);
            }
            rows.push_back(row);
        }
        layout_.length_ += height;
    }
    layout_.rows_ = std::move(rows);
    layout_.pieces_ = std::move(pieces);
}

AddressLayout AddressLayout::of(const History& history, const std::atomic<bool>* cancel,
                                RowSharing sharing, RowOrder order) {
    return AddressLayoutMaker(history, cancel, sharing, order).make();
}

std::size_t AddressLayout::first_reaching(std::uint16_t device, Address address) const {
    const auto found =
        std::partition_point(by_address_.begin(), by_address_.end(), [&](std::uint32_t index) {
            const AddressPiece& piece = pieces_[index];
            return piece.device < device ||
                   (piece.device == device && last_byte(piece.range) < to_integer(address));
        });
    return static_cast<std::size_t>(found - by_address_.begin());
}

const AddressPiece* AddressLayout::piece(std::uint16_t device, Address address) const {
    const std::size_t at = first_reaching(device, address);
    if (at == by_address_.size())
        return nullptr;
    const AddressPiece& piece = pieces_[by_address_[at]];
    return piece.device == device && piece.range.begin <= address ? &piece : nullptr;
}

std::optional<Bytes> AddressLayout::offset(std::uint16_t device, Address address) const {
    const AddressPiece* found = piece(device, address);
    if (found == nullptr)
        return std::nullopt;
    return found->offset + (address - found->range.begin);
}

std::size_t AddressLayout::row_at(Bytes offset, EventIndex event) const {
    if (offset >= length_)
        return rows_.size();
    const auto beyond = std::partition_point(bands_.begin(), bands_.end(), [&](std::uint32_t row) {
        return rows_[row].offset <= offset;
    });
    const std::size_t begin = *(beyond - 1);
    const std::size_t end = beyond == bands_.end() ? rows_.size() : *beyond;
    const auto row = std::partition_point(
        rows_.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
        rows_.begin() + static_cast<std::ptrdiff_t>(end),
        [event](const AddressRow& candidate) { return candidate.born <= event; });
    const auto index = static_cast<std::size_t>(row - rows_.begin()) - 1;
    return offset - rows_[index].offset < rows_[index].length ? index : rows_.size();
}

Address AddressLayout::address_in(const AddressRow& row, Bytes offset) const {
    const auto begin = pieces_.begin() + row.first_piece;
    const auto piece = std::partition_point(
        begin + 1, begin + row.pieces,
        [&](const AddressPiece& next) { return next.offset - row.offset <= offset; });
    return (piece - 1)->range.begin + (row.offset + offset - (piece - 1)->offset);
}

std::optional<AddressLocation> AddressLayout::location(Bytes offset, EventIndex event) const {
    const std::size_t row = row_at(offset, event);
    if (row == rows_.size())
        return std::nullopt;
    return AddressLocation{rows_[row].device, address_in(rows_[row], offset - rows_[row].offset)};
}

}  // namespace tidemark
