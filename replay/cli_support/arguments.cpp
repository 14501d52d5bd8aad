// Arguments over CLI11. Values that have a form of their own are taken as text and read afterwards,
// so that their errors are worded like all others.
#include "replay/cli_support/arguments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/allocator/policy_file.h"
#include "core/base/text.h"
#include "replay/cli_support/front.h"
#include "replay/cli_support/read_files.h"

namespace tidemark {
namespace {

bool is_named(const Argument& argument) {
    return argument.name.front() == '-';
}

template <class T>
CLI::Option* add(CLI::App& app, const Argument& argument, const std::string& heading, T& target) {
    CLI::Option* option =
        app.add_option(std::string(argument.name), target, std::string(argument.summary));
    if (is_named(argument))
        option->group(heading);
    option->required(argument.required);
    if (is_named(argument))
        option->option_text(std::string(argument.value));
    else
        option->option_text(" ");  // the name says it all
    return option;
}

Result<void> load_if_file(const std::string& policy) {
    const std::string_view file = policy_file_of(policy);
    if (!file.empty())
        TM_TRY(load_policy_file(file));
    return {};
}

Result<void> refuse_standard_streams(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        const std::vector<std::string>& values = option->results();
        if (std::ranges::find(values, "-") != values.end())
            return fail(ErrorCode::unsupported, "standard input and output are the program's",
                        fmt::format("{} -", option->get_name()), "name a file");
    }
    return {};
}

}  // namespace

void Arguments::flag(const Argument& argument, bool& target) {
    note(argument).takes_value = false;
    app_.add_flag(std::string(argument.name), target, std::string(argument.summary))
        ->group(heading_);
}

void Arguments::text(const Argument& argument, std::string& target) {
    note(argument);
    add(app_, argument, heading_, target);
}

void Arguments::list(const Argument& argument, std::vector<std::string>& target) {
    note(argument).repeats = true;
    CLI::Option* option = add(app_, argument, heading_, target);
    if (is_named(argument))
        option->allow_extra_args(false);  // else "--policy torch trace.tmk" would take both
}

void Arguments::policy(const Argument& argument, std::string& target) {
    text(argument, target);
    policy_.push_back(&target);
}

void Arguments::policies(const Argument& argument, std::vector<std::string>& target) {
    list(argument, target);
    policies_.push_back(&target);
}

void Arguments::input(const Argument& argument, std::string& target) {
    text(argument, target);
    input_.push_back(&target);
}

void Arguments::inputs(const Argument& argument, std::vector<std::string>& target) {
    list(argument, target);
    inputs_.push_back(&target);
}

void Arguments::file(const Argument& argument, FileKind kind, OutputTarget& target) {
    file(
        argument, [kind](const std::string&) { return kind; }, target);
}

void Arguments::file(const Argument& argument,
                     std::function<FileKind(const std::string& path)> kind, OutputTarget& target) {
    text(argument, target.path);
    written_.push_back({&target, std::move(kind)});
    declare_force();
}

void Arguments::folder(const Argument& argument, std::string& target) {
    text(argument, target);
    declare_force();
}

void Arguments::declare_force() {
    if (!std::exchange(has_force_, true))
        flag(rarely({"--force", "", "overwrite a recording, or a file of another kind"}), force_);
}

std::vector<std::string> Arguments::read_files() const {
    std::vector<std::string> all = also_read_;
    for (const std::string* input : input_)
        all.push_back(*input);
    for (const std::vector<std::string>* inputs : inputs_)
        all.insert(all.end(), inputs->begin(), inputs->end());
    const auto add_policy = [&all](const std::string& text) {
        for (std::string& file : files_of_policy(text))
            all.push_back(std::move(file));
    };
    for (const std::string* text : policy_)
        add_policy(*text);
    for (const std::vector<std::string>* texts : policies_)
        std::ranges::for_each(*texts, add_policy);
    return all;
}

Result<OutputTarget> Arguments::output(std::string path, FileKind kind) const {
    OutputTarget target{.path = std::move(path), .kind = kind, .force = force_};
    target.inputs = identities_read(read_files(), target.path);
    TM_TRY(check_target(target));
    return target;
}

Result<void> Arguments::also_reads(std::span<const std::string> paths) {
    also_read_.insert(also_read_.end(), paths.begin(), paths.end());
    return check_outputs();
}

Result<void> Arguments::check_outputs() {
    std::vector<std::string> names;
    for (const Written& written : written_) {
        if (!written.target->wanted())
            continue;
        TM_ASSIGN(*written.target,
                  output(written.target->path, written.kind(written.target->path)));
        const std::string name = name_of_output(written.target->path);
        if (!name.empty() && std::ranges::find(names, name) != names.end())
            return fail(ErrorCode::bad_option, "is named by two options, and one would be lost",
                        written.target->path, "name two files");
        names.push_back(name);
    }
    return {};
}

