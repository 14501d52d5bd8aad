// Curves from points, and the hash of a profile.
#include "backends/sim/costs.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kNoEnd = std::numeric_limits<Bytes>::max();

// FNV-1a, 64 bits.
class Fnv {
  public:
    void add(std::uint64_t number) {
        for (int shift = 0; shift < 64; shift += 8)
            add_byte(static_cast<std::uint8_t>(number >> shift));
    }

    void add(std::string_view text) {
        add(std::uint64_t{text.size()});
        for (const char c : text)
            add_byte(static_cast<std::uint8_t>(c));
    }

    void add(const CostCurve& curve) {
        add(std::uint64_t{curve.points().size()});
        for (const CostPoint& point : curve.points()) {
            add(point.bytes);
            add(static_cast<std::uint64_t>(point.cost));
        }
    }

    std::uint64_t value() const { return value_; }

  private:
    void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

    std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string_view to_text(Transfer transfer) {
    constexpr std::string_view kNames[] = {"to_host", "to_device", "on_device", "fill"};
    static_assert(std::size(kNames) == kTransferCount);
    return kNames[static_cast<std::size_t>(transfer)];
}

CostCurve::CostCurve(std::span<const CostPoint> points) : points_(points.begin(), points.end()) {
    const bool flat = points_.empty() || points_.front().bytes > 0;
    if (flat)
        pieces_.push_back({.begin = 0,
                           .last = points_.empty() ? kNoEnd : points_.front().bytes - 1,
                           .base = points_.empty() ? 0 : points_.front().cost,
                           .slope = 0});
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const CostPoint& point = points_[i];
        TM_CHECK(point.cost >= 0 && (i == 0 || points_[i - 1].bytes < point.bytes));
        const bool last = i + 1 == points_.size();
        Piece piece{.begin = point.bytes, .last = kNoEnd, .base = point.cost, .slope = 0};
        if (!last) {
            piece.last = points_[i + 1].bytes - 1;
            piece.slope = slope(point, points_[i + 1]);
        } else if (i > 0) {
            piece.slope = std::max<std::int64_t>(0, slope(points_[i - 1], point));
        }
        pieces_.push_back(piece);
    }
    TM_CHECK(pieces_.size() <= std::numeric_limits<std::uint16_t>::max());
    std::uint16_t piece = 0;
    for (unsigned width = 0; width < first_.size(); ++width) {
        const Bytes smallest = width == 0 ? 0 : Bytes{1} << (width - 1);
        while (smallest > pieces_[piece].last)
            ++piece;
        first_[width] = piece;
    }
}

std::int64_t CostCurve::slope(const CostPoint& from, const CostPoint& to) {
    const Wide rise = static_cast<Wide>(to.cost - from.cost) * (Wide{1} << kFraction);
    const Wide exact = rise / static_cast<Wide>(to.bytes - from.bytes);
    const Wide bound = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::clamp(exact, -bound, bound));
}

std::uint64_t CostProfile::hash() const {
    Fnv fnv;
    fnv.add(name);
    fnv.add(memory);
    fnv.add(granularity);
    for (const CostCurve& curve : calls)
        fnv.add(curve);
    for (const CostCurve& curve : transfers)
        fnv.add(curve);
    fnv.add(static_cast<std::uint64_t>(pool_creation));
    fnv.add(pool_growth);
    if (page_open != 0 || page_close != 0 || largest_page != kLargestDriverPage) {
        fnv.add(static_cast<std::uint64_t>(page_open));
        fnv.add(static_cast<std::uint64_t>(page_close));
        fnv.add(largest_page);
    }
    for (std::size_t i = 0; i < further.size(); ++i) {
        if (further[i]) {
            fnv.add(std::uint64_t{i});
            fnv.add(*further[i]);
        }
    }
    return fnv.value();
}

}  // namespace tidemark
