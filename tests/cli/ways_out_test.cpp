// What leaves the program beside its text: CSV, dumps of state, and the care taken of other
// people's files.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kSample;
using support::Said;

namespace {

// Lines of cells; no cell here has a comma or a quote within.
std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(csv);
    for (std::string line; std::getline(lines, line);) {
        rows.emplace_back(1);
        for (const char letter : line) {
            if (letter == ',')
                rows.back().emplace_back();
            else
                rows.back().back() += letter;
        }
    }
    return rows;
}

std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row,
                 const std::string& title) {
    for (std::size_t i = 0; i < rows.at(0).size(); ++i)
        if (rows[0][i] == title)
            return rows.at(row).at(i);
    FAIL("no column " << title);
    return {};
}

std::uint64_t sum(const json& list, const char* key) {
    std::uint64_t result = 0;
    for (const json& each : list)
        result += each.at(key).get<std::uint64_t>();
    return result;
}

}  // namespace

TEST_CASE("--csv prints the values of --json as rows", "[cli][csv]") {
    const std::vector<std::string> arguments{"compare", kSample, "-p", "torch", "-p", "best-fit"};
    std::vector<std::string> csv_arguments = arguments;
    csv_arguments.emplace_back("--csv");
    const Said said = support::tidemark(csv_arguments);
    REQUIRE(said.code == 0);
    const auto rows = rows_of(said.out);
    const json runs = support::tidemark_json(arguments).at("runs");

    REQUIRE(rows.size() == runs.size() + 1);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(rows[i + 1].size() == rows[0].size());
        CHECK(cell(rows, i + 1, "policy") == runs[i].at("policy").get<std::string>());
        CHECK(cell(rows, i + 1, "peak_reserved_bytes") == runs[i].at("peak_reserved_bytes").dump());
        CHECK(cell(rows, i + 1, "driver_ns") == runs[i].at("driver_ns").dump());
    }

    const auto replay = rows_of(support::tidemark({"replay", kSample, "--csv"}).out);
    REQUIRE(replay.size() == 2);
    CHECK(cell(replay, 1, "peak_reserved_bytes") ==
          support::tidemark_json({"replay", kSample}).at("peak_reserved_bytes").dump());
}

TEST_CASE("--table names one of several tables", "[cli][csv]") {
    const json sizes = support::tidemark_json({"info", kSample}).at("sizes");
    const auto rows =
        rows_of(support::tidemark({"info", kSample, "--csv", "--table", "sizes"}).out);
    REQUIRE(rows.size() == sizes.size() + 1);
    CHECK(rows[0] == std::vector<std::string>{"from", "count", "bytes"});
    CHECK(rows[1][0] == sizes[0].at("from").dump());

    const Said wrong = support::tidemark({"info", kSample, "--csv", "--table", "nope"});
    CHECK(wrong.code == 2);
    CHECK(contains(wrong.err, "sizes"));
    CHECK(support::tidemark({"info", kSample, "--csv", "--json"}).code == 2);
}

TEST_CASE("every command that prints JSON prints CSV", "[cli][csv]") {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"policies"},
                                               {"victims"},
                                               {"machines"},
                                               {"doctor"},
                                               {"generate"},
                                               {"verify", kSample}}) {
        std::vector<std::string> with = arguments;
        with.emplace_back("--csv");
        const Said said = support::tidemark(with);
        INFO(arguments.front());
        CHECK(said.code == 0);
        CHECK(contains(said.out, ","));
        CHECK_FALSE(said.out.starts_with("{"));
    }
}

TEST_CASE("--plot draws what the figures say", "[cli][plot]") {
    const Folder folder;
    const std::string file = folder / "out.svg";
    CHECK(support::tidemark({"compare", kSample, "-p", "torch", "-p", "buddy", "--plot", file})
              .code == 0);
    const std::string bars = support::read_file(file);
    CHECK(contains(bars, ">torch</text>"));
    CHECK(contains(bars, ">buddy</text>"));
    CHECK(support::tidemark({"replay", kSample, "--plot", file}).code == 0);
    CHECK(contains(support::read_file(file), "reserved, at most "));
    const Said wrong = support::tidemark({"replay", kSample, "--plot", folder / "out.jpg"});
    CHECK(wrong.code == 2);
    CHECK(contains(wrong.err, "does not end in .svg, .png"));
}

