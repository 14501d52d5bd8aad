// tidemark record: what a program that knows nothing of it does, on a fake driver whose calls are
// reported as CUPTI reports them (tests/cli/recorded).
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/allocator/allocator.h"
#include "tests/cli/command_line.h"
#include "tests/cli/recorded_events.h"
#include "tests/support/json_keys.h"
#include "traces/live/programs.h"
#include "traces/live/wire.h"

using namespace tidemark;
using live::RecordKind;
using support::contains;
using support::read_events;
using support::RecordedEvent;
using support::RecordFolder;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiBytes = 1U << 20U;
constexpr std::uint64_t kNoGpuAddress = std::uint64_t{1} << 61U;

// The events of some kinds, those of one call in a row: "allocate cuMemAlloc 0 1048576".
std::vector<std::string> event_lines(const std::vector<RecordedEvent>& events) {
    const std::map<RecordKind, std::string> names{
        {RecordKind::allocate, "allocate"},   {RecordKind::free, "free"},
        {RecordKind::refused, "refused"},     {RecordKind::reserve, "reserve"},
        {RecordKind::unreserve, "unreserve"}, {RecordKind::map, "map"},
        {RecordKind::unmap, "unmap"}};
    std::vector<std::string> result;
    for (const RecordedEvent& each : events) {
        if (const auto name = names.find(each.record.kind); name != names.end())
            result.push_back(fmt::format("{} {} {} {}", name->second, each.tag, each.record.device,
                                         each.record.size));
    }
    return result;
}

// Each free is of something that lives; what lives at the end.
std::size_t left_alive(const std::vector<RecordedEvent>& events) {
    std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> live;
    for (const RecordedEvent& each : events) {
        const std::pair<unsigned, std::uint64_t> key{each.record.device, each.record.address};
        if (each.record.kind == RecordKind::allocate)
            CHECK(live.emplace(key, each.record.size).second);
        else if (each.record.kind == RecordKind::free)
            CHECK(live.erase(key) == 1);
    }
    return live.size();
}

using EventLines = std::vector<std::string>;

}  // namespace

TEST_CASE("record keeps every kind of allocation with its size and its function", "[cli][record]") {
    const RecordFolder folder;
    const support::Said said = folder.record({"plain", "host"});
    INFO(said.err);
    REQUIRE(said.code == 0);
    CHECK(said.out.empty());
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(event_lines(events) ==
          EventLines{"allocate cuMemAlloc 0 3145728", "free cuMemFree 0 3145728",
                     "allocate cuMemAllocPitch 0 16384", "free cuMemFree 0 16384",
                     "allocate cuMemAllocManaged 0 2097152", "free cuMemFree 0 2097152",
                     "allocate cuArray3DCreate 0 32768", "free cuArrayDestroy 0 32768",
                     "allocate cuMemHostAlloc 2 5242880", "free cuMemFreeHost 2 5242880",
                     "allocate cuMemAllocHost 2 6291456", "free cuMemFreeHost 2 6291456",
                     "allocate cuMemHostRegister 2 1048576", "free cuMemHostUnregister 2 1048576"});
    CHECK(left_alive(events) == 0);
    CHECK(contains(said.err, "host memory: 3 allocations, at most 6.00 MiB at once"));

    const auto info = support::tidemark_json({"info", folder.recording});
    CHECK(info["devices"].size() == 3);
    CHECK(info["devices"][2]["name"] == "host memory");
    CHECK(contains(info["warnings"].dump(), "device 2 is host memory"));
    CHECK(info["peak_requested"]["value"] == 3 * kMiBytes);
    CHECK(info["devices"][2]["peak_requested"]["value"] == 6 * kMiBytes);
    CHECK(info["devices"][0]["total_memory_bytes"] == 1U << 30U);
    CHECK(contains(support::tidemark({"info", folder.recording}).out, "host memory, peak"));
    const auto replayed = support::tidemark_json({"replay", folder.recording});
    CHECK(replayed["peak_requested_bytes"] == 3 * kMiBytes);
    CHECK(replayed["peak_reserved_bytes"] == replayed["devices"][0]["peak_reserved_bytes"]);
    CHECK(replayed["devices"][2]["peak_requested_bytes"] == 6 * kMiBytes);
    CHECK(contains(support::tidemark({"compare", folder.recording}).out, "host memory"));
    const std::string exported = folder.file("trace.json");
    REQUIRE(
        support::tidemark({"export", folder.recording, "-p", "cuda-malloc", "-o", exported}).code ==
        0);
    const auto entries = nlohmann::json::parse(support::read_file(exported))["traceEvents"];
    std::map<int, std::uint64_t> highest;  // by device, from 1 on; behind them the sum
    for (const auto& entry : entries)
        if (entry["ph"] == "C" && contains(entry["name"].dump(), "requested"))
            highest[entry["pid"]] =
                std::max<std::uint64_t>(highest[entry["pid"]], entry["args"]["bytes"]);
    const std::map<int, std::uint64_t> expected{
        {1, 3 * kMiBytes}, {2, 0}, {3, 6 * kMiBytes}, {4, 3 * kMiBytes}};
    CHECK((highest == expected));
    CHECK(info["unmatched"] == 0);
    CHECK(info["never_freed"] == 0);
    CHECK(support::tidemark({"replay", folder.recording, "-p", "extent"}).code == 0);
}

