// open_trace and import_trace: any format by its content, and a plain message for what is none.
#include "traces/open.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/support/test_folder.h"
#include "tests/traces/io/compressed.h"
#include "traces/tmk/tmk.h"

using namespace tidemark;
using support::TestFolder;

namespace {

std::string error_of(const std::string& path) {
    const auto trace = open_trace(path);
    return trace ? "no error" : to_text(trace.error());
}

const std::string kSample = TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz";

}  // namespace

TEST_CASE("a trace has the same hash from its source, from .tmk and from .tmk.xz", "[open]") {
    const TestFolder folder;
    const auto source = open_trace(kSample);
    REQUIRE(source);

    const auto info = import_trace(kSample, folder.file("a.tmk"));
    REQUIRE(info);
    const auto tmk = open_trace(folder.file("a.tmk"));
    const auto packed = open_trace(
        folder.write("named-anything", support::xz(support::to_bytes(folder.read("a.tmk")))));

    REQUIRE(tmk);
    REQUIRE(packed);
    CHECK((*source)->info().event_count > 500);
    CHECK((*source)->info().event_count == info->event_count);
    CHECK((*source)->hash() == (*tmk)->hash());
    CHECK((*source)->hash() == (*packed)->hash());
    CHECK((*tmk)->info().format == "torch-snapshot");
}

TEST_CASE("a trace that comes through a pipe is read once, of whatever format", "[open]") {
    const TestFolder folder;
    REQUIRE(import_trace(kSample, folder.file("a.tmk")));
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& path : {folder.file("a.tmk"), kSample}) {
        std::thread feeder([&] {
            std::ofstream(pipe, std::ios::binary) << std::ifstream(path, std::ios::binary).rdbuf();
        });
        const auto trace = open_trace(pipe);
        feeder.join();
        REQUIRE(trace);
        CHECK((*trace)->hash() == (*open_trace(path))->hash());
    }
    CHECK_FALSE(is_trace_file(pipe));
    CHECK_FALSE(open_trace("/dev/zero"));
}

TEST_CASE("a .tmk that loses its name or its end while it is open is what was opened, or ends",
          "[open]") {
    const TestFolder folder;
    REQUIRE(import_trace("generate:mix:events=200000", folder.file("a.tmk")));
    auto source = open_bytes(folder.file("a.tmk"));
    REQUIRE(source);
    std::filesystem::rename(folder.write("other", "no trace"), folder.file("a.tmk"));
    const auto trace = open_trace(std::move(*source));
    REQUIRE(trace);
    CHECK((*trace)->info().event_count >= 200'000);
}

TEST_CASE("importing twice, or a .tmk again, gives the same bytes", "[open]") {
    const TestFolder folder;
    REQUIRE(import_trace(kSample, folder.file("a.tmk")));
    REQUIRE(import_trace(kSample, folder.file("b.tmk")));
    REQUIRE(import_trace(folder.file("a.tmk"), folder.file("c.tmk")));

    CHECK(folder.read("a.tmk") == folder.read("b.tmk"));
    CHECK(folder.read("a.tmk") == folder.read("c.tmk"));
}

TEST_CASE("a cut-off .tmk can be imported and says what it was", "[open]") {
    const TestFolder folder;
    REQUIRE(import_trace(kSample, folder.file("a.tmk")));
    std::string bytes = folder.read("a.tmk");
    bytes.resize(bytes.size() - 5);

    REQUIRE(import_trace(folder.write("cut.tmk", bytes), folder.file("b.tmk")));
    const auto trace = open_trace(folder.file("b.tmk"));

    REQUIRE(trace);
    CHECK((*trace)->info().cut_off);
    CHECK_FALSE((*trace)->info().warnings.empty());
}

TEST_CASE("a generated trace opens by its name", "[open]") {
    const auto trace = open_trace("generate:mix:events=5000");

    REQUIRE(trace);
    CHECK((*trace)->info().event_count >= 5000);
    CHECK_THAT(error_of("generate:nothing-like-this"), Catch::Contains("nothing-like-this"));
}

TEST_CASE("what cannot be a trace is told apart", "[open]") {
    const TestFolder folder;

    CHECK_THAT(error_of(folder.file("missing")), Catch::Contains("No such file"));
    CHECK_THAT(error_of(TIDEMARK_SOURCE_DIR), Catch::Contains("is a folder"));
    CHECK_THAT(error_of(folder.write("empty", "")), Catch::Contains("is empty"));
    CHECK_THAT(error_of(folder.write("text", "Dear diary,")),
               Catch::Contains("not a recording that Tidemark can read") &&
                   Catch::Contains("tmk") && Catch::Contains("memory snapshots of PyTorch"));
    CHECK_THAT(error_of(folder.write("packed", support::gz(support::to_bytes("Dear diary,")))),
               Catch::Contains("not a recording that Tidemark can read"));
}

TEST_CASE("an import that fails leaves nothing behind", "[open]") {
    const TestFolder folder;
    const std::string text = folder.write("text", "Dear diary,");

    CHECK_FALSE(import_trace(text, folder.file("out.tmk")));

    CHECK(folder.entries() == 1);
}
