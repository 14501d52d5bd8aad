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
        arguments.inputs({"TRACE", "", "traces of any format, or generate:NAME:options"},
                         given_.traces);
        arguments.folder({"-o,--output", "DIR", "where units are kept, a file each; may be shared"},
                         given_.output);
        arguments.input({"--spec", "FILE",
                         "the sweep as a JSON file, whose members are these options; what is given "
                         "here too takes the place of what is there"},
                        spec_path_);
        arguments.policies({"-p,--policy", "P[:k=v,...]", "a setting; may be given several times"},
                           given_.policies);
        arguments.list({"--grid", "P:k=v,v,...",
                        "all combinations of these values: torch:max_split_size_mb=64,128,"
                        "garbage_collection_threshold=0.2..0.8+0.2 (or 64..512*2)"},
                       given_.grids);
        arguments.list({"--memory", "SIZE", "of the card (default: the recorded one's); several"},
                       given_.memories);
        arguments.list({"--limit", "SIZE", "on reserved memory, or none; several"}, given_.limits);
        arguments.inputs({"--profile", "NAME", "costs of device calls: h200, or a file; several"},
                         given_.profiles);
        arguments.real({"--scale", "F", "make every size of the traces F times as large"},
                       given_.scale);
        arguments.count({"--random", "N", "only N of the policies' settings, drawn at random"},
                        given_.random);
        arguments.count({"--seed", "N", "of what is drawn (default: 1)"}, given_.seed);
        arguments.flag(
            {"--halving", "", "the better half of the settings on twice as many traces, and so on"},
            given_.halving);
        arguments.text({"--shard", "I/N",
                        "the I-th of N parts alone; auto: as Slurm, SGE, Kubernetes, MPI or GNU "
                        "parallel say"},
                       shard_text_);
        arguments.count({"-j,--threads", "N", "at most so many at once (default: all cores)"},
                        threads_);
        arguments.file({"--lines", "FILE",
                        "write what is there as JSON lines, in the sweep's "
                        "order; - is standard output"},
                       FileKind::sweep_lines, lines_);
        arguments.count({"--top", "N", "settings to show (default: 10; 0: all)"}, top_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
        arguments.heading("Over tiers (GPU, host and disk as one memory)");
        arguments.inputs({"--machine", "NAME", "see `tidemark machines`, or a JSON file; several"},
                         given_.machines);
        arguments.list({"--gpu-memory", "LIST",
                        "sizes: 60% is of the program's peak (default: the machine's)"},
                       given_.gpu_memories);
        arguments.list({"--spill", "P[:k=v,...]",
                        "a victim policy, see `tidemark victims` (default: lru); several"},
                       given_.spills);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(lines_.path, json_));
        if (!spec_path_.empty())
            TM_TRY(read_spec());
        if (given_.traces.empty() || given_.output.empty())
            return fail(
                ErrorCode::bad_option,
                given_.output.empty() ? "says not where units are kept" : "has no trace to replay",
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
    // All that the sweep reads, wherever it is named; units that are there count too.
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
        .summary = "many settings on many traces, resumable, shared among computers",
        .examples =
            "  tidemark sweep runs/*.tmk -o out --grid 'torch:max_split_size_mb=64,128,256'\n"
            "  tidemark sweep runs -o out --grid 'torch:max_split_size_mb=20..1280*2' --halving\n"
            "  tidemark sweep run.tmk -o out -p torch -p vpmm --memory 40GiB --memory 80GiB\n"
            "  tidemark sweep runs -o out --machine h200-node --machine my-node.json \\\n"
            "      --gpu-memory 80%,40% --spill lru --spill s3fifo         over tiers\n"
            "  tidemark sweep --spec sweep.json -j 8\n"
            "  sbatch --array=0-63 --wrap 'tidemark sweep runs -o out --grid ... --shard auto'\n"
            "  seq 8 | parallel tidemark sweep runs -o out --grid ... --shard {}/8\n"
            "  tidemark sweep runs -o out --grid ... --lines all.jsonl    all that is there\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Sweep>(); },
        .tables = "settings",
    };
}

}  // namespace tidemark::commands