TEST_CASE("record keeps what was refused, and what a failed call did not free", "[cli][record]") {
    RecordFolder folder;
    folder.here.environment.emplace_back("TIDEMARK_FAKE_CUDA_CONFIG",
                                         "memory=1073741824,fail=cuMemFree_v2:1:700:one");
    const support::Said said = folder.record({"refused", "leak"});
    INFO(said.err);
    CHECK(said.code == 0);
    CHECK(event_lines(read_events(folder.recording)) ==
          EventLines{"refused cuMemAlloc 0 1125899906842624", "allocate cuMemAlloc 0 9437184"});
    CHECK(contains(said.err, "1 allocation (9.00 MiB) never freed"));
    CHECK(contains(said.err, "out of memory: 1 request"));

    fs::remove(folder.recording);
    CHECK(folder.record({"plain"}).code == 128 + SIGABRT);  // it minds the failure
    CHECK(event_lines(read_events(folder.recording)) == EventLines{"allocate cuMemAlloc 0 3145728",
                                                                   "free cuMemFree 0 3145728",
                                                                   "allocate cuMemFree 0 3145728"});
}

TEST_CASE("record has the end of an address before another thread is given it", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"churn"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(left_alive(events) == 0);
    std::map<std::uint64_t, std::size_t> given;
    for (const RecordedEvent& each : events)
        given[each.record.address] += each.record.kind == RecordKind::allocate ? 1 : 0;
    // Addresses that are given out once would prove nothing.
    CHECK(given.size() < 1000);
    CHECK(event_lines(events).size() == 2 * 4 * 2000);
}

TEST_CASE("record counts physical memory once, until it is released and unmapped",
          "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"vmm"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(event_lines(events) ==
          EventLines{"reserve cuMemAddressReserve 0 16777216", "allocate cuMemCreate 0 4194304",
                     "map cuMemMap 0 4194304", "map cuMemMap 0 4194304",
                     "allocate cuMemCreate 0 8388608", "map cuMemMap 0 8388608",
                     "unmap cuMemUnmap 0 4194304", "unmap cuMemUnmap 0 4194304",
                     "unmap cuMemUnmap 0 8388608", "free cuMemUnmap 0 4194304",
                     "free cuMemRelease 0 8388608", "unreserve cuMemAddressFree 0 16777216"});
    CHECK(left_alive(events) == 0);
    for (const RecordedEvent& each : events) {
        if (each.record.kind == RecordKind::allocate)
            CHECK(each.record.address >= kNoGpuAddress);
        if (each.record.kind == RecordKind::map)
            CHECK(each.record.extra >= kNoGpuAddress);
    }
    const auto info = support::tidemark_json({"info", folder.recording});
    CHECK(info["devices"][0]["peak_requested"]["value"] == 12 * kMiBytes);
    CHECK(info["peak_recorded_reserved"].is_null());
}

