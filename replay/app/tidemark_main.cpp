// tidemark: records, replays and compares GPU memory allocators. This file gives the program its
// process: signals, printing, the exit code. Exceptions of libraries end here.
#include "replay/app/tidemark_main.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "core/base/caught.h"
#include "replay/cli/program.h"

namespace tidemark {
namespace {

ExitCode fail_with(const Error& error) {
    print_error(to_text(error));
    return exit_code_of(error.code);
}

ExitCode run_and_print(const std::vector<std::string>& arguments) {
    TerminalFront front;
    const Result<ProgramAnswer> answer = run_program(arguments, front);
    if (!answer)
        return fail_with(answer.error());
    if (write_output(answer->output) != Written::failed)
        return answer->code;
    return fail_with({ErrorCode::io,
                      std::string("cannot be written: ") + std::strerror(errno),
                      "standard output",
                      {}});
}

}  // namespace
}  // namespace tidemark

int tidemark_main(int argc, char** argv) {
    // A reader that goes away is an error of write(), see terminal.h.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that gets larger than it may (ulimit -f)
    try {
        return static_cast<int>(
            tidemark::run_and_print(std::vector<std::string>(argv + (argc > 0), argv + argc)));
    } catch (const std::bad_alloc&) {
        tidemark::print_error(tidemark::kNoMemory);
    } catch (const std::exception& error) {
        tidemark::print_error(error.what());
    }
    return static_cast<int>(tidemark::ExitCode::not_possible);
}
