// Tables into files: all rows, exact, against what the history says; nothing is overwritten.
#include <filesystem>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/small_history.h"
#include "tests/support/test_folder.h"
#include "tests/viz/shell/sample_session.h"
#include "viz/model/blocks/block_table.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/blocks/table_rows.h"

namespace tidemark::viz {
namespace {

using support::TestFolder;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

ShellHost saving() {
    ShellHost host;
    host.saves_tables = true;
    return host;
}

std::string saved(TableRows& rows, const TestFolder& folder) {
    const Cancelled never = false;
    const auto written = write_csv(
        rows, {.path = folder.file("out.csv"), .kind = FileKind::table, .force = true},
        [](double) {}, never);
    REQUIRE(written);
    CHECK(*written == rows.rows());
    return folder.read("out.csv");
}

}  // namespace

TEST_CASE("texts that a spreadsheet would take for formulas are none", "[viz][csv]") {
    CsvLine line;
    for (const char* const text : {"=1+1", "+1", "-1", "@x", "\tx", "'x", "x=1", "", "-\"a\",b"})
        line.text(text);
    line.number(-5);
    line.figure("-1.71 GiB");
    line.nothing();
    line.end();
    CHECK(line.lines() == "'=1+1,'+1,'-1,'@x,'\\tx,''x,x=1,,\"'-\"\"a\"\",b\",-5,-1.71 GiB,\r\n");
}

TEST_CASE("a file of blocks has what the history says of each", "[viz][csv]") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const TestFolder folder;
        const std::shared_ptr<const History> history = support::random_history(seed, 300);
        const auto last = static_cast<EventIndex>(history->counts().events - 1);
        BlockQuestion question;
        question.span = EventSpan{kNever, last};
        const Cancelled never = false;
        const BlockRows all = block_rows(*history, question, never);
        CHECK(all.rows.size() == history->counts().blocks);
        const auto rows = block_rows_for_file(history, all.rows);
        const auto lines = lines_of(saved(*rows, folder));
        REQUIRE(lines.size() == all.rows.size() + 1);
        SiteNames names(*history);
        for (std::size_t i = 0; i < all.rows.size(); ++i) {
            const Block block = history->block(all.rows[i]);
            const Site& site = history->site(block.site);
            const bool is_freed = block.freed != kNever;
            const auto born = history->time(block.born);
            const auto number = [&](auto value) {
                return is_freed ? fmt::format("{}", value) : std::string();
            };
            const auto freed = is_freed ? history->time(block.freed) : 0;
            const std::string expected = fmt::format(
                "{},{},{},{:#x},{},{},{},{},{},{},{},{},", all.rows[i], block.size, block.requested,
                to_integer(block.address), block.born, born, number(block.freed), number(freed),
                number(freed - born), site.device, to_integer(site.stream), to_integer(site.pool));
            CHECK(lines[i + 1].substr(0, expected.size()) == expected);
        }
    }
}

TEST_CASE("a file of events has one line for each", "[viz][csv]") {
    const TestFolder folder;
    const std::shared_ptr<const History> history = support::random_history(7, 20'000);
    const std::size_t events = history->counts().events;
    const auto rows = event_rows_for_file(history, nullptr, events);
    const auto lines = lines_of(saved(*rows, folder));
    REQUIRE(lines.size() == events + 1);
    for (std::size_t i = 0; i < events; ++i) {
        const auto event = static_cast<EventIndex>(i);
        const std::string expected =
            fmt::format("{},{},{},", i, history->time(event), to_text(history->kind(event)));
        CHECK(lines[i + 1].substr(0, expected.size()) == expected);
    }
}

TEST_CASE("writing that is cancelled leaves nothing", "[viz][csv]") {
    const TestFolder folder;
    const std::shared_ptr<const History> history = support::random_history(7, 20'000);
    const auto rows = event_rows_for_file(history, nullptr, history->counts().events);
    Cancelled cancelled = false;
    const auto written = write_csv(
        *rows, {.path = folder.file("out.csv")}, [&](double) { cancelled = true; }, cancelled);
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::cancelled);
    CHECK(folder.entries() == 0);
}

TEST_CASE("the table under the mouse is saved beside the trace, under a name that is free",
          "[viz][csv]") {
    const TestFolder folder;
    SampleSession sample;
    sample.session.runs[0].path = folder.file("run.tmk");
    folder.write("run.tmk.blocks.csv", "mine");
    Screen screen(sample.session, saving());
    REQUIRE(screen.shell.show("blocks"));
    screen.frames(3);
    REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
    const ImVec2 at = row_of(screen, 0);
    screen.move(at.x, at.y);
    screen.press({"Ctrl-Shift-E"});
    CHECK(screen.shell.state().popup == "table");
    screen.press({"Enter"});
    REQUIRE(screen.until([&] { return has(screen.shell.state().message, "Saved"); }));
    CHECK(folder.read("run.tmk.blocks.csv") == "mine");
    CHECK(lines_of(folder.read("run.tmk.blocks-2.csv")).size() == 4);

    // Beside every table, and from where nothing may be written.
    screen.move(-1, -1);
    screen.press({"Ctrl-Shift-E"});
    CHECK(has(screen.shell.state().message, "point at a table"));
    Screen watching(sample.session);
    REQUIRE(watching.shell.show("blocks"));
    watching.frames(3);
    watching.move(at.x, at.y);
    watching.press({"Ctrl-Shift-E"});
    CHECK(watching.shell.state().popup.empty());
    CHECK(folder.entries() == 2);
}

}  // namespace tidemark::viz
