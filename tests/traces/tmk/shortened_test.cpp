// A .tmk file that another program shortens, lengthens or replaces while it is read.
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/traces/tmk/random_trace.h"
#include "traces/tmk/chunk.h"
#include "traces/tmk/tmk.h"

using namespace tidemark;
namespace fs = std::filesystem;
using support::TestFolder;

namespace {

struct Written {
    Written() {
        Random random(1);
        events = support::plain_events(random, 4 * tmk::kChunkEvents);
        path = folder.write("a.tmk", support::write_tmk(events, support::small_info()));
    }

    TestFolder folder;
    std::vector<TraceEvent> events;
    std::string path;
};

}  // namespace

TEST_CASE("a file that becomes shorter while a cursor is in it ends there, as an error",
          "[tmk][hostile]") {
    const Written written;
    const auto whole = fs::file_size(written.path);
    for (const std::uintmax_t left :
         {whole / 2, whole / 8, std::uintmax_t{17}, std::uintmax_t{0}}) {
        INFO(left);
        const Written again;
        const auto trace = open_tmk(again.path);
        REQUIRE(trace);
        const auto cursor = (*trace)->cursor();
        REQUIRE(cursor->next());
        fs::resize_file(again.path, left);
        const auto rest = support::read_all(*cursor);
        REQUIRE_FALSE(rest);
        CHECK(rest.error().code == ErrorCode::bad_input);
        CHECK(rest.error().what.find("ends here") != std::string::npos);
        CHECK(rest.error().where.starts_with(again.path + ":0x"));
    }
}

TEST_CASE("a file that grows or is replaced while it is read stays what it was", "[tmk][hostile]") {
    const Written written;
    const auto trace = open_tmk(written.path);
    REQUIRE(trace);
    fs::resize_file(written.path, fs::file_size(written.path) + 4096);
    fs::rename(written.folder.write("other", "something else"), written.path);
    const auto events = support::read_all(*(*trace)->cursor());
    REQUIRE(events);
    CHECK(events->size() == written.events.size());
}

TEST_CASE("a file whose content changes while it is read is found damaged", "[tmk][hostile]") {
    const Written written;
    const auto trace = open_tmk(written.path);
    REQUIRE(trace);
    const auto size = fs::file_size(written.path);
    fs::resize_file(written.path, 64);
    fs::resize_file(written.path, size);  // zeros
    const auto events = support::read_all(*(*trace)->cursor());
    REQUIRE_FALSE(events);
    CHECK(events.error().code == ErrorCode::bad_input);
}
