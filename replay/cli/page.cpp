// tidemark page: the viewer in one file that any browser opens (scripts/make-page), alone or with
// recordings inside.
#include <cstdlib>

#include "core/base/printable.h"
#include "replay/cli/child_program.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/viewer_page.h"
#include "replay/cli/written_files.h"

namespace tidemark::commands {
namespace {

class Page final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs({"TRACE", "", "recordings of any format to put into the page", false},
                         paths_);
        arguments.file({"-o,--output", "FILE",
                        "the page to write (default: open an empty page in your browser)"},
                       FileKind::report, output_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_.path, json_));
        if (!output_.wanted())
            return open(context);
        return write_page(context, input_, {.paths = paths_}, output_, json_);
    }

  private:
    // In the browser that the desktop has; where there is none, whoever asks opens it.
    Result<ExitCode> open(Context& context) {
        TM_ASSIGN(const std::string path, find_page());
        if (!paths_.empty())
            return fail(
                ErrorCode::bad_option, "goes into a page of its own", paths_.front(),
                "-o FILE.html says which; or drop it on the page that `tidemark page` opens");
        context.print(printable(path) + "\n");
        const bool has_desktop =
            std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
        if (has_desktop)
            static_cast<void>(run_child_program(std::vector<std::string>{"xdg-open", path}));
        return ExitCode::yes;
    }

    std::vector<std::string> paths_;
    OutputTarget output_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo page_command() {
    return {
        .name = "page",
        .summary = "the viewer in one file for any browser, with recordings inside",
        .examples =
            "  tidemark page                                  open it, and drop a recording on it\n"
            "  tidemark page snapshot.pickle -o run.html      a file to mail: whoever opens it "
            "sees the run\n"
            "  tidemark page rank*.pickle -o ranks.html       of several ranks\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Page>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
