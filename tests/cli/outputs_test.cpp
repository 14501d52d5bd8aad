// The rule of what may be written, for every option of every command that writes: what is read is
// never written, a recording and a file of another kind by --force only, the same kind as ever.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;
using support::Folder;
using support::Said;
namespace fs = std::filesystem;

namespace {

using Line = std::vector<std::string>;

enum class Again { replaces, needs_force };

// An option that writes, in a command that can be run here. IN is a file that the command reads,
// OUT the one that it writes.
struct Output {
    std::string option;  // "replay --decisions"
    std::string out;     // its name
    Line line;
    Again again = Again::replaces;  // over what it wrote itself
    std::string in = "run.tmk";     // "machine.json": of another kind; "": it reads nothing
    std::set<int> codes = {0};
};

const std::vector<Output>& outputs() {
    static const std::vector<Output> all{
        {"bound -o",
         "plan.csv",
         {"bound", "IN", "--iterations", "1", "-o", "OUT"},
         Again::needs_force},
        {"calibrate -o",
         "card.json",
         {"calibrate", "--quick", "--device", "sim:IN", "-o", "OUT"},
         Again::replaces,
         "profile.json"},
        {"compare --plot", "bars.svg", {"compare", "IN", "-p", "torch", "--plot", "OUT"}},
        {"compare --plot", "bars.png", {"compare", "IN", "-p", "torch", "--plot", "OUT"}},
        {"cut -o", "part.tmk", {"cut", "IN", "--to", "#100", "-o", "OUT"}, Again::needs_force},
        {"cut -o", "part.jsonl", {"cut", "IN", "--to", "#100", "-o", "OUT"}},
        {"export -o", "all.jsonl", {"export", "IN", "-o", "OUT"}},
        {"export -o", "all.json", {"export", "IN", "-o", "OUT"}},
        {"export -o", "all.csv", {"export", "IN", "-o", "OUT"}, Again::needs_force},
        {"export -o", "all.html", {"export", "IN", "--page", "-o", "OUT"}},
        {"gate --write-baseline", "base.json", {"gate", "IN", "--write-baseline", "OUT"}},
        {"gate --write-baseline",
         "new.json",
         {"gate", "run.tmk", "--baseline", "IN", "--fail-if", "retries > 1000000",
          "--write-baseline", "OUT"},
         Again::replaces,
         "baseline.json"},
        {"gate --junit",
         "gate.xml",
         {"gate", "IN", "--fail-if", "retries > 1000000", "--junit", "OUT"}},
        {"generate -o",
         "made.tmk",
         {"generate", "steps:events=100", "-o", "OUT"},
         Again::needs_force,
         ""},
        {"import -o", "same.tmk", {"import", "IN", "-o", "OUT"}, Again::needs_force},
        {"machines -o",
         "node.json",
         {"machines", "IN", "-o", "OUT"},
         Again::replaces,
         "machine.json"},
        {"minimize -o",
         "small.jsonl",
         {"minimize", "IN", "--keep", "reserved > 2MiB", "-o", "OUT"}},
        {"page -o", "page.html", {"page", "IN", "-o", "OUT"}},
        {"replay --decisions", "decisions.txt", {"replay", "IN", "--decisions", "OUT"}},
        {"replay --decisions",
         "decisions.txt",
         {"replay", "run.tmk", "--profile", "IN", "--decisions", "OUT"},
         Again::replaces,
         "profile.json"},
        {"replay --dump-state", "held.json", {"replay", "IN", "--dump-state", "OUT"}},
        {"replay --dump-state", "held.pickle", {"replay", "IN", "--dump-state", "OUT"}},
        {"replay --plot", "curve.svg", {"replay", "IN", "--plot", "OUT"}},
        {"replay --timeline",
         "spans.jsonl",
         {"replay", "IN", "--gpu-memory", "50%", "--timeline", "OUT"}},
        {"replay --timeline",
         "spans.jsonl",
         {"replay", "run.tmk", "--gpu-memory", "50%", "--machine", "IN", "--timeline", "OUT"},
         Again::replaces,
         "machine.json"},
        {"report -o", "page.html", {"report", "IN", "--no-advise", "-o", "OUT"}},
        {"report -o", "viewer.html", {"report", "IN", "--interactive", "-o", "OUT"}},
        {"scale -o",
         "larger.tmk",
         {"scale", "IN", "--tokens", "x2", "-o", "OUT"},
         Again::needs_force,
         "steps.tmk"},
        {"sweep --lines",
         "lines.jsonl",
         {"sweep", "IN", "-o", "units", "-p", "torch", "--lines", "OUT"}},
        {"sweep --lines",
         "lines.jsonl",
         {"sweep", "--spec", "IN", "-o", "units", "--lines", "OUT"},
         Again::replaces,
         "sweep.json"},
        {"view --png",
         "look.png",
         {"view", "IN", "--no-settings", "--size", "640x480", "--png", "OUT"}},
        {"view --csv",
         "events.csv",
         {"view", "IN", "--no-settings", "--view", "events", "--csv", "OUT"}},
        {"view --figures", "figures.json", {"view", "IN", "--no-settings", "--figures", "OUT"}},
        {"view --animate",
         "film.gif",
         {"view", "IN", "--no-settings", "--size", "640x480", "--animate", "OUT"},
         Again::needs_force},
    };
    return all;
}

// Options that name files, and write none by this rule: what they name is read, or their own
// folder, or (record) nothing is recorded without a GPU.
const std::set<std::string> kOthers{"gate --baseline", "sweep --spec", "machines --profile",
                                    "sweep -o", "record -o"};

// A folder with a file of each sort, that the program runs in.
class Desk {
  public:
    Desk() {
        // Libraries of films leak, which the sanitizer's build of the viewer would end by.
        ::setenv("LSAN_OPTIONS", "exitcode=0", 1);
        // The page without its program: what is put into it is all the same.
        ::setenv("TIDEMARK_PAGE", support::project_file("viz/page/page.html").c_str(), 1);
        fs::current_path(folder_.path());
        run({"import", support::project_file("traces/samples/torch/multistream.pickle.xz"), "-o",
             "run.tmk"});
        run({"generate", "mix:events=300", "-o", "precious.tmk"});
        run({"generate", "steps:events=20000", "-o", "steps.tmk"});
        run({"machines", "h200-node", "-o", "machine.json"});
        run({"calibrate", "--quick", "--device", "sim:h200", "-o", "profile.json"});
        run({"gate", "run.tmk", "--write-baseline", "baseline.json"});
        support::write_file("sweep.json", R"({"traces": ["run.tmk"], "policies": ["torch"]})");
        support::write_file("own.json", R"({"name": "mine", "about": "\"tidemark-x\", tidemark"})");
        run({"replay", "run.tmk", "--plot", "picture.png"});
        run({"report", "run.tmk", "--no-advise", "-o", "report.html"});
    }

