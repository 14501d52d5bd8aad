// Ways in: a file for a command, folders, patterns, ranks, sizes, completions, the manual, Ctrl-C.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kSample;
using support::Said;

namespace {

// rank0/run.tmk and rank1/run.tmk, which differ.
void make_ranks(const Folder& folder) {
    for (const std::string rank : {"0", "1"}) {
        std::filesystem::create_directory(folder / ("rank" + rank));
        REQUIRE(support::tidemark({"generate", "steps:events=3000,seed=" + rank, "-o",
                                   folder / ("rank" + rank + "/run.tmk")})
                    .code == 0);
    }
}

// A rank whose step n requests `bytes(n)` of its own.
std::string rank_of_steps(const std::function<int(int)>& bytes) {
    std::string text = "{\"type\":\"header\",\"version\":1,\"unit\":\"us\"}\n";
    for (int step = 1; step <= 8; ++step)
        text += fmt::format(
            R"({{"t":{0},"op":"begin","name":"step"}}
{{"t":{0},"op":"alloc","id":{0},"bytes":{1},"stream":0,"tag":"part {0}"}}
{{"t":{0},"op":"free","id":{0},"stream":0}}
{{"t":{0},"op":"end","name":"step"}}
)",
            step, bytes(step));
    return text;
}

// The widest line, escape sequences left out.
std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    std::size_t width = 0;
    bool escape = false;
    for (const char letter : text) {
        escape = escape ? letter != 'm' : letter == '\x1b';
        if (letter == '\n' || letter == '\r')
            width = 0;
        else if (!escape && letter != 'm' && (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U)
            most = std::max(most, ++width);
    }
    return most;
}

// Ends with what a shell says of a command line.
int shell(const std::string& line) {
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a file in the place of the command is looked at", "[cli]") {
    CHECK(support::tidemark({kSample}).out == support::tidemark({"info", kSample}).out);
    CHECK(support::tidemark({"generate:mix:events=90"}).code == 0);
    CHECK(contains(support::tidemark({"absent.tmk"}).err, "there is no command"));
}

TEST_CASE("help shows how a command is used", "[cli]") {
    CHECK(support::tidemark({"help"}).out == support::tidemark({"--help"}).out);
    CHECK(support::tidemark({"help", "fit"}).out == support::tidemark({"fit", "--help"}).out);
    CHECK(support::tidemark({"help", "fti"}).code == 2);
}

TEST_CASE("diff is advise with two traces", "[cli]") {
    const std::string other = "generate:steps:events=900";

    const Said said = support::tidemark({"diff", kSample, other});

    CHECK(said.code == 0);
    CHECK(said.out == support::tidemark({"advise", kSample, other}).out);
}

TEST_CASE("a folder and a pattern stand for recordings", "[cli]") {
    const Folder folder;
    make_ranks(folder);

    const Said all = support::tidemark({"info", folder.path()});
    const Said matched = support::tidemark({"info", folder / "rank*/run.tmk"});

    CHECK(all.code == 0);
    CHECK(all.out == matched.out);
    CHECK(contains(all.out, "| rank0/run.tmk "));
    CHECK(contains(all.out, "| rank1/run.tmk "));
    CHECK(contains(support::tidemark({"replay", folder.path()}).err, "2 recordings"));
    CHECK(support::tidemark({"info", folder / "*.pickle"}).code == 3);
}

TEST_CASE("ranks are a row each, with where they diverge and which sets the limit", "[cli]") {
    const Folder folder;
    make_ranks(folder);
    const std::string ranks = folder / "rank*/run.tmk";

    const json info = support::tidemark_json({"info", ranks});
    const json compared = support::tidemark_json({"compare", ranks, "-p", "torch", "-p", "bump"});
    const Said said = support::tidemark({"compare", ranks, "-p", "torch", "-p", "bump"});

    CHECK(info["traces"].size() == 2);
    json single = support::tidemark_json({"info", folder / "rank0/run.tmk"});
    single.erase("provenance");
    single["trace"] = "rank0/run.tmk";
    CHECK(info["traces"][0] == single);
    for (const json& each : {info["ranks"], compared["ranks"]}) {
        CHECK(each["rows"].size() == 2);
        CHECK(each["diverge"]["bytes"] != each["diverge"]["from_bytes"]);
    }
    CHECK(contains(said.out, "sets the limit: it reserves "));
    CHECK(contains(said.out, "ranks diverge at allocation "));
    CHECK(support::tidemark_json({"info", kSample, "generate:mix:events=90"})["ranks"].is_null());
}

