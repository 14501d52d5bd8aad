// What is said in few characters stays true when it is read.
#include "replay/report/forms/wording.h"

#include <catch2/catch.hpp>

using namespace tidemark;

TEST_CASE("a piece that reads as large as a request says what is missing", "[wording]") {
    CHECK(piece_text(126_MiB, 125_MiB) == "126 MiB");
    CHECK(piece_text(126_MiB, 126_MiB) == "126 MiB");
    CHECK(piece_text(100_MiB, 126_MiB) == "100 MiB");
    CHECK(piece_text(126_MiB, 126_MiB + 12_KiB) == "126 MiB, 12.0 KiB too small");
    CHECK(piece_text(126_MiB - 1, 126_MiB) == "126 MiB, 1 B too small");
}
