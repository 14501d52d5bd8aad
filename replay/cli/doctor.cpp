// tidemark doctor: what Tidemark can do on this machine, and why not otherwise.
#include "replay/analysis/calibrate/doctor.h"

#include "replay/cli/command.h"
#include "replay/report/machines/topology_report.h"

namespace tidemark::commands {
namespace {

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
        const std::vector<Finding> findings = diagnose(discover_topology());
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
        .summary = "say what can be done on this machine, and why not otherwise",
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
