// Shell: a frame from its input to the last popup.
#include "viz/shell/shell.h"

#include <algorithm>
#include <array>

#include "viz/model/navigation/filter_query.h"
#include "viz/model/navigation/navigation.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr double kFrameSeconds = 1.0 / 60;

// The error that the popup shows.
std::string problem_in(const ShellParts& parts) {
    switch (parts.popup) {
        case Popup::prompt:
            return parts.prompt_error;
        case Popup::file:
            return parts.file_chooser.problem();
        case Popup::replay:
            return parts.replay_chooser.problem();
        case Popup::notice:
            return parts.notices.empty() ? std::string() : to_text(parts.notices.front());
        default:
            return {};
    }
}

}  // namespace

Shell::Shell(Session& session, ShellHost host)
    : parts_(std::make_unique<ShellParts>(session, std::move(host))) {}

Shell::~Shell() = default;

void Shell::draw(const ShellInput& input) {
    ShellParts& parts = *parts_;
    const double seconds = std::clamp(static_cast<double>(ImGui::GetIO().DeltaTime), 0.0, 0.1);
    parts.now += seconds > 0 ? seconds : kFrameSeconds;
    parts.elapsed += std::max(static_cast<double>(ImGui::GetIO().DeltaTime), 0.0);
    parts.still = input.still;
    parts.frame_ms = input.frame_ms;
    parts.texts = parts.popup == Popup::none ? input.texts : nullptr;  // else it covers them
    open_paths(parts, input.dropped);
    follow_opened(parts);
    update_extent(parts);
    choose_views(parts);
    go_to_pending(parts);
    update_search(parts);
    update_steps(parts);
    take_keys(parts, input);
    move_by_held(parts, input, seconds);
    play(parts, seconds);
    draw_root(parts, input.scale);
    draw_popups(parts, input.scale);
    take_requests(parts);
    settle(parts);
}

Result<void> Shell::show(std::string_view view) {
    return show_views(*parts_, view);
}

Result<void> Shell::go(std::string_view text) {
    ShellParts& parts = *parts_;
    TM_ASSIGN(const ViewLocation location, parse_target(text));
    if (!location.view.empty())
        TM_TRY(show(location.view));
    const ViewedRun* const run = parts.session.shown(location.run.value_or(parts.selection.run));
    const bool is_known = run != nullptr && run->state.phase == LoadState::Phase::ready;
    if (!is_known) {
        parts.pending = location;
        return {};
    }
    update_extent(parts);
    return go_to(location, parts.session, parts.camera, parts.selection);
}

Result<void> Shell::find(std::string_view text) {
    ShellParts& parts = *parts_;
    TM_ASSIGN(Filter filter, parse_filter(text));
    filter.hides_freed = parts.selection.filter.hides_freed;
    parts.selection.filter = std::move(filter);
    return {};
}

bool Shell::busy() const {
    const ShellParts& parts = *parts_;
    if (page_of(parts) == Page::views) {
        const auto is_busy = [&](std::optional<std::size_t> view) {
            return view && parts.views[*view] && parts.views[*view]->busy();
        };
        for (const std::size_t view : parts.main) {
            if (is_busy(view))
                return true;
        }
        for (const std::size_t strip : views_in(Pane::strip)) {
            if (!fills_window(parts) && is_busy(strip))
                return true;
        }
        // A view without room isn't drawn, and so never finishes its work.
        if ((parts.splits.has_side && parts.draws_side && is_busy(parts.side)) ||
            (parts.splits.has_table && parts.draws_table && is_busy(parts.table)))
            return true;
    }
    if (parts.search.running() || parts.more_steps || parts.measured.running() ||
        parts.saving.job.running() || (parts.popup == Popup::file && parts.file_chooser.busy()))
        return true;
    if (parts.still)
        return false;
    const bool blinks =
        ImGui::GetIO().ConfigInputTextCursorBlink && (parts.find.has_focus || parts.types());
    return parts.selection.plays || !parts.held.empty() || !parts.is_settled ||
           parts.now < parts.message_until || blinks || parts.pending;
}

bool Shell::look_for_programs() {
    ShellParts& parts = *parts_;
    const bool is_empty = page_of(parts) == Page::empty;  // its texts cover what they do as well
    if (!parts.host.programs || !parts.host.attach || !(is_empty || has_ended(parts.run())))
        return false;
    std::vector<AttachableProgram> programs = parts.host.programs();
    std::swap(programs, parts.programs);
    parts.programs_requested = parts.elapsed;
    return is_empty || !std::equal(programs.begin(), programs.end(), parts.programs.begin(),
                                   parts.programs.end(), [](const auto& a, const auto& b) {
                                       return a.process == b.process && a.name == b.name;
                                   });
}

void Shell::set_dark(bool dark) {
    parts_->dark = dark;
}

void Shell::say(std::string message) {
    parts_->say(std::move(message));
}

const Theme& Shell::theme() const {
    return parts_->theme();
}

Camera& Shell::camera() {
    return parts_->camera;
}

Selection& Shell::selection() {
    return parts_->selection;
}

ShellState Shell::state() const {
    const ShellParts& parts = *parts_;
    ShellState state;
    for (const std::size_t view : parts.main)
        state.main.emplace_back(all_views()[view].name);
    if (has_table(parts) && parts.draws_table)
        state.table = all_views()[*parts.table].name;
    state.has_strip = !fills_window(parts);
    if (parts.side && parts.splits.has_side && state.has_strip)
        state.side = all_views()[*parts.side].name;
    constexpr std::array<std::string_view, 4> kPages = {"views", "empty", "loading", "error"};
    state.page = kPages[static_cast<std::size_t>(page_of(parts))];
    constexpr std::array<std::string_view, 8> kPopups = {"",     "keys",   "go",     "menu",
                                                         "open", "replay", "notice", "table"};
    state.popup = kPopups[static_cast<std::size_t>(parts.popup)];
    state.problem = problem_in(parts);
    if (parts.now < parts.message_until)
        state.message = parts.message;
    state.found =
        parts.find_error.empty() ? parts.search.text(parts.selection.block) : parts.find_error;
    if (const ViewedRun* const run = parts.run(); run != nullptr && run->live)
        state.live = has_ended(run) ? "ended" : run->live->paused ? "paused" : "live";
    state.has_live = shows_live(parts);
    state.runs = parts.session.runs.size();
    state.dark = parts.dark;
    return state;
}

}  // namespace tidemark::viz