TEST_CASE("record knows streams and pools, and doesn't count what a graph gets", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"pools"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(event_lines(events) ==
          EventLines{"allocate cuMemAllocAsync 0 1048576", "free cuMemFreeAsync 0 1048576",
                     "allocate cuMemAllocAsync 0 2097152", "free cuMemFreeAsync 0 2097152",
                     "allocate cuMemAllocFromPoolAsync 0 3145728", "free cuMemFreeAsync 0 3145728",
                     "allocate cuMemAllocFromPoolAsync 0 4194304",
                     "free cuMemFreeAsync 0 4194304"});
    std::vector<RecordedEvent> allocations;
    std::ranges::copy_if(events, std::back_inserter(allocations), [](const RecordedEvent& each) {
        return each.record.kind == RecordKind::allocate;
    });
    REQUIRE(allocations.size() == 4);
    CHECK(allocations[0].stream > 2);
    CHECK(allocations[1].stream == 2);  // CU_STREAM_PER_THREAD
    CHECK(allocations[2].stream == allocations[0].stream);
    CHECK(allocations[0].pool == 0);
    CHECK(allocations[2].pool == 1);
    CHECK(allocations[3].pool == 0);  // the device's own, by its handle
    CHECK(std::ranges::any_of(events, [](const RecordedEvent& each) {
        return each.record.kind == RecordKind::mark &&
               contains(each.text, "a graph allocates 5242880");
    }));
}

TEST_CASE("record ends what lived in a context with it", "[cli][record]") {
    const RecordFolder folder;
    const support::Said said = folder.record({"leak", "contexts", "devices", "reset"});
    INFO(said.err);
    REQUIRE(said.code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(event_lines(events).front() == "allocate cuMemAlloc 0 9437184");
    CHECK(std::ranges::count(event_lines(events), "free context destroyed 1 2097152") == 1);
    CHECK(std::ranges::count(event_lines(events), "free context destroyed 0 9437184") == 1);
    CHECK(std::ranges::count(event_lines(events), "free cuMemFree 1 1048576") == 1);
    CHECK(left_alive(events) == 0);
    CHECK(contains(said.err, "4 allocations (13.0 MiB) ended with their context"));
}

TEST_CASE("record doesn't count memory of other processes", "[cli][record]") {
    const RecordFolder folder;
    REQUIRE(folder.record({"ipc"}).code == 0);
    const std::vector<RecordedEvent> events = read_events(folder.recording);
    CHECK(event_lines(events) ==
          EventLines{"allocate cuMemAlloc 0 2097152", "map cuIpcOpenMemHandle 0 2097152",
                     "unmap cuIpcCloseMemHandle 0 2097152", "free cuMemFree 0 2097152"});
    CHECK(std::ranges::all_of(events, [](const RecordedEvent& each) {
        return each.record.kind != RecordKind::map || each.record.extra != 0;
    }));
}

TEST_CASE("info holds a program's own recording against what its driver gave", "[cli][record]") {
    const RecordFolder folder;
    const std::string own = folder.file("torch.tml");
    REQUIRE(folder.record({"torch=" + own}).code == 0);
    const auto info = support::tidemark_json({"info", folder.recording, own});
    REQUIRE(info["joins"].size() == 1);
    const auto& join = info["joins"][0];
    CHECK(join["driver"] == "run.tml");
    CHECK(join["torch"] == "torch.tml");
    CHECK(join["segments"] == 2);
    CHECK(join["matched"] == 2);
    CHECK(join["unmatched"].empty());
    CHECK(join["outside_at_torch_peak_bytes"] == 3 * kMiBytes);
    REQUIRE(join["holders"].size() == 3);
    CHECK(join["holders"][1]["call"] == "cuMemCreate");
    CHECK(join["holders"][1]["torch"] == true);
    CHECK(join["holders"][1]["at_torch_peak_bytes"] == 8 * kMiBytes);
    CHECK(join["holders"][2]["torch"] == false);
    REQUIRE(join["cards"].size() == 1);
    CHECK(join["cards"][0]["used_bytes"] == 100 * kMiBytes);

    fs::remove(folder.recording);
    fs::remove(own);
    REQUIRE(folder.record({"lies=" + own}).code == 0);
    const support::Said said = support::tidemark({"info", own, folder.recording});
    CHECK(said.code == 1);
    CHECK(contains(said.out, "2 of PyTorch's 3 segments are memory from the driver"));
    CHECK(contains(said.out, "0x5000 on device 0 (1.00 MiB, from "));
    CHECK(contains(said.out, "\nat the end 100 MiB of Fake H200 were used: PyTorch has "));
    const auto wrong = support::tidemark_json({"info", own, folder.recording}, {}, 1);
    CHECK(support::printed_keys(wrong["joins"][0].dump()) ==
          support::documented_keys("info DRIVER TORCH"));
}

TEST_CASE("record leaves a program its input, output, exit code and signals", "[cli][record]") {
    RecordFolder folder;
    folder.here.input = "hello";
    const support::Said echoed = folder.record({"echo", "exit=7"});
    CHECK(echoed.out == "hello");
    CHECK(echoed.err.starts_with("!"));
    CHECK(echoed.code == 7);
    CHECK(contains(echoed.err, "nothing was recorded"));
    CHECK(folder.recordings() == 0);
    CHECK(folder.record({"leak", "signal=6"}).code == 128 + SIGABRT);
    CHECK(folder.record({"signal=13"}).code == 128 + SIGPIPE);  // which it doesn't ignore

    const support::Said missing =
        support::tidemark({"record", "--", "/no/such/program"}, folder.here);
    CHECK(missing.code == 127);
    CHECK(contains(missing.err, "/no/such/program"));
}

TEST_CASE("record passes signals on", "[cli][record]") {
    const RecordFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGTERM, SIG_DFL);  // the test's own handler isn't ours
        ::close(STDERR_FILENO);
        ::execl(TIDEMARK_PROGRAM, "tidemark", "record", "--", TIDEMARK_RECORDED_PROGRAM, "pause",
                static_cast<char*>(nullptr));
        ::_exit(1);
    }
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
        ::usleep(20'000);
        ::kill(child, SIGTERM);
    }
    // Before it has its handlers the signal ends it itself.
    CHECK((WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)) == 128 + SIGTERM);
}

