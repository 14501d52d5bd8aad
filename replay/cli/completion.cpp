// tidemark completion: what a shell needs to complete our command lines, from the commands'
// declarations.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/tiers/victims/victim_policy.h"
#include "replay/cli/command.h"
#include "replay/cli/policy_completion.h"

namespace tidemark::commands {
namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

std::vector<std::string> names_of(const DeclaredArgument& argument) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= argument.name.size();) {
        const std::size_t end = std::min(argument.name.find(',', begin), argument.name.size());
        names.push_back(argument.name.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

bool is_option(const DeclaredArgument& argument) {
    return argument.name.starts_with('-') && !argument.heading.empty();
}

// The option of `completion` that completes this one's values, which are policies; "" if not so.
std::string_view completed_by(const DeclaredArgument& argument) {
    for (const std::string_view option : {"--policy", "--spill"})
        if (argument.name.ends_with(option))
            return option;
    return {};
}

template <class Info>
std::vector<CompletedPolicy> catalogue_of(std::span<const Info> policies) {
    std::vector<CompletedPolicy> catalogue;
    for (const Info& policy : policies)
        catalogue.push_back({policy.name, policy.options});
    return catalogue;
}

// In single quotes of a shell; `escaped` letters are given a backslash inside of them.
std::string shell_quoted(std::string_view text, std::string_view escaped = {}) {
    std::string result = "'";
    for (const char letter : text) {
        if (escaped.find(letter) != std::string_view::npos)
            result += '\\';
        result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    return result + "'";
}

std::vector<std::string> command_names(std::span<const CommandDeclaration> commands) {
    std::vector<std::string> names{"help"};
    for (const CommandDeclaration& command : commands) {
        names.emplace_back(command.info->name);
        if (!command.info->also.empty())
            names.emplace_back(command.info->also);
    }
    return names;
}

std::string pattern_of(const CommandInfo& info) {
    return info.also.empty() ? std::string(info.name) : fmt::format("{}|{}", info.name, info.also);
}

std::string bash(std::span<const CommandDeclaration> commands) {
    std::string options;
    std::string values;
    for (const CommandDeclaration& command : commands) {
        std::string arguments = "--help";
        for (const DeclaredArgument& argument : command.arguments->declared()) {
            if (!is_option(argument))
                continue;
            const std::vector<std::string> names = names_of(argument);
            arguments += fmt::format(" {}", fmt::join(names, " "));
            const std::string_view completed = completed_by(argument);
            if (argument.choices.empty() && completed.empty())
                continue;
            const std::string known = fmt::format("{}", fmt::join(argument.choices, " "));
            for (const std::string& name : names)
                values += completed.empty()
                              ? fmt::format("        {}:{}) words={} ;;\n", command.info->name,
                                            name, shell_quoted(known))
                              : fmt::format("        {}:{}) policies={} ;;\n", command.info->name,
                                            name, completed);
        }
        options += fmt::format("        {}) words={} ;;\n", pattern_of(*command.info),
                               shell_quoted(arguments));
    }
    return fmt::format(R"sh(# Completion of tidemark for bash: tidemark completion bash
_tidemark() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words="" policies=""
    # bash splits words at ':' and '='; the last one is needed whole, and the one before it.
    local line="${{COMP_LINE:0:COMP_POINT}}"
    local token="${{line##* }}"
    local previous="${{line%"$token"}}"
    previous="${{previous%"${{previous##*[! ]}}"}}"
    previous="${{previous##* }}"
    case "$token" in --*=*) previous="${{token%%=*}}" token="${{token#*=}}" ;; esac
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ] || [ "${{COMP_WORDS[1]}}" = help ]; then
        words={}
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        [ "$COMP_CWORD" -eq 1 ] && COMPREPLY+=($(compgen -f -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}:$previous" in
{}    esac
    if [ -n "$policies" ]; then
        COMPREPLY=($("${{COMP_WORDS[0]/#\~/$HOME}}" completion "$policies" "$token" 2>/dev/null))
        [[ "${{COMPREPLY[0]}}" == *[=:] ]] && compopt -o nospace 2>/dev/null
        COMPREPLY=("${{COMPREPLY[@]#"${{token%"${{token##*[=:]}}"}}"}}")
        return
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    if [[ "$current" != -* ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{}    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _tidemark tidemark
)sh",
                       shell_quoted(fmt::format("{}", fmt::join(command_names(commands), " "))),
                       values, options);
}

std::string zsh(std::span<const CommandDeclaration> commands) {
    std::string names = "    'help:how a command is used'\n";
    std::string cases;
    for (const CommandDeclaration& command : commands) {
        names += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", command.info->name,
                                                                  command.info->summary)));
        cases += fmt::format("    {})\n      _arguments", pattern_of(*command.info));
        for (const DeclaredArgument& argument : command.arguments->declared()) {
            if (!is_option(argument))
                continue;
            std::string value;
            if (argument.takes_value) {
                const std::string_view completed = completed_by(argument);
                value = !completed.empty() ? fmt::format(":policy: _tidemark_policy {}", completed)
                        : argument.choices.empty()
                            ? ":value:_files"
                            : fmt::format(":value:({})", fmt::join(argument.choices, " "));
            }
            for (const std::string& name : names_of(argument))
                cases +=
                    fmt::format(" \\\n        {}{}{}", shell_quoted("*" + name + "["),
                                shell_quoted(argument.summary, "[]:"), shell_quoted("]" + value));
        }
        cases += " \\\n        '*:file:_files' ;;\n";
    }
    return fmt::format(R"sh(#compdef tidemark
# Completion of tidemark for zsh: tidemark completion zsh
_tidemark_policy() {{
  local -a found
  found=(${{(f)"$(tidemark completion $1 "$PREFIX" 2>/dev/null)"}})
  compadd -S '' -a found
}}
_tidemark() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    _files
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
    help) _describe -t commands command commands ;;
{}  esac
}}
if [ "$funcstack[1]" = "_tidemark" ]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
)sh",
                       names, cases);
}

