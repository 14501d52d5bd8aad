// tm_trace_*: traces as columns of C.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/c_api/tidemark.h"
#include "tests/support/test_folder.h"

namespace {

const std::string kTracedSample =
    std::string(TIDEMARK_SOURCE_DIR) + "/traces/samples/torch/gpt2_var.pickle.xz";

class OpenTrace {
  public:
    explicit OpenTrace(const std::string& path, const tm_trace_options* options = nullptr) {
        status = tm_trace_open(path.c_str(), options, &trace);
    }

    OpenTrace(const OpenTrace&) = delete;
    OpenTrace& operator=(const OpenTrace&) = delete;

    ~OpenTrace() { tm_trace_close(trace); }

    nlohmann::json info() const { return nlohmann::json::parse(tm_trace_info(trace)); }

    tm_trace* trace = nullptr;
    tm_status status = TM_OK;
};

std::string text_of(tm_trace* trace, std::uint32_t number) {
    const char* text = nullptr;
    std::size_t length = 0;
    REQUIRE(tm_trace_string(trace, number, &text, &length) == TM_OK);
    return {text, length};
}

}  // namespace

TEST_CASE("a trace's events are columns") {
    const OpenTrace opened("generate:mix:events=50000");
    REQUIRE(opened.status == TM_OK);
    TM_INIT(tm_columns, columns);
    REQUIRE(tm_trace_columns(opened.trace, &columns) == TM_OK);
    const nlohmann::json info = opened.info();
    CHECK(columns.count == info["event_count"]);
    CHECK(info["format"] == "generated");
    CHECK(columns.time[columns.count - 1] == info["duration_ns"]);
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (std::uint64_t i = 0; i < columns.count; ++i) {
        const std::string kind = tm_event_kind(columns.kind[i]);
        live += kind == "allocate" ? 1 : 0;
        live -= kind == "free" ? 1 : 0;
        most = std::max(most, live);
        if (kind == "allocate")
            CHECK(columns.size[i] > 0);
    }
    CHECK(most == info["slot_count"]);

    TM_INIT(tm_columns, again);
    REQUIRE(tm_trace_columns(opened.trace, &again) == TM_OK);
    CHECK(std::memcmp(&columns, &again, sizeof(columns)) == 0);
}

