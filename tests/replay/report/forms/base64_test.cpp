// Base64 as RFC 4648 has it.
#include "replay/report/forms/base64.h"

#include <catch2/catch.hpp>

TEST_CASE("base64 pads to whole groups of four", "[report]") {
    using tidemark::report::base64;
    CHECK(base64("") == "");
    CHECK(base64("f") == "Zg==");
    CHECK(base64("fo") == "Zm8=");
    CHECK(base64("foobar") == "Zm9vYmFy");
}
