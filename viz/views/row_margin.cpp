// Labels and lines of the address map's rows.
#include "viz/views/row_margin.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/model/trace.h"

namespace tidemark::viz {
namespace {

constexpr float kLabelHigh = 15;  // points that a label needs
constexpr float kLineHigh = 7;    // points that a row must have to be ruled
constexpr float kRowMarginGap = 6;
constexpr float kRoom = 62;  // points of width for a label

// Rows that begin at a pixel of their own, from the one at the bottom of what is seen on. Rows that
// share a pixel with the one before are passed over.
template <class Visit>
void for_each_label(const OffsetScale& scale, const AddressLayout& layout, Visit&& visit) {
    const std::vector<AddressRow>& rows = layout.rows();
    auto row = std::partition_point(rows.begin(), rows.end(), [&](const AddressRow& candidate) {
        return candidate.offset + candidate.length <= scale.bottom;
    });
    while (row != rows.end() && row->offset < scale.top) {
        // The next one that stands at least a pixel higher: there are no more than pixels.
        const Bytes pixel =
            (scale.top - scale.bottom) / static_cast<Bytes>(std::max(scale.box.height(), 1.0F));
        const Bytes from = row->offset + std::max<Bytes>(std::min(row->length, pixel), 1);
        const auto next = std::partition_point(
            row, rows.end(), [&](const AddressRow& other) { return other.offset < from; });
        visit(*row, next == rows.end() ? layout.length() : next->offset,
              static_cast<std::size_t>(next - row));
        row = next;
    }
}

// A few rows that have one label together.
struct Bundle {
    Bytes begin = 0;
    Bytes end = 0;
    std::size_t rows = 0;
    Bytes least = ~Bytes{0};
    Bytes most = 0;
    std::uint16_t device = 0;

    std::string text() const {
        if (rows == 1)
            return format_bytes(most);
        if (least == most)
            return fmt::format("{} x {}", rows, format_bytes(most));
        return fmt::format("{} seg.", rows);
    }
};

class LabelColumn {
  public:
    LabelColumn(Canvas& canvas, const OffsetScale& scale, const History& history)
        : canvas_(canvas), scale_(scale), devices_(history.devices()) {}

    void add(const AddressRow& row, Bytes end, std::size_t rows) {
        const float high = scale_.y(row.offset) - scale_.y(end);
        const bool own = high >= canvas_.px(kLabelHigh);
        if (bundle_.rows > 0 &&
            (own || bundle_.device != row.device || height(bundle_) >= canvas_.px(2 * kLabelHigh)))
            flush();
        if (bundle_.rows == 0)
            bundle_ = {row.offset, end, 0, ~Bytes{0}, 0, row.device};
        bundle_.end = end;
        bundle_.rows += rows;
        bundle_.least = std::min(bundle_.least, row.length);
        bundle_.most = std::max(bundle_.most, row.length);
        if (own)
            flush();
    }

    void flush() {
        if (bundle_.rows > 0 && height(bundle_) >= canvas_.px(kLabelHigh) - 1)
            draw();
        bundle_ = {};
    }

  private:
    float height(const Bundle& bundle) const {
        return scale_.y(bundle.begin) - scale_.y(bundle.end);
    }

    void draw() {
        const Theme& theme = canvas_.theme();
        const float gap = canvas_.px(kRowMarginGap);
        const float top = std::max(scale_.y(bundle_.end), scale_.box.top);
        const float bottom = std::min(scale_.y(bundle_.begin), scale_.box.bottom);
        if (bottom - top < canvas_.px(kLabelHigh) - 1)
            return;
        const float right = scale_.box.left;
        canvas_.vertical(right - gap / 2, top + 1, bottom - 1, theme.border);
        std::string text = bundle_.text();
        if (canvas_.text_width(text) > canvas_.px(kRoom))
            text = fmt::format("{} seg.", bundle_.rows);
        const float middle = (top + bottom - canvas_.line_height()) / 2;
        const bool several = devices_.size() > 1;
        const bool is_host =
            several && bundle_.device < devices_.size() && devices_[bundle_.device] == kHostMemory;
        if (several && bottom - top > 2.2F * canvas_.line_height())
            canvas_.text({right - gap, middle + canvas_.line_height()},
                         is_host ? "host" : fmt::format("GPU {}", bundle_.device), theme.faint_text,
                         Align::right);
        else if (several && bundle_.rows == 1)
            text =
                fmt::format("{}: {}", is_host ? "host" : fmt::format("{}", bundle_.device), text);
        canvas_.text({right - gap, middle}, text, theme.faint_text, Align::right);
    }

    Canvas& canvas_;
    const OffsetScale& scale_;
    const std::vector<std::string>& devices_;
    Bundle bundle_;
};

}  // namespace

float OffsetScale::y(Bytes offset) const {
    const double share = (static_cast<double>(offset) - static_cast<double>(bottom)) /
                         static_cast<double>(top - bottom);
    const double at = static_cast<double>(box.bottom) -
                      std::clamp(share, -1.0, 2.0) * static_cast<double>(box.height());
    return static_cast<float>(at);
}

Bytes OffsetScale::offset(float at) const {
    const double share = static_cast<double>((box.bottom - at) / std::max(box.height(), 1.0F));
    const double within = std::clamp(share, 0.0, 1.0) * static_cast<double>(top - bottom);
    return std::min(bottom + static_cast<Bytes>(within), top - 1);
}

void draw_row_labels(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout,
                     const History& history) {
    LabelColumn labels(canvas, scale, history);
    for_each_label(scale, layout, [&](const AddressRow& row, Bytes end, std::size_t rows) {
        labels.add(row, end, layout.shares_rows() ? 1 : rows);
    });
    labels.flush();
}

void draw_row_lines(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout) {
    const Colour line = mix(canvas.theme().plot, canvas.theme().text, 0.22);
    const std::vector<AddressPiece>& pieces = layout.pieces();
    for_each_label(scale, layout, [&](const AddressRow& row, Bytes end, std::size_t rows) {
        const float top = scale.y(end);
        if (rows == 0 || scale.y(row.offset) - top < canvas.px(kLineHigh))
            return;
        if (top > scale.box.top)
            canvas.horizontal(top, scale.box.left, scale.box.right, line);
        for (std::uint32_t i = 1; i < std::min(row.pieces, 200U); ++i) {
            const float y = scale.y(pieces[row.first_piece + i].offset);
            if (y > scale.box.top && y < scale.box.bottom)
                canvas.dashed_horizontal(y, scale.box.left, scale.box.right, line);
        }
    });
}

std::string row_text(const AddressRow& row) {
    if (row.segments == 0)
        return fmt::format("addresses without a segment, {}", format_bytes(row.length));
    if (row.view)
        return fmt::format("second mapping of {}, which counts elsewhere",
                           format_bytes(row.length));
    if (row.kind == SegmentKind::reservation)
        return fmt::format("reservation of {}, {} of it shown", format_bytes(row.range.size),
                           format_bytes(row.length));
    if (row.segments == 1)
        return fmt::format("segment of {}", format_bytes(row.range.size));
    return fmt::format("{} segments at these addresses, {} in all", row.segments,
                       format_bytes(row.range.size));
}

}  // namespace tidemark::viz
