// Ticks at round offsets, or at round addresses.
#include "viz/views/address_ruler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "replay/report/forms/axis_ticks.h"

namespace tidemark::viz {
namespace {

constexpr float kRulerApart = 34;  // points between labels
constexpr float kRulerTick = 4;    // points
constexpr std::size_t kLeastDigits = 4;
constexpr std::string_view kEllipsis = "\u2026";

// The piece that all of [begin, end) is in; null if there is none, or it is all there is.
const AddressPiece* only_piece(const AddressLayout& layout, Bytes begin, Bytes end) {
    if (layout.shares_rows() || end - begin >= layout.length())
        return nullptr;
    const auto found = layout.location(begin, 0);
    const AddressPiece* const piece = found ? layout.piece(found->device, found->address) : nullptr;
    const bool is_whole =
        piece != nullptr && piece->offset <= begin && end - piece->offset <= piece->range.size;
    return is_whole ? piece : nullptr;
}

// Labels are the last digits, as many as differ, and a few more; the base is the others.
void label_addresses(AddressTicks& ticks, const std::vector<Bytes>& addresses) {
    const std::string first = fmt::format("{:x}", addresses.front());
    const std::string last = fmt::format("{:x}", addresses.back());
    std::size_t same = 0;
    while (first.size() == last.size() && same < first.size() && first[same] == last[same])
        ++same;
    same = std::min(same, first.size() - std::min(kLeastDigits, first.size()));
    if (same > 0)
        ticks.base = fmt::format("0x{}{}", first.substr(0, same), kEllipsis);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const std::string digits = fmt::format("{:x}", addresses[i]);
        ticks.ticks[i].label =
            same > 0 ? std::string(kEllipsis) + digits.substr(same) : "0x" + digits;
    }
}

}  // namespace

AddressTicks address_ticks(const AddressLayout& layout, Bytes begin, Bytes end, std::size_t most) {
    AddressTicks ticks;
    if (begin >= end)
        return ticks;
    const AddressPiece* const piece = only_piece(layout, begin, end);
    if (piece == nullptr) {
        for (const ByteTick& tick : byte_ticks(begin, end, most))
            ticks.ticks.push_back({tick.bytes, tick.label});
        return ticks;
    }
    const Bytes step = std::bit_ceil(std::max<Bytes>((end - begin) / std::max<Bytes>(most, 1), 1));
    const Bytes base = to_integer(piece->range.begin);
    const Bytes from = base + (begin - piece->offset);
    std::vector<Bytes> addresses;
    for (Bytes at = from + (step - from % step) % step; at - from < end - begin; at += step) {
        ticks.ticks.push_back({piece->offset + (at - base), {}});
        addresses.push_back(at);
    }
    if (!addresses.empty())
        label_addresses(ticks, addresses);
    return ticks;
}

void draw_address_ruler(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout) {
    const Theme& theme = canvas.theme();
    const Box& box = scale.box;
    const float tick = std::round(canvas.px(kRulerTick));
    const float half = canvas.line_height() / 2;
    const auto most =
        static_cast<std::size_t>(std::max(box.height() / canvas.px(kRulerApart), 1.0F));
    const AddressTicks ticks = address_ticks(layout, scale.begin, scale.end, most);
    const float right = box.left - tick - canvas.px(3);
    float free_from = box.top - half - 1;
    if (!ticks.base.empty()) {
        canvas.text({right, box.top - half}, ticks.base, theme.text, Align::right);
        free_from = box.top + half;
    }
    for (const AddressTick& each : ticks.ticks) {
        const float y = std::round(scale.y(each.offset));
        if (y < box.top || y > box.bottom)
            continue;
        canvas.horizontal(y, box.left - tick, box.left, theme.faint_text);
        if (y - half < free_from || y + half > box.bottom + half)
            continue;
        canvas.text({right, y - half}, each.label, theme.faint_text, Align::right);
        free_from = y + half;
    }
}

}  // namespace tidemark::viz
