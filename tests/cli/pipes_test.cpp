// Inputs that can be read once: what a shell makes of <(...), and named pipes.
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;
using support::Folder;

namespace {

struct Ended {
    int code = -1;  // 124: it hung
    std::string text;
};

// `line` in bash, with $T for the program.
Ended bash(const Folder& folder, const std::string& line) {
    support::write_file(folder / "line.sh", "T='timeout 60 " TIDEMARK_PROGRAM "'\ncd '" +
                                                folder.path() + "'\n" + line + "\n");
    const int status =
        std::system(fmt::format("bash '{0}/line.sh' > '{0}/said' 2>&1", folder.path()).c_str());
    return {WEXITSTATUS(status), support::read_file(folder / "said")};
}

constexpr const char* kPrepare =
    "set -e; $T import '" TIDEMARK_SOURCE_DIR
    "/traces/samples/torch/multistream.pickle.xz' -o a.tmk; $T export a.tmk -o a.jsonl; xz -k "
    "a.jsonl;"
    "$T machines h200-node -o m.json; $T gate a.tmk --write-baseline b.json > /dev/null;"
    "$T calibrate --quick --device sim:h200 -o p.json > /dev/null;"
    "$T bound a.tmk --iterations 1 -o plan.csv > /dev/null;"
    "echo '{\"traces\": [\"a.tmk\"], \"policies\": [\"torch\"]}' > s.json;"
    "$T sweep a.tmk -o units -p torch --lines l.jsonl > /dev/null";

}  // namespace

TEST_CASE("every command reads its trace from a pipe, of every format",
          "[cli][pipes][many-starts]") {
    const Folder folder;
    REQUIRE(bash(folder, kPrepare).code == 0);
    for (const char* const file : {"a.tmk", "a.jsonl", "a.jsonl.xz"}) {
        for (const char* const line :
             {"info IN", "info IN --drift", "replay IN -p torch", "replay IN --gpu-memory 60%",
              "compare IN -p torch -p buddy", "gate IN -p torch --fail-if 'retries > 1000000'",
              "bound IN --iterations 1", "fit IN --memory 80GiB", "advise IN --budget 2",
              "import IN -o new.tmk --force", "export IN -f jsonl -o -", "export IN -f chrome -o -",
              "cut IN --to '#50' -o new.jsonl --force",
              "minimize IN --keep 'reserved > 2MiB' -o new.jsonl --force",
              "report IN --no-advise -o -", "sweep IN -o new-units -p torch -p buddy --halving"}) {
            std::string named(line);
            const auto use = [&](const std::string& with) {
                std::string text(line);
                return text.replace(text.find("IN"), 2, with);
            };
            const Ended plain = bash(folder, "$T " + use(file));
            const Ended substituted =
                bash(folder, fmt::format("$T {}", use(fmt::format("<(cat {})", file))));
            const Ended fifo = bash(
                folder, fmt::format("rm -f fifo; mkfifo fifo; timeout 60 cat {} > fifo & $T {}; "
                                    "code=$?; kill %1 2>/dev/null; exit $code",
                                    file, use("fifo")));
            INFO(line << " of " << file << "\n" << substituted.text << fifo.text);
            CHECK(substituted.code == plain.code);
            CHECK(fifo.code == plain.code);
        }
    }
}

TEST_CASE("files that stand beside the trace may be pipes", "[cli][pipes]") {
    const Folder folder;
    REQUIRE(bash(folder, kPrepare).code == 0);
    for (const char* const line :
         {"replay a.tmk --gpu-memory 60% --machine <(cat m.json)",
          "compare a.tmk --gpu-memory 60% --spill lru --machine <(cat m.json)",
          "replay a.tmk --profile <(cat p.json)", "replay a.tmk --device sim:<(cat p.json)",
          "compare a.tmk -p torch -p buddy --profile <(cat p.json)",
          "gate a.tmk --baseline <(cat b.json) --fail-if 'peak_reserved > +5%'",
          "gate a.tmk --before <(cat a.tmk) --fail-if 'peak_reserved > 1TiB'",
          "sweep --spec <(cat s.json) -o other", "machines <(cat m.json)",
          "replay a.tmk -p plan:file=<(cat plan.csv)", "bound <(cat plan.csv) --iterations 1",
          "report <(cat l.jsonl) -o -", "report a.tmk --profile <(cat p.json) --no-advise -o -"}) {
        const Ended said = bash(folder, fmt::format("$T {}", line));
        INFO(line << "\n" << said.text);
        CHECK(said.code == 0);
    }
}

TEST_CASE("a pipe without an end that is no trace is refused at once", "[cli][pipes]") {
    const Folder folder;
    for (const char* const line :
         {"$T info /dev/zero", "$T info <(yes)", "$T bound /dev/zero", "$T report /dev/zero -o -",
          "$T replay generate:steps:events=10 -p torch --profile /dev/zero",
          "$T machines /dev/zero"}) {
        const Ended said = bash(folder, line);
        INFO(line << "\n" << said.text);
        CHECK(said.code == 3);
    }
}

TEST_CASE("pipes in a folder are no recordings", "[cli][pipes]") {
    const Folder folder;
    REQUIRE(bash(folder, "mkdir runs; $T generate steps:events=100 -o runs/a.tmk").code == 0);
    REQUIRE(::mkfifo((folder / "runs/pipe.tmk").c_str(), 0600) == 0);
    const Ended said = bash(folder, "$T info runs");
    CHECK(said.code == 0);
    CHECK(contains(said.text, "a.tmk"));
}
