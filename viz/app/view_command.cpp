// Reads the command line.
#include "viz/app/view_command.h"

#include <algorithm>
#include <array>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/cli_support/arguments.h"
#include "replay/cli_support/exit_codes.h"
#include "replay/cli_support/front.h"
#include "replay/cli_support/memory_options.h"
#include "replay/cli_support/trace_files.h"
#include "viz/headless/animation.h"
#include "viz/model/navigation/filter_query.h"
#include "viz/model/navigation/view_location.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<std::string_view, 2> kThemes = {"dark", "light"};

// Options as given; checked once all of them are known.
struct RawOptions {
    std::string size = "1600x900";
    std::string theme = "dark";
    double scale = 0;
    bool no_cache = false;
    std::string serve;
    MemoryOptions memory;
    std::optional<unsigned> gpu;
};

void declare_runs(Arguments& arguments, ViewCommand& command, RawOptions& raw) {
    LoadRequest& load = command.load;
    arguments.inputs({"FILES", "", "traces of any format, folders, - or generate:SPEC"},
                     load.files);
    arguments.policies({"-p,--policy", "P[:k=v,...]",
                        "replay under this policy; may be repeated (default: as recorded)"},
                       load.policies);
    raw.memory.declare(arguments);
    arguments.input(
        rarely({"--profile", "NAME", "costs of simulated device calls (default: h200)"}),
        load.scenario.profile);
    arguments.flag(rarely({"--lenient", "", "skip and count malformed records instead of failing"}),
                   load.lenient);
    arguments.flag(
        rarely({"--as-recorded", "",
                "infer nothing that the recording leaves out: emptied caches, pools, limits"}),
        load.as_recorded);
    arguments.flag(
        rarely({"--no-cache", "", "neither read nor keep results of replays (`tidemark cache`)"}),
        raw.no_cache);
    arguments.list({"--attach", "PID|NAME", "follow a live program; may be repeated"},
                   command.attach);
    arguments.count(
        rarely({"--gpu", "N",
                "which GPU of a recording to show (default: the one that "
                "ran out of memory, else the one with the highest peak); Shift-R shows the next"}),
        raw.gpu);
    arguments.heading("Over tiers (GPU, host and disk as one memory)");
    arguments.input(
        rarely({"--machine", "NAME", "the machine (see `tidemark machines`), or a file"}),
        load.tiers.machine);
    arguments.list({"--gpu-memory", "SIZE", "80GiB, or 60% of the program's peak; may be repeated"},
                   load.tiers.gpu_memory);
    arguments.list({"--spill", "P[:k=v,...]", "an eviction policy; may be repeated (default: lru)"},
                   load.tiers.spill);
    arguments.bytes(rarely({"--host-memory", "SIZE", "how much host memory may be used"}),
                    load.tiers.host_memory);
}

