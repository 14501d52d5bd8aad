// Null for every pointer of every function: an answer, never a crash.
#include <fstream>
#include <set>
#include <string>
#include <type_traits>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"
#include "tests/support/live_folder.h"

namespace {

// What is given for parameters that are handles; the other pointers are null.
struct Handles {
    tm_context* context = nullptr;
    tm_store* store = nullptr;
    tm_trace* trace = nullptr;
    tm_recorder* recorder = nullptr;
    tm_answer* answer = nullptr;
    tm_blocks* blocks = nullptr;
    tm_block_run* run = nullptr;
    int number = 0;  // what everything that is no pointer is

    template <class T>
    T argument() const {
        if constexpr (std::is_same_v<T, tm_context*> || std::is_same_v<T, const tm_context*>)
            return context;
        else if constexpr (std::is_same_v<T, tm_store*>)
            return store;
        else if constexpr (std::is_same_v<T, tm_blocks*>)
            return blocks;
        else if constexpr (std::is_same_v<T, tm_block_run*>)
            return run;
        else if constexpr (std::is_same_v<T, tm_trace*>)
            return trace;
        else if constexpr (std::is_same_v<T, tm_recorder*> || std::is_same_v<T, const tm_recorder*>)
            return recorder;
        else if constexpr (std::is_same_v<T, tm_answer*> || std::is_same_v<T, const tm_answer*>)
            return answer;
        else if constexpr (std::is_pointer_v<T>)
            return nullptr;
        else
            return static_cast<T>(number);
    }
};

template <class Answer, class... Arguments>
tm_status call(Answer (*function)(Arguments...), const Handles& handles) {
    if constexpr (std::is_same_v<Answer, tm_status>) {
        return function(handles.argument<Arguments>()...);
    } else {
        static_cast<void>(function(handles.argument<Arguments>()...));
        return TM_OK;
    }
}

struct Tried {
    std::string name;
    tm_status (*call)(const Handles& handles);

    bool ends_its_handle() const {
        return name.ends_with("_close") || name.ends_with("_free") || name == "tm_store_stop";
    }
};

#define TRIED(function)                                                            \
    Tried {                                                                        \
#function, [](const Handles& handles) { return call(&function, handles); } \
    }

const Tried kTried[] = {
    // clang-format off
    TRIED(tm_answer_notes),
    TRIED(tm_answer_output),
    TRIED(tm_context_device_name),
    TRIED(tm_context_machine),
    TRIED(tm_context_policy),
    TRIED(tm_recorder_path),
    TRIED(tm_recorder_shared_path),
    TRIED(tm_trace_info),
    TRIED(tm_answer_exit_code),
    TRIED(tm_struct_size),
    TRIED(tm_access_pieces),
    TRIED(tm_alloc),
    TRIED(tm_base_of),
    TRIED(tm_buffer_acquire),
    TRIED(tm_buffer_at),
    TRIED(tm_buffer_create),
    TRIED(tm_buffer_defer),
    TRIED(tm_buffer_destroy),
    TRIED(tm_buffer_hint),
    TRIED(tm_buffer_look),
    TRIED(tm_buffer_pin),
    TRIED(tm_buffer_prefetch),
    TRIED(tm_buffer_retrieve),
    TRIED(tm_buffer_tiers),
    TRIED(tm_context_close),
    TRIED(tm_context_open),
    TRIED(tm_end_recording),
    TRIED(tm_free),
    TRIED(tm_ipc_close),
    TRIED(tm_ipc_export),
    TRIED(tm_ipc_open),
    TRIED(tm_last_error),
    TRIED(tm_name_tag),
    TRIED(tm_policy_free),
    TRIED(tm_policy_malloc),
    TRIED(tm_policy_order),
    TRIED(tm_policy_register),
    TRIED(tm_pool_begin),
    TRIED(tm_pool_close),
    TRIED(tm_pool_end),
    TRIED(tm_record_use),
    TRIED(tm_recorder_close),
    TRIED(tm_recorder_count),
    TRIED(tm_recorder_event),
    TRIED(tm_recorder_mark),
    TRIED(tm_recorder_open),
    TRIED(tm_recorder_range),
    TRIED(tm_recorder_setting),
    TRIED(tm_reservation_end),
    TRIED(tm_reserve),
    TRIED(tm_reset_peaks),
    TRIED(tm_run),
    TRIED(tm_check_output),
    TRIED(tm_set_limit),
    TRIED(tm_set_waits),
    TRIED(tm_statistics_of),
    TRIED(tm_buffer_evict),
    TRIED(tm_store_candidates),
    TRIED(tm_store_close),
    TRIED(tm_store_copy),
    TRIED(tm_store_counters),
    TRIED(tm_store_deferrables),
    TRIED(tm_store_events),
    TRIED(tm_store_free_bytes),
    TRIED(tm_store_open),
    TRIED(tm_store_pressure),
    TRIED(tm_store_statistics),
    TRIED(tm_store_stop),
    TRIED(tm_store_unwatch),
    TRIED(tm_store_watch),
    TRIED(tm_stream_ended),
    TRIED(tm_trace_columns),
    TRIED(tm_trace_open),
    TRIED(tm_trace_stack),
    TRIED(tm_trace_string),
    TRIED(tm_trim),
    TRIED(tm_peer_access),
    TRIED(tm_context_regions),
    TRIED(tm_blocks_alloc),
    TRIED(tm_blocks_close),
    TRIED(tm_blocks_look),
    TRIED(tm_blocks_open),
    TRIED(tm_blocks_trim),
    TRIED(tm_block_run_pieces),
    TRIED(tm_block_run_trim),
    TRIED(tm_block_run_free),
    TRIED(tm_buffer_adopt),
    TRIED(tm_buffer_next_use),
    TRIED(tm_buffer_stays),
    TRIED(tm_store_mark),
    TRIED(tm_pool_plan),
    TRIED(tm_set_oom_handler),
    TRIED(tm_stream_acquire),
    TRIED(tm_stream_release),
    TRIED(tm_recorder_stack),
    TRIED(tm_recorder_string),
    TRIED(tm_access_release),
    TRIED(tm_answer_free),
    TRIED(tm_trace_close),
    // clang-format on
};

// The functions with a pointer among their parameters, by the list of the interface.
std::set<std::string> listed() {
    std::ifstream list(TIDEMARK_SOURCE_DIR "/replay/c_api/abi.txt");
    std::set<std::string> names;
    for (std::string line; std::getline(list, line);) {
        const std::size_t open = line.find('(');
        if (open == std::string::npos || line.find('*', open) == std::string::npos)
            continue;
        const std::size_t name = line.rfind("tm_", open);
        names.insert(line.substr(name, open - name));
    }
    return names;
}

}  // namespace