TEST_CASE("--dump-state writes what is reserved, as JSON and as a snapshot", "[cli][dump]") {
    const Folder folder;
    const std::string file = folder / "held.json";
    for (const std::vector<std::string>& settings :
         {std::vector<std::string>{}, {"-p", "torch:expandable_segments:True"}, {"-p", "buddy"}}) {
        std::vector<std::string> arguments{"replay", kSample, "--dump-state", file};
        arguments.insert(arguments.end(), settings.begin(), settings.end());
        const json run = support::tidemark_json(arguments);
        const json state = json::parse(support::read_file(file));
        CHECK(sum(state.at("segments"), "total_size") == run.at("end_reserved_bytes"));
        for (const json& segment : state.at("segments"))
            CHECK(sum(segment.at("blocks"), "size") == segment.at("total_size"));
    }
}

TEST_CASE("a dumped snapshot opens as one, here and in Python", "[cli][dump]") {
    const Folder folder;
    const std::string file = folder / "held.pickle";
    const Said said = support::tidemark(
        {"replay", kSample, "--limit", "5GiB", "--until-fail", "--dump-state", file});
    CHECK(said.code == 4);
    const json info = support::tidemark_json({"info", file});
    CHECK(info.at("format") == "torch-snapshot");
    CHECK(info.at("peak_requested").at("value") > 1'000'000'000);

    support::write_file(folder / "sum.py",
                        "import pickle, sys\n"
                        "s = pickle.load(open(sys.argv[1], 'rb'))['segments']\n"
                        "assert all(type(x['segment_pool_id']) is tuple for x in s)\n"
                        "print(sum(x['total_size'] for x in s))\n");
    const std::string out = folder / "sum";
    const std::string line = "python3 " + (folder / "sum.py") + " " + file + " > " + out;
    REQUIRE(std::system(line.c_str()) == 0);
    CHECK(std::stoull(support::read_file(out)) == info.at("peak_recorded_reserved").at("value"));
    CHECK(support::tidemark({"replay", kSample, "--dump-state", folder / "held.csv"}).code == 2);
}

TEST_CASE("reserved addresses are figures, and listed in order", "[cli][dump]") {
    const Folder folder;
    // Harvesting across streams leaves zombies until the other stream is done.
    const std::string trace = support::project_file("traces/samples/torch/multistream.pickle.xz");
    const json run = support::tidemark_json(
        {"replay", trace, "-p", "vpmm:va_size=8GiB", "--dump-state", folder / "held.json"});
    const json state = json::parse(support::read_file(folder / "held.json"));
    std::map<std::string, std::uint64_t> sums;
    std::uint64_t next = 0;
    for (const json& span : state.at("addresses")) {
        sums[span.at("state")] += span.at("size").get<std::uint64_t>();
        CHECK((next == 0 || span.at("address") == next));
        next = span.at("address").get<std::uint64_t>() + span.at("size").get<std::uint64_t>();
    }
    CHECK(run.at("end_addresses_bytes") == std::uint64_t{8} << 30);
    CHECK(sum(state.at("addresses"), "size") == run.at("end_addresses_bytes"));
    CHECK(run.at("end_hole_bytes") == sums["hole"]);
    CHECK(run.at("end_zombie_bytes") == sums["zombie"]);
    CHECK(sums["hole"] > 0);

    const Said text = support::tidemark(
        {"replay", trace, "-p", "vpmm:va_size=8GiB", "--dump-state", folder / "held.txt"});
    CHECK(contains(text.out, "Addresses"));
    const std::string listing = support::read_file(folder / "held.txt");
    CHECK(contains(listing, "GPU 0: 8.00 GiB of addresses: allocated"));
    CHECK(contains(listing, "reservation 0"));
    // A listing is written over, and other policies have one, too.
    CHECK(support::tidemark({"replay", trace, "--dump-state", folder / "held.txt"}).code == 0);
    CHECK(contains(support::read_file(folder / "held.txt"), "segment 0x"));
}

TEST_CASE("a file that isn't Tidemark's is written over with --force only", "[cli][force]") {
    const Folder folder;
    const std::string mine = folder / "thesis.txt";
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"export", kSample, "-f", "jsonl", "-o", mine},
                                               {"import", kSample, "-o", mine},
                                               {"generate", "mix:events=100", "-o", mine},
                                               {"replay", kSample, "--decisions", mine},
                                               {"machines", "h200-node", "-o", mine}}) {
        const bool recording = arguments[0] == "import" || arguments[0] == "generate";
        INFO(arguments.front());
        support::write_file(mine, "all that I know\n");
        const Said kept = support::tidemark(arguments);
        CHECK(kept.code == 2);
        CHECK(contains(kept.err, "--force"));
        CHECK(support::read_file(mine) == "all that I know\n");

        std::vector<std::string> forced = arguments;
        forced.emplace_back("--force");
        CHECK(support::tidemark(forced).code == 0);
        CHECK(support::tidemark(arguments).code == (recording ? 2 : 0));  // ours now
    }
}

