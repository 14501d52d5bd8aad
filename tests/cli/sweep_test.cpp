// sweep: killed, sharded or shared, its folder ends up with the same bytes.
#include <csignal>
#include <filesystem>
#include <map>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::Said;
using support::tidemark_json;

namespace {

using Arguments = std::vector<std::string>;

// Twelve units of two traces.
Arguments sweep_into(const std::string& folder, const Arguments& more = {}) {
    Arguments line{"sweep",
                   "generate:steps:events=2000",
                   "generate:steps:events=3000,seed=2",
                   "-o",
                   folder,
                   "-p",
                   "bump",
                   "--grid",
                   "torch:max_split_size_mb=64..512*2,1024"};
    line.insert(line.end(), more.begin(), more.end());
    return line;
}

// "0123456789abcdef.json", not what was on the way to becoming one when its writer was killed.
bool is_unit(const std::filesystem::path& path) {
    return path.extension() == ".json" && path.stem().string().size() == 16;
}

std::map<std::string, std::string> files_of(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (is_unit(entry.path()))
            files[entry.path().filename()] = support::read_file(entry.path());
    return files;
}

// While they come: a file may be renamed while this looks.
std::size_t units_in(const std::string& folder) {
    std::error_code none;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        count += is_unit(entry.path()) ? 1U : 0U;
    return count;
}

}  // namespace

TEST_CASE("a sweep computes each unit once, and a larger one only what is new", "[cli][sweep]") {
    const Folder folder;
    const json first = tidemark_json(sweep_into(folder / "a"));
    CHECK(first["planned"] == 12);
    CHECK(first["computed"] == 12);
    CHECK(first["missing"] == 0);
    CHECK(first["settings"].size() == 6);
    CHECK(files_of(folder / "a").size() == 12);

    const json again = tidemark_json(sweep_into(folder / "a"));
    CHECK(again["computed"] == 0);
    CHECK(again["settings"] == first["settings"]);
    CHECK(again["units"] == first["units"]);
    CHECK(tidemark_json(sweep_into(folder / "a", {"-p", "best-fit"}))["computed"] == 2);

    const auto whole = files_of(folder / "a");
    support::write_file(folder / ("a/" + whole.begin()->first), "");  // as a power cut leaves it
    CHECK(tidemark_json(sweep_into(folder / "a"))["computed"].get<int>() <= 1);
    CHECK(tidemark_json(sweep_into(folder / "a", {"-p", "best-fit"}))["missing"] == 0);
    CHECK(files_of(folder / "a") == whole);
}

TEST_CASE("a unit says what replay says", "[cli][sweep]") {
    const Folder folder;
    const json swept = tidemark_json(
        {"sweep", support::kSample, "-o", folder / "a", "-p", "best-fit", "--limit", "1GiB"});
    const json replayed =
        tidemark_json({"replay", support::kSample, "-p", "best-fit", "--limit", "1GiB"}, {}, 4);
    const json unit = json::parse(files_of(folder / "a").begin()->second);
    CHECK(unit["trace_hash"] == replayed["provenance"]["trace_hash"]);
    CHECK(swept["units"][0]["unit"] == unit["unit"]);
    for (const auto& [key, value] : unit.items()) {
        if (key == "unit" || key == "version" || key == "trace_hash" || key == "profile_hash" ||
            key == "error" || key == "checksum")
            continue;
        INFO(key);
        CHECK(value == replayed[key]);
    }
}

