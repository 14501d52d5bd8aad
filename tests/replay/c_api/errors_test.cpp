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