void Arguments::report(bool& json, std::string_view summary) {
    const Argument csv_argument{"--csv", "",
                                "print a table as CSV: bytes and ns, with the names of --json"};
    note({"--json", "", summary}).takes_value = false;
    note(csv_argument).takes_value = false;
    CLI::Option* object = app_.add_flag("--json", json, std::string(summary))->group(heading_);
    object->option_text(" ");  // else: which options it excludes
    CLI::Option* csv = app_.add_flag_callback(
        std::string(csv_argument.name), [this, &json] { json = csv_ = true; },
        std::string(csv_argument.summary));
    csv->group(heading_)->excludes(object)->option_text(" ");
    const Argument table =
        rarely({"--table", "NAME",
                "with --csv: which table, by its name in --json (default: the main one)"});
    note(table);
    add(app_, table, heading_, table_)->needs(csv);
}

void Arguments::rest(std::vector<std::string>& target) {
    app_.set_help_flag();
    app_.set_help_all_flag();
    app_.prefix_command();
    rest_ = &target;
}

DeclaredArgument& Arguments::note(const Argument& argument) {
    declared_.push_back({.name = std::string(argument.name),
                         .value = std::string(argument.value),
                         .summary = std::string(argument.summary),
                         .heading = heading_,
                         .rare = argument.rare,
                         .choices = {}});
    return declared_.back();
}

Arguments::Pending& Arguments::pend(const Argument& argument) {
    note(argument);
    pending_.push_back(std::make_unique<Pending>());
    Pending& pending = *pending_.back();
    pending.name = argument.name.substr(argument.name.rfind(',') + 1);
    add(app_, argument, heading_, pending.text);
    return pending;
}

void Arguments::bytes(const Argument& argument, Bytes& target) {
    pend(argument).bytes = &target;
}

void Arguments::limit(const Argument& argument, std::optional<Bytes>& target) {
    pend(argument).limit = &target;
}

void Arguments::count(const Argument& argument, unsigned& target) {
    pend(argument).count = [&target](unsigned count) { target = count; };
}

void Arguments::count(const Argument& argument, std::optional<unsigned>& target) {
    pend(argument).count = [&target](unsigned count) { target = count; };
}

void Arguments::real(const Argument& argument, double& target) {
    pend(argument).real = &target;
}

void Arguments::choice(const Argument& argument, std::span<const std::string_view> choices,
                       std::string& target) {
    Pending& pending = pend(argument);
    pending.choice = &target;
    pending.choices.assign(choices.begin(), choices.end());
    declared_.back().choices.assign(choices.begin(), choices.end());
}

bool Arguments::hide_rare() {
    bool any = false;
    for (const DeclaredArgument& argument : declared_) {
        if (!argument.rare)
            continue;
        app_.get_option(argument.name.substr(argument.name.rfind(',') + 1))->group("");
        any = true;
    }
    return any;
}

bool Arguments::given(const std::string& name) const {
    return app_.get_option(name)->count() > 0;
}

Result<void> Arguments::finish(Front& front) {
    if (!front.owns_process())
        TM_TRY(refuse_standard_streams(app_));
    const auto at = [](const Pending& pending) {
        return [&pending](Error error) {
            error.where = pending.name;
            return error;
        };
    };
    const auto size_of = [&at, &front](const Pending& pending) -> Result<Bytes> {
        TM_ASSIGN(const TypedSize size, parse_typed_size(pending.text).map_error(at(pending)));
        if (!size.note.empty())
            front.note(fmt::format("note: {}: {}", pending.name, size.note));
        return size.bytes;
    };
    if (rest_ != nullptr)
        *rest_ = app_.remaining();
    for (const auto& pending : pending_) {
        if (app_.get_option(pending->name)->count() == 0)
            continue;
        if (pending->bytes != nullptr) {
            TM_ASSIGN(*pending->bytes, size_of(*pending));
        } else if (pending->limit != nullptr && pending->text == "none") {
            *pending->limit = Bytes{0};
        } else if (pending->limit != nullptr) {
            TM_ASSIGN(*pending->limit, size_of(*pending));
        } else if (pending->real != nullptr) {
            TM_ASSIGN(*pending->real, parse_real(pending->text).map_error(at(*pending)));
        } else if (pending->count) {
            TM_ASSIGN(const std::uint64_t count,
                      parse_count(pending->text).map_error(at(*pending)));
            if (count > std::numeric_limits<unsigned>::max())
                return fail(ErrorCode::bad_option, fmt::format("{} is too many", count),
                            pending->name);
            pending->count(static_cast<unsigned>(count));
        } else {
            const auto& choices = pending->choices;
            if (std::ranges::find(choices, pending->text) == choices.end())
                return fail(ErrorCode::bad_option, fmt::format("'{}' is not known", pending->text),
                            pending->name, fmt::format("one of: {}", fmt::join(choices, ", ")));
            *pending->choice = pending->text;
        }
    }
    for (const std::string* text : policy_)
        TM_TRY(load_if_file(*text));
    for (const std::vector<std::string>* texts : policies_) {
        for (const std::string& text : *texts)
            TM_TRY(load_if_file(text));
    }
    return check_outputs();
}

}  // namespace tidemark