TEST_CASE("shards, threads and merging come to the same bytes", "[cli][sweep]") {
    const Folder folder;
    REQUIRE(support::tidemark(sweep_into(folder / "whole", {"-j", "3"})).code == 0);
    std::size_t computed = 0;
    for (const std::string part : {"1", "2", "3"}) {
        const json shard = tidemark_json(
            sweep_into(folder / ("part" + part), {"-j", "1", "--shard", part + "/3"}));
        CHECK(shard["computed"] == 4);
        CHECK(shard["missing"] == 8);
        computed += shard["computed"].get<std::size_t>();
        std::filesystem::copy(folder / ("part" + part), folder / "merged",
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
    }
    CHECK(computed == 12);
    CHECK(files_of(folder / "merged") == files_of(folder / "whole"));
    CHECK(tidemark_json(sweep_into(folder / "merged"))["computed"] == 0);

    const json array = tidemark_json(sweep_into(folder / "array", {"--shard", "auto"}),
                                     {.environment = {{"SLURM_ARRAY_TASK_ID", "3"},
                                                      {"SLURM_ARRAY_TASK_MIN", "1"},
                                                      {"SLURM_ARRAY_TASK_COUNT", "3"}}});
    CHECK(array["computed"] == 4);
    CHECK(files_of(folder / "array") == files_of(folder / "part3"));
    CHECK(contains(support::refusal(sweep_into(folder / "x", {"--shard", "4/3"})), "--shard"));
}

TEST_CASE("a sweep that is killed leaves whole units and is gone on with", "[cli][sweep]") {
    const Folder folder;
    const Arguments line =
        sweep_into(folder / "killed", {"-j", "1", "--grid", "torch:max_split_size_mb=20..60+1"});
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::vector<char*> argv{const_cast<char*>("tidemark")};
        for (const std::string& word : line)
            argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        ::close(STDOUT_FILENO);
        ::execv(TIDEMARK_PROGRAM, argv.data());
        ::_exit(127);
    }
    // Once some are there.
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0 && units_in(folder / "killed") < 3)
        ::sched_yield();
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);

    const std::size_t there = files_of(folder / "killed").size();
    CHECK(there >= 3);
    for (const auto& [name, content] : files_of(folder / "killed"))
        CHECK(json::parse(content)["unit"].get<std::string>() + ".json" == name);
    const json rest = tidemark_json(line);
    CHECK(rest["computed"].get<std::size_t>() == rest["planned"].get<std::size_t>() - there);
    REQUIRE(support::tidemark(
                sweep_into(folder / "whole", {"--grid", "torch:max_split_size_mb=20..60+1"}))
                .code == 0);
    CHECK(files_of(folder / "killed") == files_of(folder / "whole"));
}

TEST_CASE("a sweep over tiers says what replays over tiers say", "[cli][sweep][tiers]") {
    const Folder folder;
    const std::string query = support::project_file("traces/samples/uses/query.jsonl.xz");
    const Arguments line{"sweep",   query,     "-o",  folder / "a", "--gpu-memory",
                         "50%,30%", "--spill", "lru", "--spill",    "s3fifo"};
    const json swept = tidemark_json(line);
    CHECK(swept["computed"] == 4);
    CHECK(swept["settings"].size() == 4);
    CHECK(tidemark_json(line)["computed"] == 0);
    std::size_t seen = 0;
    for (const auto& [name, content] : files_of(folder / "a")) {
        const json unit = json::parse(content);
        const Said said =
            support::tidemark({"replay", query, "--gpu-memory",
                               std::to_string(unit["gpu_memory_bytes"].get<int64_t>()), "--spill",
                               unit["spec"], "--json"});
        const json replayed = json::parse(said.out);
        for (const char* key : {"makespan_ns", "slowdown", "stall_ns", "moved_bytes", "machine",
                                "out_of_memory", "policy", "evictions"}) {
            INFO(key);
            CHECK(unit[key] == replayed[key]);
        }
        CHECK(unit["machine_hash"] == replayed["provenance"]["machine_hash"]);
        ++seen;
    }
    CHECK(seen == 4);
    CHECK(contains(support::tidemark({"report", folder / "a", "--text"}).out, "slowdown"));
    CHECK(contains(
        support::refusal({"sweep", query, "-o", folder / "b", "--spill", "lru", "-p", "bump"}),
        "not for a sweep over tiers"));
}

