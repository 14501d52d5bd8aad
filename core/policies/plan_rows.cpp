// PlanRows: who had which bytes last is found once, at the start; later only rows and their
// predecessors count.
#include "core/policies/plan_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/check.h"

namespace tidemark::policies {
namespace {

constexpr std::size_t kMostRows = std::numeric_limits<std::uint32_t>::max() / 4;

// Which row had which bytes last.
class LastRows {
  public:
    // Calls visit(row) for each row that has bytes of [begin, end), and gives these bytes to `row`.
    template <class Visit>
    void take(Bytes begin, Bytes end, std::uint32_t row, Visit visit) {
        split_at(end);
        const auto first = split_at(begin);
        auto it = first;
        for (; it != pieces_.end() && it->first < end; ++it)
            visit(it->second.row);
        pieces_.emplace_hint(pieces_.erase(first, it), begin, Piece{end, row});
    }

  private:
    struct Piece {
        Bytes end = 0;
        std::uint32_t row = 0;
    };

    using Pieces = std::map<Bytes, Piece>;

    // The first piece that begins at `at` or later; a piece that reaches across `at` is cut in two.
    Pieces::iterator split_at(Bytes at) {
        const auto next = pieces_.lower_bound(at);
        if (next == pieces_.begin())
            return next;
        const auto before = std::prev(next);
        if (before->second.end <= at)
            return next;
        const Piece rest = before->second;
        before->second.end = at;
        return pieces_.emplace_hint(next, at, rest);
    }

    Pieces pieces_;
};

Result<void> check_row(Bytes offset, Bytes size) {
    if (size == 0 || size % PlanRows::kLeastUnit != 0 || offset % PlanRows::kLeastUnit != 0)
        return fail(ErrorCode::bad_input, fmt::format("{} bytes at {} are not multiples of {}",
                                                      size, offset, PlanRows::kLeastUnit));
    if (size >= kLargestRequest || offset >= kLargestRequest - size)
        return fail(ErrorCode::bad_input,
                    fmt::format("{} bytes at {} are more than any device has", size, offset));
    return {};
}

}  // namespace

Result<PlanRows> PlanRows::of(std::span<const Interval> intervals, std::span<const Bytes> offsets) {
    TM_CHECK(intervals.size() == offsets.size());
    if (intervals.size() > kMostRows)
        return fail(ErrorCode::bad_input, fmt::format("more than {} rows", kMostRows));
    std::vector<std::uint32_t> order(intervals.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t number) { return intervals[number].begin; });
    PlanRows rows;
    rows.rows_.reserve(order.size());
    Bytes multiples = 0;  // the bits of all sizes and offsets
    for (const std::uint32_t number : order) {
        const Row row{.offset = offsets[number], .size = intervals[number].size};
        TM_TRY(check_row(row.offset, row.size));
        multiples |= row.size | row.offset;
        rows.height_ = std::max(rows.height_, row.offset + row.size);
        rows.rows_.push_back(row);
    }
    if (multiples != 0)
        rows.unit_ = Bytes{1} << static_cast<unsigned>(std::countr_zero(multiples));
    TM_TRY(rows.find_predecessors(intervals, order));
    return rows;
}

Result<void> PlanRows::find_predecessors(std::span<const Interval> intervals,
                                         std::span<const std::uint32_t> order) {
    LastRows last;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
        Row& mine = rows_[row];
        mine.predecessors = static_cast<std::uint32_t>(predecessors_.size());
        std::optional<std::uint32_t> clash;
        last.take(mine.offset, mine.offset + mine.size, row, [&](std::uint32_t before) {
            if (intervals[order[before]].end > intervals[order[row]].begin)
                clash = before;
            predecessors_.push_back(before);
        });
        if (clash)
            return fail(ErrorCode::bad_input,
                        fmt::format("rows {} and {} are live at the same time and share bytes",
                                    order[*clash] + 1, order[row] + 1));
        if (predecessors_.size() > std::numeric_limits<std::uint32_t>::max() / 2)
            return fail(ErrorCode::bad_input, "its rows are cut into too many pieces");
    }
    return {};
}

// Calls visit(row) for all that may have had the bytes of `row` last; goes on beyond those that
// never came. False: too many never came, or visit() returned false.
template <class Visit>
bool PlanRows::visit_below(std::uint32_t row, Visit visit) const {
    std::array<std::uint32_t, kMostLooked> above{row};  // whose predecessors are looked at
    std::size_t count = 1;
    for (std::size_t i = 0; i < count; ++i) {
        for (const std::uint32_t below : predecessors(above[i])) {
            const State state = rows_[below].state;
            if (!visit(below))
                return false;
            if (state != State::expected && state != State::over)
                continue;
            if (count == above.size())
                return false;
            above[count++] = below;
        }
    }
    return true;
}

// The streams that used the bytes of `row`; none if a live block has them.
std::optional<StreamSet> PlanRows::users_below(std::uint32_t row) const {
    StreamSet users;
    const bool clear = visit_below(row, [&](std::uint32_t below) {
        users.add(rows_[below].users);
        return rows_[below].state != State::live;
    });
    return clear ? std::optional(users) : std::nullopt;
}

std::optional<PlanRows::Found> PlanRows::find(Bytes size, Bytes alignment) const {
    const Bytes whole = align_up(std::max<Bytes>(size, 1), unit_);
    const auto fits = [&](std::uint32_t row) {
        return rows_[row].size == whole && rows_[row].state == State::expected &&
               rows_[row].offset % alignment == 0;
    };
    const auto count = static_cast<std::uint32_t>(rows_.size());
    if (next_ < count && fits(next_))
        if (const auto users = users_below(next_))
            return Found{next_, *users};
    const std::uint32_t begin = next_ - std::min(next_, kLookAround);
    const std::uint32_t end = next_ + std::min(count - next_, kLookAround);
    for (std::uint32_t row = begin; row < end; ++row) {
        if (row == next_ || !fits(row))
            continue;
        if (const auto users = users_below(row))
            return Found{row, *users};
    }
    return std::nullopt;
}

void PlanRows::take(std::uint32_t row, StreamId stream) {
    visit_below(row, [this](std::uint32_t below) {
        if (rows_[below].state == State::expected)
            rows_[below].state = State::over;
        return true;
    });
    rows_[row].state = State::live;
    rows_[row].users = StreamSet(stream);
    next_ = std::max(next_, row + 1);
    ++live_;
}

void PlanRows::let_go(std::uint32_t row) {
    TM_CHECK(rows_[row].state == State::live);
    rows_[row].state = State::gone;
    --live_;
}

void PlanRows::forget_users() {
    TM_CHECK(live_ == 0);
    for (Row& row : rows_)
        row.users = {};
}

std::vector<std::uint32_t> PlanRows::live_rows() const {
    std::vector<std::uint32_t> live;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
        if (rows_[row].state == State::live)
            live.push_back(row);
    }
    std::ranges::sort(live, {}, [this](std::uint32_t row) { return rows_[row].offset; });
    return live;
}

}  // namespace tidemark::policies
