// Small files: whole or not, and pipes that are read once.
#include "core/base/small_file.h"

#include <fstream>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/support/test_folder.h"

using namespace tidemark;
using support::TestFolder;

TEST_CASE("a small file is read whole, and what is larger or none is an error", "[base]") {
    const TestFolder folder;
    const std::string path = folder.write("a", std::string(100'000, 'x'));
    CHECK(read_small_file(path, 100'000).value().size() == 100'000);
    CHECK(read_small_file(path, 99'999).error().code == ErrorCode::bad_input);
    CHECK(read_small_file(folder.file("none"), 10).error().code == ErrorCode::not_found);
    CHECK(read_small_file(folder.path().string(), 10).error().code == ErrorCode::io);
    CHECK(read_small_file("/dev/zero", 10).error().code == ErrorCode::bad_input);
}

TEST_CASE("what came through a pipe is there for who reads it again", "[base]") {
    const TestFolder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const auto feed = [&pipe](const char* text) {
        return std::thread([&pipe, text] { std::ofstream(pipe) << text; });
    };
    {
        const KeptPipes kept;
        std::thread feeder = feed("first");
        CHECK(read_small_file(pipe, 10).value() == "first");
        feeder.join();
        CHECK(read_small_file(pipe, 10).value() == "first");
    }
    const KeptPipes kept;
    std::thread feeder = feed("second");
    CHECK(read_small_file(pipe, 10).value() == "second");
    feeder.join();
}
