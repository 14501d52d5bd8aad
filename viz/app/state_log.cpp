// The shell's state as lines.
#include "viz/app/state_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "viz/model/navigation/filter_query.h"

namespace tidemark::viz {
namespace {

template <class Number>
std::string number_or_null(const std::optional<Number>& number) {
    return number ? fmt::format("{}", *number) : "null";
}

// Our own names: they contain no characters that JSON would have to escape.
std::string names(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& name : list)
        text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
    return text;
}

// What a user typed, unless JSON would have to escape it.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](char letter) { return letter < ' ' || letter > '~' || letter == '"' || letter == '\\'; },
        '?');
    return text;
}

// One line, without anything that changes by itself (messages).
std::string state_line(Shell& shell, bool loading) {
    const ShellState state = shell.state();
    const Camera& camera = shell.camera();
    const Selection& selection = shell.selection();
    const auto& measure = selection.measure;
    return fmt::format(
        R"("loading": {}, "page": "{}", "main": [{}], "table": "{}", "side": "{}", "popup": "{}", )"
        R"("typing": {}, "filter": "{}", "dark": {}, "unit": "{}", "extent": {}, "window": [{}, {}], "addresses": [{}, {}], )"
        R"("cursor": {}, "hover": {}, "block": {}, "hot_block": {}, "measure": {}, "live": "{}", "runs": {}, "run": {})",
        loading, state.page, names(state.main), state.table, state.side, state.popup,
        ImGui::GetIO().WantTextInput, plain(to_text(selection.filter)), state.dark,
        camera.unit() == AxisUnit::time ? "time" : "events", camera.extent(), camera.window().begin,
        camera.window().end, camera.addresses().begin, camera.addresses().end,
        number_or_null(selection.cursor), number_or_null(selection.hover),
        number_or_null(selection.block), number_or_null(selection.hot_block),
        measure ? fmt::format("[{}, {}]", measure->begin, measure->end) : "null", state.live,
        state.runs, selection.run);
}

}  // namespace

Result<StateLog> StateLog::open(const OutputTarget& target) {
    StateLog log;
    if (!target.wanted())
        return log;
    TM_TRY(check_rule(target));
    log.file_.reset(std::fopen(target.path.c_str(), "w"));
    if (!log.file_)
        return fail(ErrorCode::io, fmt::format("cannot be written: {}", std::strerror(errno)),
                    target.path);
    return log;
}

void StateLog::note(Shell& shell, bool loading) {
    ++frame_;
    if (!file_)
        return;
    std::string line = state_line(shell, loading);
    if (line == last_)
        return;
    const std::string whole = fmt::format("{{\"frame\": {}, {}}}\n", frame_, line);
    std::fwrite(whole.data(), 1, whole.size(), file_.get());
    std::fflush(file_.get());
    last_ = std::move(line);
}

}  // namespace tidemark::viz
