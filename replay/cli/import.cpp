// tidemark import: any trace as .tmk.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"

namespace tidemark::commands {
namespace {

namespace fs = std::filesystem;

// "rank0/run.pickle.xz" -> "rank0/run.tmk".
std::string target_name(const std::string& path) {
    constexpr std::array<std::string_view, 9> kEndings{".xz",  ".zst", ".gz",    ".pickle", ".pkl",
                                                       ".csv", ".log", ".jsonl", ".json"};
    fs::path name;
    for (const fs::path& part : fs::path(path).relative_path())
        if (part != "..")
            name /= part;
    while (std::ranges::find(kEndings, name.extension().string()) != kEndings.end())
        name.replace_extension();
    if (name.extension() != ".tmk")
        name += ".tmk";
    return name.string();
}

// The folders on the way to a file, made where they are missing; those that stay empty
// are removed again.
class NewFolders {
  public:
    explicit NewFolders(fs::path folder) : innermost_(std::move(folder)) {
        std::error_code ignored;  // whatever is wrong here, writing the file meets it too
        for (fs::path each = innermost_; !each.empty() && !fs::exists(each, ignored);
             each = each.parent_path())
            ++count_;
        if (count_ > 0)
            fs::create_directories(innermost_, ignored);
    }

    NewFolders(const NewFolders&) = delete;
    NewFolders& operator=(const NewFolders&) = delete;

    ~NewFolders() {
        std::error_code ignored;
        for (; count_ > 0 && fs::remove(innermost_, ignored); --count_)
            innermost_ = innermost_.parent_path();
    }

  private:
    fs::path innermost_;
    std::size_t count_ = 0;  // of the folders that were missing
};

class Import final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs({"IN", "", "traces of any format, or - for standard input", true}, paths_);
        arguments_ = &arguments;
        arguments.folder({"-o,--output", "OUT", "the .tmk file; a folder for several inputs", true},
                         output_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_, json_));
        TM_ASSIGN(paths_, expand_traces(paths_));
        TM_ASSIGN(const std::vector<OutputTarget> targets, choose_targets());
        std::vector<WrittenFile> files;
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            const NewFolders folders(fs::path(targets[i].path).parent_path());
            TM_ASSIGN(TraceInfo info, input_.import(context, paths_[i], targets[i]));
            const std::uint64_t events = info.event_count;
            files.push_back({.source = paths_[i],
                             .target = targets[i].path,
                             .format = "tmk",
                             .info = std::move(info),
                             .events = events});
        }
        report_written(context, files, json_);
        return ExitCode::yes;
    }

  private:
    // One for each input. A folder takes files named after their inputs.
    Result<std::vector<OutputTarget>> choose_targets() const {
        std::error_code ignored;
        const bool folder = fs::is_directory(output_, ignored);
        if (paths_.size() == 1 && !folder && !output_.ends_with('/')) {
            TM_ASSIGN(OutputTarget target, arguments_->output(output_, FileKind::recording));
            return std::vector{std::move(target)};
        }
        if (!folder)
            return fail(ErrorCode::bad_option, "is not a folder", output_,
                        fmt::format("several inputs need one: mkdir -p '{}'", output_));
        std::vector<OutputTarget> targets;
        std::map<std::string, std::string> taken;
        const std::vector<std::string> names = trace_names(paths_);
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            const std::string& path = paths_[i];
            if (path == "-")
                return fail(ErrorCode::bad_option, "standard input has no name to go by", output_,
                            "import it alone, with -o FILE.tmk");
            const std::string target = (fs::path(output_) / target_name(names[i])).string();
            const auto [entry, fresh] = taken.emplace(target, path);
            if (!fresh)
                return fail(ErrorCode::bad_option,
                            fmt::format("would become {}, as {} would", target, entry->second),
                            path, "import one of them under another name");
            // Folders within the folder are made with the files; before that, the folder's own
            // identity counts.
            const fs::path file(target);
            const bool has_folder = fs::is_directory(file.parent_path(), ignored);
            TM_ASSIGN(OutputTarget checked,
                      arguments_->output(
                          has_folder ? target : (fs::path(output_) / file.filename()).string(),
                          FileKind::recording));
            checked.path = target;
            targets.push_back(std::move(checked));
        }
        return targets;
    }

    std::vector<std::string> paths_;
    std::string output_;
    bool json_ = false;
    const Arguments* arguments_ = nullptr;
    TraceInput input_;
};

}  // namespace

CommandInfo import_command() {
    return {
        .name = "import",
        .summary = "write traces of any format as .tmk: small, fast, checksummed",
        .examples =
            "  tidemark import snapshot.pickle -o run.tmk\n"
            "  tidemark import *.pickle.xz -o traces/         one .tmk each, in a folder\n"
            "  tidemark import rank*/snapshot.pickle -o traces/    in traces/rank0, ...\n"
            "  tidemark import - -o log.tmk < log.csv\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Import>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