TEST_CASE("importing into a folder spares the files of others there", "[cli][force]") {
    const Folder folder;
    support::write_file(folder / "gpt2_var.tmk", "not a trace\n");
    CHECK(support::tidemark({"import", kSample, "-o", folder.path()}).code == 2);
    CHECK(support::read_file(folder / "gpt2_var.tmk") == "not a trace\n");
    CHECK(support::tidemark({"import", kSample, "-o", folder.path(), "--force"}).code == 0);
}

TEST_CASE("a Chrome trace has the counters of the replay and every block", "[cli][chrome]") {
    const Folder folder;
    const std::string file = folder / "trace.json";
    const std::vector<std::string> policies{"torch", "torch:expandable_segments:True"};
    const Said said =
        support::tidemark({"export", kSample, "-p", policies[0], "-p", policies[1], "-o", file});
    REQUIRE(said.code == 0);

    std::map<std::string, std::uint64_t> most;
    std::set<std::uint64_t> open;
    std::uint64_t blocks = 0;
    const json trace = json::parse(support::read_file(file));
    for (const json& entry : trace.at("traceEvents")) {
        const std::string phase = entry.at("ph");
        if (phase == "C")
            most[entry.at("name")] =
                std::max(most[entry.at("name")], entry.at("args").at("bytes").get<std::uint64_t>());
        if (phase == "b")
            CHECK(open.insert(entry.at("id").get<std::uint64_t>()).second);
        if (phase == "e")
            CHECK(open.erase(entry.at("id").get<std::uint64_t>()) == 1);
        blocks += phase == "b" ? 1U : 0U;
    }
    CHECK(open.empty());
    CHECK(blocks == support::tidemark_json({"info", kSample}).at("allocations"));
    for (const std::string& policy : policies) {
        const json run = support::tidemark_json({"replay", kSample, "-p", policy});
        for (const std::string name : {"reserved", "allocated", "requested"})
            CHECK(most[name + " (" + policy + ")"] == run.at("peak_" + name + "_bytes"));
    }
}

TEST_CASE("a cut begins inside, with what lived then", "[cli][cut]") {
    const Folder folder;
    const std::string part = folder / "part.tmk";
    for (const std::string from : {"#5000", "#9000", "1s"}) {
        REQUIRE(support::tidemark({"cut", kSample, "--from", from, "-o", part, "--force"}).code ==
                0);
        INFO("from " << from);
        const json info = support::tidemark_json({"info", part});
        CHECK(info.at("begins_inside") == true);
    }
    const Said nowhere =
        support::tidemark({"cut", kSample, "--from", "1000s", "-o", part, "--force"});
    CHECK(nowhere.code == 2);
    CHECK(support::tidemark({"cut", kSample, "-o", part, "--force"}).code == 2);
    CHECK(support::tidemark(
              {"cut", kSample, "--to", "1s", "--until", "retries", "-o", part, "--force"})
              .code == 2);
    CHECK(support::tidemark({"cut", kSample, "--from", "soon", "-o", part, "--force"}).code == 2);
}

