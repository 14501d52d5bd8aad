// tidemark victims: the catalogue of victim policies and their options.
#include "core/tiers/victims/victim_policy.h"
#include "replay/cli/command.h"
#include "replay/report/tiers/tier_report.h"

namespace tidemark::commands {
namespace {

class Victims final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"NAME", "", "one policy, to show its options with units and sources"},
                       name_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        std::span<const VictimPolicyInfo> shown = all_victim_policies();
        if (!name_.empty()) {
            TM_ASSIGN(const VictimSpec spec, parse_victim_policy(name_));
            shown = {spec.policy, 1};
        }
        if (json_)
            context.print(victims_json(shown, context.provenance()));
        else
            context.print(name_.empty() ? victims_text(shown) : victim_text(shown.front()));
        return ExitCode::yes;
    }

  private:
    std::string name_;
    bool json_ = false;
};

}  // namespace

CommandInfo victims_command() {
    return {
        .name = "victims",
        .summary = "list the eviction policies of tiers, or explain one's options",
        .examples =
            "  tidemark victims\n"
            "  tidemark victims s3fifo\n"
            "  tidemark victims --json\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Victims>(); },
        .tables = "victims",
    };
}

}  // namespace tidemark::commands
