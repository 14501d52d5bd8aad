// tidemark record --attach: a program with the probes of PyTorch (tests/cli/recorded), watched from
// outside, and what is refused.
#include <csignal>
#include <cstring>
#include <map>
#include <memory>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/command_line.h"
#include "tests/support/json_keys.h"
#include "tests/support/live_folder.h"
#include "traces/live/merge.h"
#include "traces/live/wire.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;

namespace {

// Another program, with its standard output and error in files, or as ours.
class Child {
  public:
    Child(const std::vector<std::string>& line, const std::string& out,
          const std::string& err = {}) {
        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
        if (!err.empty())
            ::posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
        std::vector<char*> arguments;
        for (const std::string& each : line)
            arguments.push_back(const_cast<char*>(each.c_str()));
        arguments.push_back(nullptr);
        REQUIRE(::posix_spawnp(&id_, arguments[0], &files, nullptr, arguments.data(), environ) ==
                0);
        ::posix_spawn_file_actions_destroy(&files);
    }

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    ~Child() {
        if (id_ > 0)
            end(SIGKILL);
    }

    std::string id() const { return std::to_string(id_); }

    void send(int signal) const { ::kill(id_, signal); }

    bool runs() const { return ::waitpid(id_, nullptr, WNOHANG) == 0; }

    // Its exit code, or 128 and the signal that ended it.
    int end(int signal = 0) {
        if (signal != 0)
            ::kill(id_, signal);
        int status = 0;
        ::waitpid(std::exchange(id_, 0), &status, 0);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

  private:
    pid_t id_ = 0;
};

struct AttachFolder : support::LiveFolder {
    std::string recording = file("run.tml");

