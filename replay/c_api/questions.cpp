// tm_run: the program's commands, in the process of the caller.
#include <memory>
#include <optional>
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

tm_status run(const char* const* arguments, std::size_t count, tm_progress progress, void* user,
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
    LibraryFront front;
    std::optional<Result<ProgramAnswer>> result;
    front.run(progress, user, [&] { result = run_program(line, front); });
    if (!*result)
        return fail(result->error());
    *answer = new tm_answer{std::move((*result)->output), front.notes(),
                            static_cast<int>((*result)->code)};
    return TM_OK;
}

}  // namespace
}  // namespace tidemark::c_api

tm_status tm_run(const char* const* arguments, size_t count, tm_progress progress, void* user,
                 tm_answer** answer) {
    using namespace tidemark::c_api;
    return guarded([&] { return run(arguments, count, progress, user, answer); });
}

const char* tm_answer_output(const tm_answer* answer, size_t* length) {
    if (length != nullptr)
        *length = answer->output.size();
    return answer->output.c_str();
}

const char* tm_answer_notes(const tm_answer* answer) {
    return answer->notes.c_str();
}

int tm_answer_exit_code(const tm_answer* answer) {
    return answer->exit_code;
}

void tm_answer_free(tm_answer* answer) {
    delete answer;
}