TEST_CASE("the functions that are tried are those of the interface", "[c_api][null]") {
    std::set<std::string> names;
    for (const Tried& each : kTried)
        names.insert(each.name);
    CHECK(names.size() > 70);
    CHECK(names == listed());
}

TEST_CASE("every function answers to nothing but null", "[c_api][null]") {
    for (const int number : {0, 3}) {
        Handles none;
        none.number = number;
        for (const Tried& each : kTried) {
            INFO(each.name);
            const tm_status status = each.call(none);
            CHECK((status == TM_OK || status == TM_BAD_OPTION));
        }
    }
}

TEST_CASE("the functions of policies refuse null", "[c_api][null][policy]") {
    std::uint64_t address = 0;
    CHECK(tm_policy_malloc(nullptr, 512, &address) == TM_BAD_OPTION);
    CHECK(tm_policy_free(nullptr, 512) == TM_BAD_OPTION);
    CHECK(tm_policy_order(nullptr, 0, 1) == TM_BAD_OPTION);
}

TEST_CASE("every function of an object answers to null for the rest", "[c_api][null]") {
    const tidemark::support::LiveFolder folder;
    Handles handles;
    TM_INIT(tm_context_options, options);
    options.machine = "sim";
    REQUIRE(tm_context_open(&options, &handles.context) == TM_OK);
    TM_INIT(tm_store_options, store);
    store.host_bytes = 1 << 20;
    REQUIRE(tm_store_open(&store, &handles.store) == TM_OK);
    REQUIRE(tm_trace_open("generate:mix:events=10", nullptr, &handles.trace) == TM_OK);
    TM_INIT(tm_recorder_options, recorder);
    recorder.name = "nothing";
    REQUIRE(tm_recorder_open(&recorder, &handles.recorder) == TM_OK);
    const char* const arguments[] = {"policies"};
    REQUIRE(tm_run(arguments, 1, nullptr, &handles.answer) == TM_OK);

    for (const int number : {0, 3})
        for (const Tried& each : kTried) {
            INFO(each.name << " with " << number);
            handles.number = number;
            if (!each.ends_its_handle())
                CHECK(each.call(handles) != TM_INTERNAL);
        }

    tm_answer_free(handles.answer);
    CHECK(tm_recorder_close(handles.recorder) == TM_OK);
    tm_trace_close(handles.trace);
    CHECK(tm_store_close(handles.store) == TM_OK);
    CHECK(tm_context_close(handles.context, nullptr) == TM_OK);
}
