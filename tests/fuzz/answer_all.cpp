// Every command's functions, as the commands call them.
#include "tests/fuzz/answer_all.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "replay/analysis/advise/advise.h"
#include "replay/analysis/compare/compare.h"
#include "replay/analysis/fit/fit.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/infer_missing_events.h"
#include "replay/record/recorded_policy.h"
#include "replay/record/verify.h"
#include "replay/report/advise/advise_report.h"
#include "replay/report/advise/fit_report.h"
#include "replay/report/charts/chart.h"
#include "replay/report/charts/plot.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/html_report.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"
#include "traces/open.h"

namespace tidemark::fuzz {
namespace {

const Provenance kProvenance{"0", "fuzz"};
constexpr Bytes kMachine = Bytes{1} << 38U;  // above this, mapping page by page takes seconds
constexpr std::size_t kLongestLine = 4000;

// Text for a person: printable, and lines that end.
void check_text(const std::string& text) {
    TM_CHECK(!text.empty() && text.back() == '\n');
    TM_CHECK(printable(text, true) == text);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        TM_CHECK(end - begin <= kLongestLine);
        begin = end + 1;
    }
    for (const char* const odd : {" nan ", " inf ", "nan %", "inf %", "-nan", "-inf "})
        TM_CHECK(text.find(odd) == std::string::npos);
}

void check_json(const std::string& text) {
    TM_CHECK(nlohmann::json::accept(text));
}

void check_plot(const Plot& plot) {
    const std::string svg = plot_svg(plot);
    TM_CHECK(svg.ends_with("</svg>\n"));
    for (const char* const odd : {"nan", "inf,", "-inf"})
        TM_CHECK(svg.find(odd) == std::string::npos);
}

template <class T>
bool answered(const Result<T>& result) {
    if (!result)
        TM_CHECK(!result.error().what.empty());
    return result.has_value();
}

TraceSummary inform(const Trace& trace) {
    const Result<TraceSummary> summary = summarize(trace);
    if (!answered(summary))
        return {};
    check_text(trace_text("trace", trace.info(), *summary));
    check_json(trace_json("trace", trace, *summary, kProvenance));
    return *summary;
}

void replay_and_compare(const Trace& trace) {
    const Result<Run> recorded = run(trace, {});
    if (answered(recorded)) {
        check_text(run_text("trace", *recorded, trace.info(), draw(recorded->timeline, {})));
        check_json(run_json(*recorded, trace.info(), kProvenance));
        check_plot(run_plot("trace", *recorded));
    }
    const NamedTrace named{"trace", &trace};
    const Scenario scenarios[] = {{.policy = "torch"}, {.policy = "best-fit"}};
    CompareOptions options;
    options.threads = 1;
    const Result<Comparison> comparison = compare({&named, 1}, scenarios, options);
    if (answered(comparison)) {
        check_text(comparison_text(*comparison, Emphasis::none));
        check_json(comparison_json(*comparison, kProvenance));
        check_plot(comparison_plot(*comparison));
    }
}

void check_record(const Trace& trace) {
    const auto policy = recorded_policy(trace.info());
    const auto spec = policy ? parse_policy(policy->text) : parse_policy("torch");
    if (!answered(spec))
        return;
    const Result<VerifyReport> report = verify(trace, *spec, {});
    if (answered(report)) {
        check_text(verify_text("trace", *report));
        check_json(verify_json("trace", trace, *report, kProvenance));
    }
}

void advise_and_fit(const Trace& trace) {
    AdviseOptions options;
    options.budget = 3;
    options.threads = 1;
    const Result<Advice> advice = advise(trace, options);
    if (answered(advice)) {
        check_text(advice_text("trace", trace.info(), *advice));
        check_json(advice_json("trace", trace, *advice, kProvenance));
    }
    FitQuestion question;
    question.policies = {"torch"};
    question.memory = Bytes{1} << 33U;
    question.threads = 1;
    const Result<FitReport> fitted = fit(trace, question);
    if (answered(fitted)) {
        check_text(fit_text("trace", trace.info(), *fitted, Emphasis::none));
        check_json(fit_json("trace", trace, *fitted, kProvenance));
    }
}

void report_on(const Trace& trace) {
    Result<RecordedRun> recorded = record_history(trace, {}, {.keep = false});
    if (!answered(recorded))
        return;
    ReportInput input;
    input.title = "trace";
    input.provenance = kProvenance;
    input.traces.push_back({"trace", &trace, std::nullopt});
    input.runs.push_back({0, "recorded", std::move(*recorded)});
    check_text(text_report(input));
    const std::string page = html_report(input);
    TM_CHECK(page.size() < kLargestReport && page.ends_with("</html>\n"));
}

}  // namespace

bool is_quick(std::span<const std::byte> bytes) {
    constexpr std::size_t kLongest = 32'768;  // so many can't make a trace of minutes
    constexpr std::array kCompressed{0x1f, 0x28, 0xfd, 0x42};  // gzip, zstd, xz, bzip2
    return !bytes.empty() && bytes.size() <= kLongest &&
           std::ranges::find(kCompressed, std::to_integer<int>(bytes[0])) == kCompressed.end();
}

bool answer(const std::string& path, const ReadOptions& options, Commands commands) {
    Result<std::unique_ptr<Trace>> read = open_trace(path, options);
    if (!answered(read))
        return false;
    const TraceSummary summary = inform(**read);
    const Result<std::unique_ptr<Trace>> trace = infer_missing_events(std::move(*read), {});
    if (!answered(trace))
        return true;
    report_on(**trace);
    if (commands == Commands::few)
        return true;
    replay_and_compare(**trace);
    check_record(**trace);
    if (std::max(summary.requested.value, summary.recorded_reserved.value) < kMachine)
        advise_and_fit(**trace);
    return true;
}

}  // namespace tidemark::fuzz