TEST_CASE("columns are gathered once, whoever asks first") {
    const OpenTrace opened("generate:mix:events=200000");
    REQUIRE(opened.status == TM_OK);
    std::vector<tm_columns> seen(4);
    std::vector<std::thread> threads;
    for (tm_columns& columns : seen) {
        threads.emplace_back([&] {
            columns.struct_size = sizeof(columns);
            tm_trace_columns(opened.trace, &columns);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (const tm_columns& columns : seen) {
        CHECK(columns.count == 200000);
        CHECK(columns.time == seen.front().time);
    }
}

TEST_CASE("stacks and strings have numbers") {
    const tidemark::support::TestFolder folder;
    const std::string path = folder.write("stacks.jsonl",
                                          R"({"type":"header","version":1,"unit":"ns"}
{"t":0,"op":"alloc","id":0,"bytes":512,"tag":"a\tb","stack":["f x.py:7","g"]}
{"t":1,"op":"free","id":0}
)");
    const OpenTrace opened(path);
    REQUIRE(opened.status == TM_OK);
    const nlohmann::json info = opened.info();
    CHECK(info["format"] == "jsonl");
    CHECK(info["stacks"] == 2);
    TM_INIT(tm_columns, columns);
    REQUIRE(tm_trace_columns(opened.trace, &columns) == TM_OK);
    REQUIRE(columns.count == 2);
    CHECK(text_of(opened.trace, columns.tag[0]) == "a\tb");
    std::size_t count = 0;
    std::vector<tm_frame> frames(1);
    REQUIRE(tm_trace_stack(opened.trace, columns.stack[0], frames.data(), 1, &count) == TM_OK);
    CHECK(count == 2);
    CHECK(text_of(opened.trace, frames[0].function) == "f x.py:7");
    CHECK(text_of(opened.trace, frames[0].file).empty());
    CHECK(frames[0].line == 0);
    CHECK(tm_trace_stack(opened.trace, 0, nullptr, 0, &count) == TM_OK);
    CHECK(count == 0);
    CHECK(text_of(opened.trace, 0).empty());

    const char* text = nullptr;
    std::size_t length = 0;
    CHECK(tm_trace_string(opened.trace, info["strings"], &text, &length) == TM_NOT_FOUND);
    CHECK(tm_trace_stack(opened.trace, info["stacks"], nullptr, 0, &count) == TM_NOT_FOUND);
    CHECK(tm_trace_string(opened.trace, 0, nullptr, &length) == TM_BAD_OPTION);
    CHECK(tm_trace_stack(opened.trace, 1, nullptr, 1, &count) == TM_BAD_OPTION);
    CHECK(tm_event_kind(0) == std::string("allocate"));
    CHECK(tm_event_kind(200) == std::string("unknown"));
}

TEST_CASE("what a recording lost is inferred unless it is to be as recorded") {
    const OpenTrace inferred(kTracedSample);
    TM_INIT(tm_trace_options, options);
    options.as_recorded = 1;
    const OpenTrace recorded(kTracedSample, &options);
    REQUIRE(inferred.status == TM_OK);
    REQUIRE(recorded.status == TM_OK);
    CHECK(inferred.info()["recorded_hash"] == recorded.info()["hash"]);
}

TEST_CASE("a trace that cannot be opened says why") {
    tm_trace* trace = nullptr;
    CHECK(tm_trace_open("/no/such/file", nullptr, &trace) == TM_IO);
    CHECK(trace == nullptr);
    CHECK(tm_trace_open(nullptr, nullptr, &trace) == TM_BAD_OPTION);
    CHECK(tm_trace_open("", nullptr, &trace) == TM_BAD_OPTION);
    CHECK(tm_trace_open(kTracedSample.c_str(), nullptr, nullptr) == TM_BAD_OPTION);
    CHECK(tm_trace_open("-", nullptr, &trace) == TM_UNSUPPORTED);
    CHECK(tm_trace_open("generate:nothing", nullptr, &trace) != TM_OK);
    TM_INIT(tm_trace_options, options);
    options.strict = options.lenient = 1;
    CHECK(tm_trace_open(kTracedSample.c_str(), &options, &trace) == TM_BAD_OPTION);
    CHECK(trace == nullptr);
    tm_trace_close(nullptr);

    TM_INIT(tm_trace_options, cancelled);
    cancelled.progress = [](void*, const char*, std::uint64_t, std::uint64_t) { return 1; };
    CHECK(tm_trace_open("generate:mix:events=100000000", &cancelled, &trace) == TM_CANCELLED);
    CHECK(tm_trace_open(kTracedSample.c_str(), &cancelled, &trace) == TM_CANCELLED);
    CHECK(trace == nullptr);
}

TEST_CASE("a damaged trace is an error where the damage is met") {
    const tidemark::support::TestFolder folder;
    const std::string path = folder.file("damaged.tmk");
    const char* line[] = {"generate", "mix:events=300000", "-o", path.c_str()};
    tm_answer* answer = nullptr;
    REQUIRE(tm_run(line, 4, nullptr, &answer) == TM_OK);
    tm_answer_free(answer);
    std::string bytes;
    {
        std::ifstream file(path, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    REQUIRE(bytes.size() > 100000);
    for (const std::size_t at : {bytes.size() / 3, bytes.size() / 2}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x55);
        std::ofstream(path, std::ios::binary) << changed;
        const OpenTrace opened(path);
        if (opened.status != TM_OK) {
            CHECK(opened.status == TM_BAD_INPUT);
            continue;
        }
        TM_INIT(tm_columns, columns);
        CHECK(tm_trace_columns(opened.trace, &columns) == TM_BAD_INPUT);
        CHECK(columns.count == 0);
        TM_INIT(tm_error, error);
        CHECK(tm_last_error(&error) == TM_BAD_INPUT);
        CHECK(std::string(error.where).find("damaged.tmk") != std::string::npos);
    }
    for (const std::size_t length : {std::size_t{0}, std::size_t{3}, bytes.size() / 2}) {
        std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
        const OpenTrace opened(path);
        TM_INIT(tm_columns, columns);
        if (opened.status == TM_OK)
            CHECK(tm_trace_columns(opened.trace, &columns) != TM_INTERNAL);
        else
            CHECK(opened.status == TM_BAD_INPUT);
    }
}
