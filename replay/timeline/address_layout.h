// AddressLayout: all addresses that a run ever used, put end to end on one vertical axis. Address
// space is nearly empty, so the gaps between segments, and the unmapped part of huge reservations,
// take no room here; a break is drawn there.
//
// A row is a stretch of one device's addresses: a segment, all segments that overlap it at other
// times, a reservation with its pages, or blocks outside any segment. A piece is a part of a row
// without a break: offsets on the axis and addresses run side by side in it.
//
// Rows may share a band of the axis if they never exist at the same time, so that a run that
// creates and releases thousands of segments stays readable. A plain value; thread-safe to read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

constexpr SegmentIndex kNoSegment = 0xffffffffU;

struct AddressRow {
    std::uint16_t device = 0;
    SegmentKind kind = SegmentKind::segment;  // reservation: if one of its segments is
    bool view = false;                        // none of its memory counts here
    Range range;                              // of addresses
    Bytes offset = 0;                         // on the axis
    Bytes length = 0;                         // on the axis: its pieces, end to end
    SegmentIndex segment = kNoSegment;        // the first one here; none: blocks alone
    std::uint32_t segments = 0;               // how many existed here, at any time
    std::uint32_t first_piece = 0;
    std::uint32_t pieces = 0;
    EventIndex born = 0;
    EventIndex died = kNever;
};

struct AddressPiece {
    Range range;       // of addresses; its end is at most 2^64
    Bytes offset = 0;  // on the axis; it is range.size long there
    std::uint32_t row = 0;
    std::uint16_t device = 0;
};

enum class RowSharing : std::uint8_t {
    never,
    where_it_helps,  // if it makes the axis less than half as long
    always,
};

enum class RowOrder : std::uint8_t {
    address,
    birth,  // what was there first comes first: two runs are laid out in one direction
};

struct AddressLocation {
    std::uint16_t device = 0;
    Address address = Address::null;

    friend bool operator==(const AddressLocation&, const AddressLocation&) = default;
};

class AddressLayout {
  public:
    // Of what `history` has now. With `cancel` set, what comes back is incomplete. O((segments +
    // blocks) log segments), on all cores.
    static AddressLayout of(const History& history, const std::atomic<bool>* cancel = nullptr,
                            RowSharing sharing = RowSharing::where_it_helps,
                            RowOrder order = RowOrder::address);

    // The length of the axis; 0 if there are no addresses. At most kLongest: what is beyond is
    // left out.
    Bytes length() const { return length_; }

    bool shares_rows() const { return shares_; }

    // In order of their offsets; rows that share a band in order of birth.
    const std::vector<AddressRow>& rows() const { return rows_; }

    const std::vector<AddressPiece>& pieces() const { return pieces_; }

    // Where an address is on the axis; none if no piece holds it. O(log rows).
    std::optional<Bytes> offset(std::uint16_t device, Address address) const;

    // The piece that holds an address; null if none does. O(log rows).
    const AddressPiece* piece(std::uint16_t device, Address address) const;

    // The row at an offset after `event`: where rows share a band, the last one born by then, or
    // the first of all; rows().size() beyond the axis and above a row that is shorter than its
    // band. O(log rows).
    std::size_t row_at(Bytes offset, EventIndex event) const;

    // The address at an offset after `event`: in row_at(). O(log rows).
    std::optional<AddressLocation> location(Bytes offset, EventIndex event) const;

    // The same the other way round, within one row; `offset` counts from the row's. O(log pieces).
    Address address_in(const AddressRow& row, Bytes offset) const;

    // Calls `visit(Bytes offset, Bytes length)` for each stretch of the axis that a range of
    // addresses takes: one, unless it lies across a break. O(log rows + stretches).
    template <class Visit>
    void for_each_stretch(std::uint16_t device, Range range, Visit&& visit) const {
        for (std::size_t i = first_reaching(device, range.begin); i < by_address_.size(); ++i) {
            const AddressPiece& piece = pieces_[by_address_[i]];
            if (piece.device != device)
                return;
            const Bytes begin = std::max(to_integer(piece.range.begin), to_integer(range.begin));
            const Bytes last = std::min(last_byte(piece.range), last_byte(range));
            if (range.size == 0 || begin > last)
                return;
            visit(piece.offset + (begin - to_integer(piece.range.begin)), last - begin + 1);
        }
    }

    static constexpr Bytes kLongest = Bytes{1} << 60;

  private:
    friend class AddressLayoutMaker;

    static constexpr Bytes last_byte(Range range) {
        const Bytes begin = to_integer(range.begin);
        return range.size > ~Bytes{0} - begin ? ~Bytes{0} : begin + range.size - 1;
    }

    // The first in by_address_ whose end lies beyond `address` of `device` or of a later device.
    std::size_t first_reaching(std::uint16_t device, Address address) const;

    std::vector<AddressRow> rows_;
    std::vector<AddressPiece> pieces_;
    std::vector<std::uint32_t> by_address_;  // pieces, by device and address: they are disjoint
    std::vector<std::uint32_t> bands_;       // the first row of each band, by offset
    Bytes length_ = 0;
    bool shares_ = false;
};

}  // namespace tidemark
