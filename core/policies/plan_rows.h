// PlanRows: the addresses that a plan has for the requests of a run, a row for each in their order,
// and which of them somebody has.
//
// A plan was made for one run (a packing: time x bytes); the next is not quite like it. A request
// takes the next row if that is of its size, else one that is kLookAround rows behind or ahead at
// most: what was left out, put in or exchanged does not shift the rest. A row is given only if
// nobody lives in its bytes, whatever the plan says of times.
//
// That is seen without looking at addresses: each row knows those before it that had its bytes last
// (its predecessors). Where one of them never came, theirs count in its stead; and a row whose
// bytes have gone to a later one is over.
//
// A value; not thread-safe. O(rows) memory. A call is O(predecessors), three to a row on average;
// of those that never came it looks at kMostLooked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/capture/packing_csv.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {

class PlanRows {
  public:
    static constexpr std::uint32_t kLookAround = 32;
    static constexpr std::uint32_t kMostLooked = 64;
    static constexpr Bytes kLeastUnit = 256;

    PlanRows() = default;  // of no rows

    // A row for each interval, which has the bytes from its offset on; by their begins, else as
    // they come. Errors (bad_input, without a `where`): sizes or offsets that are no multiples of
    // kLeastUnit, ends past kLargestRequest, two that live at once and share bytes. O(n log n).
    static Result<PlanRows> of(std::span<const Interval> intervals, std::span<const Bytes> offsets);

    // Where a request may go, and who has to be done with it before.
    struct Found {
        std::uint32_t row = 0;
        StreamSet before;
    };

    // The row for a request of that size, below kLargestRequest, whose address in the plan is a
    // multiple of `alignment`. None: none of its size is near, or somebody lives there.
    std::optional<Found> find(Bytes size, Bytes alignment) const;

    // Gives a row that find() has just named; `stream` uses it.
    void take(std::uint32_t row, StreamId stream);

    void use(std::uint32_t row, StreamId stream) { rows_[row].users.add(stream); }

    void let_go(std::uint32_t row);

    Bytes offset(std::uint32_t row) const { return rows_[row].offset; }

    Bytes size(std::uint32_t row) const { return rows_[row].size; }

    Bytes height() const { return height_; }

    std::uint32_t live() const { return live_; }

    // Nobody uses any bytes any more: the device is done with all that were let go.
    void forget_users();

    // Those that live, by offset. O(rows + live log live).
    std::vector<std::uint32_t> live_rows() const;

  private:
    // `over`: it was left out, and its bytes are a later row's.
    enum class State : std::uint8_t { expected, live, gone, over };

    struct Row {
        Bytes offset = 0;
        Bytes size = 0;
        StreamSet users = {};
        std::uint32_t predecessors = 0;  // where they begin
        State state = State::expected;
    };

    Result<void> find_predecessors(std::span<const Interval> intervals,
                                   std::span<const std::uint32_t> order);
    std::optional<StreamSet> users_below(std::uint32_t row) const;
    template <class Visit>
    bool visit_below(std::uint32_t row, Visit visit) const;

    std::span<const std::uint32_t> predecessors(std::uint32_t row) const {
        const std::size_t begin = rows_[row].predecessors;
        const std::size_t end =
            row + 1 < rows_.size() ? rows_[row + 1].predecessors : predecessors_.size();
        return std::span(predecessors_).subspan(begin, end - begin);
    }

    std::vector<Row> rows_;
    std::vector<std::uint32_t> predecessors_;  // of all rows
    Bytes unit_ = kLeastUnit;                  // of which all sizes and offsets are multiples
    Bytes height_ = 0;
    std::uint32_t next_ = 0;  // after the last row that was taken
    std::uint32_t live_ = 0;
};

}  // namespace tidemark::policies
