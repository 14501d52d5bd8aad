// How steps are thinned out.
#include "viz/views/step_ruler.h"

#include <catch2/catch.hpp>

namespace tidemark::viz {

TEST_CASE("steps are numbered as densely as there is room", "[viz][steps]") {
    CHECK(step_stride(10, 1000, 30) == 1);
    CHECK(step_stride(50, 1000, 30) == 2);
    CHECK(step_stride(100, 1000, 30) == 5);
    CHECK(step_stride(1000, 1000, 30) == 50);
    CHECK(step_stride(1'000'000, 1000, 30) == 50'000);
    CHECK(step_stride(0, 1000, 30) == 1);
    for (std::size_t count = 1; count < 100'000; count = count * 3 + 1)
        for (const float pixels : {100.0F, 817.0F, 3840.0F}) {
            const auto stride = static_cast<float>(step_stride(count, pixels, 40));
            INFO(count << " on " << pixels);
            CHECK(pixels / static_cast<float>(count) * stride >= 39.9F);
        }
}

}  // namespace tidemark::viz