std::string fish(std::span<const CommandDeclaration> commands) {
    std::string text =
        "# Completion of tidemark for fish: tidemark completion fish\n"
        "complete -c tidemark -n __fish_use_subcommand -a help -d 'how a command is used'\n";
    for (const CommandDeclaration& command : commands) {
        text += fmt::format("complete -c tidemark -n __fish_use_subcommand -a {} -d {}\n",
                            command.info->name, shell_quoted(command.info->summary, "\\"));
        for (const DeclaredArgument& argument : command.arguments->declared()) {
            if (!is_option(argument))
                continue;
            text += fmt::format("complete -c tidemark -n '__fish_seen_subcommand_from {}{}{}'",
                                command.info->name, command.info->also.empty() ? "" : " ",
                                command.info->also);
            for (const std::string& name : names_of(argument))
                text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                               : fmt::format(" -s {}", name.substr(1));
            if (const auto completed = completed_by(argument); !completed.empty())
                text +=
                    fmt::format(" -x -a '(tidemark completion {} (commandline -ct))'", completed);
            else if (!argument.choices.empty())
                text += fmt::format(
                    " -x -a {}", shell_quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
            else if (argument.takes_value)
                text += " -r";
            text += fmt::format(" -d {}\n", shell_quoted(argument.summary, "\\"));
        }
    }
    return text;
}

class Completion final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"SHELL", "", "bash, zsh or fish"}, shell_);
        arguments_ = &arguments;
        arguments.text(
            rarely({"--policy", "TEXT", "for these scripts: list how a policy's text can go on"}),
            policy_);
        arguments.text(rarely({"--spill", "TEXT", "the same for an eviction policy's text"}),
                       eviction_);
    }

    Result<ExitCode> run(Context& context) override {
        if (arguments_->given("--policy") || arguments_->given("--spill")) {
            const auto catalogue = arguments_->given("--policy")
                                       ? catalogue_of(all_policies())
                                       : catalogue_of(all_victim_policies());
            for (const std::string& found : complete_policy(policy_ + eviction_, catalogue))
                context.print_file(found + "\n");
            return ExitCode::yes;
        }
        if (std::ranges::find(kShells, shell_) == kShells.end())
            return fail(ErrorCode::bad_option,
                        shell_.empty() ? "no shell is given" : "is not a known shell", shell_,
                        fmt::format("one of: {}", fmt::join(kShells, ", ")));
        const auto script = shell_ == "bash" ? bash : shell_ == "zsh" ? zsh : fish;
        context.print_file(script(context.commands()));
        return ExitCode::yes;
    }

  private:
    const Arguments* arguments_ = nullptr;
    std::string shell_;
    std::string policy_;
    std::string eviction_;
};

}  // namespace

CommandInfo completion_command() {
    return {
        .name = "completion",
        .summary = "print a script that lets bash, zsh or fish complete commands",
        .examples =
            "  source <(tidemark completion bash)    in ~/.bashrc\n"
            "  source <(tidemark completion zsh)     in ~/.zshrc, after compinit\n"
            "  tidemark completion fish | source     in config.fish\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Completion>(); },
    };
}

}  // namespace tidemark::commands
