// PlanRows: the addresses that a plan has for the requests of a run, one row per request in order,
// and which of them are in use.
//
// A plan was made for one run (a packing: time x bytes); the next run is not quite the same. A
// request takes the next row if that has its size, otherwise a row at most kLookAround rows behind
// or ahead: requests that were left out, added or exchanged don't shift the rest. A row is granted
// only if no live block has its bytes, whatever the plan says about times.
//
// To check that, no addresses are compared: each row knows the rows before it that had its bytes
// last (its predecessors). If one of them was never requested, its own predecessors count instead;
// and a row whose bytes went to a later row is over.
//
// A value; not thread-safe. O(rows) memory. A call is O(predecessors), three per row on average; it
// follows at most kMostLooked rows that were never requested.
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

    // One row per interval, with the bytes from its offset on; sorted by their begins, otherwise in
    // the given order. Errors (bad_input, without a `where`): sizes or offsets that are not
    // multiples of kLeastUnit, ends past kLargestRequest, two rows that are live at the same time
    // and share bytes. O(n log n).
    static Result<PlanRows> of(std::span<const Interval> intervals, std::span<const Bytes> offsets);

    // Where a request may go, and who has to finish before.
    struct Found {
        std::uint32_t row = 0;
        StreamSet before;
    };

    // The row for a request of that size, below kLargestRequest, whose address in the plan is a
    // multiple of `alignment`. None: no near row has its size, or a live block is there.
    std::optional<Found> find(Bytes size, Bytes alignment) const;

    // Grants a row that find() has just named; `stream` uses it.
    void take(std::uint32_t row, StreamId stream);

    void use(std::uint32_t row, StreamId stream) { rows_[row].users.add(stream); }

    void let_go(std::uint32_t row);

    Bytes offset(std::uint32_t row) const { return rows_[row].offset; }

    Bytes size(std::uint32_t row) const { return rows_[row].size; }

    Bytes height() const { return height_; }

    std::uint32_t live() const { return live_; }

    // No bytes are in use any longer: the device has finished with all freed blocks.
    void forget_users();

    // Rows that are live, by offset. O(rows + live log live).
    std::vector<std::uint32_t> live_rows() const;

  private:
    // `over`: it was left out, and its bytes belong to a later row.
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
