// tidemark sweep: many settings on many traces and machines, a unit at a time, that any number of
// computers can share.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/sweep/grid.h"
#include "replay/cli/sweep_run.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/unit_folder.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/report/sweep/sweep_report.h"

namespace tidemark::commands {
namespace {

std::string_view variable_of(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
}

// What options repeat, and nothing in between where they don't.
template <class Value>
std::vector<Value> or_one(std::vector<Value> values, Value usual) {
    if (values.empty())
        values.push_back(std::move(usual));
    return values;
}

class Sweep final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.list({"TRACE", "", "traces of any format, or generate:NAME:options", true},
                       paths_);
        arguments.text(
            {"-o,--output", "DIR", "where units are kept, a file each; may be shared", true},
            folder_);
        arguments.policies({"-p,--policy", "P[:k=v,...]", "a setting; may be given several times"},
                           policies_);
        arguments.list({"--grid", "P:k=v,v,...",
                        "all combinations of these values: torch:max_split_size_mb=64,128,"
                        "garbage_collection_threshold=0.2..0.8+0.2 (or 64..512*2)"},
                       grids_);
        arguments.list({"--memory", "SIZE", "of the card (default: the recorded one's); several"},
                       memories_);
        arguments.list({"--limit", "SIZE", "on reserved memory, or none; several"}, limits_);
        arguments.list({"--profile", "NAME", "costs of device calls: h200, or a file; several"},
                       profiles_);
        arguments.real({"--scale", "F", "make every size of the traces F times as large"}, scale_);
        arguments.count({"--random", "N", "only N of the policies' settings, drawn at random"},
                        random_);
        arguments.count({"--seed", "N", "of what is drawn (default: 1)"}, seed_);
        arguments.flag(
            {"--halving", "", "the better half of the settings on twice as many traces, and so on"},
            halving_);
        arguments.text({"--shard", "I/N",
                        "the I-th of N parts alone; auto: as Slurm, SGE, Kubernetes, MPI or GNU "
                        "parallel say"},
                       shard_text_);
        arguments.count({"-j,--threads", "N", "at most so many at once (default: all cores)"},
                        threads_);
        arguments.file({"--lines", "FILE",
                        "write what is there as JSON lines, in the sweep's "
                        "order; - is standard output"},
                       lines_);
        arguments.count({"--top", "N", "settings to show (default: 10; 0: all)"}, top_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(lines_, json_));
        TM_ASSIGN(paths_, expand_traces(paths_));
        SweepPlan plan{.paths = paths_, .halving = halving_, .threads = threads_};
        TM_ASSIGN(plan.settings, all_settings(context));
        TM_ASSIGN(plan.shard, find_shard());
        TM_ASSIGN(const UnitFolder folder, UnitFolder::open(folder_));
        const Interrupt interrupt(context.front().owns_process());
        TM_ASSIGN(const SweepReport report, SweepRun(context, input_, folder, plan).run());
        if (!lines_.empty()) {
            std::string lines;
            for (const SweptUnit& unit : report.units)
                lines += unit.result.line;
            TM_TRY(write_whole(lines_, lines));
        }
        if (lines_ != "-")
            context.print(json_ ? sweep_json(report, context.provenance())
                                : sweep_text(report, top_));
        return report.interrupted ? ExitCode::interrupted : ExitCode::yes;
    }

  private:
    // Policies first, then the machines of each. Wrong ones are errors before long files are read.
    Result<std::vector<SweepSetting>> all_settings(Context& context) const {
        TM_ASSIGN(const std::vector<std::string> policies, all_policies_given());
        std::vector<Bytes> memories;
        for (const std::string& text : memories_) {
            TM_ASSIGN(const Bytes size, typed_size(context, text, "--memory"));
            memories.push_back(size);
        }
        std::vector<std::optional<Bytes>> limits;
        for (const std::string& text : limits_) {
            TM_ASSIGN(const Bytes size,
                      text == "none" ? Result<Bytes>(0) : typed_size(context, text, "--limit"));
            limits.emplace_back(size);
        }
        std::vector<SweepSetting> settings;
        for (const std::string& policy : policies)
            for (const std::string& profile : or_one(profiles_, std::string("h200")))
                for (const Bytes memory : or_one(memories, Bytes{0}))
                    for (const auto& limit : or_one(limits, std::optional<Bytes>()))
                        settings.push_back({.policy = policy,
                                            .profile = profile,
                                            .scale = scale_,
                                            .memory = memory,
                                            .overhead = memory > 0 ? kMeasuredOverhead : 0,
                                            .limit = limit});
        return settings;
    }

    Result<std::vector<std::string>> all_policies_given() const {
        std::vector<std::string> policies;
        for (const std::string& text : policies_) {
            TM_ASSIGN(const PolicySpec spec, parse_policy(text));
            policies.push_back(spec.text());
        }
        for (const std::string& grid : grids_) {
            TM_ASSIGN(const std::vector<std::string> settings, expand_grid(grid));
            policies.insert(policies.end(), settings.begin(), settings.end());
        }
        std::vector<std::string> once;
        for (const std::string& policy : policies)
            if (std::ranges::find(once, policy) == once.end())
                once.push_back(policy);
        if (once.empty())
            return fail(ErrorCode::bad_option, "there is no setting to try", "sweep",
                        "give --policy or --grid 'torch:max_split_size_mb=64,128'");
        return random_ ? draw_settings(once, *random_, seed_) : once;
    }

    static Result<Bytes> typed_size(Context& context, const std::string& text, const char* option) {
        TM_ASSIGN(const TypedSize size, parse_typed_size(text).map_error([option](Error error) {
            error.where = option;
            return error;
        }));
        if (!size.note.empty())
            context.front().note(fmt::format("note: {}", size.note));
        return size.bytes;
    }

    Result<Shard> find_shard() const {
        if (shard_text_.empty())
            return Shard{};
        if (halving_)
            return fail(ErrorCode::bad_option, "needs what all others found", "--halving",
                        "leave out --shard");
        return shard_text_.starts_with("auto") ? scheduled_shard(shard_text_, variable_of)
                                               : parse_shard(shard_text_);
    }

    std::vector<std::string> paths_;
    std::string folder_;
    std::vector<std::string> policies_;
    std::vector<std::string> grids_;
    std::vector<std::string> memories_;
    std::vector<std::string> limits_;
    std::vector<std::string> profiles_;
    double scale_ = 1;
    std::optional<unsigned> random_;
    unsigned seed_ = 1;
    bool halving_ = false;
    std::string shard_text_;
    unsigned threads_ = 0;
    std::string lines_;
    unsigned top_ = 10;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo sweep_command() {
    return {
        .name = "sweep",
        .summary = "many settings on many traces, resumable, shared among computers",
        .examples =
            "  tidemark sweep runs/*.tmk -o out --grid 'torch:max_split_size_mb=64,128,256'\n"
            "  tidemark sweep runs -o out --grid 'torch:max_split_size_mb=20..1280*2' --halving\n"
            "  tidemark sweep run.tmk -o out -p torch -p vpmm --memory 40GiB --memory 80GiB\n"
            "  sbatch --array=0-63 --wrap 'tidemark sweep runs -o out --grid ... --shard auto'\n"
            "  seq 8 | parallel tidemark sweep runs -o out --grid ... --shard {}/8\n"
            "  tidemark sweep runs -o out --grid ... --lines all.jsonl    all that is there\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Sweep>(); },
        .tables = "settings",
    };
}

}  // namespace tidemark::commands