TEST_CASE("ranks are aligned by their steps", "[cli]") {
    const Folder folder;
    support::write_file(folder / "rank0.jsonl", rank_of_steps([](int) { return 2048; }));
    support::write_file(folder / "rank1.jsonl",
                        rank_of_steps([](int step) { return step == 5 ? 9216 : 2048; }));

    const json ranks = support::tidemark_json({"info", folder.path()})["ranks"];
    const Said said = support::tidemark({"info", folder.path()});

    CHECK(ranks["rows"][1]["peak_step"] == 5);
    CHECK(ranks["spread"] == json{{"steps", 8},
                                  {"step", 5},
                                  {"most", "rank1.jsonl"},
                                  {"most_bytes", 9216},
                                  {"least", "rank0.jsonl"},
                                  {"least_bytes", 2048},
                                  {"more", "part 5"},
                                  {"most_of_it_bytes", 9216},
                                  {"least_of_it_bytes", 2048},
                                  {"last_most", nullptr},
                                  {"last_least", nullptr},
                                  {"since_step", nullptr},
                                  {"growth_per_step_bytes", nullptr}});
    CHECK(ranks["diverge"]["step"] == 5);
    CHECK(ranks["groups"].dump() == R"([["rank0.jsonl"],["rank1.jsonl"]])");
    CHECK(contains(said.out, "9.00 KiB (5)"));
    CHECK(contains(said.out,
                   "of the 8 steps that all ranks have, they differ most in step 5: "
                   "rank1.jsonl requests 9.00 KiB at its peak, rank0.jsonl 2.00 KiB (part 5: 9.00 "
                   "KiB and 2.00 KiB); ranks diverge at allocation 5, in step 5 (event "));
    CHECK_FALSE(contains(said.out, "since step"));
}

TEST_CASE("a rank that requests more from one step on is named with that step", "[cli]") {
    const Folder folder;
    support::write_file(folder / "rank0.jsonl", rank_of_steps([](int) { return 2048; }));
    support::write_file(folder / "rank1.jsonl",
                        rank_of_steps([](int step) { return step >= 5 ? 9216 : 2048; }));

    CHECK(contains(support::tidemark({"info", folder.path()}).out,
                   "KiB and 2.00 KiB); rank1.jsonl has requested more than rank0.jsonl since step "
                   "5; ranks diverge at allocation 5, in step 5 (event "));
}

TEST_CASE("ranks with roles are listed in groups", "[cli]") {
    const Folder folder;
    for (int rank = 0; rank < 8; ++rank)
        support::write_file(folder / fmt::format("rank{}.jsonl", rank),
                            rank_of_steps([rank](int) { return 1024 * (1 + rank % 4); }));

    const json groups = support::tidemark_json({"info", folder.path()})["ranks"]["groups"];

    CHECK(groups.dump() == R"([["rank0.jsonl","rank4.jsonl"],["rank1.jsonl","rank5.jsonl"],)"
                           R"(["rank2.jsonl","rank6.jsonl"],["rank3.jsonl","rank7.jsonl"]])");
    CHECK(contains(support::tidemark({"info", folder.path()}).out,
                   "; by the sizes they request, the ranks form 4 groups: rank0.jsonl and "
                   "rank4.jsonl; rank1.jsonl and rank5.jsonl; rank2.jsonl and rank6.jsonl; "
                   "rank3.jsonl and rank7.jsonl\n"));
}

TEST_CASE("the odd one of four ranks is accused, also if it is the first", "[cli]") {
    const Folder folder;
    for (int rank = 0; rank < 4; ++rank)
        support::write_file(
            folder / fmt::format("rank{}.jsonl", rank),
            rank_of_steps([rank](int step) { return rank == 0 && step == 3 ? 9216 : 2048; }));

    const json diverge = support::tidemark_json({"info", folder.path()})["ranks"]["diverge"];

    CHECK(diverge["trace"] == "rank0.jsonl");
    CHECK(diverge["from"] == "rank1.jsonl");
    CHECK(diverge["others"] == 3);
    CHECK(diverge["allocation"] == 2);
    CHECK(diverge["step"] == 3);
    CHECK(contains(support::tidemark({"info", folder.path()}).out,
                   "rank0.jsonl requests 9.00 KiB, the other 3 2.00 KiB"));
}

TEST_CASE("import keeps the folders of files with one name", "[cli]") {
    const Folder folder;
    make_ranks(folder);
    std::filesystem::create_directory(folder / "out");

    const Said said =
        support::tidemark({"import", folder / "rank*/run.tmk", "-o", folder / "out/"});

    CHECK(said.code == 0);
    CHECK(std::filesystem::exists(folder / "out/rank0/run.tmk"));
    CHECK(std::filesystem::exists(folder / "out/rank1/run.tmk"));
}

