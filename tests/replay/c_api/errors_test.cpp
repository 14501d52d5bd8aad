// Errors of each thread, and structs of callers that are older or newer than the library.
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"

TEST_CASE("the library says its version") {
    CHECK(tm_abi_version() == TM_ABI_VERSION);
    CHECK(std::string(tm_version()).find('.') != std::string::npos);
}

TEST_CASE("a failure is the thread's own, and stays until the next one") {
    tm_trace* trace = nullptr;
    REQUIRE(tm_trace_open("/no/such/file", nullptr, &trace) == TM_IO);
    std::thread([] {
        TM_INIT(tm_error, error);
        CHECK(tm_last_error(&error) == TM_OK);
        CHECK(error.what == std::string());
        tm_trace* other = nullptr;
        CHECK(tm_trace_open("", nullptr, &other) == TM_BAD_OPTION);
        CHECK(tm_last_error(nullptr) == TM_BAD_OPTION);
    }).join();
    REQUIRE(tm_trace_open("generate:mix:events=10", nullptr, &trace) == TM_OK);
    tm_trace_close(trace);
    TM_INIT(tm_error, error);
    CHECK(tm_last_error(&error) == TM_IO);
    CHECK(error.status == TM_IO);
    CHECK(error.where == std::string("/no/such/file"));
    CHECK_FALSE(std::string(error.what).empty());
    CHECK(error.hint == std::string("check the path"));
}

TEST_CASE("an older caller's struct is filled as far as it goes") {
    tm_trace* trace = nullptr;
    REQUIRE(tm_trace_open("generate:mix:events=1000", nullptr, &trace) == TM_OK);
    tm_columns columns;
    std::memset(&columns, 0x77, sizeof(columns));
    columns.struct_size = offsetof(tm_columns, size);
    REQUIRE(tm_trace_columns(trace, &columns) == TM_OK);
    CHECK(columns.struct_size == offsetof(tm_columns, size));
    CHECK(columns.count == 1000);
    CHECK(columns.time[0] == 0);
    const tm_columns untouched = [] {
        tm_columns all;
        std::memset(&all, 0x77, sizeof(all));
        return all;
    }();
    CHECK(std::memcmp(&columns.size, &untouched.size,
                      sizeof(columns) - offsetof(tm_columns, size)) == 0);

    struct Newer {
        tm_columns known;
        std::uint64_t unknown = 42;
    } newer;

    newer.known.struct_size = sizeof(newer);
    REQUIRE(tm_trace_columns(trace, &newer.known) == TM_OK);
    CHECK(newer.known.count == 1000);
    CHECK(newer.known.struct_size == sizeof(newer));
    CHECK(newer.unknown == 42);

    tm_columns without_size{};
    CHECK(tm_trace_columns(trace, &without_size) == TM_BAD_OPTION);
    CHECK(without_size.time == nullptr);
    CHECK(tm_trace_columns(trace, nullptr) == TM_BAD_OPTION);
    tm_trace_close(trace);
}

TEST_CASE("options that a caller doesn't know are their defaults") {
    tm_trace* trace = nullptr;
    tm_trace_options options;
    std::memset(&options, 0x77, sizeof(options));
    options.struct_size = offsetof(tm_trace_options, strict);
    REQUIRE(tm_trace_open("generate:mix:events=1000", &options, &trace) == TM_OK);
    tm_trace_close(trace);

    struct Newer {
        tm_trace_options known;
        std::uint64_t unknown = 42;
    } newer{};

    newer.known.struct_size = sizeof(newer);
    REQUIRE(tm_trace_open("generate:mix:events=1000", &newer.known, &trace) == TM_OK);
    tm_trace_close(trace);

    options.struct_size = 0;
    CHECK(tm_trace_open("generate:mix:events=1000", &options, &trace) == TM_BAD_OPTION);
    TM_INIT(tm_error, error);
    tm_last_error(&error);
    CHECK(error.where == std::string("struct_size"));
    tm_error without_size{};
    CHECK(tm_last_error(&without_size) == TM_BAD_OPTION);
    CHECK(without_size.what == nullptr);
}

