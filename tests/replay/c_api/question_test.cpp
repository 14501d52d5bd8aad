// tm_run: the program's answers, from several threads, with progress and an end before the end.
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"
#include "tests/support/test_folder.h"

namespace {

const std::string kTorchSample =
    std::string(TIDEMARK_SOURCE_DIR) + "/traces/samples/torch/gpt2_var.pickle.xz";

struct Reply {
    tm_status status = TM_OK;
    int code = -1;
    std::string output;
    std::string notes;
    std::string what;  // of the error
};

Reply ask(const std::vector<std::string>& line, tm_progress progress = nullptr,
          void* user = nullptr, const std::vector<tm_trace*>& traces = {}) {
    std::vector<const char*> pointers;
    for (const std::string& argument : line)
        pointers.push_back(argument.c_str());
    tm_answer* answer = nullptr;
    Reply reply;
    TM_INIT(tm_run_options, options);
    options.progress = progress;
    options.user = user;
    options.traces = traces.data();
    options.trace_count = traces.size();
    reply.status = tm_run(pointers.data(), pointers.size(), &options, &answer);
    if (reply.status != TM_OK) {
        CHECK(answer == nullptr);
        TM_INIT(tm_error, error);
        CHECK(tm_last_error(&error) == reply.status);
        reply.what = error.what;
        return reply;
    }
    std::size_t length = 0;
    const char* output = tm_answer_output(answer, &length);
    reply.output.assign(output, length);
    CHECK(output[length] == '\0');
    reply.notes = tm_answer_notes(answer);
    reply.code = tm_answer_exit_code(answer);
    tm_answer_free(answer);
    return reply;
}

// What the program prints for the same arguments, which need no quotes.
std::string printed(const std::vector<std::string>& line) {
    std::string command = TIDEMARK_PROGRAM;
    for (const std::string& argument : line)
        command += " " + argument;
    command += " 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    REQUIRE(pipe);
    std::string output;
    std::array<char, 4096> part{};
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get()))
        output.append(part.data(), count);
    return output;
}

// Without what differs from run to run: how long it took.
std::string timeless(const std::string& text) {
    static const std::regex kElapsed(
        R"re(("elapsed[a-z_]*": )[0-9]+| in [0-9.]+ [a-z]+ \(.*/s\))re");
    return std::regex_replace(text, kElapsed, "$01");
}

int never(void* /*user*/, const char* /*label*/, std::uint64_t /*done*/, std::uint64_t /*total*/) {
    return 1;
}

}  // namespace

TEST_CASE("tm_run answers what the program prints") {
    const std::vector<std::vector<std::string>> lines{
        {"info", kTorchSample, "--json"},
        {"replay", kTorchSample, "--json"},
        {"replay", kTorchSample, "-p", "best-fit"},
        {"compare", kTorchSample, "-p", "torch", "-p", "buddy", "--json"},
        {"replay", "generate:serving", "--gpu-memory", "50%", "--json"},
        {"policies", "--json"},
        {"policies", "--csv"},
        {"help"},
        {"--version"},
    };
    for (const std::vector<std::string>& line : lines) {
        CAPTURE(line);
        const Reply reply = ask(line);
        CHECK(reply.status == TM_OK);
        CHECK(reply.notes.empty());
        CHECK_FALSE(reply.output.empty());
        CHECK(timeless(reply.output) == timeless(printed(line)));
    }
}

TEST_CASE("tm_run notes what the program says on standard error") {
    const Reply noted =
        ask({"replay", "generate:steps:events=1000", "-p", "buddy", "--memory", "80G"});
    CHECK(noted.notes.find("tidemark: note: --memory: ") == 0);
    const Reply nothing = ask({"--json"});
    CHECK(nothing.status == TM_BAD_OPTION);
}

TEST_CASE("an answer with an exit code is an answer") {
    const Reply small =
        ask({"replay", "generate:mix:events=1000", "-p", "best-fit", "--memory", "1GiB"});
    CHECK(small.status == TM_OK);
    CHECK(small.code == 4);
    CHECK_FALSE(small.output.empty());
}

