// Command: a subcommand of `tidemark`, such as `replay`. A new one is a file in this folder with a
// function `CommandInfo NAME_command()`, and one line in commands.inc: TIDEMARK_COMMAND(NAME).
//
// A command declares its arguments, opens its traces, calls one analysis of the library and prints
// its report as text or JSON. It returns an Error or an exit code and never ends the process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/printable.h"
#include "core/base/result.h"
#include "replay/cli_support/arguments.h"
#include "replay/cli_support/exit_codes.h"
#include "replay/cli_support/fit_screen.h"
#include "replay/cli_support/front.h"
#include "replay/report/forms/model.h"

namespace tidemark {

struct CommandInfo;

// A command and the arguments that it declared.
struct CommandDeclaration {
    const CommandInfo* info = nullptr;
    const Arguments* arguments = nullptr;
};

// What every command is given.
class Context {
  public:
    Context(Front& front, Provenance provenance, std::span<const CommandDeclaration> commands)
        : front_(front), provenance_(std::move(provenance)), commands_(commands) {}

    // All commands of the program, for those that describe it.
    std::span<const CommandDeclaration> commands() const { return commands_; }

    Front& front() const { return front_; }

    const Terminal& terminal() const { return front_.terminal(); }

    const Provenance& provenance() const { return provenance_; }

    // Adds to what is printed on standard output when the command has ended well, laid out for the
    // screen if that is one. Whatever a name in it holds, no terminal is driven by it.
    void print(std::string_view text) {
        const std::string shown = printable_report(text);
        output_ += terminal().output ? fit_screen(shown, terminal().width) : shown;
    }

    // The same for the text of a file: it is never laid out for the screen.
    void print_file(std::string_view text) { output_ += text; }

    const std::string& output() const { return output_; }

  private:
    Front& front_;
    Provenance provenance_;
    std::span<const CommandDeclaration> commands_;
    std::string output_;
};

class Command {
  public:
    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    virtual void declare(Arguments& arguments) = 0;

    // After parsing. Called once.
    virtual Result<ExitCode> run(Context& context) = 0;
};

struct CommandInfo {
    std::string_view name;
    std::string_view summary;   // one line
    std::string_view examples;  // a line each, with what they do
    std::unique_ptr<Command> (*make)();
    std::string_view also = {};  // another name of it
    // The main table of its JSON, for --csv; "a,b": of several answers. "" = all as one row.
    std::string_view tables = {};
    // Has the terminal to itself, or starts another program in its stead: not for a Front without.
    bool interactive = false;
    // What people want of it: its heading in --help. The lines of commands.inc set it.
    std::string_view group = {};
};

}  // namespace tidemark
