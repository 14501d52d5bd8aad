// tidemark sweep: many settings on many traces and machines, a unit at a time, that any number of
// computers can share.
#include <cstdlib>

#include <fmt/format.h>

#include "backends/sim/description_file.h"
#include "core/base/text.h"
#include "replay/cli/sweep_run.h"
#include "replay/cli/sweep_settings.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/unit_folder.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/read_files.h"
#include "replay/report/sweep/sweep_report.h"

namespace tidemark::commands {
namespace {

std::string_view variable_of(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
}

class Sweep final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments_ = &arguments;
        arguments.inputs({"TRACE", "", "traces of any format, or generate:SPEC"}, given_.traces);
        arguments.folder(
            {"-o,--output", "DIR", "the folder for results; several computers may share it"},
            given_.output);
        arguments.input(
            {"--spec", "FILE", "read the options from a JSON file; the command line overrides it"},
            spec_path_);
        arguments.policies({"-p,--policy", "P[:k=v,...]", "a setting; may be repeated"},
                           given_.policies);
        arguments.list({"--grid", "P:k=v,v,...",
                        "all combinations, as torch:max_split_size_mb=64,128 or 64..512*2"},
                       given_.grids);
        arguments.list({"--memory", "SIZE", "size of the card; may be repeated"}, given_.memories);
        arguments.list({"--limit", "SIZE", "limit on reserved memory, or none; may be repeated"},
                       given_.limits);
        arguments.inputs(
            rarely({"--profile", "NAME",
                    "costs of simulated device calls: h200, or a file; may be repeated"}),
            given_.profiles);
        arguments.real(rarely({"--scale", "F", "make every size of the traces F times as large"}),
                       given_.scale);
        arguments.count({"--random", "N", "draw N of the settings at random"}, given_.random);
        arguments.count(rarely({"--seed", "N", "seed of --random (default: 1)"}), given_.seed);
        arguments.flag({"--halving", "", "run the better half on twice as many traces, and so on"},
                       given_.halving);
        arguments.text(
            {"--shard", "I/N", "run part I of N; auto: as Slurm, Kubernetes or MPI number it"},
            shard_text_);
        arguments.count(
            rarely({"-j,--threads", "N", "run at most N replays at a time (default: all cores)"}),
            threads_);
        arguments.file({"--lines", "FILE", "write all results as JSON lines; - is standard output"},
                       FileKind::sweep_lines, lines_);
        arguments.count({"--top", "N", "show N settings (default: 10; 0: all)"}, top_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
        arguments.heading("Over tiers (GPU, host and disk as one memory)");
        arguments.inputs(
            {"--machine", "NAME", "a machine of `tidemark machines`, or a file; may be repeated"},
            given_.machines);
        arguments.list({"--gpu-memory", "LIST",
                        "sizes; 60% is of the program's peak (default: the machine's)"},
                       given_.gpu_memories);
        arguments.list(
            {"--spill", "P[:k=v,...]", "an eviction policy (default: lru); may be repeated"},
            given_.spills);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(lines_.path, json_));
        if (!spec_path_.empty())
            TM_TRY(read_spec());
        if (given_.traces.empty() || given_.output.empty())
            return fail(ErrorCode::bad_option,
                        given_.output.empty() ? "no folder is given for the results"
                                              : "has no trace to replay",
                        given_.output.empty() ? "--output" : "sweep",
                        "tidemark sweep runs/*.tmk -o out -p torch; or both in --spec");
        TM_ASSIGN(given_.traces, expand_traces(given_.traces));
        TM_TRY(arguments_->also_reads(named_files()));
        SweepPlan plan{.paths = given_.traces,
                       .scale = given_.scale,
                       .halving = given_.halving,
                       .threads = threads_};
        if (is_over_tiers(given_)) {
            TM_ASSIGN(plan.tiers, tier_settings(context.front(), given_));
        } else {
            TM_ASSIGN(plan.settings, policy_settings(context.front(), given_));
        }
        TM_ASSIGN(plan.shard, find_shard());
        TM_ASSIGN(const UnitFolder folder, UnitFolder::open(given_.output));
        const Interrupt interrupt(context.front().owns_process());
        TM_ASSIGN(const SweepReport report, SweepRun(context, input_, folder, plan).run());
        if (lines_.wanted()) {
            std::string lines;
            for (const SweptUnit& unit : report.units)
                lines += unit.result.line;
            TM_TRY(write_whole(lines_, lines));
        }
        if (lines_.path != "-")
            context.print(json_ ? sweep_json(report, context.provenance())
                                : sweep_text(report, top_));
        return report.interrupted ? ExitCode::interrupted : ExitCode::yes;
    }

