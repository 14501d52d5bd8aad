// Folders and files that others may have had their hands in: nothing there is taken for a program's
// or a recording, nothing is written through it, and what is sound beside it is found all the same.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"
#include "tests/support/dead_program.h"
#include "tests/support/live_folder.h"
#include "traces/live/kept_recordings.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "traces/live/remainder.h"
#include "traces/live/runtime_folder.h"
#include "traces/live/segment_files.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using support::DeadProgram;
using support::LiveFolder;

constexpr uid_t kStranger = 12345;

bool is_root() {
    return ::geteuid() == 0;
}

// A dead program with its recording; both are as they should be.
DeadProgram sound_program(const LiveFolder& folder) {
    DeadProgram program{.recording = folder.file("a.tml")};
    folder.write("a.tml", program.recording_bytes());
    program.leave(folder);
    return program;
}

Result<live::Remainder> recover(const std::string& name = "victim") {
    const auto program = live::find_program(name);
    REQUIRE(program);
    return live::recover(*program);
}

void make_socket(const std::string& path) {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::copy(path.begin(), path.end(), address.sun_path);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

// A file of 2 TiB that holds nothing but `begin`.
std::string make_sparse(const LiveFolder& folder, const std::string& name,
                        const std::string& begin) {
    const std::string path = folder.write(name, begin);
    REQUIRE(::truncate(path.c_str(), off_t{1} << 41) == 0);
    return path;
}

bool reported(const std::vector<Error>& skipped, const std::string& path, const std::string& what) {
    return std::ranges::any_of(skipped, [&](const Error& error) {
        return error.where == path && error.what.find(what) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("what is no program of ours is skipped and told, and the others are found", "[live]") {
    const LiveFolder folder;
    const DeadProgram program = sound_program(folder);
    const auto run = [&](const std::string& name) { return folder.file("run/" + name); };
    REQUIRE(::mkfifo(run("pipe.live").c_str(), 0600) == 0);
    make_socket(run("socket.live"));
    fs::create_directory(run("folder.live"));
    make_sparse(folder, "run/sparse.live", "");
    fs::create_symlink(run("victim.live"), run("link.live"));
    folder.write("run/open.live", program.shared_bytes());
    REQUIRE(::chmod(run("open.live").c_str(), 0666) == 0);
    std::size_t expected = 6;
    if (is_root()) {
        folder.write("run/foreign.live", program.shared_bytes());
        REQUIRE(::chown(run("foreign.live").c_str(), kStranger, kStranger) == 0);
        ++expected;
    } else {
        WARN("left out: a file of another user, which only root can make");
    }

    std::vector<Error> skipped;
    const auto programs = live::list_programs(&skipped);

    REQUIRE(programs.size() == 1);
    CHECK(programs.front().name() == "victim");
    CHECK(skipped.size() == expected);
    CHECK(reported(skipped, run("pipe.live"), "not a regular file"));
    CHECK(reported(skipped, run("socket.live"), "cannot be opened"));
    CHECK(reported(skipped, run("folder.live"), "not a regular file"));
    CHECK(reported(skipped, run("sparse.live"), "is not the file of a running program"));
    CHECK(reported(skipped, run("link.live"), "is a link"));
    CHECK(reported(skipped, run("open.live"), "can be written by other users"));
    CHECK((!is_root() || reported(skipped, run("foreign.live"), "belongs to another user")));
    CHECK(recover());
}

TEST_CASE("a folder that isn't ours alone is said to be so, and neither read nor used", "[live]") {
    const LiveFolder folder;
    sound_program(folder);
    const std::string run = folder.file("run");
    const auto check = [&](const std::string& what) {
        std::vector<Error> skipped;
        CHECK(live::list_programs(&skipped).empty());
        REQUIRE(skipped.size() == 1);
        CHECK(skipped.front().what == what);
        CHECK(skipped.front().where == run);
        CHECK(skipped.front().hint.find("TIDEMARK_RUNTIME_DIR") != std::string::npos);
        CHECK(live::find_program("victim").error().hint.find(what) != std::string::npos);
        CHECK(live::read_program(run + "/victim.live").error().what == what);
        CHECK(live::Publisher::start({.recording = folder.file("b.tml")}).error().what == what);
        return skipped.front().hint;
    };

    REQUIRE(::chmod(run.c_str(), 0770) == 0);
    check("can be written by other users");
    REQUIRE(::chmod(run.c_str(), 0700) == 0);
    fs::rename(run, folder.file("real"));
    fs::create_directory_symlink(folder.file("real"), run);
    check("is not a folder (links to folders aren't followed)");
    if (is_root()) {
        fs::remove(run);
        fs::rename(folder.file("real"), run);
        REQUIRE(::chown(run.c_str(), kStranger, kStranger) == 0);
        CHECK(check("belongs to another user").find("12345") != std::string::npos);
    } else {
        WARN("left out: a folder of another user, which only root can make");
    }
}

TEST_CASE("recover puts the events where they belong, in whosoever's folder that is", "[live]") {
    const LiveFolder folder;
    sound_program(folder);
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);

    const auto rest = recover();

    REQUIRE(rest);
    CHECK(rest->events == 30);
    CHECK(open_trace(folder.file("a.tml")).value()->info().event_count == 40);
    CHECK(live::list_programs().empty());
}

TEST_CASE("recover writes into nothing but a recording of that program and user", "[live]") {
    const LiveFolder folder;
    const DeadProgram program = sound_program(folder);
    const std::string sound = folder.read("a.tml");
    const std::string path = folder.file("a.tml");
    const auto refused = [&](const std::string& what) {
        const auto rest = recover();
        REQUIRE_FALSE(rest);
        INFO(to_text(rest.error()));
        CHECK(rest.error().what.find(what) != std::string::npos);
        CHECK(rest.error().where == path);
        fs::remove(path);
    };

    // A link, to what would be a recording of that program.
    folder.write("private", sound);
    fs::remove(path);
    fs::create_symlink(folder.file("private"), path);
    refused("is a link");
    CHECK(folder.read("private") == sound);

    DeadProgram other = program;
    other.session = 78;
    folder.write("a.tml", other.recording_bytes());
    refused("is the recording of another program");

    folder.write("a.tml", "what I wrote for years");
    refused("is not the file of a recording");

    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    refused("is not a regular file");

    fs::create_directory(path);
    refused("cannot be opened");

    make_sparse(folder, "a.tml", "");
    refused("is not the file of a recording");

    folder.write("a.tml", sound);
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    refused("can be written by other users");

    if (is_root()) {
        folder.write("a.tml", sound);
        REQUIRE(::chown(path.c_str(), kStranger, kStranger) == 0);
        refused("belongs to another user");
    } else {
        WARN("left out: a recording of another user, which only root can make");
    }

    refused("is gone");

    // Somebody writes it whose process can't be seen.
    folder.write("a.tml", sound);
    const FileDescriptor writer(::open(path.c_str(), O_RDONLY));
    REQUIRE(::flock(writer.get(), LOCK_EX) == 0);
    refused("is being written by another program");
    CHECK(live::list_programs().size() == 1);
}

TEST_CASE("a ring's counters may say anything, and no more is read than is there", "[live]") {
    const LiveFolder folder;

    struct Case {
        std::uint64_t head;
        std::uint64_t tail;
        std::uint64_t events;
    };

    for (const Case& each : {Case{0, 0, 30},
                             {0, 10, 20},
                             {0, 31, 0},
                             {~std::uint64_t{0}, 0, 29},
                             {std::uint64_t{1} << 63U, 0, 0},
                             {5000, 0, 0},
                             {~std::uint64_t{0} - 9, ~std::uint64_t{0} - 9, 0}}) {
        DeadProgram program{.recording = folder.file("a.tml")};
        program.head = each.head;
        program.tail = each.tail;
        const auto opened = live::open_program(program.leave(folder));
        REQUIRE(opened);
        const live::Remainder rest =
            live::read_remainder(opened->reader(), opened->program, 10 + each.tail % 40, 0);
        INFO("head +" << each.head << ", tail " << each.tail);
        CHECK(rest.records.back().kind == live::RecordKind::end);
        CHECK(rest.events >= std::min<std::uint64_t>(each.events, 1));
    }
    // Three terabytes of rings that say they are full, and nothing behind them.
    DeadProgram program{.recording = folder.file("a.tml"), .rings = 4000, .ring_slots = 1U << 24U};
    live::Header header = program.header(true);
    std::string begin = DeadProgram{}.shared_bytes();
    begin.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    const std::uint32_t used = 4000;
    std::memcpy(begin.data() + sizeof header + offsetof(live::Counters, rings_used), &used,
                sizeof used);
    const std::uint64_t full = header.ring_slots;
    std::memcpy(begin.data() + live::ring_offset(header, 0) + offsetof(live::RingControl, head),
                &full, sizeof full);
    const std::string path = make_sparse(folder, "run/victim.live", begin);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    const auto opened = live::open_program(path);
    REQUIRE(opened);
    const live::Remainder rest = live::read_remainder(opened->reader(), opened->program, 10, 0);
    CHECK(rest.records.size() <= 1024 + 1);
}

TEST_CASE("what was planted where a piece gets its name is neither followed nor touched",
          "[live]") {
    const LiveFolder folder;
    live::Header header = DeadProgram{.recording = folder.file("a.tml")}.header(false);
    const std::string part = folder.file("a.tml.part");
    folder.write("private", "mine");
    fs::create_symlink(folder.file("private"), part);
    {
        live::SegmentFiles files(header, 0);
        REQUIRE(files.begin_segment(0, {}));
    }
    CHECK(folder.read("private") == "mine");
    CHECK(fs::is_symlink(part));
    CHECK(fs::is_regular_file(fs::symlink_status(folder.file("a.tml"))));

    // What a killed program left is no hindrance, also many times; what somebody writes stays.
    fs::remove(part);
    folder.write("a.tml.part", "begun and left");
    {
        live::SegmentFiles files(header, 0);
        REQUIRE(files.begin_segment(0, {}));
    }
    CHECK_FALSE(fs::exists(part));
    folder.write("a.tml.part", "being written");
    const FileDescriptor writer(::open(part.c_str(), O_RDONLY));
    REQUIRE(::flock(writer.get(), LOCK_EX) == 0);
    {
        live::SegmentFiles files(header, 0);
        REQUIRE(files.begin_segment(0, {}));
    }
    CHECK(folder.read("a.tml.part") == "being written");
    CHECK_FALSE(fs::exists(folder.file("a.tml.part-2")));
}

TEST_CASE("the pieces of a recording are those beside its first one, whatever they name",
          "[live]") {
    const LiveFolder folder;
    live::Header header = DeadProgram{.recording = folder.file("a.tml")}.header(false);
    header.flags |= live::kSegmented;
    {
        live::SegmentFiles files(header, 1_GiB);
        for (std::uint64_t piece = 0; piece < 3; ++piece) {
            REQUIRE(files.begin_segment(piece, {}));
            REQUIRE(files.append(piece, piece + 1, std::vector{DeadProgram::record(piece)}));
        }
    }
    fs::create_directory(folder.file("moved"));
    for (const std::string name : {"a-000001.tml", "a-000002.tml", "a-000003.tml"})
        fs::rename(folder.file(name), folder.file("moved/" + name));
    REQUIRE(::mkfifo(folder.file("a-000003.tml").c_str(), 0600) == 0);

    const auto trace = open_trace(folder.file("moved/a-000001.tml"));

    REQUIRE(trace);
    CHECK((*trace)->info().event_count == 3);
}

TEST_CASE("what is no recording of ours is skipped and told, and the others are listed", "[live]") {
    const LiveFolder folder;
    REQUIRE(live::make_live_folder(live::recordings_folder()));
    const auto at = [&](const std::string& name) { return folder.file("recordings/" + name); };
    const DeadProgram program{.recording = at("a.tml")};
    folder.write("recordings/a.tml", program.recording_bytes());
    REQUIRE(::mkfifo(at("pipe.tml").c_str(), 0600) == 0);
    fs::create_directory(at("folder.tml"));
    make_sparse(folder, "recordings/sparse.tml", "");
    folder.write("private", program.recording_bytes());
    fs::create_symlink(folder.file("private"), at("link.tml"));

    std::vector<Error> skipped;
    const auto recordings = live::list_recordings(live::recordings_folder(), {}, &skipped);

    REQUIRE(recordings.size() == 1);
    CHECK(recordings.front().files == std::vector{at("a.tml")});
    CHECK(skipped.size() == 4);
    CHECK(reported(skipped, at("pipe.tml"), "not a regular file"));
    CHECK(reported(skipped, at("link.tml"), "is a link"));
    const auto own = live::open_live_folder(live::recordings_folder());
    REQUIRE(own);
    CHECK(live::remove_recording(*own, recordings.front()) == true);
    CHECK_FALSE(fs::exists(at("a.tml")));
    CHECK(fs::exists(folder.file("private")));
}

}  // namespace tidemark