TEST_CASE("cut --until ends with the event that first shows a condition", "[cli]") {
    const Folder folder;
    const std::string part = folder / "part.tmk";
    const auto replayed = [&](const std::string& trace) {
        return support::tidemark_json({"replay", trace, "-p", "torch", "--as-recorded"});
    };
    const auto half = replayed(kSample)["peak_reserved_bytes"].get<std::uint64_t>() / 2;
    const std::string condition = "reserved > " + std::to_string(half);
    REQUIRE(support::tidemark(
                {"cut", kSample, "--until", condition, "-p", "torch", "-o", part, "--force"})
                .code == 0);
    const auto with = replayed(part);
    CHECK(with["peak_reserved_bytes"].get<std::uint64_t>() > half);

    const std::string less = folder / "less.tmk";
    const std::string last = "#" + std::to_string(with["events"].get<std::uint64_t>() - 1);
    REQUIRE(support::tidemark({"cut", part, "--to", last, "-o", less}).code == 0);
    CHECK(replayed(less)["peak_reserved_bytes"].get<std::uint64_t>() <= half);

    const Said never =
        support::tidemark({"cut", kSample, "--until", "reserved > 1TiB", "-o", part, "--force"});
    CHECK(never.code == 2);
    CHECK(contains(never.err, "never holds"));
}

TEST_CASE("what is cut out of a recording is a recording: every decision is explained",
          "[cli][cut]") {
    const Folder folder;
    const std::string part = folder / "part.tmk";
    for (const std::string sample : {"torch/churn", "streams/fsdp", "torch-edges/two-devices"}) {
        INFO(sample);
        const std::string whole = support::project_file("traces/samples/" + sample + ".pickle.xz");
        const json info = support::tidemark_json({"info", whole});
        const auto events = info.at("events").get<std::uint64_t>();
        REQUIRE(support::tidemark({"cut", whole, "--from", "#" + std::to_string(events / 3), "--to",
                                   "#" + std::to_string(2 * events / 3), "-o", part, "--force"})
                    .code == 0);
        const json verified = support::tidemark_json({"verify", part});
        CHECK(verified.at("mismatches") == 0);
        CHECK(verified.at("decisions") > 50);
    }
}

TEST_CASE("a Chrome trace tells what was out of memory, and devices apart", "[cli][chrome]") {
    const Folder folder;
    const std::string file = folder / "trace.json";
    std::map<std::string, int> seen;
    for (const std::string sample : {"torch/churn", "torch-edges/two-devices"}) {
        REQUIRE(support::tidemark({"export",
                                   support::project_file("traces/samples/" + sample + ".pickle.xz"),
                                   "-p", "torch", "-o", file})
                    .code == 0);
        const json trace = json::parse(support::read_file(file));
        for (const json& entry : trace.at("traceEvents")) {
            if (entry.value("ts", 0.0) < 0)
                FAIL("a negative time");
            if (entry.at("ph") == "i")
                ++seen[entry.at("name")];
            if (entry.at("ph") == "M")
                ++seen[entry.at("args").at("name")];
        }
    }
    CHECK(seen["out of memory (torch)"] == 5);
    CHECK(seen["empty_cache"] > 0);
    CHECK(seen["device 0"] == 2);
    CHECK(seen["device 1"] == 1);
}

TEST_CASE("cuts by steps and by the name of a range", "[cli][cut]") {
    const Folder folder;
    std::string lines = R"({"type":"header","version":1,"unit":"us"})";
    for (int step = 1; step <= 4; ++step) {
        const std::string at = R"({"t":)" + std::to_string(step) + "000,";
        const std::string id = std::to_string(step);
        lines += "\n" + at + R"("op":"begin","name":"step )" + id + R"("})";
        lines += "\n" + at + R"("op":"alloc","id":)" + id + R"(,"bytes":1048576})";
        lines += "\n" + at + R"("op":"end","name":"step )" + id + R"("})";
    }
    support::write_file(folder / "all.jsonl", lines + "\n");
    for (const std::vector<std::string>& window :
         std::vector<std::vector<std::string>>{{"--step", "2..3"}, {"--range", "step 3"}}) {
        const std::string part = folder / "part.tmk";
        std::vector<std::string> arguments{"cut", folder / "all.jsonl", "-o", part, "--force"};
        arguments.insert(arguments.end(), window.begin(), window.end());
        REQUIRE(support::tidemark(arguments).code == 0);
        const json info = support::tidemark_json({"info", part});
        CHECK(info.at("kinds").at("range_begin") == (window[0] == "--step" ? 2 : 1));
        CHECK(info.at("allocations") == 3);  // with those that lived before
    }
    CHECK(support::tidemark({"cut", folder / "all.jsonl", "--step", "9", "-o", folder / "x.tmk"})
              .code == 2);
}
