// ReplayChooser: see the header.
#include "viz/shell/replay_chooser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/runs/text.h"
#include "viz/draw/fonts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kOptionName = 216;   // points
constexpr float kOptionField = 170;  // of what is typed
constexpr float kChooserGap = 8;
constexpr std::ptrdiff_t kPolicyPage = 8;  // rows

constexpr std::array<VirtualColumn, 2> kPolicyColumns{{
    {"policy", Align::left},
    {"what it does", Align::left, false, true},
}};

constexpr std::array<std::string_view, 2> kBooleans = {"true", "false"};

// What can be clicked instead of typed.
std::span<const std::string_view> choices_of(const OptionInfo& option) {
    return option.type == OptionType::boolean ? std::span<const std::string_view>(kBooleans)
                                              : option.choices;
}

// A whole setting, not words to search for.
bool is_setting(std::string_view text) {
    return text.find_first_of(":=") != std::string_view::npos;
}

// What is wrong with it, and what to do.
std::string problem_text(const Error& error) {
    return error.what + (error.hint.empty() ? "" : "; " + error.hint);
}

}  // namespace

void ReplayChooser::begin() {
    form_.reset();
    line_.set({});
    line_.takes_focus = true;
    problem_.clear();
    entries_ = 0;
    policies_ = policies_with({});
    listed_.clear();
    chosen_ = 0;
}

void ReplayChooser::show_form(const PolicyInfo& policy) {
    form_.emplace(policy);
    fields_.assign(form_->fields.size(), {});
    field_numbers_.assign(form_->fields.size(), 0);
    field_ = 0;
    fields_.front().takes_focus = true;
    problem_.clear();
}

// Letters of this frame are in the text by now; another Enter of the same frame is for the next
// step.
bool ReplayChooser::take_enter() {
    if (entries_ == 0)
        return false;
    --entries_;
    return true;
}

void ReplayChooser::show_list() {
    form_.reset();
    line_.takes_focus = true;
    problem_.clear();
}

bool ReplayChooser::take_key(const KeyPress& press) {
    switch (press.key) {
        case Key::enter:
            ++entries_;
            return true;
        case Key::down:
            move(1);
            return true;
        case Key::up:
            move(-1);
            return true;
        case Key::tab:
            move(press.shift ? -1 : 1);
            return true;
        case Key::page_down:
            move(kPolicyPage);
            return true;
        case Key::page_up:
            move(-kPolicyPage);
            return true;
        case Key::escape:
            if (!form_)
                return false;
            show_list();
            return true;
        default:
            copies_ = copies_ || (press == KeyPress{key('c'), true, false, false} && form_);
            return true;
    }
}

void ReplayChooser::move(std::ptrdiff_t by) {
    const std::size_t count = form_ ? fields_.size() : policies_.size();
    if (count == 0)
        return;
    std::size_t& at = form_ ? field_ : chosen_;
    at = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
        static_cast<std::ptrdiff_t>(at) + by, 0, static_cast<std::ptrdiff_t>(count) - 1));
    if (form_)
        fields_[at].takes_focus = true;
    else
        table_.show(at);
}

std::optional<std::string> ReplayChooser::draw(Frame& frame, const Box& box,
                                               const std::string& run) {
    Canvas& canvas = frame.canvas;
    copied_.clear();
    const float row = std::ceil(canvas.line_height() * 1.5F);
    const std::string title =
        form_ ? fmt::format("Replay {} under {}", run, form_->policy->name)
              : fmt::format("Replay {} under another policy, and compare both", run);
    canvas.text_within({box.left, box.top, box.right, box.top + row}, title, canvas.theme().text);
    const Box rest{box.left, box.top + row, box.right, box.bottom};
    return form_ ? draw_form(frame, rest) : draw_list(frame, rest);
}

// --- the list ------------------------------------------------------------------------------------

std::optional<std::string> ReplayChooser::enter_list() {
    const std::string_view text = trimmed(line_.view());
    if (is_setting(text)) {
        const Result<PolicySpec> spec = parse_policy(text);
        if (spec)
            return spec->text();
        problem_ = problem_text(spec.error());
    } else if (chosen_ < policies_.size()) {
        show_form(*policies_[chosen_]);
    }
    return std::nullopt;
}

