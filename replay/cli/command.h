// Command: one word that `tidemark` understands. A new one is a file here, with a function
// `CommandInfo NAME_command()`, and one line in commands.inc: TIDEMARK_COMMAND(NAME).
//
// A command reads its inputs, asks the library, and prints one report; it decides nothing about
// memory. It returns an Error or an exit code and never ends the process itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "replay/report/model.h"
#include "replay/words/arguments.h"
#include "replay/words/exit_codes.h"
#include "replay/words/terminal.h"

namespace tidemark {

// What every command is given.
class Context {
  public:
    Context(const Terminal& terminal, Provenance provenance)
        : terminal_(terminal), provenance_(std::move(provenance)) {}

    const Terminal& terminal() const { return terminal_; }

    const Provenance& provenance() const { return provenance_; }

    // Adds to what is printed on standard output when the command has ended well.
    void print(std::string_view text) { output_ += text; }

    const std::string& output() const { return output_; }

  private:
    Terminal terminal_;
    Provenance provenance_;
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
};

}  // namespace tidemark
