// tidemark-view: the program: reads its arguments, opens a window, writes a picture or serves
// browsers, and turns its end into text and an exit code. Exceptions of libraries end here.
#include "viz/app/view_main.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/caught.h"
#include "core/base/small_file.h"
#include "replay/cli_support/terminal.h"
#include "viz/app/bench.h"
#include "viz/app/csv_file.h"
#include "viz/app/figures_file.h"
#include "viz/app/image_file.h"
#include "viz/app/serve_command.h"
#include "viz/app/view_command.h"
#include "viz/app/window_loop.h"

namespace tidemark::viz {
namespace {

// Large memory goes back to the system when it is freed. By default glibc keeps ever larger pieces,
// for each thread, once one was freed.
void give_large_pieces_back() {
#ifdef __GLIBC__
    constexpr int kLarge = 256 << 10;
    static_cast<void>(::mallopt(M_MMAP_THRESHOLD, kLarge));
#endif
}

Result<ExitCode> run(std::span<char* const> arguments) {
    const KeptPipes kept;
    TM_ASSIGN(const auto read, read_view_command(arguments));
    if (const Answer* answer = std::get_if<Answer>(&read)) {
        write_output(answer->text);
        return ExitCode::yes;
    }
    const auto& command = std::get<ViewCommand>(read);
    if (command.bench)
        return run_bench(command);
    if (command.csv.wanted())
        return write_csv_file(command);
    if (command.figures.wanted())
        return write_figures_file(command);
    if (command.png.wanted() || command.animate.wanted())
        return write_image_file(command);
    if (command.serve.port)
        return run_serve(command);
    return run_window(command);
}

}  // namespace
}  // namespace tidemark::viz

int tidemark_view_main(int argc, char** argv) {
    using tidemark::ExitCode;
    tidemark::viz::give_large_pieces_back();
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of write()
    std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that gets larger than it may (ulimit -f)
    try {
        const auto code = tidemark::viz::run({argv, static_cast<std::size_t>(std::max(argc, 1))});
        if (code)
            return static_cast<int>(*code);
        tidemark::print_error(to_text(code.error()));
        return static_cast<int>(tidemark::exit_code_of(code.error().code));
    } catch (const std::bad_alloc&) {
        tidemark::print_error(tidemark::kNoMemory);
    } catch (const std::exception& error) {
        tidemark::print_error(error.what());
    }
    return static_cast<int>(ExitCode::not_possible);
}