    Desk(const Desk&) = delete;
    Desk& operator=(const Desk&) = delete;

    ~Desk() { fs::current_path(fs::temp_directory_path()); }

    static void run(const Line& line) {
        const Said said = support::tidemark(line);
        INFO(said.err);
        REQUIRE(said.code == 0);
    }

  private:
    Folder folder_;
};

Said run(const Output& output, const std::string& target, bool force = false) {
    Line line = output.line;
    for (std::string& text : line) {
        text = std::regex_replace(text, std::regex("\\bIN\\b"), output.in);
        if (text == "OUT")
            text = target;
    }
    if (force)
        line.emplace_back("--force");
    return support::tidemark(line);
}

// The target as it was, and said so.
void check_kept(const Output& output, const std::string& target, bool force,
                const std::string& why) {
    const std::string before = support::read_file(target);
    const Said said = run(output, target, force);
    INFO(output.option << " " << target << (force ? " --force: " : ": ") << said.err);
    CHECK(said.code == 2);
    CHECK(contains(said.err, why));
    CHECK(support::read_file(target) == before);
}

}  // namespace

TEST_CASE("no option writes over what its command reads", "[cli][outputs][many-starts]") {
    const Desk desk;
    for (const Output& output : outputs()) {
        if (output.in.empty())
            continue;
        const std::string ending = fs::path(output.out).extension().string();
        const std::string link = "link" + ending;
        const std::string twin = "twin" + ending;
        fs::remove(link);
        fs::remove(twin);
        fs::create_symlink(output.in, link);
        fs::create_hard_link(output.in, twin);
        for (const std::string& target : {link, twin, "./" + twin})
            for (const bool force : {false, true})
                check_kept(output, target, force, "is being read");
        fs::remove(link);
        fs::remove(twin);
    }
}

TEST_CASE("every option writes over a recording by --force only", "[cli][outputs][many-starts]") {
    const Desk desk;
    for (const Output& output : outputs()) {
        const std::string target = "other-" + output.out;
        fs::copy_file("precious.tmk", target);
        check_kept(output, target, false, "is a recording");
        const Said forced = run(output, target, true);
        INFO(output.option << ": " << forced.err);
        CHECK(forced.code == 0);
        CHECK(support::read_file(target) != support::read_file("precious.tmk"));
        fs::remove(target);
    }
}

