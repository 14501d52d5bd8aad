// Costs: how long each call of a device takes, from measurements.
//
// Model: a curve per call through measured (bytes, ns) points: linear in bytes between two points,
// constant below the first, and beyond the last one along the last slope (never downwards). Costs
// are whole nanoseconds from fixed-point arithmetic, so they are the same on every machine, and
// exact at the points. A call on several mappings at once (unmap, set_access) costs the sum of what
// each mapping would cost or, if a profile has the figure, less or more for those after the first.
//
// Immutable after construction; threads may share it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/device/device.h"

namespace tidemark {

struct CostPoint {
    Bytes bytes = 0;
    Nanoseconds cost = 0;
};

class CostCurve {
  public:
    CostCurve() : CostCurve(std::span<const CostPoint>{}) {}

    // `points` by rising bytes, costs not negative; no points: everything costs nothing.
    explicit CostCurve(std::span<const CostPoint> points);

    // O(points within the power of two of `bytes`), in practice O(1): a table lookup, a multiply.
    Nanoseconds at(Bytes bytes) const {
        const Piece* piece = &pieces_[first_[static_cast<unsigned>(std::bit_width(bytes))]];
        while (bytes > piece->last)
            ++piece;
        const auto beyond = static_cast<Wide>(bytes - piece->begin);
        const Wide rise = beyond * piece->slope + (Wide{1} << (kFraction - 1));
        return piece->base + static_cast<Nanoseconds>(rise >> kFraction);
    }

    std::span<const CostPoint> points() const { return points_; }

  private:
    __extension__ using Wide = __int128;
    static constexpr int kFraction = 32;

    struct Piece {
        Bytes begin = 0;
        Bytes last = 0;  // inclusive
        Nanoseconds base = 0;
        std::int64_t slope = 0;  // nanoseconds per byte, kFraction binary digits
    };

    static std::int64_t slope(const CostPoint& from, const CostPoint& to);

    std::vector<CostPoint> points_;
    std::vector<Piece> pieces_;              // tile [0, 2^64)
    std::array<std::uint16_t, 65> first_{};  // bit_width(bytes) -> the first piece it may be in
};

// The direction of bytes, which determines a transfer's duration on its stream.
enum class Transfer : std::uint8_t { to_host, to_device, on_device, fill };
constexpr int kTransferCount = static_cast<int>(Transfer::fill) + 1;

std::string_view to_text(Transfer transfer);

constexpr Bytes kDriverPage = 2_MiB;
constexpr Bytes kLargestDriverPage = 512_MiB;

// A device's memory and prices. Default-constructed: no memory, and everything costs nothing.
struct CostProfile {
    std::string name;
    std::string device;  // the product, for people
    Bytes memory = 0;
    Bytes granularity = 0;
    std::array<CostCurve, kDeviceCallCount> calls;    // the caller's time, by DeviceCall
    std::array<CostCurve, kTransferCount> transfers;  // the stream's time, by Transfer
    // the first malloc_async, in addition to its own cost
    Nanoseconds pool_creation = 0;
    CostCurve pool_growth;  // what growing the pool adds to a malloc_async
    // A driver cuts plain memory below kDriverPage from pages of that size. The additional cost of
    // a call that takes a new page, or releases one.
    Nanoseconds page_open = 0;
    Nanoseconds page_close = 0;
    // Plain memory whose size is a multiple of this is aligned to it: the largest page that the
    // driver uses. A power of two.
    Bytes largest_page = kLargestDriverPage;
    // For a call on several mappings, by DeviceCall: the cost of each except the first; none = the
    // same.
    std::array<std::optional<CostCurve>, kDeviceCallCount> further;

    Nanoseconds cost(DeviceCall call, Bytes bytes) const {
        return calls[static_cast<std::size_t>(call)].at(bytes);
    }

    // Of one more mapping in the same call.
    Nanoseconds further_cost(DeviceCall call, Bytes bytes) const {
        const auto& curve = further[static_cast<std::size_t>(call)];
        return curve ? curve->at(bytes) : cost(call, bytes);
    }

    Nanoseconds duration(Transfer transfer, Bytes bytes) const {
        return transfers[static_cast<std::size_t>(transfer)].at(bytes);
    }

    // FNV-1a over everything that a simulation can depend on (not `device`): provenance. O(points).
    std::uint64_t hash() const;
};

// The profile of that shipped name, or of the JSON file at that path (as `tidemark calibrate`
// writes it). Errors: not_found with the nearest name; bad_input that names the faulty field.
Result<CostProfile> load_profile(std::string_view name_or_path);

// Reads a profile from its JSON text; `where` is its name in errors.
Result<CostProfile> parse_profile(std::string_view json, std::string_view where);

// The names that load_profile knows, sorted.
std::vector<std::string_view> profile_names();

struct ShippedProfile {
    std::string_view name;
    std::string_view json;
};

// The files that the program contains (profiles/*.json).
std::span<const ShippedProfile> shipped_profiles();

}  // namespace tidemark
