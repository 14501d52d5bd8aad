// tidemark devices: the GPUs, the host and the simulated devices that a replay can run on.
#include "backends/numa/numa_bandwidth.h"
#include "backends/topology/topology.h"
#include "replay/cli/command.h"
#include "replay/report/machines/topology_report.h"

namespace tidemark::commands {
namespace {

class Devices final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.flag(
            {"--measure", "", "measure the copy bandwidth between host nodes (0.1 s a pair)"},
            measure_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        std::vector<CostProfile> profiles;
        for (const std::string_view name : profile_names()) {
            TM_ASSIGN(CostProfile profile, load_profile(name));
            profiles.push_back(std::move(profile));
        }
        const Topology topology = discover_topology();
        std::vector<NumaBandwidth> bandwidths;
        if (measure_) {
            TM_ASSIGN(bandwidths, measure(NumaHost::open()));
        }
        context.print(json_ ? devices_json(topology, profiles, bandwidths, context.provenance())
                            : devices_text(topology, profiles, bandwidths));
        return ExitCode::yes;
    }

  private:
    // Every pair of nodes that can be measured; an error only if none can.
    static Result<std::vector<NumaBandwidth>> measure(const NumaHost& host) {
        std::vector<NumaBandwidth> bandwidths;
        std::optional<Error> objection;
        for (const NumaNode& from : host.nodes().nodes) {
            for (const NumaNode& to : host.nodes().nodes) {
                const Result<NumaBandwidth> each =
                    measure_bandwidth(host, {.cpu_node = from.id, .memory_node = to.id});
                if (each)
                    bandwidths.push_back(*each);
                else if (!objection)
                    objection = each.error();
            }
        }
        if (bandwidths.empty() && objection)
            return tl::make_unexpected(*objection);
        return bandwidths;
    }

    bool measure_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo devices_command() {
    return {
        .name = "devices",
        .summary = "list the GPUs, the host's memory and the simulated devices",
        .examples =
            "  tidemark devices\n"
            "  tidemark devices --measure                     with the host's copy bandwidth\n"
            "  tidemark devices --json | jq -r '.gpus[].name'\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Devices>(); },
        .tables = "cards",
    };
}

}  // namespace tidemark::commands
