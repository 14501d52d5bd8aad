// The command line itself: help, versions, and words that nobody knows.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "replay/cli_support/exit_codes.h"
#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;
using support::Said;

namespace {

const std::vector<std::string> kCommands{
#define TIDEMARK_GROUP(title)
#define TIDEMARK_COMMAND(name) #name,
#include "replay/cli/commands.inc"
#undef TIDEMARK_COMMAND
#undef TIDEMARK_GROUP
};

}  // namespace

TEST_CASE("help lists every command and every exit code", "[cli]") {
    const Said said = support::tidemark({"--help"});

    CHECK(said.code == 0);
    CHECK(said.err == "");
    for (const std::string& command : kCommands)
        CHECK((contains(said.out, "\n  " + command + " ") ||
               contains(said.out, "\n  " + command + ", ")));
    for (const ExitCodeInfo& info : kExitCodes)
        CHECK(contains(said.out, std::string(info.meaning)));
}

TEST_CASE("the guide has the same exit codes as the program", "[cli][docs]") {
    const std::string guide = support::read_file(support::project_file("docs/guide/README.md"));

    for (const ExitCodeInfo& info : kExitCodes)
        CHECK(contains(guide, "| " + std::to_string(static_cast<int>(info.code)) + " | " +
                                  std::string(info.meaning) + " |"));
}

TEST_CASE("the guide names every command", "[cli][docs]") {
    const std::string guide = support::read_file(support::project_file("docs/guide/README.md"));
    for (const std::string& command : kCommands)
        CHECK(contains(guide, "`tidemark " + command));
}

TEST_CASE("every command's help fits a screen, and --help-all has the rest", "[cli]") {
    for (const std::string& command : kCommands) {
        if (command == "view")
            continue;  // a program of its own: tests/viz/app
        const Said said = support::tidemark({command, "--help"});
        INFO(said.out);
        CHECK(std::ranges::count(said.out, '\n') <= 40);
        std::istringstream lines(said.out);
        for (std::string line; std::getline(lines, line);)
            CHECK(line.size() <= 100);
    }
    const auto has_rare = [](const char* help) {
        return contains(support::tidemark({"replay", help}).out, "--decisions");
    };
    CHECK_FALSE(has_rare("--help"));
    CHECK(has_rare("--help-all"));
    CHECK(contains(support::tidemark({"--help-all"}).out, "--decisions"));
}

TEST_CASE("every command's help shows examples of itself", "[cli]") {
    for (const std::string& command : kCommands) {
        if (command == "view")
            continue;  // a program of its own: tests/viz/app
        const Said said = support::tidemark({command, "--help"});
        INFO(command);
        CHECK(said.code == 0);
        CHECK(contains(said.out, "Usage: tidemark " + command));
        CHECK(contains(said.out, "Examples:"));
        CHECK((contains(said.out, "--json") || command == "completion" || command == "man"));
        CHECK(contains(said.out, "tidemark " + command));
    }
}

TEST_CASE("the version is printed", "[cli]") {
    const Said said = support::tidemark({"--version"});

    CHECK(said.code == 0);
    CHECK(said.out.starts_with("tidemark 0."));
}

TEST_CASE("no command at all is wrong usage and shows what there is", "[cli]") {
    const Said said = support::tidemark({});

    CHECK(said.code == 2);
    CHECK(said.out.empty());
    CHECK(contains(said.err, "no command given"));
    CHECK(contains(said.err, "\n  compare "));
}

TEST_CASE("unknown words are wrong usage and meet the nearest known one", "[cli]") {
    struct Case {
        std::vector<std::string> arguments;
        std::string answer;
    };

    const std::vector<Case> cases{
        {{"compar"}, "did you mean compare?"},
        {{"zzzzzzz"}, "tidemark --help"},
        {{"replay", "x.tmk", "--polcy", "torch"}, "did you mean --policy?"},
        {{"replay", "x.tmk", "--polcy=torch"}, "did you mean --policy?"},
        {{"replay", "x.tmk", "-p", "torhc"}, "did you mean"},
        {{"compare", "x.tmk", "-p", "torch:max_split_size=1"}, "max_split_size_mb"},
        {{"policies", "budy"}, "buddy"},
        {{"replay", "a", "b"}, "one argument too many"},
        {{"replay"}, "TRACE is required"},
        {{"replay", "x.tmk", "--memory", "80GX"}, "--memory"},
        {{"replay", "x.tmk", "--memory", "-1"}, "--memory"},
        {{"replay", "x.tmk", "--picture", "oil"}, "one of: auto, unicode, ascii, none"},
        {{"compare", "x.tmk", "-j", "many"}, "--threads"},
        {{"compare", "-", "-", "-p", "torch"}, "only once"},
        {{"info", "x.tmk", "--strict", "--lenient"}, "--lenient"},
    };
    for (const Case& each : cases) {
        const Said said = support::tidemark(each.arguments);
        INFO(each.arguments.front() << " ... " << each.arguments.back() << ": " << said.err);
        CHECK(said.code == 2);
        CHECK(said.out.empty());
        CHECK(said.err.starts_with("tidemark: "));
        CHECK(contains(said.err, each.answer));
        CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
    }
}

TEST_CASE("output that cannot be written is an error", "[cli]") {
    const Said said = support::tidemark({"policies"}, {.output_to = "/dev/full"});

    CHECK(said.code == 3);
    CHECK(contains(said.err, "standard output"));
}

TEST_CASE("a reader that goes away is no error", "[cli]") {
    const Said report = support::tidemark({"policies"}, {.close_output = true});
    const Said file =
        support::tidemark({"generate", "mix:events=200000", "-o", "-"}, {.close_output = true});

    CHECK(report.code == 0);
    CHECK(report.err == "");
    CHECK(file.code == 0);
    CHECK(file.err == "");
}

TEST_CASE("policies shows each option with its unit, default and source", "[cli]") {
    const Said all = support::tidemark({"policies"});
    const Said torch = support::tidemark({"policies", "torch"});

    for (const std::string policy : {"cuda-malloc", "bump", "best-fit", "buddy", "torch"})
        CHECK(contains(all.out, policy + " "));
    CHECK(contains(torch.out, "garbage_collection_threshold (real, 0..1), default 0"));
    CHECK(contains(torch.out, "source: PYTORCH_ALLOC_CONF"));
}
