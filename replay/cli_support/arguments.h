// Arguments: declares what a command takes on the command line, and reads it into the command's
// fields. Hides the library that parses (CLI11) from the commands.
//
// Targets must live until the command has run. Sizes are read by parse_typed_size
// (core/base/text.h); how an ambiguous one was understood is noted to the Front.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "traces/io/output_target.h"

namespace CLI {
class App;
}

namespace tidemark {

class Front;

// One argument. `name`: "TRACE" is positional, "--policy" or "-p,--policy" an option. `value` is
// what --help calls the value of an option.
struct Argument {
    std::string_view name;
    std::string_view value;
    std::string_view summary;
    bool required = false;
    bool rare = false;  // shown by --help-all only
};

// The same argument, which few people need: --help-all shows it, and --help doesn't.
inline Argument rarely(Argument argument) {
    argument.rare = true;
    return argument;
}

// What was declared, for shell completions and the manual.
struct DeclaredArgument {
    std::string name;  // "TRACE", "-p,--policy"
    std::string value;
    std::string summary;
    std::string heading;
    bool takes_value = true;
    bool repeats = false;
    bool rare = false;
    std::vector<std::string> choices;  // empty: any value
};

class Arguments {
  public:
    explicit Arguments(CLI::App& app) : app_(app) {}

    // What is declared from here on is under this heading in --help.
    void heading(std::string_view title) { heading_ = title; }

    void flag(const Argument& argument, bool& target);
    void text(const Argument& argument, std::string& target);
    void list(const Argument& argument, std::vector<std::string>& target);
    // Policies as text ("torch:max_split_size_mb=128"): finish() loads those that are in a shared
    // library of their own (core/allocator/policy_file.h), which nothing but a command line does.
    void policy(const Argument& argument, std::string& target);
    void policies(const Argument& argument, std::vector<std::string>& target);
    void bytes(const Argument& argument, Bytes& target);
    // A size, or "none" for 0; left as it is where it isn't given.
    void limit(const Argument& argument, std::optional<Bytes>& target);
    void count(const Argument& argument, unsigned& target);
    void count(const Argument& argument, std::optional<unsigned>& target);  // none: not given
    void real(const Argument& argument, double& target);
    void choice(const Argument& argument, std::span<const std::string_view> choices,
                std::string& target);

    // A file that the command reads, a folder or pattern of such, or a name: none of what it writes
    // may be one of them.
    void input(const Argument& argument, std::string& target);
    void inputs(const Argument& argument, std::vector<std::string>& target);

    // A file that the command writes, and of which kind, if need be by the other arguments. With
    // the first one comes --force: see finish().
    void file(const Argument& argument, FileKind kind, OutputTarget& target);
    void file(const Argument& argument, std::function<FileKind(const std::string& path)> kind,
              OutputTarget& target);

    // The same for an option that names a folder: the command makes its targets by output().
    void folder(const Argument& argument, std::string& target);

    // A target that no option names, as finish() makes them. Errors: those of check_target.
    Result<OutputTarget> output(std::string path, FileKind kind) const;

    // What the command reads besides, as it turned out after parsing. Errors: those of finish()
    // about files to be written.
    Result<void> also_reads(std::span<const std::string> paths);

    // --json; and with it --csv and --table: tables of the same object as rows, with its names as
    // titles (replay/report/runs/csv.h). `--csv` sets `json` too: the command prints its object,
    // and who runs it takes the table out of that.
    void report(bool& json, std::string_view summary = "print one JSON object");

    // All arguments, unread: for a command that passes them on to another program, --help too.
    void rest(std::vector<std::string>& target);

    // Fills the targets of sizes, numbers and choices after the command line has been parsed.
    // Errors: bad_option (where = the option's name) for what is not one; for each file to be
    // written those of check_target (traces/io/output_target.h), and bad_option if two options name
    // the same one; those of load_policy_file.
    // Where the process isn't ours (Front::owns_process), also unsupported: "-", standard input or
    // output.
    Result<void> finish(Front& front);

    // Whether the user gave what is declared under that name ("--policy"). After parsing.
    bool given(const std::string& name) const;

    // Leaves out of --help what is rare. Returns whether there is any.
    bool hide_rare();

    // Everything declared so far, in that order.
    std::span<const DeclaredArgument> declared() const { return declared_; }

    // --csv, and the requested table: "" = the command's main one. After parsing.
    bool csv() const { return csv_; }

    const std::string& table() const { return table_; }

  private:
    struct Pending {
        std::string name;
        std::string text;
        Bytes* bytes = nullptr;
        std::optional<Bytes>* limit = nullptr;
        std::function<void(unsigned)> count = {};
        double* real = nullptr;
        std::string* choice = nullptr;
        std::vector<std::string_view> choices;
    };

    struct Written {
        OutputTarget* target = nullptr;
        std::function<FileKind(const std::string& path)> kind = {};
    };

    void declare_force();
    std::vector<std::string> read_files() const;
    Result<void> check_outputs();
    Pending& pend(const Argument& argument);
    DeclaredArgument& note(const Argument& argument);

    CLI::App& app_;
    std::string heading_ = "Options";
    std::vector<std::unique_ptr<Pending>> pending_;
    std::vector<DeclaredArgument> declared_;
    std::vector<std::string>* rest_ = nullptr;
    std::vector<Written> written_;           // targets of file()
    std::vector<const std::string*> input_;  // targets of input()
    std::vector<const std::vector<std::string>*> inputs_;
    std::vector<std::string> also_read_;
    std::vector<const std::string*> policy_;  // targets of policy()
    std::vector<const std::vector<std::string>*> policies_;
    bool has_force_ = false;
    bool force_ = false;
    bool csv_ = false;
    std::string table_;
};

}  // namespace tidemark
