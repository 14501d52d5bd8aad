// A card as a tip, and as text.
#include "viz/views/hover_card.h"

namespace tidemark::viz {

void HoverCard::draw(const Canvas& view, ImVec2 mouse) const {
    if (!empty())
        draw_tip(view, mouse, heading_, rows_);
}

std::string HoverCard::text() const {
    std::string text = heading_.empty() ? "" : heading_ + '\n';
    for (const TipFigure& row : rows_) {
        text += row.name;
        if (!row.name.empty() && !row.value.empty())
            text += '\t';
        text += row.value + '\n';
    }
    return text;
}

}  // namespace tidemark::viz