TEST_CASE("tm_run: wrong arguments are errors") {
    tm_answer* answer = nullptr;
    const char* texts[] = {"info", nullptr};
    CHECK(tm_run(texts, 0, nullptr, &answer) == TM_BAD_OPTION);
    CHECK(tm_run(nullptr, 1, nullptr, &answer) == TM_BAD_OPTION);
    CHECK(tm_run(texts, 2, nullptr, &answer) == TM_BAD_OPTION);
    CHECK(tm_run(texts, 1, nullptr, nullptr) == TM_BAD_OPTION);
    CHECK(answer == nullptr);
    CHECK(ask({"inof", kTorchSample}).what == "there is no command 'inof'");
    CHECK(ask({"info", "--nothing", kTorchSample}).status == TM_BAD_OPTION);
    CHECK(ask({"info", "/no/such/file"}).status == TM_IO);
    CHECK(ask({"info", TIDEMARK_SOURCE_DIR "/README.md"}).status == TM_BAD_INPUT);
    CHECK(ask({"replay", kTorchSample, "-p", "best"}).status == TM_BAD_OPTION);
}

TEST_CASE(
    "what the program ends with 2, 3 or 5 is a failure that says what, where and what to do") {
    const auto failure = [](const std::vector<std::string>& line) {
        TM_INIT(tm_error, error);
        ask(line);
        tm_last_error(&error);
        return std::vector<std::string>{std::to_string(error.status), error.what, error.where,
                                        error.hint};
    };
    CHECK(failure({"replay", kTorchSample, "-p", "tocrh"}) ==
          std::vector<std::string>{"3", "there is no policy 'tocrh'", "", "did you mean 'torch'?"});
    CHECK(failure({"info", "/no/such/file"})[2] == "/no/such/file");
    CHECK(failure({"replay", "generate:mix:events=100", "-p", "extent", "--device",
                   "cuda:999"})[0] == std::to_string(TM_UNSUPPORTED));
}

TEST_CASE("a trace that is open is not read again") {
    const tidemark::support::TestFolder folder;
    const std::string path = folder.file("copy.pickle.xz");
    std::filesystem::copy_file(kTorchSample, path);
    const std::vector<std::vector<std::string>> lines{
        {"info", path, "--json"},
        {"replay", path, "--json"},
        {"replay", path, "--as-recorded", "--json"},
        {"verify", path, "--json"},
        {"compare", path, "-p", "torch", "-p", "best-fit", "--json"},
        {"fit", path, "--json"},
    };
    std::vector<Reply> expected;
    for (const std::vector<std::string>& line : lines)
        expected.push_back(ask(line));
    tm_trace* trace = nullptr;
    REQUIRE(tm_trace_open(path.c_str(), nullptr, &trace) == TM_OK);
    TM_INIT(tm_trace_options, recorded);
    recorded.as_recorded = 1;
    tm_trace* as_recorded = nullptr;
    REQUIRE(tm_trace_open(path.c_str(), &recorded, &as_recorded) == TM_OK);
    std::filesystem::remove(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        CAPTURE(lines[i]);
        for (tm_trace* const open : {trace, as_recorded}) {
            const Reply reply = ask(lines[i], nullptr, nullptr, {open});
            CHECK(reply.status == TM_OK);
            CHECK(timeless(reply.output) == timeless(expected[i].output));
        }
        CHECK(ask(lines[i]).status == TM_IO);
    }
    CHECK(ask({"info", path, "--strict"}, nullptr, nullptr, {trace}).status == TM_IO);
    CHECK(ask({"info", path}, nullptr, nullptr, {nullptr}).status == TM_BAD_OPTION);
    // Cancelling a question leaves the trace as it was.
    CHECK(ask({"info", path}, never, nullptr, {trace}).status == TM_CANCELLED);
    CHECK(ask({"info", path}, nullptr, nullptr, {trace}).status == TM_OK);
    tm_trace_close(trace);
    tm_trace_close(as_recorded);
}