TEST_CASE("a size says which unit it was taken for, and asks where it has none", "[cli]") {
    const auto replayed = [](const std::string& size) {
        return support::tidemark(
            {"replay", "generate:mix:events=90", "-p", "torch", "--memory", size, "--json"});
    };
    const auto memory = [](const Said& said) { return json::parse(said.out)["memory_bytes"]; };

    const Said bare = replayed("80G");
    CHECK(bare.err == "tidemark: note: --memory: 80G taken as 80 GiB\n");
    CHECK(memory(bare) == 85'899'345'920);
    CHECK(memory(replayed("80gib")) == 85'899'345'920);
    CHECK(memory(replayed("80gb")) == 80'000'000'000);
    CHECK(replayed("80gb").err.empty());
    CHECK(memory(replayed("80000000000")) == 80'000'000'000);
    const Said none = replayed("80");
    CHECK(none.code == 2);
    CHECK(contains(none.err, "80GiB?"));
    CHECK(support::tidemark({"replay", "generate:mix:events=90", "--gpu-memory", "80"}).code == 2);
}

TEST_CASE("completions and the manual know every command and option", "[cli]") {
    const Folder folder;
    const Said help = support::tidemark({"fit", "--help"});
    REQUIRE(contains(help.out, "--exit-code"));

    for (const std::string shell : {"bash", "zsh", "fish"}) {
        const Said said = support::tidemark({"completion", shell});
        INFO(shell);
        CHECK(said.code == 0);
        CHECK(contains(said.out, "compare"));
        CHECK(contains(said.out, "exit-code"));
        CHECK(contains(said.out, "unicode"));
        support::write_file(folder / shell, said.out);
    }
    CHECK(shell("bash -n " + folder / "bash") == 0);
    CHECK(shell("bash -c '. " + folder / "bash" +
                "; COMP_WORDS=(tidemark com); COMP_CWORD=1; _tidemark; "
                "[[ \"${COMPREPLY[*]}\" == *compare* ]]'") == 0);
    const auto completes = [&](const std::string& line, const std::string& reply) {
        INFO(line);
        CHECK(shell("bash -c '. " + folder / "bash" + "; COMP_LINE=\"" + line +
                    "\"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" TIDEMARK_PROGRAM
                    " compare x); COMP_CWORD=2; _tidemark; "
                    "[[ \"${COMPREPLY[*]}\" == \"" +
                    reply + "\" ]]'") == 0);
    };
    completes("tidemark compare x -p torch:gar", "garbage_collection_threshold=");
    completes("tidemark compare x --policy=torch:expandable_segments=t", "true");
    completes("tidemark compare x -p best", "best-fit");
    completes("tidemark compare x --spill s3f", "s3fifo");
    CHECK(support::tidemark({"completion", "tcsh"}).code == 2);
    const Said manual = support::tidemark({"man"});
    CHECK(manual.out.starts_with(".TH TIDEMARK 1"));
    CHECK(contains(manual.out, ".SS \\&compare"));
    CHECK(contains(manual.out, "\\-\\-exit\\-code"));
}

TEST_CASE("a report fits its terminal and is whole in a pipe", "[cli]") {
    const std::vector<std::string> arguments{"compare", kSample, "-p", "torch", "-p", "bump"};

    for (const unsigned width : {60U, 80U, 120U}) {
        const Said said = support::tidemark(arguments, {.terminal_width = width});
        INFO(said.out);
        CHECK(widest(said.out) <= width);
        CHECK(contains(said.out, "peak reserved"));
    }
    CHECK(widest(support::tidemark(arguments).out) > 120);
    CHECK(widest(support::tidemark({"info", kSample}, {.terminal_width = 60}).out) <= 60);
}

TEST_CASE("Ctrl-C ends a search with the best so far", "[cli]") {
    const Folder folder;
    const std::string trace = folder / "long.tmk";
    REQUIRE(support::tidemark({"generate", "mix:events=2000000", "-o", trace}).code == 0);

    // The signal comes once the program catches it, which is when the search has begun.
    const int code =
        shell(TIDEMARK_PROGRAM " advise " + trace + " --budget 400 > " + folder / "said" +
              " & pid=$!; s=/proc/$pid/status; "
              "while kill -0 $pid && ! (grep -q '^Name:.tidemark$' $s && "
              "grep -q '^SigCgt:.*[2367abef]$' $s); do sleep 0.02; done; "
              "kill -INT $pid; wait $pid");

    CHECK(code == 130);
    CHECK(contains(support::read_file(folder / "said"), "Interrupted after "));
    CHECK(contains(support::read_file(folder / "said"), "best so far"));
}

TEST_CASE("what compare does by itself is what a PyTorch user can set, then the others", "[cli]") {
    const json answer = support::tidemark_json({"compare", kSample});
    const json& runs = answer["runs"];

    bool others = false;
    bool expandable = false;
    for (const json& run : runs) {
        CHECK(run["other_allocator"] == (run["policy"] != "torch"));
        CHECK((!others || run["other_allocator"] == true));  // they stand behind
        others = others || run["other_allocator"] == true;
        expandable = expandable || run["spec"] == "torch:expandable_segments=true";
        CHECK((run["recommended"] == false || run["policy"] == "torch"));
    }
    CHECK(others);
    CHECK(expandable);
    CHECK_FALSE(contains(support::tidemark({"compare", kSample}).out, "bump (other)"));
    CHECK(contains(support::tidemark({"compare", kSample, "--all"}).out, "bump (other)"));
}