  private:
    // Everything that the sweep reads, wherever it is named; finished units too.
    std::vector<std::string> named_files() const {
        std::vector<std::string> files{given_.output};
        for (const auto* names : {&given_.traces, &given_.profiles, &given_.machines})
            files.insert(files.end(), names->begin(), names->end());
        for (const auto* policies : {&given_.policies, &given_.grids})
            for (const std::string& policy : *policies)
                for (std::string& file : files_of_policy(policy))
                    files.push_back(std::move(file));
        return files;
    }

    // Its members, but where the command line says otherwise.
    Result<void> read_spec() {
        constexpr DescriptionKind kSpecFile{"sweep", "sweeps", "no sweep"};
        TM_ASSIGN(const std::string text, read_description(spec_path_, {}, kSpecFile));
        TM_ASSIGN(SweepSpec spec, read_sweep_spec(text, spec_path_));
        const auto prefer_given = [&](auto member, const char* option) {
            if (arguments_->given(option))
                spec.*member = given_.*member;
        };
        if (!given_.traces.empty())
            spec.traces = given_.traces;
        prefer_given(&SweepSpec::output, "--output");
        prefer_given(&SweepSpec::policies, "--policy");
        prefer_given(&SweepSpec::grids, "--grid");
        prefer_given(&SweepSpec::memories, "--memory");
        prefer_given(&SweepSpec::limits, "--limit");
        prefer_given(&SweepSpec::profiles, "--profile");
        prefer_given(&SweepSpec::machines, "--machine");
        prefer_given(&SweepSpec::gpu_memories, "--gpu-memory");
        prefer_given(&SweepSpec::spills, "--spill");
        prefer_given(&SweepSpec::scale, "--scale");
        prefer_given(&SweepSpec::random, "--random");
        prefer_given(&SweepSpec::seed, "--seed");
        prefer_given(&SweepSpec::halving, "--halving");
        given_ = std::move(spec);
        return {};
    }

    Result<Shard> find_shard() const {
        if (shard_text_.empty())
            return Shard{};
        if (given_.halving)
            return fail(ErrorCode::bad_option, "needs what all others found", "--halving",
                        "leave out --shard");
        return shard_text_.starts_with("auto") ? scheduled_shard(shard_text_, variable_of)
                                               : parse_shard(shard_text_);
    }

    Arguments* arguments_ = nullptr;
    SweepSpec given_;
    std::string spec_path_;
    std::string shard_text_;
    unsigned threads_ = 0;
    OutputTarget lines_;
    unsigned top_ = 10;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo sweep_command() {
    return {
        .name = "sweep",
        .summary = "run many settings on many traces, resumable, over many computers",
        .examples =
            "  tidemark sweep runs/*.tmk -o out --grid 'torch:max_split_size_mb=64,128,256'\n"
            "  tidemark sweep runs -o out --grid 'torch:max_split_size_mb=20..1280*2' --halving\n"
            "  tidemark sweep run.tmk -o out -p torch -p vpmm --memory 40GiB --memory 80GiB\n"
            "  tidemark sweep --spec sweep.json -j 8\n"
            "  tidemark sweep runs -o out --grid ... --shard 3/16\n"
            "  tidemark sweep runs -o out --grid ... --lines all.jsonl\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Sweep>(); },
        .tables = "settings",
    };
}

}  // namespace tidemark::commands