#ifdef TIDEMARK_VIEWER
TEST_CASE("a viewer follows what every policy does to the driver while that is recorded",
          "[cli][record][live]") {
    const RecordFolder folder;
    const std::string image = folder.file("watched.png");
    std::vector<std::string> line{"tidemark", "record",  "-o", folder.recording,
                                  "--name",   "watched", "--", TIDEMARK_RECORDED_PROGRAM};
    for (const PolicyInfo& policy : all_policies())
        line.push_back("policy=" + std::string(policy.name));
    line.emplace_back("pause");
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGTERM, SIG_DFL);
        for (const auto& [name, value] : folder.here.environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        std::vector<char*> arguments;
        for (std::string& each : line)
            arguments.push_back(each.data());
        arguments.push_back(nullptr);
        ::execv(TIDEMARK_PROGRAM, arguments.data());
        ::_exit(1);
    }
    const auto recorded = [] {
        const auto program = live::find_program("watched");
        return program ? program->counters.written : 0;
    };
    std::uint64_t before = 0;
    std::uint64_t now = 0;
    for (int look = 0; look < 200 && (now == 0 || now != before); ++look) {
        before = std::exchange(now, recorded());
        ::usleep(200'000);
        if (now == 0)
            continue;
        const support::Said drawn =
            support::tidemark({"view", "--attach", "watched", "--png", image, "--size", "360x240"});
        INFO(drawn.err);
        CHECK(drawn.code == 0);
    }
    CHECK(fs::file_size(image) > 0);
    ::kill(child, SIGTERM);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(left_alive(read_events(folder.recording)) == 0);
}
#endif

TEST_CASE("record says why nothing was recorded", "[cli][record]") {
    RecordFolder folder;
    const support::Said idle = folder.record({"init"});
    CHECK(contains(idle.err, "initialized CUDA and allocated no memory"));

    folder.here.environment.emplace_back("TIDEMARK_TEST_CUPTI_TAKEN", "1");
    const support::Said taken = folder.record({"plain", "exit=4"});
    CHECK(taken.code == 4);
    CHECK(contains(taken.err, "error 39"));

    folder.here.environment.back() = {"TIDEMARK_CUPTI", "/no/such/libcupti.so"};
    const support::Said none = folder.record({"plain"});
    CHECK(none.code == 0);
    CHECK(contains(none.err, "no CUPTI"));

    folder.here.environment.emplace_back("CUDA_INJECTION64_PATH", "/other/tool.so");
    const support::Said other = folder.record({"plain"});
    CHECK(other.code == 5);
    CHECK(contains(other.err, "/other/tool.so"));
    folder.here.environment.back().second = "/elsewhere/libtidemark-record.so";
    const support::Said nested = folder.record({"plain"});
    CHECK(nested.code == 5);
    CHECK(contains(nested.err, "another `tidemark record` records this program already"));
    CHECK(folder.recordings() == 0);
}