TEST_CASE("every option replaces what is of its kind and nothing else",
          "[cli][outputs][many-starts]") {
    const Desk desk;
    for (const Output& output : outputs()) {
        for (const std::string other : {"own.json", "picture.png", "report.html"}) {
            const bool same = fs::path(other).extension() == fs::path(output.out).extension() &&
                              other != "own.json";
            if (same)
                continue;
            const std::string target = "other-" + output.out;
            fs::copy_file(other, target);
            check_kept(output, target, false, "--force");
            fs::remove(target);
        }
        fs::remove(output.out);
        const Said first = run(output, output.out);
        const Said second = run(output, output.out);
        INFO(output.option << " " << output.out << ": " << first.err << second.err);
        CHECK(first.code == 0);
        CHECK(second.code == (output.again == Again::replaces ? 0 : 2));
        CHECK(run(output, output.out, true).code == 0);
        fs::remove(output.out);
    }
}

TEST_CASE("two options don't name one file", "[cli][outputs]") {
    const Desk desk;
    const auto said = support::refusal(
        {"replay", "run.tmk", "--decisions", "x.json", "--dump-state", "./x.json"});
    CHECK(contains(said, "two options"));
    CHECK_FALSE(fs::exists("x.json"));
    CHECK(support::tidemark({"gate", "run.tmk", "--fail-if", "retries > 1000000",
                             "--write-baseline", "/dev/null", "--junit", "/dev/null"})
              .code == 0);
}

TEST_CASE("what a folder, a pattern, a plan or a sweep's folder stands for is read too",
          "[cli][outputs]") {
    const Desk desk;
    fs::create_directory("runs");
    fs::copy_file("run.tmk", "runs/a.tmk");
    fs::create_hard_link("runs/a.tmk", "twin.svg");
    Desk::run({"bound", "run.tmk", "--iterations", "1", "-o", "plan.csv"});
    Desk::run({"sweep", "run.tmk", "-o", "units", "-p", "torch"});
    const std::string unit = fs::directory_iterator("units")->path().string();
    for (const auto& [line, target] : std::vector<std::pair<Line, std::string>>{
             {{"compare", "runs", "-p", "torch", "--force", "--plot", "twin.svg"}, "twin.svg"},
             {{"compare", "ru?s/*.tmk", "-p", "torch", "--force", "--plot", "twin.svg"},
              "twin.svg"},
             {{"replay", "run.tmk", "-p", "plan:file=plan.csv", "--force", "--decisions",
               "plan.csv"},
              "plan.csv"},
             {{"sweep", "run.tmk", "-o", "units", "-p", "torch", "--force", "--lines", unit}, unit},
             {{"report", "units", "--force", "-o", unit}, unit}}) {
        const std::string before = support::read_file(target);
        CHECK(contains(support::refusal(line), "is being read"));
        CHECK(support::read_file(target) == before);
    }
    Desk::run({"compare", "runs", "-p", "torch", "--plot", "runs/bars.svg"});
    Desk::run({"compare", "runs", "-p", "torch", "--plot", "runs/bars.svg"});
    Desk::run({"sweep", "run.tmk", "-o", "units", "-p", "torch", "--lines", "units/all.jsonl"});
    Desk::run({"sweep", "run.tmk", "-o", "units", "-p", "torch", "--lines", "units/all.jsonl"});
}

TEST_CASE("record writes over a recording by --force only, before the program runs",
          "[cli][outputs]") {
    const Desk desk;
    CHECK(contains(support::refusal({"record", "-o", "precious.tmk", "--", "touch", "ran"}),
                   "is a recording"));
    CHECK_FALSE(fs::exists("ran"));
}

TEST_CASE("every option that names a file is in these lists", "[cli][outputs]") {
    std::set<std::string> known = kOthers;
    for (const Output& output : outputs())
        known.insert(output.option);
    std::istringstream commands(support::tidemark({"--help"}).out);
    std::set<std::string> seen;
    for (std::string line; std::getline(commands, line);) {
        std::smatch command;
        if (!std::regex_match(line, command, std::regex("  ([a-z]+)( .*)?")))
            continue;
        const std::string help = support::tidemark({"help", command[1].str()}).out;
        const std::regex option("\\n  (?:(-[a-z]),)?(--[a-z-]+)\\s+(FILE|OUT|DIR)\\b");
        for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end;
             ++found) {
            const std::string name = (*found)[1].matched ? (*found)[1].str() : (*found)[2].str();
            seen.insert(command[1].str() + " " + name);
        }
    }
    seen.erase("machines --disk");
    CHECK(seen.size() > 15);
    for (const std::string& option : seen) {
        INFO(option);
        CHECK(known.contains(option));
    }
}
