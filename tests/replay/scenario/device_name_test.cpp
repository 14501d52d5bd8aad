// Names of devices, as --device takes them.
#include "replay/scenario/device_name.h"

#include <catch2/catch.hpp>

using namespace tidemark;

TEST_CASE("a device's name says whether it is real, and which") {
    CHECK_FALSE(parse_device_name("")->real);
    CHECK_FALSE(parse_device_name("sim")->real);
    CHECK(parse_device_name("sim:h200")->profile == "h200");
    CHECK(parse_device_name("sim:/tmp/a:b.json")->profile == "/tmp/a:b.json");
    CHECK(parse_device_name("cuda")->real);
    CHECK(parse_device_name("cuda")->ordinal == 0);
    CHECK(parse_device_name("cuda:12")->ordinal == 12);
}

TEST_CASE("another word is an error with a hint") {
    for (const char* word : {"cuda:", "cuda:1x", "cuda:-1", "cuda: 1", "cuda:5000", "sim:", "gpu",
                             "CUDA:0", "cuda:99999999999999999999"}) {
        const Result<DeviceName> name = parse_device_name(word);
        INFO(word);
        REQUIRE_FALSE(name);
        CHECK(name.error().code == ErrorCode::bad_option);
        CHECK(name.error().where == "--device");
        CHECK_FALSE(name.error().hint.empty());
    }
}
