// Arguments over CLI11. Values that have a form of their own are taken as text and read afterwards,
// so that their errors are worded like all others.
#include "replay/words/arguments.h"

#include <algorithm>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/base/text.h"

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
        option->option_text(" ");  // the place's name says it all
    return option;
}

}  // namespace

void Arguments::flag(const Argument& argument, bool& target) {
    app_.add_flag(std::string(argument.name), target, std::string(argument.summary))
        ->group(heading_);
}

void Arguments::text(const Argument& argument, std::string& target) {
    add(app_, argument, heading_, target);
}

void Arguments::list(const Argument& argument, std::vector<std::string>& target) {
    CLI::Option* option = add(app_, argument, heading_, target);
    if (is_named(argument))
        option->allow_extra_args(false);  // else "--policy torch trace.tmk" would take both
}

void Arguments::rest(std::vector<std::string>& target) {
    app_.set_help_flag();
    app_.prefix_command();
    rest_ = &target;
}

Arguments::Pending& Arguments::pend(const Argument& argument) {
    pending_.push_back(std::make_unique<Pending>());
    Pending& pending = *pending_.back();
    pending.name = argument.name.substr(argument.name.rfind(',') + 1);
    add(app_, argument, heading_, pending.text);
    return pending;
}

void Arguments::bytes(const Argument& argument, Bytes& target) {
    pend(argument).bytes = &target;
}

void Arguments::count(const Argument& argument, unsigned& target) {
    pend(argument).count = &target;
}

void Arguments::real(const Argument& argument, double& target) {
    pend(argument).real = &target;
}

void Arguments::choice(const Argument& argument, std::span<const std::string_view> choices,
                       std::string& target) {
    Pending& pending = pend(argument);
    pending.choice = &target;
    pending.choices.assign(choices.begin(), choices.end());
}

bool Arguments::given(const std::string& name) const {
    return app_.get_option(name)->count() > 0;
}

Result<void> Arguments::finish() const {
    const auto at = [](const Pending& pending) {
        return [&pending](Error error) {
            error.where = pending.name;
            return error;
        };
    };
    if (rest_ != nullptr)
        *rest_ = app_.remaining();
    for (const auto& pending : pending_) {
        if (app_.get_option(pending->name)->count() == 0)
            continue;
        if (pending->bytes != nullptr) {
            TM_ASSIGN(*pending->bytes, parse_bytes(pending->text).map_error(at(*pending)));
        } else if (pending->real != nullptr) {
            TM_ASSIGN(*pending->real, parse_real(pending->text).map_error(at(*pending)));
        } else if (pending->count != nullptr) {
            TM_ASSIGN(const std::uint64_t count,
                      parse_count(pending->text).map_error(at(*pending)));
            if (count > std::numeric_limits<unsigned>::max())
                return fail(ErrorCode::bad_option, fmt::format("{} is too many", count),
                            pending->name);
            *pending->count = static_cast<unsigned>(count);
        } else {
            const auto& choices = pending->choices;
            if (std::find(choices.begin(), choices.end(), pending->text) == choices.end())
                return fail(ErrorCode::bad_option, fmt::format("'{}' is not known", pending->text),
                            pending->name, fmt::format("one of: {}", fmt::join(choices, ", ")));
            *pending->choice = pending->text;
        }
    }
    return {};
}

}  // namespace tidemark
