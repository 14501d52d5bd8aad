// Putting recordings into the viewer's page.
#include "replay/cli/viewer_page.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/base/printable.h"
#include "core/base/small_file.h"
#include "core/base/text.h"
#include "replay/cli/beside.h"
#include "replay/cli/unchecked_file.h"
#include "replay/cli/written_files.h"
#include "replay/report/forms/base64.h"
#include "replay/report/forms/escaped.h"

namespace tidemark::commands {
namespace {

constexpr const char* kPage = "tidemark.html";
constexpr const char* kVariable = "TIDEMARK_PAGE";  // another place of it
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::string_view kTraceMark = "<!-- traces -->";
constexpr std::string_view kTitle = "<title>Tidemark</title>";

// Where one of the page's marks is: it must be there.
Result<void> put_at(std::string& page, std::string_view mark, const std::string& text,
                    const std::string& path) {
    const std::size_t at = page.find(mark);
    if (at == std::string::npos)
        return fail(ErrorCode::bad_input, "is not a page of Tidemark's", path,
                    "rebuild it: scripts/make-page");
    page.replace(at, mark.size(), text);
    return {};
}

}  // namespace

Result<std::string> find_page() {
    if (const char* const named = std::getenv(kVariable); named != nullptr && *named != '\0')
        return std::string(named);
    if (const auto path = find_beside(kPage))
        return *path;
    return fail(
        ErrorCode::unsupported, "the page isn't built", kPage,
        "`scripts/make-page` in Tidemark's sources builds it; `tidemark view --serve` shows "
        "the same in a browser without it");
}

Result<ExitCode> write_page(Context& context, const TraceInput& input, const PageContent& content,
                            const OutputTarget& output, bool json) {
    TM_ASSIGN(const std::string path, find_page());
    TM_ASSIGN(std::string page, read_small_file(path, kMostBytes));
    TM_ASSIGN(const std::vector<std::string> paths, expand_traces(content.paths));
    const std::vector<std::string> names = trace_names(paths);
    std::string inside;
    std::vector<WrittenFile> files;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        TM_ASSIGN(const UncheckedFile packed, UncheckedFile::beside(output.path));
        TM_ASSIGN(
            TraceInfo info,
            input.import(context, paths[i], {.path = packed.path(), .kind = FileKind::recording}));
        TM_ASSIGN(const std::string bytes, read_small_file(packed.path(), kMostBytes));
        inside += fmt::format(
            "<script type=\"application/octet-stream\" class=\"trace\" data-name=\"{}\" "
            "data-goto=\"{}\">{}</script>\n",
            report::escaped(names[i]), report::escaped(content.location), report::base64(bytes));
        const std::uint64_t events = info.event_count;
        files.push_back({.source = paths[i],
                         .target = output.path,
                         .format = "html",
                         .info = std::move(info),
                         .events = events});
    }
    TM_TRY(put_at(page, kTraceMark, inside, path));
    if (!content.title.empty())
        TM_TRY(put_at(page, kTitle,
                      fmt::format("<title>{}</title>", report::escaped(content.title)), path));
    TM_TRY(write_whole(output, page));
    if (json)
        report_written(context, files, json);
    else if (output.path != "-")
        context.print(fmt::format("{}: {}, with {} inside\n", printable(output.path),
                                  format_bytes(page.size()),
                                  format_counted(files.size(), "recording")));
    return ExitCode::yes;
}

}  // namespace tidemark::commands
