// Names that nobody vouches for, through every command: what they hold never drives a terminal,
// breaks a line or becomes a spreadsheet's formula.
#include <filesystem>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/printable.h"
#include "tests/cli/command_line.h"
#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "traces/live/publisher.h"

using namespace tidemark;
using nlohmann::json;
using support::Folder;
using support::Said;

namespace {

namespace fs = std::filesystem;

// A line that begins so was broken by a name.
const std::string kBroken = "INJECTED";

const std::vector<std::string> kEvil{"\x1b[31mRED\x1b[0m\x1b]0;title\x07",
                                     "line\nINJECTED",
                                     "\u202egnp.exe\u2066",
                                     "\u009b31m\u0085INJECTED",
                                     "\u2028INJECTED\ufeff\u200b",
                                     "\x7f\x08\r",
                                     "=HYPERLINK(\"http://x\",\"y\")",
                                     "+1+1",
                                     "@SUM(1)",
                                     "-2+3",
                                     "\t=1",
                                     "\r=1",
                                     "a,b;\"c\"|d"};

const std::string kEvilName = "\x1b]0;x\x07\nINJECTED\u202e";

// A recording with such names wherever there is one; `grown`: of another run, with more.
std::string evil_trace(bool grown) {
    json header{{"type", "header"}, {"version", 1}, {"unit", "ns"}};
    header["source"] = kEvil[0] + kEvil[6];
    header["devices"] = json::array({{{"name", kEvil[1] + kEvil[2]}, {"total_memory", 1U << 30U}}});
    for (const std::string& text : kEvil)
        header[text] = text;
    header["settings"] = {{kEvil[0], kEvil[1]}, {kEvil[6], kEvil[7]}};
    std::string lines = header.dump() + "\n";
    std::int64_t time = 0;
    std::uint64_t id = 0;
    const auto add = [&](json event) {
        event["t"] = time++;
        lines += event.dump() + "\n";
    };
    for (int round = 0; round < 3; ++round)
        for (const std::string& text : kEvil) {
            add({{"op", "begin"}, {"name", text}});
            add({{"op", "alloc"},
                 {"id", id},
                 {"bytes", (id + 1) << (grown ? 21U : 20U)},
                 {"tag", text},
                 {"pool", text},
                 {"stack", {text + " m.py:1", "main " + text + ":2"}}});
            add({{"op", "mark"}, {"name", text}});
            add({{"op", "use"}, {"id", id}, {"mode", "r"}, {"kernel", id}, {"tag", text}});
            if (id % 2 == 0)
                add({{"op", "free"}, {"id", id}});
            add({{"op", "end"}, {"name", text}});
            ++id;
        }
    return lines;
}

void check_shown(const std::string& text) {
    CHECK(printable(text, true) == text);
    CHECK_FALSE(text.starts_with(kBroken));
    CHECK_FALSE(support::contains(text, "\n" + kBroken));
}

void check(const std::vector<std::string>& arguments) {
    INFO(printable(fmt::format("{}", fmt::join(arguments, " "))));
    const Said said = support::tidemark(arguments, support::kBare);
    check_shown(said.out);
    check_shown(said.err);
    CHECK(said.code < 128);
    CHECK_FALSE((said.out.empty() && said.err.empty()));
}

// The rows of RFC 4180's text.
std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
    std::vector<std::vector<std::string>> rows{{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
        std::string& cell = rows.back().back();
        if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"')
            cell += csv[i++];
        else if (csv[i] == '"')
            quoted = !quoted;
        else if (!quoted && csv[i] == ',')
            rows.back().emplace_back();
        else if (!quoted && csv[i] == '\n')
            rows.push_back({""});
        else
            cell += csv[i];
    }
    CHECK_FALSE(quoted);
    rows.pop_back();
    return rows;
}

bool is_number(const std::string& cell) {
    return json::accept(cell);
}

// Where the commands find what they are run on.
struct Inputs {
    Inputs() {
        fs::create_directory(folder / kEvilName);
        const std::string inside = (folder / kEvilName) + "/";
        trace = inside + kEvilName + ".jsonl";
        grown = inside + "grown" + kEvilName + ".jsonl";
        other = inside + kEvilName + ".other";
        support::write_file(trace, evil_trace(false));
        support::write_file(grown, evil_trace(true));
        support::write_file(other, "no recording\x1b[2J\n" + kBroken);
    }

    // A name of what a command is to write.
    std::string target(const std::string& ending) const {
        return (folder / kEvilName) + "/out" + std::to_string(++targets) + kEvilName + ending;
    }