void declare_looks(Arguments& arguments, ViewCommand& command, RawOptions& raw) {
    arguments.heading("What to show");
    arguments.list({"--view", "NAME", "open this view; may be repeated; A+B: two large views"},
                   command.views);
    arguments.text({"--goto", "LOCATION", "peak, oom, 1.25s, t=1.2s..1.4s, block=#7, ..."},
                   command.location);
    arguments.text({"--find", "WORDS", "show matching blocks: a tag, function, '>=1MiB', stream=7"},
                   command.find);
    arguments.file({"--png", "FILE", "write a picture and exit; needs no display"}, FileKind::png,
                   command.png);
    arguments.file(
        rarely({"--animate", "FILE",
                "write a .gif in which the cursor moves over the window, and exit; needs no "
                "display"}),
        FileKind::unknown, command.animate);
    arguments.file({"--csv", "FILE", "write all rows of the --view's table, and exit"},
                   FileKind::table, command.csv);
    arguments.file(
        rarely({"--figures", "FILE", "write the figures of the overview as JSON, and exit"}),
        FileKind::figures, command.figures);
    arguments.text(rarely({"--size", "WxH", "size in pixels of the window or picture (1600x900)"}),
                   raw.size);
    arguments.real(
        rarely({"--scale", "F", "0.75 to 3: size of letters and lines (default: the monitor's)"}),
        raw.scale);
    arguments.choice(rarely({"--theme", "NAME", "dark (default) or light"}), kThemes, raw.theme);
    arguments.flag(rarely({"--no-settings", "", "neither read nor keep the window's settings"}),
                   command.no_settings);
    arguments.heading("In a browser");
    arguments.text({"--serve", "[PORT]", "show it in browsers, by the link that is printed"},
                   raw.serve);
    arguments.text(
        rarely({"--bind", "ADDRESS", "listen on it (default: 127.0.0.1, only this machine)"}),
        command.serve.address);
    arguments.list(
        rarely({"--allow-host", "NAME",
                "accept links with this name of the machine or a proxy; may be repeated"}),
        command.serve.hosts);
    arguments.flag(rarely({"--end-with-input", "", "exit when standard input is closed"}),
                   command.serve.ends_with_input);
    arguments.heading("");  // not in --help: for tests and scripts/bench-viewer
    arguments.file({"--state-to", "FILE", ""}, FileKind::state_log, command.state_to);
    arguments.file({"--screenshot-to", "FILE", ""}, FileKind::png, command.screenshot_to);
    arguments.flag({"--built-in-font", "", ""}, command.built_in_font);
    arguments.flag({"--bench", "", ""}, command.bench);
    arguments.flag({"--bench-window", "", ""}, command.window_bench);
    arguments.flag({"--quit-when-drawn", "", ""}, command.quits_when_drawn);
    arguments.flag({"--json", "", ""}, command.json);
}

constexpr std::string_view kExamples = R"(Examples:
  tidemark-view snapshot.pickle                      look at a recording
  tidemark-view run.tmk -p torch -p buddy            under two policies, side by side
  tidemark-view run.tmk --goto peak --view address-map --png peak.png
  tidemark-view --attach trainer                     follow a live program
  tidemark-view --serve run.tmk                      in a browser, through `ssh -L` as well
)";

constexpr std::string_view kMoreExamples =
    R"(  tidemark-view run.tmk --gpu-memory 60% --spill lru over GPU, host and disk
  tidemark-view snapshot.pickle --view side-by-side --animate gap.gif
                                                     next to the setting that a finding suggests
  tidemark-view run.tmk --figures -                  the figures of the overview as JSON
  tidemark-view --serve 8080 --attach trainer        a live program in a browser, at that port
  tidemark-view generate:training                    a built-in example
)";

std::string short_footer() {
    return fmt::format(
        "{}\nKeys: press ? in the window. `tidemark-view --help-all` shows all options and views.",
        kExamples);
}

std::string footer() {
    std::string text = "Views:\n";
    for (const ViewInfo& view : all_views())
        text += fmt::format("  {:<16}{}\n", view.name, view.summary);
    text += fmt::format("\n{}{}\nKeys: press ? in the window.\n\nExit codes:\n", kExamples,
                        kMoreExamples);
    for (const ExitCodeInfo& info : kExitCodes)
        text += fmt::format("  {:>3}  {}\n", static_cast<int>(info.code), info.meaning);
    return text;
}

Error unknown_word(const CLI::App& app) {
    const std::vector<std::string> rest = app.remaining(true);
    const std::string word = rest.empty() ? "" : rest.front();
    std::vector<std::string> names;
    for (const CLI::Option* known : app.get_options())
        if (!known->get_group().empty())
            for (const std::string& name : known->get_lnames())
                names.push_back("--" + name);
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view near = nearest(word.substr(0, word.find('=')), candidates);
    return {ErrorCode::bad_option,
            fmt::format("there is no option '{}'", word),
            {},
            near.empty() ? "see tidemark-view --help" : fmt::format("did you mean {}?", near)};
}