TEST_CASE("null for an object is an error, or an empty text") {
    std::uint64_t number = 0;
    std::size_t count = 0;
    const char* text = nullptr;
    TM_INIT(tm_request, request);
    TM_INIT(tm_block, block);
    TM_INIT(tm_statistics, statistics);
    TM_INIT(tm_ipc_handle, handle);
    TM_INIT(tm_tier_counters, tier);
    TM_INIT(tm_tier_pressure, pressure);
    TM_INIT(tm_columns, columns);
    TM_INIT(tm_event, event);
    TM_INIT(tm_recorder_counts, counts);
    tm_access* access = nullptr;
    for (const tm_status status :
         {tm_alloc(nullptr, &request, &number, nullptr),
          tm_free(nullptr, 1, 0, 0),
          tm_record_use(nullptr, 1, 0),
          tm_name_tag(nullptr, 1, ""),
          tm_end_recording(nullptr),
          tm_trim(nullptr, 0),
          tm_base_of(nullptr, 1, &block),
          tm_statistics_of(nullptr, &statistics),
          tm_set_limit(nullptr, 1),
          tm_pool_begin(nullptr, 1),
          tm_pool_end(nullptr, 1),
          tm_pool_close(nullptr, 1),
          tm_ipc_export(nullptr, 1, &handle),
          tm_ipc_open(nullptr, &handle, &number),
          tm_ipc_close(nullptr, 1),
          tm_buffer_create(nullptr, 1, TM_TIER_HOST, 0, 0, &number),
          tm_buffer_destroy(nullptr, 1),
          tm_buffer_acquire(nullptr, 1, TM_TIER_HOST, TM_READ, 0, 0, &access),
          tm_access_pieces(nullptr, nullptr, 0, &count),
          tm_buffer_prefetch(nullptr, 1, TM_TIER_HOST),
          tm_buffer_hint(nullptr, 1, 1),
          tm_buffer_tiers(nullptr, 1, nullptr),
          tm_reserve(nullptr, TM_TIER_HOST, 1, 0, &number),
          tm_reservation_end(nullptr, 1),
          tm_store_free_bytes(nullptr, TM_TIER_HOST, 1, &number),
          tm_store_counters(nullptr, TM_TIER_HOST, &tier),
          tm_store_pressure(nullptr, TM_TIER_HOST, 0, 0, &pressure),
          tm_store_candidates(nullptr, TM_TIER_HOST, 1, nullptr, 0, &count),
          tm_buffer_evict(nullptr, 1, TM_TIER_HOST, &number),
          tm_trace_columns(nullptr, &columns),
          tm_trace_string(nullptr, 0, &text, &count),
          tm_trace_stack(nullptr, 0, nullptr, 0, &count),
          tm_recorder_event(nullptr, &event),
          tm_recorder_range(nullptr, "a", 0),
          tm_recorder_mark(nullptr, "a"),
          tm_recorder_setting(nullptr, "a", "b", 0),
          tm_recorder_count(nullptr, &counts)}) {
        CHECK(status == TM_BAD_OPTION);
        CHECK(tm_last_error(nullptr) == TM_BAD_OPTION);
    }
    for (const char* const empty :
         {tm_context_machine(nullptr), tm_context_device_name(nullptr), tm_context_policy(nullptr),
          tm_trace_info(nullptr), tm_recorder_path(nullptr), tm_recorder_shared_path(nullptr),
          tm_answer_output(nullptr, nullptr), tm_answer_notes(nullptr)})
        CHECK(empty == std::string());
    CHECK(tm_answer_exit_code(nullptr) == -1);
    CHECK(tm_recorder_string(nullptr, "a") == 0);
    CHECK(tm_recorder_stack(nullptr, nullptr, 0) == 0);
    CHECK(tm_context_close(nullptr, nullptr) == TM_OK);
    CHECK(tm_store_close(nullptr) == TM_OK);
    CHECK(tm_recorder_close(nullptr) == TM_OK);
    tm_access_release(nullptr);
    tm_trace_close(nullptr);
    tm_answer_free(nullptr);
}

TEST_CASE("structs are as large here as for the caller") {
    CHECK(tm_struct_size("tm_request") == sizeof(tm_request));
    CHECK(tm_struct_size("tm_piece") == sizeof(tm_piece));
    CHECK(tm_struct_size("tm_reqest") == 0);
    CHECK(tm_struct_size(nullptr) == 0);
}

TEST_CASE("what is wrong with a context names the field") {
    const auto where = [](const char* machine, const char* policy) {
        TM_INIT(tm_context_options, options);
        options.machine = machine;
        options.policy = policy;
        tm_context* context = nullptr;
        CHECK(tm_context_open(&options, &context) != TM_OK);
        TM_INIT(tm_error, error);
        tm_last_error(&error);
        CHECK(std::string(error.hint).find("--") == std::string::npos);
        return std::string(error.where);
    };
    CHECK(where("cdua:0", nullptr) == "machine");
    CHECK(where("sim:h2000", nullptr) == "machine h2000");
    CHECK(where("cuda:999", nullptr).starts_with("machine cuda"));
    CHECK(where("sim", "tocrh") == "policy");
    CHECK(where("sim", "./no.so") == "policy ./no.so");
}
