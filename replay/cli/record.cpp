// tidemark record: runs a program that knows nothing of Tidemark, with the recorder of its calls of
// the CUDA driver (replay/inject) in every process of it.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/text.h"
#include "replay/cli/child_program.h"
#include "replay/cli/record_attached.h"
#include "replay/cli/recorded_processes.h"
#include "replay/cli/recorder_library.h"
#include "traces/live/runtime_folder.h"

namespace tidemark::commands {
namespace {

namespace fs = std::filesystem;

// A folder for the reports of processes, removed at the end.
class ReportFolder {
  public:
    explicit ReportFolder(std::string path) : path_(std::move(path)) {}

    ReportFolder(const ReportFolder&) = delete;
    ReportFolder& operator=(const ReportFolder&) = delete;

    ~ReportFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    const std::string& path() const { return path_; }

  private:
    const std::string path_;
};

class Record final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.list({"PROGRAM", "", "the program and its arguments, after --"}, program_);
        arguments.count({"--attach", "PID", "record the allocator of a PyTorch that already runs"},
                        attach_);
        arguments.file(
            {"-o,--output", "FILE", "the recording (.tml); child processes write FILE-PID"},
            FileKind::recording, output_);
        arguments.text(rarely({"--name", "NAME", "how viewers name the program"}), name_);
        arguments.bytes(rarely({"--history-limit", "SIZE",
                                "keep at most SIZE of the recording, and drop what is older"}),
                        history_limit_);
        arguments.flag({"--stacks", "", "record the native call stack of each event"}, stacks_);
        arguments.flag({"--kernels", "", "record which memory each kernel, copy and fill uses"},
                       kernels_);
        arguments.flag(
            rarely(
                {"--no-gpu-times", "",
                 "with --kernels: skip when the GPU ran them, which CUPTI takes time to find out"}),
            untimed_);
        arguments.flag({"--ranges", "", "record the program's NVTX ranges and marks"}, ranges_);
        arguments.flag({"--no-children", "", "record only the program itself"}, alone_);
        arguments.flag({"--live", "", "print how to follow the program while it runs"}, live_);
        arguments.report(json_, "print one JSON object, after what the program prints");
    }

    Result<ExitCode> run(Context& context) override {
        if (program_.empty() == !attach_)
            return fail(ErrorCode::bad_option, "either a program or --attach PID is recorded",
                        "record", "tidemark record -o run.tml -- PROGRAM");
        if (!attach_)
            return run_program(context);
        for (const auto& [given, name] : {std::pair(stacks_, "--stacks"),
                                          {alone_, "--no-children"},
                                          {kernels_, "--kernels"},
                                          {untimed_, "--no-gpu-times"},
                                          {ranges_, "--ranges"}}) {
            if (given)
                return fail(
                    ErrorCode::bad_option, "has no meaning with --attach", name,
                    "a process is recorded alone, and its probes report requests and frees");
        }
        return record_attached(context, {.process = static_cast<int>(*attach_),
                                         .output = output_.path,
                                         .overwrite = output_.force,
                                         .name = name_,
                                         .history_limit = history_limit_,
                                         .live = live_,
                                         .json = json_});
    }

  private:
    Result<ExitCode> run_program(Context& context) {
        TM_ASSIGN(const std::string library, find_recorder_library());
        if (ranges_)
            TM_TRY(check_unset(inject::kRangesVariable));
        const std::string folder = live::runtime_folders().front();
        TM_TRY(live::make_live_folder(folder));
        const ReportFolder reports(fmt::format("{}/record-{}", folder, ::getpid()));
        TM_TRY(OwnFolder::make(reports.path()));
        prepare(library, reports.path());
        if (live_)
            context.front().note(fmt::format(
                "follow it: tidemark view --attach {}",
                name_.empty() ? fs::path(program_.front()).filename().string() : name_));
        const Result<int> code = run_child_program(program_);
        ::unsetenv(inject::kInjectionVariable);
        if (ranges_)
            ::unsetenv(inject::kRangesVariable);
        if (!code) {
            context.front().note(to_text(code.error()));
            constexpr int kNotFound = 127;  // as shells have it
            constexpr int kNotStarted = 126;
            return static_cast<ExitCode>(code.error().code == ErrorCode::not_found ? kNotFound
                                                                                   : kNotStarted);
        }
        report(context, *code, reports.path());
        return static_cast<ExitCode>(*code);
    }

    // Our environment becomes the program's.
    void prepare(const std::string& library, const std::string& reports) const {
        const auto set = [](const char* variable, const std::string& value) {
            if (value.empty())
                ::unsetenv(variable);
            else
                ::setenv(variable, value.c_str(), 1);
        };
        set(inject::kInjectionVariable, library);
        set(inject::kReportsVariable, reports);
        set(inject::kOutputVariable, output_.wanted() ? fs::absolute(output_.path).string() : "");
        set(inject::kOverwriteVariable, output_.force ? "1" : "");
        set(inject::kNameVariable, name_);
        set(inject::kHistoryVariable, fmt::format("{}", history_limit_));
        set(inject::kStacksVariable, stacks_ ? "1" : "");
        set(inject::kKernelsVariable, kernels_ ? "1" : "");
        set(inject::kNoTimesVariable, untimed_ ? "1" : "");
        if (ranges_)
            set(inject::kRangesVariable, library);
        set(inject::kChildOfVariable, alone_ ? fmt::format("{}", ::getpid()) : "");
    }

    void report(Context& context, int code, const std::string& reports) const {
        ProgramRecord run{.program = program_.front(), .exit_code = code};
        for (const inject::ProcessReport& each : inject::read_reports(reports))
            run.processes.push_back(look_at_recorded(context.front(), each));
        if (json_) {
            context.print(record_json(run, context.provenance()));
            return;
        }
        for (const std::string& line : record_lines(run))
            context.front().note(line);
    }

    std::vector<std::string> program_;
    std::optional<unsigned> attach_;
    OutputTarget output_;
    std::string name_;
    Bytes history_limit_ = 0;
    bool stacks_ = false;
    bool kernels_ = false;
    bool untimed_ = false;
    bool ranges_ = false;
    bool alone_ = false;
    bool live_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo record_command() {
    return {
        .name = "record",
        .summary = "run a program and record its GPU memory, without changing it",
        .examples =
            "  tidemark record -o run.tml -- python train.py --epochs 3\n"
            "  tidemark info run.tml                          what it allocated, and what it never "
            "freed\n"
            "  tidemark record -o run.tml --stacks -- ./solver input.dat\n"
            "  tidemark record -o run.tml --kernels --ranges -- python train.py\n"
            "  tidemark record --live -- python serve.py      follow it: tidemark view --attach "
            "python\n"
            "  tidemark record -o run.tml --attach 4711       a PyTorch that already runs\n"
            "The exit code is the program's, or 128 plus the signal's number if a signal ended "
            "it.\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Record>(); },
        .tables = "processes",
        .interactive = true,
    };
}

}  // namespace tidemark::commands