    // Waits for the file to have the word.
    void wait_for(const std::string& path, const std::string& word) const {
        for (int look = 0; look < 2000; ++look) {
            if (contains(support::read_file(path), word))
                return;
            ::usleep(5000);
        }
        FAIL("no " << word << " in " << path);
    }
};

// Why attaching cannot be tried here; "" = it can.
std::string obstacle() {
#ifndef TIDEMARK_PROBED_PROGRAM
    return "probes can be read only on x86-64";
#else
    if (::access("/sys/bus/event_source/devices/uprobe/type", R_OK) != 0)
        return "this kernel has no probes of programs";
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_RINGBUF;
    attributes.max_entries = 4096;
    const auto map =
        static_cast<int>(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
    if (map < 0)
        return fmt::format("the kernel refuses us a ring: {}", std::strerror(errno));
    ::close(map);
    return "";
#endif
}

// Says why a case is left out.
bool left_out() {
    const std::string why = obstacle();
    if (!why.empty())
        WARN("left out: " << why);
    return !why.empty();
}

std::vector<live::Record> events_of(const std::string& path) {
    const std::string bytes = support::read_file(path);
    REQUIRE(bytes.size() >= sizeof(live::Header));
    std::span<const std::byte> rest = std::as_bytes(std::span(bytes));
    rest = rest.subspan(sizeof(live::Header));
    std::vector<live::Record> events;
    for (live::FoundChunk chunk = live::find_chunk(rest); chunk.whole;
         chunk = live::find_chunk(rest)) {
        for (std::size_t at = 0; at * sizeof(live::Record) < chunk.slots.size(); ++at) {
            const live::Record record = live::slot_at(chunk.slots, at);
            at += static_cast<std::size_t>(live::payload_slots(record));
            if (record.kind == live::RecordKind::allocate || record.kind == live::RecordKind::free)
                events.push_back(record);
        }
        rest = rest.subspan(chunk.needed);
    }
    return events;
}

}  // namespace

#ifdef TIDEMARK_PROBED_PROGRAM

TEST_CASE("every event of every thread is recorded, in the order of its address", "[cli][attach]") {
    if (left_out())
        return;
    constexpr std::uint64_t kThreads = 8;
    constexpr std::uint64_t kAllocations = 12'500;
    constexpr std::uint64_t kKept = 7;
    const AttachFolder folder;
    Child program({TIDEMARK_PROBED_PROGRAM, std::to_string(kThreads), std::to_string(kAllocations)},
                  folder.file("out"));
    folder.wait_for(folder.file("out"), "ready");
    const std::string id = program.id();
    const std::string err = folder.file("err");
    Child recorder({TIDEMARK_PROGRAM, "record", "--attach", id, "-o", folder.recording, "--json"},
                   folder.file("said"), err);
    folder.wait_for(err, "attached to process");
    program.send(SIGUSR1);
    CHECK(program.end() == 0);
    REQUIRE(recorder.end() == 0);
    INFO(support::read_file(err));
    const std::string out = support::read_file(folder.file("said"));
    const json said = json::parse(out);
    CHECK(support::printed_keys(out, {"processes[].kinds"}) == support::documented_keys("record"));
    CHECK(said["program"] == "probed_program");
    CHECK(said["program_exit_code"].is_null());
    CHECK(said["attached"]["unknown_frees"] == 3);
    CHECK(said["attached"]["missed_frees"] == 0);
    const std::uint64_t lost = said["attached"]["lost_events"];
    REQUIRE(lost == 0);
    const json& process = said["processes"][0];
    CHECK(std::to_string(process["process"].get<int>()) == id);
    CHECK(process["running"] == false);
    CHECK(process["events"] == 2 * kThreads * kAllocations - kThreads * kKept + 1);
    CHECK(process["never_freed"] == kThreads * kKept);

    std::map<std::uint64_t, live::Record> alive;
    std::vector<std::uint64_t> next(kThreads);
    std::size_t wrong = 0;
    const auto expect = [&wrong](bool right) { wrong += static_cast<std::size_t>(!right); };
    std::uint64_t time = 0;
    for (const live::Record& event : events_of(folder.recording)) {
        expect(event.time >= time);
        time = event.time;
        if (event.kind == live::RecordKind::free) {
            const auto found = alive.find(event.address);
            expect(found != alive.end() && found->second.size == event.size &&
                   found->second.device == event.device);
            alive.erase(event.address);
            continue;
        }
        const std::uint64_t thread = (event.size >> 24U) - 1;
        REQUIRE(thread < kThreads);
        expect((event.size & 0xffffffU) == next[thread]++);
        expect(event.device == thread % 2);
        expect(event.extra == (event.size + 511) / 512 * 512);
        expect(alive.emplace(event.address, event).second);
    }
    CHECK(wrong == 0);
    CHECK(next == std::vector<std::uint64_t>(kThreads, kAllocations));
}

TEST_CASE("a signal ends the recording, and the program goes on", "[cli][attach]") {
    if (left_out())
        return;
    const AttachFolder folder;
    Child program({TIDEMARK_PROBED_PROGRAM, "forever"}, folder.file("out"));
    folder.wait_for(folder.file("out"), "ready");
    int round = 0;
    for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
        const std::string recording = folder.file(fmt::format("run{}.tml", ++round));
        const std::string err = folder.file(fmt::format("err{}", round));
        Child recorder({TIDEMARK_PROGRAM, "record", "--attach", program.id(), "-o", recording},
                       folder.file("unused"), err);
        folder.wait_for(err, "attached to process");
        ::usleep(200'000);
        const int code = recorder.end(signal);
        CHECK(program.runs());
        if (signal == SIGKILL) {
            CHECK(code == 128 + SIGKILL);
            CHECK(support::tidemark({"live", "--recover"}).code == 0);
        } else {
            CHECK(code == 0);
            CHECK(contains(support::read_file(err), "it is still running"));
        }
        CHECK(events_of(recording).size() > 100);
    }
}

TEST_CASE("attaching without the rights says which", "[cli][attach]") {
    if (left_out())
        return;
    const AttachFolder folder;
    const std::vector<std::string> nobody{"setpriv", "--reuid=65534", "--clear-groups"};
    const auto as_nobody = [&](std::vector<std::string> line, const std::string& out,
                               const std::string& err) {
        line.insert(line.begin(), nobody.begin(), nobody.end());
        return std::make_unique<Child>(line, out, err);
    };
    if (::geteuid() != 0 || ::access("/usr/bin/setpriv", X_OK) != 0) {
        WARN("left out: it takes root, and setpriv");
        return;
    }
    Child ours({TIDEMARK_PROBED_PROGRAM, "forever"}, folder.file("out"));
    folder.wait_for(folder.file("out"), "ready");
    const auto theirs =
        as_nobody({TIDEMARK_PROBED_PROGRAM, "forever"}, folder.file("out2"), folder.file("err2"));
    folder.wait_for(folder.file("out2"), "ready");
    CHECK(as_nobody({TIDEMARK_PROGRAM, "record", "--attach", ours.id()}, folder.file("out3"),
                    folder.file("err3"))
              ->end() == 5);
    CHECK(contains(support::read_file(folder.file("err3")), "no permission to examine"));
    CHECK(as_nobody({TIDEMARK_PROGRAM, "record", "--attach", theirs->id()}, folder.file("out4"),
                    folder.file("err4"))
              ->end() == 5);
    CHECK(contains(support::read_file(folder.file("err4")), "CAP_BPF and CAP_PERFMON"));
}

#endif

TEST_CASE("what cannot be attached to is refused, with what to do", "[cli][attach]") {
    CHECK(contains(support::refusal({"record", "--attach", "4194305"}, 3), "there is no process"));
    const std::string other =
        support::refusal({"record", "--attach", std::to_string(::getpid())}, 5);
    CHECK(contains(other, "has not loaded libc10_cuda.so"));
    CHECK(contains(other, "tidemark record -- PROGRAM"));
    CHECK(contains(support::refusal({"record", "--attach", "1", "--", "true"}),
                   "either a program or --attach"));
    CHECK(contains(support::refusal({"record"}), "either a program or --attach"));
    for (const char* option : {"--stacks", "--no-children", "--kernels", "--ranges"})
        CHECK(contains(support::refusal({"record", "--attach", "1", option}), option));
}
