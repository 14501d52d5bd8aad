// tidemark view: starts the viewer, which is a program of its own: it needs libraries for drawing
// that the others of us do without. Its arguments are passed on as they are.
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "replay/cli/beside.h"
#include "replay/cli/command.h"

namespace tidemark::commands {
namespace {

constexpr const char* kViewer = "tidemark-view";

// Becomes the viewer; returns only if the viewer is missing or can't be run. Returns the reason.
int become(const std::string& program, const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    std::string name = kViewer;
    pointers.push_back(name.data());
    std::vector<std::string> copies = arguments;
    for (std::string& word : copies)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (program.find('/') != std::string::npos)
        ::execv(program.c_str(), pointers.data());
    else
        ::execvp(program.c_str(), pointers.data());
    return errno;
}

class View final : public Command {
  public:
    void declare(Arguments& arguments) override { arguments.rest(arguments_); }

    Result<ExitCode> run(Context& /*context*/) override {
        const int reason = become(find_beside(kViewer).value_or(kViewer), arguments_);
        if (reason != ENOENT)
            return fail(ErrorCode::unsupported,
                        fmt::format("cannot be started: {}", std::strerror(reason)), kViewer);
        return fail(ErrorCode::unsupported, "the viewer isn't installed", kViewer,
                    fmt::format("it is looked for in {} and in PATH; it is built where the "
                                "packages libimgui-dev, libpng-dev, libglfw3-dev and libgl-dev are",
                                program_folder().string()));
    }

  private:
    std::vector<std::string> arguments_;
};

}  // namespace

CommandInfo view_command() {
    return {
        .name = "view",
        .summary = "look at traces, or follow a running program, in a window or browser",
        .examples =
            "  tidemark view snapshot.pickle                  as it was recorded\n"
            "  tidemark view run.tmk -p torch -p buddy        two policies, side by side\n"
            "  tidemark view run.tmk --goto peak --png peak.png     a picture, without a display\n"
            "  tidemark view --attach trainer                 follow a running program\n"
            "  tidemark view --serve run.tmk                  in a browser\n"
            "  tidemark view --help                           all its options\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<View>(); },
        .interactive = true,
    };
}

}  // namespace tidemark::commands