TEST_CASE("tm_run leaves the terminal and the standard streams alone") {
    CHECK(ask({"view", kTorchSample}).status == TM_UNSUPPORTED);
    CHECK(ask({"live"}).status == TM_UNSUPPORTED);
    CHECK(ask({"live", "--json"}).status == TM_UNSUPPORTED);
    CHECK(ask({"info", "-"}).status == TM_UNSUPPORTED);
    CHECK(ask({"-"}).status == TM_UNSUPPORTED);
    CHECK(ask({"compare", kTorchSample, "-"}).status == TM_UNSUPPORTED);
    CHECK(ask({"export", kTorchSample, "-f", "jsonl", "-o", "-"}).status == TM_UNSUPPORTED);
    CHECK(ask({"export", kTorchSample, "-f", "jsonl", "-o-"}).status == TM_UNSUPPORTED);
    CHECK(ask({"generate", "mix", "--output=-"}).status == TM_UNSUPPORTED);
}

TEST_CASE("several threads ask at once") {
    const std::vector<std::vector<std::string>> lines{
        {"replay", "generate:mix:events=20000", "-p", "torch", "--json"},
        {"compare", "generate:mix:events=10000", "-p", "torch", "-p", "buddy", "--json"},
        {"replay", "generate:serving:events=5000", "--gpu-memory", "50%", "--json"},
        {"fit", "generate:training:events=5000", "--json"},
        {"info", "generate:mix:events=20000", "--memory", "1"},
    };
    std::vector<Reply> expected;
    for (const std::vector<std::string>& line : lines)
        expected.push_back(ask(line));
    std::atomic<int> differences = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (std::size_t round = 0; round < lines.size(); ++round) {
                const std::size_t line = (i + round) % lines.size();
                std::vector<const char*> texts;
                for (const std::string& argument : lines[line])
                    texts.push_back(argument.c_str());
                tm_answer* answer = nullptr;
                const tm_status status = tm_run(texts.data(), texts.size(), nullptr, &answer);
                TM_INIT(tm_error, error);
                const bool same = status == TM_OK ? timeless(tm_answer_output(answer, nullptr)) ==
                                                        timeless(expected[line].output)
                                                  : tm_last_error(&error) == status &&
                                                        error.what == expected[line].what;
                differences += same && status == expected[line].status ? 0 : 1;
                tm_answer_free(answer);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(differences == 0);
}

TEST_CASE("progress is shown to the caller's thread") {
    struct Seen {
        std::thread::id thread = std::this_thread::get_id();
        int calls = 0;
        bool elsewhere = false;
    } seen;

    const tm_progress progress = [](void* user, const char* label, std::uint64_t /*done*/,
                                    std::uint64_t /*total*/) {
        auto* all = static_cast<Seen*>(user);
        ++all->calls;
        all->elsewhere = all->elsewhere || std::this_thread::get_id() != all->thread;
        return label == nullptr ? 1 : 0;
    };
    const std::vector<std::string> line{"info", kTorchSample, "--json"};
    const Reply reply = ask(line, progress, &seen);
    CHECK(reply.status == TM_OK);
    CHECK(reply.output == ask(line).output);
    CHECK(seen.calls >= 1);
    CHECK_FALSE(seen.elsewhere);
}

TEST_CASE("what is cancelled ends, whatever it is at") {
    const tidemark::support::TestFolder folder;
    const std::vector<std::vector<std::string>> lines{
        {"info", "generate:mix:events=100000000"},
        {"info", kTorchSample},
        {"replay", "generate:mix:events=100000000", "-p", "best-fit"},
        {"compare", kTorchSample},
        {"advise", kTorchSample},
        {"generate", "mix:events=100000000", "-o", folder.file("never.tmk")},
    };
    for (const std::vector<std::string>& line : lines) {
        CAPTURE(line);
        CHECK(ask(line, never).status == TM_CANCELLED);
    }
    // Once it is under way.
    const auto later = [](void* user, const char*, std::uint64_t, std::uint64_t) {
        return ++*static_cast<int*>(user) > 2 ? 1 : 0;
    };
    for (const char* command : {"info", "compare"}) {
        int calls = 0;
        CHECK(ask({command, "generate:mix:events=100000000"}, later, &calls).status ==
              TM_CANCELLED);
    }
    CHECK_FALSE(std::filesystem::exists(folder.file("never.tmk")));
    int calls = 0;
    CHECK(ask({"compare", "generate:serving:events=500000", "--gpu-memory", "50%,40%,30%"}, later,
              &calls)
              .status == TM_CANCELLED);
}
