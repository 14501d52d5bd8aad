// tidemark doctor: what Tidemark can do on this machine, and why not otherwise.
#include "replay/analysis/calibrate/doctor.h"

#include <cstdlib>

#include <fmt/format.h>

#include "backends/topology/program_output.h"
#include "replay/attach/probe_ring.h"
#include "replay/cli/command.h"
#include "replay/cli/recorder_library.h"
#include "replay/inject/cupti.h"
#include "replay/report/machines/topology_report.h"

namespace tidemark::commands {
namespace {

Result<std::string> find_cupti(const Topology& topology) {
    constexpr int kNewest = 13000;
    TM_ASSIGN(const inject::Cupti cupti,
              inject::Cupti::open(topology.cuda ? topology.cuda->version : kNewest));
    return fmt::format("{}, version {}", cupti.path(), cupti.version());
}

Result<std::string> find_probes() {
    TM_TRY(attach::ProbeRing::check());
    return std::string("your own processes; all of them as root");
}

Result<std::string> find_compiler() {
    const char* const path = std::getenv("PATH");
    const char* const chosen = std::getenv("CXX");
    for (const char* const name : {chosen == nullptr ? "" : chosen, "c++", "g++", "clang++"}) {
        if (std::string file = find_program(name, path == nullptr ? "" : path); !file.empty())
            return file;
    }
    return fail(ErrorCode::not_found, "there is no C++ compiler", {},
                "install g++, or name a compiler in CXX");
}

class Doctor final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.list({"--require", "NAME", "exit with 1 if this is missing; may be repeated"},
                       required_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        for (const std::string& name : required_)
            TM_TRY(check_capability_name(name));
        const Topology topology = discover_topology();
        const std::vector<Finding> findings =
            diagnose(topology, {.library = find_recorder_library(),
                                .cupti = find_cupti(topology),
                                .probes = find_probes(),
                                .compiler = find_compiler()});
        const std::vector<std::string_view> required(required_.begin(), required_.end());
        context.print(json_ ? doctor_json(findings, required, context.provenance())
                            : doctor_text(findings, required));
        return missing_of(findings, required).empty() ? ExitCode::yes : ExitCode::no;
    }

  private:
    std::vector<std::string> required_;
    bool json_ = false;
};

}  // namespace

CommandInfo doctor_command() {
    return {
        .name = "doctor",
        .summary = "say what works on this machine, and what to do about the rest",
        .examples =
            "  tidemark doctor\n"
            "  tidemark doctor --require cuda --require virtual-memory || echo 'not here'\n"
            "  TIDEMARK_PYTHON=venv/bin/python tidemark doctor\n"
            "  tidemark doctor --json | jq -r '.capabilities[] | select(.here) | .name'\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Doctor>(); },
        .tables = "capabilities",
    };
}

}  // namespace tidemark::commands
