// tidemark man: the manual page, from the commands' declarations.
#include <fmt/format.h>

#include "replay/cli/command.h"

namespace tidemark::commands {
namespace {

// Text as roff takes it: no letter of it is a command.
std::string roff(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        if (letter == '\\')
            result += "\\e";
        else if (letter == '-')
            result += "\\-";
        else
            result += letter;
        if (letter == '\n')
            result += "\\&";
    }
    return "\\&" + result;
}

std::string argument_lines(const DeclaredArgument& argument) {
    if (argument.heading.empty())
        return {};
    std::string names;
    for (const char letter : argument.name)
        names += letter == ',' ? std::string(", ") : std::string(1, letter);
    return fmt::format(".TP\n.B {}\n{}\n",
                       roff(names + (argument.value.empty() ? "" : " ") + argument.value),
                       roff(argument.summary));
}

std::string section_of(const CommandDeclaration& command) {
    const CommandInfo& info = *command.info;
    std::string text = fmt::format(".SS {}\n{}\n", roff(info.name), roff(info.summary));
    if (!info.also.empty())
        text += fmt::format(".br\nAlso called {}.\n", roff(info.also));
    for (const DeclaredArgument& argument : command.arguments->declared())
        text += argument_lines(argument);
    return text +
           fmt::format(".PP\nExamples:\n.PP\n.nf\n{}\n.fi\n",
                       roff(info.examples.substr(0, info.examples.find_last_not_of('\n') + 1)));
}

class Man final : public Command {
  public:
    void declare(Arguments& /*arguments*/) override {}

    Result<ExitCode> run(Context& context) override {
        std::string page = fmt::format(
            ".TH TIDEMARK 1 \"\" {} \"User Commands\"\n"
            ".SH NAME\n"
            "tidemark \\- replays recorded GPU memory traffic under other allocators\n"
            ".SH SYNOPSIS\n"
            ".B tidemark\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fITRACE\\fR...]\n.br\n"
            ".B tidemark\n.I TRACE\n.br\n"
            ".B tidemark help\n[\\fICOMMAND\\fR]\n"
            ".SH DESCRIPTION\n"
            "Replays what a program did to GPU memory (a PyTorch snapshot, an RMM log, JSONL or "
            ".tmk) under other allocators and settings, and compares what each would have "
            "needed. A folder stands for the recordings in it, a quoted pattern for the "
            "files that it matches.\n"
            "The commands follow, grouped by what people want of them.\n",
            context.provenance().version);
        std::string_view group;
        for (const CommandDeclaration& command : context.commands()) {
            if (command.info->group != group)
                page += fmt::format(".SH {}\n", roff(group = command.info->group));
            page += section_of(command);
        }
        page += ".SH EXIT STATUS\n";
        for (const ExitCodeInfo& code : kExitCodes)
            page +=
                fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(code.code), roff(code.meaning));
        context.print_file(page);
        return ExitCode::yes;
    }
};

}  // namespace

CommandInfo man_command() {
    return {
        .name = "man",
        .summary = "print the manual page, in roff",
        .examples =
            "  tidemark man | man -l -\n"
            "  tidemark man > ~/.local/share/man/man1/tidemark.1\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Man>(); },
    };
}

}  // namespace tidemark::commands
