// tm_run: the program's commands, in the process of the caller.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/c_api/errors.h"
#include "replay/c_api/library_front.h"
#include "replay/cli/program.h"

struct tm_answer {
    std::string output;
    std::string notes;
    int exit_code = 0;
};

namespace tidemark::c_api {
namespace {

tm_status run(const char* const* arguments, std::size_t count, const tm_run_options* given,
              tm_answer** answer) {
    if (answer == nullptr)
        return fail(TM_BAD_OPTION, "there is nowhere to put the answer", "answer");
    *answer = nullptr;
    if (arguments == nullptr || count == 0)
        return fail(TM_BAD_OPTION, "no command given", "arguments", R"(ask {"help"} for them)");
    std::vector<std::string> line;
    for (std::size_t i = 0; i < count; ++i) {
        if (arguments[i] == nullptr)
            return fail(TM_BAD_OPTION, "an argument is null", "arguments");
        line.emplace_back(arguments[i]);
    }
    tm_run_options options{};
    if (const tm_status bad = copy_in(given, options); bad != TM_OK)
        return bad;
    const std::span traces(options.traces, options.traces == nullptr ? 0 : options.trace_count);
    if (std::ranges::find(traces, nullptr) != traces.end())
        return fail(TM_BAD_OPTION, "a trace is null", "traces");
    LibraryFront front;
    front.lend(traces);
    std::optional<Result<ProgramAnswer>> result;
    front.run(options.progress, options.user, [&] { result = run_program(line, front); });
    if (!*result)
        return fail(result->error());
    *answer = new tm_answer{std::move((*result)->output), front.notes(),
                            static_cast<int>((*result)->code)};
    return TM_OK;
}

}  // namespace
}  // namespace tidemark::c_api

tm_status tm_run(const char* const* arguments, size_t count, const tm_run_options* options,
                 tm_answer** answer) {
    using namespace tidemark::c_api;
    return guarded([&] { return run(arguments, count, options, answer); });
}

const char* tm_answer_output(const tm_answer* answer, size_t* length) {
    if (length != nullptr)
        *length = answer == nullptr ? 0 : answer->output.size();
    return answer == nullptr ? "" : answer->output.c_str();
}

const char* tm_answer_notes(const tm_answer* answer) {
    return answer == nullptr ? "" : answer->notes.c_str();
}

int tm_answer_exit_code(const tm_answer* answer) {
    return answer == nullptr ? -1 : answer->exit_code;
}

void tm_answer_free(tm_answer* answer) {
    delete answer;
}
