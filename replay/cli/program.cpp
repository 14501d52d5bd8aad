// Finds the command, hands it its arguments, and takes its output.
#include "replay/cli/program.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/base/small_file.h"
#include "core/base/text.h"
#include "replay/cli/command.h"
#include "replay/report/runs/csv.h"

namespace tidemark {
namespace commands {

#define TIDEMARK_GROUP(title)
#define TIDEMARK_COMMAND(name) CommandInfo name##_command();
#include "replay/cli/commands.inc"
#undef TIDEMARK_COMMAND
#undef TIDEMARK_GROUP

}  // namespace commands

namespace {

std::vector<CommandInfo> make_catalogue() {
    std::vector<CommandInfo> catalogue;
    std::string_view group;
#define TIDEMARK_GROUP(title) group = title;
#define TIDEMARK_COMMAND(name)                       \
    catalogue.push_back(commands::name##_command()); \
    catalogue.back().group = group;
#include "replay/cli/commands.inc"
#undef TIDEMARK_COMMAND
#undef TIDEMARK_GROUP
    return catalogue;
}

const std::vector<CommandInfo>& all_commands() {
    static const std::vector<CommandInfo> catalogue = make_catalogue();
    return catalogue;
}

// A command with the parser's view of it.
struct Entry {
    const CommandInfo* info = nullptr;
    CLI::App* app = nullptr;
    std::unique_ptr<Command> command;
    std::unique_ptr<Arguments> arguments;
};

std::string exit_code_table() {
    std::string text = "Exit codes:\n";
    for (const ExitCodeInfo& info : kExitCodes)
        text += fmt::format("  {:>3}  {}\n", static_cast<int>(info.code), info.meaning);
    return text;
}

std::vector<Entry> declare_commands(CLI::App& app) {
    std::vector<Entry> entries;
    for (const CommandInfo& info : all_commands()) {
        Entry entry{&info, app.add_subcommand(std::string(info.name), std::string(info.summary)),
                    info.make(), nullptr};
        entry.app->group(std::string(info.group));
        if (!info.also.empty())
            entry.app->alias(std::string(info.also));
        entry.arguments = std::make_unique<Arguments>(*entry.app);
        entry.command->declare(*entry.arguments);
        entry.app->footer(fmt::format("Examples:\n{}", info.examples));
        entries.push_back(std::move(entry));
    }
    return entries;
}

// The command that was being read, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
    const std::vector<const CLI::App*> inside = app.get_subcommands({});
    for (const CLI::App* command : inside)
        if (command->parsed())
            return *command;
    return app;
}

std::string help_hint(const CLI::App& inside, const CLI::App& app) {
    return &inside == &app ? "see tidemark --help"
                           : fmt::format("see tidemark {} --help", inside.get_name());
}

// The argument that the parser does not know, and the nearest that it could have been.
Error unknown_word(const CLI::App& app) {
    const CLI::App& inside = innermost(app);
    const std::vector<std::string> rest = app.remaining(true);
    const std::string word = rest.empty() ? "" : rest.front();
    const bool option = word.size() > 1 && word.front() == '-';
    std::vector<std::string> names;
    if (option) {
        for (const CLI::Option* known : inside.get_options())
            for (const std::string& name : known->get_lnames())
                names.push_back("--" + name);
    } else if (&inside == &app) {
        for (const CommandInfo& info : all_commands()) {
            names.emplace_back(info.name);
            if (!info.also.empty())
                names.emplace_back(info.also);
        }
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view near = nearest(word.substr(0, word.find('=')), candidates);
    const std::string_view what = option            ? "there is no option"
                                  : &inside == &app ? "there is no command"
                                                    : "nothing more was expected than";
    return {ErrorCode::bad_option,
            option || &inside == &app ? fmt::format("{} '{}'", what, word)
                                      : fmt::format("'{}' is one argument too many", word),
            &inside == &app ? "" : inside.get_name(),
            near.empty() ? help_hint(inside, app) : fmt::format("did you mean {}?", near)};
}

// What most people need of the command that was being read, or of the program.
std::string help_of(CLI::App& app, std::vector<Entry>& entries) {
    const CLI::App& inside = innermost(app);
    if (&inside == &app)
        return app.help();
    Entry& entry = *std::ranges::find(entries, &inside, &Entry::app);
    const bool shortened = entry.arguments->hide_rare();
    return inside.help("tidemark") +
           (shortened
                ? fmt::format("\n`tidemark {} --help-all` shows all options.\n", entry.info->name)
                : "");
}

// Every option of the command, or of all commands.
std::string all_help_of(const CLI::App& app, const std::vector<Entry>& entries) {
    const CLI::App& inside = innermost(app);
    if (&inside != &app)
        return inside.help("tidemark");
    std::string text = app.help();
    for (const Entry& entry : entries)
        text += "\n" + entry.app->help("tidemark");
    return text;
}

Result<ProgramAnswer> run_command(Entry& entry, const Provenance& provenance,
                                  std::span<const CommandDeclaration> commands, Front& front) {
    if (entry.info->interactive && !front.owns_process())
        return fail(ErrorCode::unsupported, "wants the terminal to itself",
                    fmt::format("tidemark {}", entry.info->name), "run the program");
    const KeptPipes kept;
    TM_TRY(entry.arguments->finish(front));
    Context context(front, provenance, commands);
    const Result<ExitCode> code = entry.command->run(context);
    if (!code) {
        // Whoever reads our output had enough of it: nobody is left to report it to.
        if (code.error().code == ErrorCode::io && front.owns_process() && output_is_closed())
            return ProgramAnswer{};
        return tl::make_unexpected(code.error());
    }
    if (!entry.arguments->csv())
        return ProgramAnswer{context.output(), *code};
    TM_ASSIGN(std::string table,
              csv_of_json(context.output(), entry.arguments->table(), entry.info->tables));
    return ProgramAnswer{std::move(table), *code};
}

bool is_command(std::string_view word) {
    return std::ranges::any_of(all_commands(), [word](const auto& info) {
        return info.name == word || (!info.also.empty() && info.also == word);
    });
}

// The arguments as the parser takes them: "help X" asks for X's help, and a recording instead of
// the command is looked at.
std::vector<std::string> completed(std::span<const std::string> arguments) {
    std::vector<std::string> line(arguments.begin(), arguments.end());
    if (line.empty() || is_command(line[0]))
        return line;
    const std::string& first = line[0];
    std::error_code ignored;
    if (first == "help") {
        line.erase(line.begin());
        if (line.empty() || is_command(line[0]))
            line.emplace_back("--help");  // else the parser says that there is no such command
    } else if (first == "-" || first.starts_with("generate:") ||
               std::filesystem::exists(first, ignored) ||
               (first.front() != '-' && first.find_first_of("*?[") != std::string::npos)) {
        line.insert(line.begin(), "info");
    }
    return line;
}

}  // namespace

std::string command_line(std::span<const std::string> arguments) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
    std::string line = "tidemark";
    for (const std::string_view word : arguments) {
        if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
            line += fmt::format(" {}", word);
            continue;
        }
        line += " '";
        for (const char letter : word)
            line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
        line += '\'';
    }
    return line;
}