Result<void> check_views(const ViewCommand& command) {
    std::vector<std::string_view> names;
    for (const ViewInfo& view : all_views())
        names.push_back(view.name);
    for (const std::string& wanted : command.views) {
        std::string_view rest = wanted;
        while (true) {
            const std::string_view name = rest.substr(0, rest.find('+'));
            if (std::find(names.begin(), names.end(), name) == names.end()) {
                const std::string_view near = nearest(name, names);
                return fail(ErrorCode::bad_option, fmt::format("there is no view '{}'", name),
                            "--view",
                            near.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                                         : fmt::format("did you mean {}?", near));
            }
            if (name.size() == rest.size())
                break;
            rest.remove_prefix(name.size() + 1);
        }
    }
    return {};
}

Result<void> check_serve(ViewCommand& command, const RawOptions& raw, const Arguments& arguments) {
    if (raw.serve.empty()) {
        for (const char* option : {"--bind", "--allow-host", "--end-with-input"})
            if (arguments.given(option))
                return fail(ErrorCode::bad_option, "needs --serve", option, "add --serve");
        return {};
    }
    const auto port = parse_count(raw.serve);
    if (!port || *port > 65535)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a port", raw.serve), "--serve",
                    "give 1024 to 65535, or nothing for a free port");
    command.serve.port = static_cast<std::uint16_t>(*port);
    for (const auto& [option, path] : {std::pair("--png", &command.png),
                                       {"--animate", &command.animate},
                                       {"--csv", &command.csv},
                                       {"--figures", &command.figures}})
        if (path->wanted())
            return fail(ErrorCode::bad_option, "writes a file, not a page", option,
                        fmt::format("leave out --serve or {}", option));
    if (command.load.files.empty() && command.attach.empty())
        return fail(ErrorCode::bad_option, "has nothing to show", "--serve",
                    "a browser can't open files: name FILES, or --attach NAME");
    return {};
}

Result<void> check_csv(const ViewCommand& command) {
    if (!command.csv.wanted())
        return {};
    if (command.views.size() != 1 || command.views.front().find('+') != std::string::npos)
        return fail(ErrorCode::bad_option, "writes the rows of one table", "--csv",
                    "name it: --view blocks, --view events, ...");
    if (command.png.wanted() || command.animate.wanted())
        return fail(ErrorCode::bad_option, "is a file of its own", "--csv",
                    "leave out --png and --animate");
    return {};
}

Result<void> check(ViewCommand& command, const RawOptions& raw) {
    TM_ASSIGN(const PixelSize size, parse_size(raw.size));
    command.width = size.width;
    command.height = size.height;
    if (raw.scale != 0 && !(raw.scale >= static_cast<double>(kSmallestScale) &&
                            raw.scale <= static_cast<double>(kLargestScale)))
        return fail(ErrorCode::bad_option, fmt::format("{} is out of bounds", raw.scale), "--scale",
                    "give 0.75 to 3");
    command.scale = static_cast<float>(raw.scale);
    if (raw.gpu)
        command.load.gpu = *raw.gpu;
    command.dark = raw.theme == "dark";
    TM_ASSIGN(command.load.files, expand_traces(command.load.files));
    command.load.keep = !raw.no_cache;
    raw.memory.apply(command.load.scenario);
    TM_TRY(check_views(command));
    if (!command.location.empty()) {
        TM_ASSIGN(const ViewLocation location,
                  parse_target(command.location).map_error([](Error error) {
                      error.where = "--goto";
                      return error;
                  }));
        command.location = to_text(location);
    }
    if (const auto filter = parse_filter(command.find); !filter)
        return fail(filter.error().code, filter.error().what, "--find", filter.error().hint);
    if (command.animate.wanted())
        TM_TRY(check_animation_path(command.animate.path));
    TM_TRY(check_csv(command));
    std::string_view writes;
    for (const auto& [option, target] :
         {std::pair("--png", &command.png), std::pair("--animate", &command.animate),
          std::pair("--csv", &command.csv), std::pair("--figures", &command.figures)})
        if (target->wanted()) {
            if (option == std::string_view("--figures") && !writes.empty())
                return fail(ErrorCode::bad_option, "is a file of its own", option,
                            fmt::format("leave out {}", writes));
            writes = option;
        }
    if (!writes.empty() && command.load.files.empty() && command.attach.empty())
        return fail(ErrorCode::bad_option, "needs a trace or a program", std::string(writes),
                    fmt::format("name it: tidemark-view FILE {} OUT", writes));
    if (!command.attach.empty() && (!command.load.policies.empty() || command.load.tiers.wanted()))
        return fail(ErrorCode::bad_option, "a live program cannot be replayed", "--attach",
                    "its recording can: tidemark-view RECORDING --policy ...");
    return {};
}