TEST_CASE("record keeps each process of a program apart", "[cli][record]") {
    RecordFolder folder;
    const support::Said said = folder.record({"leak", "child", "forks"});
    INFO(said.err);
    CHECK(said.code == 0);
    CHECK(folder.recordings() == 2);
    CHECK(event_lines(read_events(folder.recording)) == EventLines{"allocate cuMemAlloc 0 9437184",
                                                                   "allocate cuMemAlloc 0 1048576",
                                                                   "free cuMemFree 0 1048576"});

    // A program in the place of another one, in the same process.
    fs::remove(folder.recording);
    CHECK(folder.record({"leak", "exec"}).code == 0);
    CHECK(event_lines(read_events(folder.recording)) ==
          EventLines{"allocate cuMemAlloc 0 9437184"});
    CHECK(folder.recordings() == 3);

    const RecordFolder alone;
    CHECK(alone.record({"leak", "child"}, {"--no-children"}).code == 0);
    CHECK(alone.recordings() == 1);
}

TEST_CASE("record keeps what a program does at its very end, and of one that is killed",
          "[cli][record]") {
    RecordFolder folder;
    CHECK(folder.record({"late"}).code == 0);
    CHECK(event_lines(read_events(folder.recording)) ==
          EventLines{"allocate cuMemCreate 0 8388608", "free cuMemRelease 0 8388608"});
    for (const auto& [step, code] : {std::pair{"quit", 3}, std::pair{"kill", 128 + SIGKILL}}) {
        fs::remove(folder.recording);
        CHECK(folder.record({"leak", step}).code == code);
        CHECK(event_lines(read_events(folder.recording)) ==
              EventLines{"allocate cuMemAlloc 0 9437184"});
    }
}

TEST_CASE("record loses nothing of a program that is killed at any moment", "[cli][record]") {
    for (unsigned round = 0; round < 6; ++round) {
        const RecordFolder folder;
        const support::Said said = support::tidemark(
            {"record", "-o", folder.recording, "--", "timeout", "-s", "KILL",
             fmt::format("0.{:02}", 10 + round * 7), TIDEMARK_RECORDED_PROGRAM, "loop"},
            folder.here);
        CHECK(said.code == 128 + SIGKILL);
        unsigned long done = 0;  // pairs that the program says are done
        REQUIRE(said.out.size() >= sizeof done);
        std::memcpy(&done, said.out.data() + (said.out.size() / sizeof done - 1) * sizeof done,
                    sizeof done);
        const std::vector<RecordedEvent> events = read_events(folder.recording);
        CHECK(left_alive(events) <= 1);
        const auto frees =
            static_cast<std::uint64_t>(std::ranges::count_if(events, [](const RecordedEvent& each) {
                return each.record.kind == RecordKind::free;
            }));
        CHECK(frees >= done);
        CHECK(frees <= done + 1);
    }
}

TEST_CASE("record's options reach the recording", "[cli][record]") {
    RecordFolder folder;
    const support::Said said =
        folder.record({"plain"}, {"--stacks", "--name", "trainer", "--live", "--json"});
    CHECK(contains(said.err, "tidemark view --attach trainer"));
    const auto summary = nlohmann::json::parse(said.out);
    CHECK(summary["program_exit_code"] == 0);
    CHECK(summary["processes"][0]["devices"][0]["allocations"] == 4);
    support::Keys keys = support::documented_keys("record");
    std::erase_if(keys, [](const std::string& key) { return key.starts_with("attached."); });
    CHECK(support::printed_keys(said.out, {"processes[].kinds"}) == keys);
    const auto info = support::tidemark_json({"info", folder.recording});
    CHECK(info["source"] == "trainer");
    const std::string exported = folder.file("run.jsonl");
    REQUIRE(support::tidemark({"export", folder.recording, "-o", exported}).code == 0);
    CHECK(contains(support::read_file(exported), "recorded_program"));

    CHECK(folder.record({"plain"}).code == 0);  // its own recording is replaced, by --force
    support::write_file(folder.recording, "mine");
    CHECK(folder.record({"plain"}).code == 2);
    CHECK(support::read_file(folder.recording) == "mine");
}