TEST_CASE("a machine described in a file is an axis of a sweep", "[cli][sweep][tiers]") {
    const Folder folder;
    const std::string query = support::project_file("traces/samples/uses/query.jsonl.xz");
    const std::string text =
        support::read_file(support::project_file("backends/machines/shipped/h200-node.json"));
    support::write_file(folder / "mine.json", text);
    const json same = tidemark_json({"sweep", query, "-o", folder / "a", "--gpu-memory", "50%",
                                     "--machine", "h200-node", "--machine", folder / "mine.json"});
    CHECK(same["planned"] == 1);  // it is the same machine
    std::string slower = text;
    const std::string speed = "\"bytes_per_second\": 55451000000";
    REQUIRE(contains(slower, speed));
    slower.replace(slower.find(speed), speed.size(), "\"bytes_per_second\": 5545100000");
    support::write_file(folder / "slow.json", slower);
    const json two = tidemark_json({"sweep", query, "-o", folder / "a", "--gpu-memory", "50%",
                                    "--machine", "h200-node", "--machine", folder / "slow.json"});
    CHECK(two["computed"] == 1);
    CHECK(two["settings"][0]["machine_hash"] != two["settings"][1]["machine_hash"]);
}

TEST_CASE("the sweep of the guide runs from its file", "[cli][sweep][docs]") {
    const Folder folder;
    const std::string guide = support::read_file(support::project_file("docs/guide/sweep.md"));
    const std::size_t begin = guide.find("```json\n") + 8;
    const std::string spec = guide.substr(begin, guide.find("```", begin) - begin);
    std::filesystem::create_directory(folder / "runs");
    for (const std::string seed : {"1", "2"})
        REQUIRE(support::tidemark({"import", "generate:steps:events=500,seed=" + seed, "-o",
                                   folder / ("runs/" + seed + ".tmk")})
                    .code == 0);
    json here = json::parse(spec);
    here["traces"] = {folder / "runs/*.tmk"};
    here["output"] = folder / "out";
    support::write_file(folder / "sweep.json", here.dump());
    const json swept = tidemark_json({"sweep", "--spec", folder / "sweep.json"});
    CHECK(swept["planned"] == 2 * (2 + 4) * 2);
    CHECK(swept["missing"] == 0);
    const json fewer = tidemark_json(
        {"sweep", "--spec", folder / "sweep.json", "--memory", "40GiB", "--grid", "torch"});
    CHECK(fewer["planned"] == 2 * 3);

    const auto refusal = [&](const std::string& text, int code) {
        support::write_file(folder / "bad.json", text);
        return support::refusal({"sweep", "--spec", folder / "bad.json"}, code);
    };
    CHECK(contains(refusal("traces: a", 3), "is not JSON"));
    CHECK(contains(refusal("{\"polices\": []}", 3), "did you mean 'policies'?"));
    CHECK(contains(refusal("{\"grid\": [\"torch\", 3]}", 3), "bad.json: /grid/1"));
    CHECK(contains(refusal("{\"seed\": -1}", 3), "/seed"));
    CHECK(contains(refusal("{\"policies\": \"bump\"}", 2), "--output"));
}