Result<ProgramAnswer> run_program(std::span<const std::string> arguments, Front& front) {
    CLI::App app(
        "tidemark replays recorded GPU memory traffic under other allocators, and compares them.");
    app.name("tidemark");
    app.require_subcommand(0, 1);
    app.set_help_flag("-h,--help", "print what most people need, and exit");
    app.set_help_all_flag("--help-all", "print every option, and exit");
    app.set_version_flag("--version", "tidemark " TIDEMARK_VERSION, "print the version, and exit");
    app.get_formatter()->column_width(30);
    app.get_formatter()->label("SUBCOMMAND", "COMMAND");
    std::vector<Entry> entries = declare_commands(app);
    app.footer(exit_code_table() +
               "\n`tidemark help COMMAND` shows a command's options and examples.\n"
               "`tidemark FILE` is `tidemark info FILE`.");

    try {
        std::vector<std::string> line = completed(arguments);
        std::reverse(line.begin(), line.end());
        app.parse(std::move(line));
    } catch (const CLI::CallForHelp&) {
        return ProgramAnswer{help_of(app, entries), ExitCode::yes};
    } catch (const CLI::CallForAllHelp&) {
        return ProgramAnswer{all_help_of(app, entries), ExitCode::yes};
    } catch (const CLI::CallForVersion& version) {
        return ProgramAnswer{std::string(version.what()) + "\n", ExitCode::yes};
    } catch (const CLI::ExtrasError&) {
        return tl::make_unexpected(unknown_word(app));
    } catch (const CLI::ParseError& error) {
        const CLI::App& inside = innermost(app);
        return fail(ErrorCode::bad_option, error.what(), &inside == &app ? "" : inside.get_name(),
                    help_hint(inside, app));
    }
    const auto chosen =
        std::ranges::find_if(entries, [](const Entry& entry) { return entry.app->parsed(); });
    if (chosen == entries.end()) {
        front.note("no command given; the commands are:");
        front.note_help(app.help());
        return ProgramAnswer{{}, ExitCode::bad_usage};
    }
    std::vector<CommandDeclaration> commands;
    for (const Entry& entry : entries)
        commands.push_back({entry.info, entry.arguments.get()});
    return run_command(*chosen, {TIDEMARK_VERSION, command_line(arguments)}, commands, front);
}

}  // namespace tidemark
