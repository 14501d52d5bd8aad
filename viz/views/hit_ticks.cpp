// Ticks: see the header.
#include "viz/views/hit_ticks.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {

void HitTicks::draw(Frame& frame, const Box& box, const Window& window) {
    const RankedBits* const hits = frame.search.hits();
    if (hits == nullptr || box.width() < 1)
        return;
    const Question question{frame.search.revision(), hits->published(), frame.camera.unit(), window,
                            static_cast<std::size_t>(box.width())};
    if (question != question_) {
        counts_ = frame.search.ticks(question.unit, window.begin, window.end, question.columns);
        question_ = question;
    }
    // Neighbours in one piece: few shapes where there are many hits.
    const auto is_hit = [](std::uint32_t count) { return count > 0; };
    for (auto from = counts_.begin(); from != counts_.end();) {
        from = std::find_if(from, counts_.end(), is_hit);
        const auto to = std::find_if_not(from, counts_.end(), is_hit);
        if (from == to)
            break;
        const float left = box.left + static_cast<float>(from - counts_.begin());
        const float right = box.left + static_cast<float>(to - counts_.begin());
        frame.canvas.fill({left, box.top, right, box.bottom}, frame.canvas.theme().selection);
        from = to;
    }
}

}  // namespace tidemark::viz
