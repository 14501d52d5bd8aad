// Arguments: how a command says what it takes on the command line. The only words that commands
// have for it; beside arguments.cpp, only who reads a program's whole line knows the library that
// parses.
//
// Targets must live until the command has run. Sizes are read as core/base/text.h reads them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace CLI {
class App;
}

namespace tidemark {

// "TRACE" is given by its place, "--policy" or "-p,--policy" by its name. `value` is what --help
// calls the value of a named one.
struct Argument {
    std::string_view name;
    std::string_view value;
    std::string_view summary;
    bool required = false;
};

class Arguments {
  public:
    explicit Arguments(CLI::App& app) : app_(app) {}

    // What is declared from here on stands under this heading in --help.
    void heading(std::string_view title) { heading_ = title; }

    void flag(const Argument& argument, bool& target);
    void text(const Argument& argument, std::string& target);
    void list(const Argument& argument, std::vector<std::string>& target);
    void bytes(const Argument& argument, Bytes& target);
    void count(const Argument& argument, unsigned& target);
    void real(const Argument& argument, double& target);
    void choice(const Argument& argument, std::span<const std::string_view> choices,
                std::string& target);

    // Everything, from the first word on, untouched: for a command that hands its words to another
    // program. --help is among them.
    void rest(std::vector<std::string>& target);

    // Fills the targets of sizes, numbers and choices after the command line has been parsed.
    // Errors (bad_option, where = the option's name): what is not one.
    Result<void> finish() const;

    // Whether the user gave what is declared under that name ("--policy"). After parsing.
    bool given(const std::string& name) const;

  private:
    struct Pending {
        std::string name;
        std::string text;
        Bytes* bytes = nullptr;
        unsigned* count = nullptr;
        double* real = nullptr;
        std::string* choice = nullptr;
        std::vector<std::string_view> choices;
    };

    Pending& pend(const Argument& argument);

    CLI::App& app_;
    std::string heading_ = "Options";
    std::vector<std::unique_ptr<Pending>> pending_;
    std::vector<std::string>* rest_ = nullptr;
};

}  // namespace tidemark
