// Units in, a page out.
#include "replay/cli/sweep_report.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/read_files.h"
#include "replay/cli_support/trace_files.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/sweep/sweep_result.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnitBegin = "{\"unit\":";

// All units, by name.
Result<std::string> read_units(TraceInput& input, const std::string& path) {
    std::error_code failed;
    if (!fs::is_directory(path, failed))
        return input.read_all(path);
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path, failed))
        if (is_unit_file(entry.path().string()))
            files.push_back(entry.path().string());
    if (failed)
        return fail(ErrorCode::io, failed.message(), path);
    std::ranges::sort(files);
    std::string text;
    for (const std::string& file : files) {
        TM_ASSIGN(const std::string unit, input.read_all(file));
        text += unit;
    }
    return text;
}

std::string summary_json(Context& context, const SweepReportOptions& options,
                         const SweepResult& sweep, const SweepView& view, std::size_t size) {
    report::Json front = report::Json::array();
    for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
        if (!sweep.front[i])
            continue;
        const SettingScore& score = sweep.settings[i].score;
        front.push_back({{"spec", sweep.settings[i].policy},
                         {sweep.over_tiers ? "slowdown" : "overhead_ratio", score.ratio},
                         {sweep.over_tiers ? "stall_ns" : "driver_ns", score.time},
                         {"out_of_memory", score.out_of_memory}});
    }
    return report::text_of({{"target", options.output.path},
                            {"bytes", size},
                            {"title", view.title},
                            {"settings", sweep.settings.size()},
                            {"units", sweep.units},
                            {"unchecked", sweep.unchecked},
                            {"traces", sweep.traces},
                            {"across", report::or_null(view.map.across.name)},
                            {"down", report::or_null(view.map.down.name)},
                            {"front", std::move(front)},
                            {"provenance", report::provenance_of(context.provenance())}});
}

}  // namespace

bool is_swept(const Context& context, TraceInput& input, const std::string& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        const fs::directory_iterator files(path, failed);
        return std::any_of(begin(files), end(files),
                           [](const auto& entry) { return is_unit_file(entry.path().string()); });
    }
    if (path.starts_with("generate:") || !fs::exists(path, failed))
        return false;
    const Result<std::string> begin = input.look(context, path, kUnitBegin.size());
    return begin && begin->starts_with(kUnitBegin);
}

Result<ExitCode> report_sweep(Context& context, TraceInput& input,
                              const SweepReportOptions& options) {
    TM_ASSIGN(const std::string units, read_units(input, options.path));
    TM_ASSIGN(const SweepResult sweep, read_sweep(units, options.path));
    SweepView view{.title = options.title, .map = {}, .top = options.top};
    if (view.title.empty())
        view.title = fmt::format("Sweep {}", trace_name(options.path));
    TM_ASSIGN(view.map, make_heat_map(sweep.settings, sweep.axes, options.across, options.down)
                            .map_error([&](Error error) {
                                error.where = options.path;
                                return error;
                            }));
    if (options.text) {
        context.print(sweep_result_text(sweep, view));
        return ExitCode::yes;
    }
    const std::string page = sweep_page(sweep, view, context.provenance());
    TM_TRY(write_whole(options.output, page));
    if (options.json)
        context.print(summary_json(context, options, sweep, view, page.size()));
    else if (options.output.path != "-")
        context.print(fmt::format("{}: {} of {} in {}\n", printable(options.output.path),
                                  format_counted(sweep.settings.size(), "setting"),
                                  printable(options.path), format_bytes(page.size())));
    return ExitCode::yes;
}

}  // namespace tidemark