std::optional<std::string> ReplayChooser::draw_list(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float row = std::ceil(canvas.line_height() * 1.5F);
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::SetNextItemWidth(box.width());
    if (std::exchange(line_.takes_focus, false))
        focus_next_field();
    ImGui::InputTextWithHint("##policy", "a word, or a whole setting: vpmm:page=4MiB",
                             line_.text.data(), line_.text.size());
    if (line_.view() != listed_) {
        listed_ = line_.view();
        const std::string_view text = trimmed(listed_);
        policies_ =
            policies_with(is_setting(text) ? text.substr(0, text.find_first_of(":=")) : text);
        chosen_ = 0;
        table_.show(0);
        problem_.clear();
    }
    const float top = box.top + ImGui::GetFrameHeight() + canvas.px(kChooserGap);
    TableContent content;
    content.columns = kPolicyColumns;
    content.rows = policies_.size();
    content.text = [this](std::uint64_t at, std::size_t column) {
        return std::string(column == 0 ? policies_[at]->name : policies_[at]->summary);
    };
    content.look = [this](std::uint64_t at) { return RowLook{.selected = at == chosen_}; };
    content.empty = "No policy has that in its name or description.";
    const TableTouch touch =
        table_.draw(frame, {box.left, top, box.right, box.bottom - row}, "policies", content);
    const std::string hint =
        is_setting(trimmed(line_.view()))
            ? "Enter replays under this setting."
            : "Enter or a click shows its options. Up and down choose, Esc closes.";
    canvas.text_within({box.left, box.bottom - row, box.right, box.bottom},
                       problem_.empty() ? hint : problem_,
                       problem_.empty() ? theme.faint_text : theme.problem);
    if (touch.clicked)
        show_form(*policies_[*touch.clicked]);
    return take_enter() ? enter_list() : std::nullopt;
}

// --- the options ---------------------------------------------------------------------------------

std::optional<std::string> ReplayChooser::enter_form() {
    const Result<PolicySpec> spec = form_->read();
    return spec ? std::optional(spec->text()) : std::nullopt;  // its problem is shown already
}

std::optional<std::string> ReplayChooser::draw_form(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float row = std::ceil(canvas.line_height() * 1.5F);
    const float about = paragraph(canvas, {box.left, box.top}, box.width(), form_->policy->summary,
                                  theme.faint_text);
    const float foot = 2 * row + ImGui::GetFrameHeight() + canvas.px(kChooserGap);
    const Box fields{box.left, box.top + about + canvas.px(kChooserGap), box.right,
                     box.bottom - foot};
    canvas.horizontal(fields.top - 1, box.left, box.right, theme.border);
    canvas.horizontal(fields.bottom, box.left, box.right, theme.border);
    draw_fields(frame, fields);
    return draw_foot(frame, {box.left, box.bottom - foot, box.right, box.bottom});
}

// They scroll: a policy may have more options than there is room for.
void ReplayChooser::draw_fields(Frame& frame, const Box& box) {
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    ImGui::BeginChild("options", {box.width(), box.height()}, false,
                      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar();
    Canvas inner(ImGui::GetWindowDrawList(), frame.canvas.theme(), frame.canvas.px(1));
    Frame within{frame.session, frame.camera, frame.selection, frame.search,
                 inner,         box,          frame.still};
    const ImVec2 begin = ImGui::GetCursorScreenPos();  // moves with the scrolling
    const float width = ImGui::GetContentRegionAvail().x - inner.px(kChooserGap);
    float top = begin.y + inner.px(kChooserGap);
    for (std::size_t i = 0; i < fields_.size(); ++i)
        top += draw_field(within, {begin.x, top, begin.x + width, top}, i);
    ImGui::SetCursorScreenPos({begin.x, top});
    ImGui::Dummy({1, 1});
    ImGui::EndChild();
}

// Its name, what is typed, the valid values; and the meaning below. Returns its height.
float ReplayChooser::draw_field(Frame& frame, const Box& row, std::size_t index) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const OptionInfo& option = *form_->fields[index].option;
    TextField& field = fields_[index];
    const float line = ImGui::GetFrameHeight();
    const float name = std::min(canvas.px(kOptionName), row.width() * 0.3F);
    const float left = row.left + name;
    const float width = std::min(canvas.px(kOptionField), row.width() * 0.3F);
    canvas.text_within({row.left, row.top, left - canvas.px(kChooserGap), row.top + line},
                       option.name, theme.text);
    ImGui::SetCursorScreenPos({left, row.top});
    ImGui::SetNextItemWidth(width);
    const bool is_wanted = std::exchange(field.takes_focus, false);
    if (is_wanted)
        focus_next_field();
    ImGui::PushID(static_cast<int>(index));
    ImGui::PushID(field_numbers_[index]);
    const std::string hint(option.default_value.empty() ? "none" : option.default_value);
    ImGui::PushAllowKeyboardFocus(false);  // Tab is taken by take_key
    if (ImGui::InputTextWithHint("##value", hint.c_str(), field.text.data(), field.text.size()))
        form_->fields[index].value = field.view();
    ImGui::PopAllowKeyboardFocus();
    if (ImGui::IsItemActivated())
        field_ = index;
    const bool is_seen = ImGui::GetItemRectMin().y >= frame.area.top &&
                         ImGui::GetItemRectMax().y <= frame.area.bottom;
    if (is_wanted && !is_seen)
        ImGui::SetScrollHereY(0.4F);
    ImGui::PopID();
    const float right = left + width + canvas.px(kChooserGap);
    draw_choices(frame, {right, row.top, row.right, row.top + line}, index);
    ImGui::PopID();
    const float below = paragraph(canvas, {left, row.top + line + canvas.px(3)}, row.right - left,
                                  option.summary, theme.faint_text);
    return line + below + canvas.px(kChooserGap + 3);
}