    Folder folder;
    std::string trace;
    std::string grown;
    std::string other;
    mutable int targets = 0;
};

using Lines = std::map<std::string, std::vector<std::vector<std::string>>>;

// What is tried, by command, without the command itself.
Lines command_lines(const Inputs& in) {
    const std::string& evil = kEvilName;
    return {
        {"record", {{"--", evil}, {"--attach", evil}, {"--name", evil, "--", "/no/such" + evil}}},
        {"info",
         {{in.trace}, {in.trace, in.grown}, {in.trace, "--drift"}, {in.other}, {"/no" + evil}}},
        {"import", {{in.trace, "-o", in.target(".tmk")}, {in.other, "-o", in.target(".tmk")}}},
        {"export",
         {{in.trace, "-o", in.target(".jsonl")},
          {in.trace, "-p", "torch", "-o", in.target(".json")},
          {in.trace, "-o", "-"},
          {in.trace, "-p", "torch", "-f", "chrome", "-o", "-"},
          {in.trace, "-f", evil, "-o", "-"}}},
        {"cut",
         {{in.trace, "-o", in.target(".tmk"), "--from", "2", "--to", "9"},
          {in.trace, "-o", in.target(".tmk"), "--from", evil}}},
        {"scale",
         {{in.trace, "--tokens", "x2", "-p", evil},
          {in.trace, "--tokens", evil},
          {in.trace, "--batch", "x2", "--profile", evil, "-o", in.target(".tmk")}}},
        {"minimize", {{in.trace, "-o", in.target(".tmk"), "--keep", evil}, {in.trace, "-p", evil}}},
        {"replay",
         {{in.trace, "-p", "torch"},
          {in.trace, "-p", "torch", "--limit", "20MiB"},
          {in.trace, "-p", evil},
          {in.trace, "-p", "./" + evil + ".so"},
          {in.trace, "-p", "torch", "--timeline", in.target(".jsonl")},
          {in.trace, "--profile", evil},
          {in.trace, "--" + evil}}},
        {"advise", {{in.trace}, {in.trace, in.grown}}},
        {"compare",
         {{in.trace, in.grown, "-p", "torch", "-p", "best-fit"}, {in.trace, "-p", evil}}},
        {"sweep",
         {{in.trace, "-o", in.target("")}, {"--spec", in.other}, {in.trace, "--shard", evil}}},
        {"view", {{in.other}, {"/no/such" + evil}}},
        {"cache", {{}, {evil}}},
        {"live", {{"--older-than", evil, "--clean"}}},
        {"page", {{in.trace}, {in.trace, "-o", in.target(".html")}, {"/no" + evil, "-o", "-"}}},
        {"report",
         {{in.trace, "-o", in.target(".html")},
          {in.trace, "--text"},
          {in.trace, "--interactive", "--title", evil, "-o", in.target(".html")},
          {in.trace, "-o", "/no/such" + evil + "/x.html"}}},
        {"fit", {{in.trace, "--gpu", evil}, {in.trace, "--memory", "16MiB"}}},
        {"bound", {{in.trace}, {in.other}}},
        {"gate",
         {{in.trace, "--budget", "peak_reserved<=" + evil},
          {in.trace, "--budget", "peak_reserved<=1MiB"},
          {in.trace, "--baseline", in.other}}},
        {"verify", {{in.trace}, {in.trace, "-p", "torch"}}},
        {"policies", {{evil}}},
        {"victims", {{evil}}},
        {"machines", {{evil}, {in.other}}},
        {"devices", {{}, {evil}}},
        {"doctor", {{}, {"--require", evil}}},
        {"calibrate", {{"--device", evil, "-o", in.target(".json")}}},
        {"generate", {{evil, "-o", in.target(".tmk")}}},
        {"completion", {{evil}}},
        {"man", {{evil}}},
    };
}

std::set<std::string> catalogue() {
    return {
#define TIDEMARK_GROUP(title)
#define TIDEMARK_COMMAND(name) #name,
#include "replay/cli/commands.inc"
#undef TIDEMARK_COMMAND
#undef TIDEMARK_GROUP
    };
}

}  // namespace

TEST_CASE("no name drives the terminal, whatever the command", "[cli][foreign][many-starts]") {
    const support::LiveFolder live;
    const Inputs inputs;
    std::set<std::string> tried;
    for (const auto& [command, lines] : command_lines(inputs)) {
        tried.insert(command);
        for (const std::vector<std::string>& rest : lines) {
            std::vector<std::string> arguments{command};
            arguments.insert(arguments.end(), rest.begin(), rest.end());
            check(arguments);
            arguments.insert(arguments.begin() + 1, "--json");
            check(arguments);
        }
    }
    CHECK(tried == catalogue());
    check({kEvilName});
    check({inputs.trace});
}

TEST_CASE("programs and recordings are listed by names that drive nothing",
          "[cli][foreign][live]") {
    const support::LiveFolder folder;
    support::LiveChild child([](support::LiveChild::Shared& shared) {
        const auto publisher = live::Publisher::start({.name = kEvil[0] + "\n" + kBroken});
        shared.published.store(publisher ? 1 : 2);
        while (!shared.go_on.load())
            ::usleep(1000);
    });
    child.await(1);
    const Said listed = support::tidemark({"live"});
    check({"live"});
    CHECK(support::contains(listed.out, "\\x1b[31mRED"));
    check({"live", "--json"});
    child.kill();
    check({"live", "--recordings"});
    check({"live", "--recover"});
    check({"live", "--clean"});
}

TEST_CASE("no cell of --csv is a formula", "[cli][csv][foreign]") {
    const Inputs in;
    const std::vector<std::vector<std::string>> lines{
        {"info", in.trace},
        {"info", in.trace, "--table", "ranges"},
        {"info", in.trace, "--table", "pool_usage"},
        {"info", in.trace, "--table", "devices"},
        {"replay", in.trace, "-p", "torch"},
        {"advise", in.trace, "--table", "holders"},
        {"advise", in.trace, in.grown},
        {"compare", in.trace, in.grown, "-p", "torch"},
        {"report", in.trace, "-o", in.target(".html")},
        {"import", in.trace, "-o", in.target(".tmk")}};
    for (std::vector<std::string> arguments : lines) {
        INFO(arguments[0] << " " << arguments.back());
        arguments.emplace_back("--csv");
        const Said said = support::tidemark(arguments);
        check_shown(said.out);
        const auto rows = cells_of(said.out);
        CHECK(rows.size() > 1);
        for (const auto& row : rows) {
            CHECK(row.size() == rows[0].size());
            for (const std::string& cell : row) {
                INFO(printable(cell));
                CHECK((cell.empty() || std::string("=+-@\t\r").find(cell[0]) == std::string::npos ||
                       is_number(cell)));
            }
        }
    }
}
