// tidemark policies: the catalogue of policies and their options.
#include "core/allocator/allocator.h"
#include "replay/cli/command.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"

namespace tidemark::commands {
namespace {

class Policies final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.policy({"NAME", "", "a policy, or a library with one, to show its options"},
                         name_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        std::span<const PolicyInfo> shown = all_policies();
        if (!name_.empty()) {
            TM_ASSIGN(const PolicyInfo* policy, find_policy(name_));
            shown = {policy, 1};
        }
        if (json_)
            context.print(policies_json(shown, context.provenance()));
        else
            context.print(name_.empty() ? policies_text(shown) : policy_text(shown.front()));
        return ExitCode::yes;
    }

  private:
    std::string name_;
    bool json_ = false;
};

}  // namespace

CommandInfo policies_command() {
    return {
        .name = "policies",
        .summary = "list the policies, or explain one policy's options",
        .examples =
            "  tidemark policies\n"
            "  tidemark policies torch\n"
            "  tidemark policies ./libmine.so                 one of your own\n"
            "  tidemark policies --json | jq -r '.policies[].name'\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Policies>(); },
        .tables = "policies",
    };
}

}  // namespace tidemark::commands