// A port may follow --serve, and so may a file: what isn't a number is a file.
std::vector<std::string> with_port(std::span<char* const> raw) {
    std::vector<std::string> arguments(raw.begin(), raw.end());
    for (std::size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i)
        if (arguments[i] == "--serve" &&
            (i + 1 == arguments.size() || !parse_count(arguments[i + 1])))
            arguments[i] = "--serve=0";
    return arguments;
}

}  // namespace

Result<PixelSize> parse_size(const std::string& text) {
    const auto error = [&text] {
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a size in pixels", text),
                    "--size",
                    fmt::format("give one like 1600x900; from {0}x{0} to {1}x{1}", kSmallestStill,
                                kLargestStill));
    };
    const std::size_t by = text.find('x');
    if (by == std::string::npos)
        return error();
    const auto width = parse_count(text.substr(0, by));
    const auto height = parse_count(text.substr(by + 1));
    for (const auto& length : {width, height})
        if (!length || *length < kSmallestStill || *length > kLargestStill)
            return error();
    return PixelSize{static_cast<std::uint32_t>(*width), static_cast<std::uint32_t>(*height)};
}

Result<std::variant<ViewCommand, Answer>> read_view_command(std::span<char* const> raw) {
    CLI::App app(
        "tidemark-view shows what a program did to GPU memory, and what it would have "
        "done under other allocators.");
    app.name("tidemark-view");
    app.set_help_flag("-h,--help", "print what most people need, and exit");
    app.set_help_all_flag("--help-all", "print every option and view, and exit");
    app.set_version_flag("--version", "tidemark-view " TIDEMARK_VERSION,
                         "print the version, and exit");
    app.get_formatter()->column_width(30);
    app.footer(short_footer());
    ViewCommand command;
    RawOptions texts;
    Arguments arguments(app);
    declare_runs(arguments, command, texts);
    declare_looks(arguments, command, texts);
    const std::vector<std::string> given = with_port(raw);
    std::vector<const char*> pointers;
    for (const std::string& word : given)
        pointers.push_back(word.c_str());
    try {
        app.parse(static_cast<int>(pointers.size()), pointers.data());
    } catch (const CLI::CallForHelp&) {
        arguments.hide_rare();
        return Answer{app.help()};
    } catch (const CLI::CallForAllHelp&) {
        app.footer(footer());
        return Answer{app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Answer{std::string(version.what()) + "\n"};
    } catch (const CLI::ExtrasError&) {
        return tl::make_unexpected(unknown_word(app));
    } catch (const CLI::ParseError& error) {
        return fail(ErrorCode::bad_option, error.what(), {}, "see tidemark-view --help");
    }
    TerminalFront front;
    TM_TRY(arguments.finish(front));
    command.theme_given = arguments.given("--theme");
    TM_TRY(check(command, texts));
    TM_TRY(check_serve(command, texts, arguments));
    return command;
}

}  // namespace tidemark::viz