TEST_CASE("--lines writes the units of this sweep alone, in its order", "[cli][sweep]") {
    const Folder folder;
    REQUIRE(support::tidemark(sweep_into(folder / "a", {"-p", "best-fit"})).code == 0);
    const Said said = support::tidemark(sweep_into(folder / "a", {"--lines", "-"}));
    CHECK(said.code == 0);
    std::istringstream lines(said.out);
    const json swept = tidemark_json(sweep_into(folder / "a"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        CHECK(json::parse(line)["unit"] == swept["units"][count]["unit"]);
        CHECK(support::read_file(folder / ("a/" + json::parse(line)["unit"].get<std::string>() +
                                           ".json")) == line + "\n");
    }
    CHECK(count == 12);
}

TEST_CASE("halving tries less and keeps the best of what it tried", "[cli][sweep]") {
    const Folder folder;
    Arguments line{"sweep"};
    for (const std::string seed : {"1", "2", "3", "4"})
        line.push_back("generate:steps:events=1500,seed=" + seed);
    line.insert(line.end(), {"-o", folder / "a", "-p", "bump", "-p", "torch", "-p", "best-fit",
                             "-p", "cuda-malloc", "--halving"});
    const json halved = tidemark_json(line);
    CHECK(halved["computed"] == 4 + 2 + 2);
    CHECK(halved["settings"].size() == 1);
    CHECK(halved["settings"][0]["spec"] == "cuda-malloc");
    CHECK(halved["settings"][0]["traces"] == 4);
    line.pop_back();
    const json whole = tidemark_json(line);
    CHECK(whole["computed"] == 8);
    CHECK(whole["settings"][0] == halved["settings"][0]);
}

TEST_CASE("files that are no units of this sweep are not taken for them", "[cli][sweep]") {
    const Folder folder;
    REQUIRE(support::tidemark(sweep_into(folder / "a")).code == 0);
    const std::string name = files_of(folder / "a").begin()->first;
    for (const std::string content : {"{}\n", "{\"unit\": 3}\n", "[1]\n", "no"}) {
        support::write_file(folder / ("a/" + name), content);
        const std::string said = support::refusal(sweep_into(folder / "a"), 3);
        CHECK(contains(said, name));
        CHECK(contains(said, "delete the file"));
    }
    std::filesystem::remove(folder / ("a/" + name));
    support::write_file(folder / "a/notes.txt", "mine");
    CHECK(tidemark_json(sweep_into(folder / "a"))["computed"] == 1);
}

TEST_CASE("a unit that somebody edited is noticed, when a sweep goes on and when it is reported",
          "[cli][sweep]") {
    const Folder folder;
    REQUIRE(support::tidemark(sweep_into(folder / "a")).code == 0);
    const auto [name, line] = *files_of(folder / "a").begin();
    const std::string path = folder / ("a/" + name);
    const Arguments report{"report", folder / "a", "--text"};
    REQUIRE(support::tidemark(report).code == 0);

    std::string edited = line;
    const std::size_t digits = edited.find("\"peak_reserved_bytes\":") + 22;
    edited[digits] = edited[digits] == '1' ? '2' : '1';
    support::write_file(path, edited);
    for (const Arguments& arguments : {sweep_into(folder / "a"), report}) {
        const Said said = support::tidemark(arguments);
        CHECK(said.code == 3);
        CHECK(contains(said.err, "was changed after it was written"));
    }

    // Without its checksum it could be of an older version, which a report takes and counts.
    const std::size_t checksum = line.find(",\"checksum\"");
    REQUIRE(checksum != std::string::npos);
    support::write_file(path, line.substr(0, checksum) + "}\n");
    CHECK(contains(support::refusal(sweep_into(folder / "a"), 3), "has no checksum"));
    const Said said = support::tidemark(report);
    CHECK(said.code == 0);
    CHECK(contains(said.out, "12 units: 1 of them without a checksum"));
}

TEST_CASE("a sweep's wrong usage is refused before a trace is opened", "[cli][sweep]") {
    const Folder folder;
    const auto refused = [&](const Arguments& more) {
        Arguments line{"sweep", "no-such-file.tmk", "-o", folder / "a"};
        line.insert(line.end(), more.begin(), more.end());
        return support::refusal(line);
    };
    CHECK(contains(refused({}), "there is no setting"));
    CHECK(contains(refused({"--grid", "torch:max_split_size=1"}), "max_split_size_mb"));
    CHECK(contains(refused({"-p", "torch", "--memory", "80"}), "--memory"));
    CHECK(contains(refused({"-p", "torch", "--halving", "--shard", "1/2"}), "--halving"));
    CHECK(contains(refused({"-p", "torch", "--shard", "auto"}), "no scheduler"));
}
