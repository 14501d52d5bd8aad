// Writing, and reporting it.
#include "replay/cli/written_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"
#include "traces/io/output_file.h"

namespace tidemark {

Result<void> write_whole(const OutputTarget& target, std::string_view content, bool synced) {
    TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(target));
    TM_TRY(file->write(content));
    return file->commit(synced);
}

Result<void> check_ending(const std::string& target, const std::string& option,
                          std::initializer_list<std::string_view> endings) {
    if (target.empty() || std::ranges::any_of(endings, [&](std::string_view ending) {
            return target.ends_with(ending);
        }))
        return {};
    std::string say;
    for (const std::string_view ending : endings)
        say += fmt::format("{}{}{}", say.empty() ? "" : " or ", target, ending);
    return fail(ErrorCode::bad_option, fmt::format("does not end in {}", fmt::join(endings, ", ")),
                option, "say " + say);
}

Result<void> check_plot(const std::string& target) {
    return check_ending(target, "--plot", {".svg", ".png"});
}

FileKind plot_kind(const std::string& target) {
    return target.ends_with(".png") ? FileKind::png : FileKind::svg;
}

Result<void> write_plot(const OutputTarget& target, const std::function<Plot()>& draw) {
    if (!target.wanted())
        return {};
    TM_ASSIGN(const std::string content, plot_for(target.path, draw()));
    return write_whole(target, content);
}

Result<void> allow_report(const std::string& target, bool json) {
    if (json && target == "-")
        return fail(ErrorCode::bad_option, "cannot go together with --json to standard output",
                    "-o -", "name a file");
    return {};
}

void report_written(Context& context, std::span<WrittenFile> files, bool json) {
    for (WrittenFile& file : files) {
        std::error_code failed;
        const auto size = file.target == "-" ? 0 : std::filesystem::file_size(file.target, failed);
        file.bytes = failed ? 0 : size;
    }
    const bool to_output = std::ranges::find(files, "-", &WrittenFile::target) != files.end();
    if (json)
        context.print(written_json(files, context.provenance()));
    else if (!to_output)
        for (const WrittenFile& file : files)
            context.print(written_text(file));
}

}  // namespace tidemark