// The valid values, as buttons if there are only a few.
void ReplayChooser::draw_choices(Frame& frame, const Box& box, std::size_t index) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const OptionInfo& option = *form_->fields[index].option;
    const std::string preset =
        fmt::format("default {}", option.default_value.empty() ? "none" : option.default_value);
    const auto choices = choices_of(option);
    if (choices.empty()) {
        canvas.text_within(box, fmt::format("{}, {}", option_kind_text(option), preset),
                           theme.faint_text);
        return;
    }
    float left = box.left;
    for (const std::string_view choice : choices) {
        const float width = button_width(canvas, choice);
        if (left + width > box.right)
            break;
        const bool is_on = fields_[index].view() == choice;
        const std::string id(choice);
        if (button(canvas, {left, box.top, left + width, box.bottom}, id.c_str(), choice,
                   is_on ? ButtonLook::on : ButtonLook::raised)
                .left) {
            fields_[index].set(is_on ? std::string_view{} : choice);
            form_->fields[index].value = fields_[index].view();
            ++field_numbers_[index];
            fields_[index].takes_focus = true;
        }
        left += width + canvas.px(4);
    }
    canvas.text_within({left + canvas.px(4), box.top, box.right, box.bottom}, preset,
                       theme.faint_text);
}

bool ReplayChooser::press(Frame& frame, const Box& box, std::string_view text) {
    const std::string id(text);
    return button(frame.canvas, box, id.c_str(), text, ButtonLook::raised).left;
}

// The setting as it would be typed, its errors, and what to do with it.
std::optional<std::string> ReplayChooser::draw_foot(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const Result<PolicySpec> spec = form_->read();
    problem_ = spec ? std::string() : problem_text(spec.error());
    const std::string argument = policy_argument(spec ? spec->text() : form_->typed());
    const float row = std::ceil(canvas.line_height() * 1.5F);
    const Box line{box.left, box.top + canvas.px(4), box.right, box.top + canvas.px(4) + row};
    ImGui::PushFont(current_fonts().fixed);
    canvas.text_within(line, argument, spec ? theme.accent : theme.faint_text);
    ImGui::PopFont();
    const Box below{box.left, line.bottom, box.right, line.bottom + row};
    canvas.text_within(
        below, spec ? "Enter replays. Up and down go to other options, Esc to the list." : problem_,
        spec ? theme.faint_text : theme.problem);
    const float height = ImGui::GetFrameHeight();
    float left = box.left;
    const auto next_box = [&](std::string_view text) {
        const float width = button_width(canvas, text);
        const Box at{left, box.bottom - height, left + width, box.bottom};
        left = at.right + canvas.px(kChooserGap);
        return at;
    };
    constexpr std::string_view kCopy = "Copy the setting";
    constexpr std::string_view kBack = "All policies";
    const bool starts = press(frame, next_box("Replay"), "Replay");
    if (press(frame, next_box(kCopy), kCopy) || std::exchange(copies_, false)) {
        ImGui::SetClipboardText(argument.c_str());
        copied_ = argument;
    }
    const bool goes_back = press(frame, next_box(kBack), kBack);
    std::optional<std::string> chosen;
    if (take_enter() || starts)
        chosen = enter_form();
    if (goes_back)
        show_list();
    return chosen;
}

}  // namespace tidemark::viz
