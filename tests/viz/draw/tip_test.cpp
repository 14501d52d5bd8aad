// Where tips go.
#include "viz/draw/tip.h"

#include <catch2/catch.hpp>

namespace tidemark::viz {

TEST_CASE("a card lies inside the window and never over what it is about", "[viz][card]") {
    const Box room{0, 0, 800, 600};
    for (const ImVec2 size : {ImVec2{200, 80}, ImVec2{460, 250}, ImVec2{780, 100}, ImVec2{30, 590}})
        for (float x = 0; x < room.right; x += 17)
            for (float y = 0; y < room.bottom; y += 13) {
                const Box card = card_box({x, y}, size, 16, room);
                INFO("at " << x << ", " << y << " a card of " << size.x << " x " << size.y);
                CHECK_FALSE(card.contains({x, y}));
                CHECK(card.left >= room.left);
                CHECK(card.right <= room.right);
                CHECK(card.top >= room.top);
                CHECK(card.bottom <= room.bottom);
            }
}

}  // namespace tidemark::viz
