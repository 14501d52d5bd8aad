// FileChooser: see the header.
#include "viz/shell/file_chooser.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecognisedAtOnce = 64;  // files; between two batches a frame is drawn
constexpr std::ptrdiff_t kChooserPage = 12;    // rows that Page up and down go
constexpr double kRepeats = 0.1;               // seconds between presses of a key that is held
constexpr std::size_t kNameColumn = 0;
constexpr std::size_t kSizeColumn = 2;
constexpr std::size_t kAgeColumn = 3;

constexpr std::array<VirtualColumn, 4> kChooserColumns{{
    {"name", Align::left, true, true},
    {"", Align::left, false, false, true, false, 70},
    {"size", Align::right, true, false, true, false, 76},
    {"changed", Align::right, true, false, true, false, 76},
}};

std::string folded(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return lower;
}

}  // namespace

void FileChooser::begin() {
    std::error_code ignored;
    if (folder_.empty())
        folder_ = fs::current_path(ignored).string();
    if (folder_.empty())
        folder_ = "/";
    go_into(folder_);
    listed_folder_.clear();  // it may have changed since
}

// With an empty line; ImGui is shown a new one.
void FileChooser::go_into(const std::string& folder) {
    folder_ = folder;
    line_.set({});
    line_.takes_focus = true;
    ++line_number_;
    problem_.clear();
    has_moved_ = false;
}

void FileChooser::take_key(const KeyPress& press) {
    switch (press.key) {
        case Key::enter:
            line_.entered = true;
            break;
        case Key::down:
            return move(1);
        case Key::up:
            return move(-1);
        case Key::page_down:
            return move(kChooserPage);
        case Key::page_up:
            return move(-kChooserPage);
        case Key::backspace:
            return go_up();
        default:
            break;
    }
}

// From an empty line; not by a key that is held to empty it.
void FileChooser::go_up() {
    const bool is_held = ImGui::GetTime() - erased_at_ < kRepeats;
    erased_at_ = ImGui::GetTime();
    if (!is_held && line_.view().empty() && ImGui::GetIO().InputQueueCharacters.empty())
        go_into(folder_above(folder_));
}

void FileChooser::move(std::ptrdiff_t by) {
    const auto rows = static_cast<std::ptrdiff_t>(shown_.size() + (has_above_ ? 1 : 0));
    if (rows == 0)
        return;
    const auto next =
        std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chosen_) + by, 0, rows - 1);
    chosen_ = static_cast<std::size_t>(next);
    has_moved_ = true;
    table_.show(chosen_);
}

std::string FileChooser::path_of(const std::string& name) const {
    return (fs::path(typed_.folder) / name).string();
}

void FileChooser::read_folder() {
    if (listed_folder_ == typed_.folder)
        return;
    listed_folder_ = typed_.folder;
    recognition_job_.cancel();
    listing_.reset();
    is_stale_ = true;
    kinds_.clear();
    shown_.clear();
    recognised_ = 0;
    listing_job_.start([folder = listed_folder_](const Cancelled& cancelled) {
        return list_folder(folder, cancelled);
    });
}

void FileChooser::take_answers() {
    if (auto listing = listing_job_.take()) {
        listing_ = std::make_shared<const FolderListing>(std::move(*listing));
        kinds_.assign(listing_->entries.size(), Kind::unknown);
        is_stale_ = true;
    }
    if (const auto recordings = recognition_job_.take()) {
        for (const bool is_recording : *recordings)
            kinds_[recognised_++] = is_recording ? Kind::recording : Kind::other;
    }
    if (listing_ == nullptr || recognition_job_.running() || recognised_ == kinds_.size())
        return;
    recognition_job_.start([listing = listing_, first = recognised_](const Cancelled& cancelled) {
        return recordings_among(*listing, first, kRecognisedAtOnce, cancelled);
    });
}

// The rows: the entries that match the line, in the order that is set.
void FileChooser::choose_entries() {
    if (!std::exchange(is_stale_, false))
        return;
    shown_.clear();
    has_above_ = typed_.part.empty() && typed_.folder != "/";
    if (listing_ == nullptr)
        return;
    const std::vector<FolderEntry>& entries = listing_->entries;
    const std::string part = folded(typed_.part);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string& name = entries[i].name;
        const bool is_hidden = name.starts_with('.') && !part.starts_with('.');
        if (!is_hidden && folded(name).find(part) != std::string::npos)
            shown_.push_back(i);
    }
    const auto before = [&](std::size_t a, std::size_t b) {
        const FolderEntry& one = entries[a];
        const FolderEntry& other = entries[b];
        if (one.is_folder != other.is_folder)
            return one.is_folder;
        if (descending_)
            std::swap(a, b);
        if (sorted_by_ == kNameColumn)
            return entries[a].name < entries[b].name;
        return sorted_by_ == kSizeColumn ? entries[a].bytes < entries[b].bytes
                                         : entries[a].age < entries[b].age;
    };
    if (sorted_by_ != kAgeColumn || descending_)  // else they are in order already
        std::ranges::stable_sort(shown_, before);
}

// The row that Enter takes: the newest recording, unless the user has chosen another one.
void FileChooser::choose_row() {
    const std::size_t above = has_above_ ? 1 : 0;
    const std::size_t rows = shown_.size() + above;
    if (has_moved_) {
        chosen_ = std::min(chosen_, rows == 0 ? 0 : rows - 1);
        return;
    }
    const auto recording = std::ranges::find_if(
        shown_, [&](std::size_t entry) { return kinds_[entry] == Kind::recording; });
    const std::size_t first = std::min(above, rows == 0 ? 0 : rows - 1);
    const std::size_t best = recording == shown_.end()
                                 ? first
                                 : above + static_cast<std::size_t>(recording - shown_.begin());
    if (best != chosen_)
        table_.show(best);
    chosen_ = best;
}

// What a click on a row does: a folder is entered, a file is opened.
std::optional<std::string> FileChooser::pick(std::size_t row) {
    if (has_above_ && row == 0) {
        go_into(folder_above(typed_.folder));
        return std::nullopt;
    }
    const FolderEntry& entry = listing_->entries[shown_[row - (has_above_ ? 1 : 0)]];
    if (!entry.is_folder)
        return path_of(entry.name);
    go_into(path_of(entry.name));
    return std::nullopt;
}

// The typed path, unless the user has moved away from it; else the chosen row.
std::optional<std::string> FileChooser::enter() {
    const std::string_view text = trimmed(line_.view());
    if (text.starts_with("generate:"))
        return std::string(text);
    std::error_code ignored;
    const std::string typed = path_of(typed_.part);
    const fs::file_status status = fs::status(typed, ignored);
    if (!has_moved_ && !typed_.part.empty() && fs::exists(status)) {
        if (!fs::is_directory(status))
            return typed;
        go_into(typed);
        return std::nullopt;
    }
    if (!has_moved_ && typed_.part.empty() && !text.empty()) {
        go_into(typed_.folder);  // "~", "..", "/data/runs/"
        return std::nullopt;
    }
    if (chosen_ < shown_.size() + (has_above_ ? 1 : 0))
        return pick(chosen_);
    if (problem().empty())
        problem_ = fmt::format("there is no '{}' in {}", printable(typed_.part),
                               shown_path(typed_.folder));
    return std::nullopt;
}

std::optional<std::string> FileChooser::draw(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const float row = std::ceil(canvas.line_height() * 1.5F);
    Box rest = box;
    canvas.text_within({rest.left, rest.top, rest.right, rest.top + row},
                       frame.session.runs.empty() ? "Open a recording" : "Open another recording",
                       canvas.theme().text);
    rest.top += row;
    draw_line({rest.left, rest.top, rest.right, rest.top + ImGui::GetFrameHeight()});
    rest.top += ImGui::GetFrameHeight() + canvas.px(6);
    TypedPath typed = typed_path(line_.view(), folder_);
    if (typed.part != typed_.part || typed.folder != typed_.folder) {
        typed_ = std::move(typed);
        has_moved_ = false;
        is_stale_ = true;
        problem_.clear();
    }
    read_folder();
    take_answers();
    choose_entries();
    choose_row();
    canvas.text_within({rest.left, rest.top, rest.right, rest.top + row}, shown_path(typed_.folder),
                       canvas.theme().faint_text);
    rest.top += row;
    const float foot = row + ImGui::GetFrameHeight() + canvas.px(8);
    std::optional<std::string> chosen =
        draw_entries(frame, {rest.left, rest.top, rest.right, rest.bottom - foot});
    const std::optional<std::string> all =
        draw_foot(frame, {rest.left, rest.bottom - foot, rest.right, rest.bottom});
    // A folder that is still being read may contain it.
    if (line_.entered && (listing_ != nullptr || !listing_job_.running())) {
        line_.entered = false;
        chosen = enter();
    }
    return all ? all : chosen;
}

void FileChooser::draw_line(const Box& box) {
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::SetNextItemWidth(box.width());
    if (std::exchange(line_.takes_focus, false))
        focus_next_field();
    ImGui::PushID(line_number_);
    ImGui::InputTextWithHint("##path", "a part of a name, or a path: ~/runs/step-100.pickle",
                             line_.text.data(), line_.text.size());
    ImGui::PopID();
}

std::string FileChooser::cell_text(std::uint64_t row, std::size_t column) const {
    if (has_above_ && row == 0)
        return column == kNameColumn ? "..  the folder above" : "";
    const std::size_t index = shown_[row - (has_above_ ? 1 : 0)];
    const FolderEntry& entry = listing_->entries[index];
    if (column == kNameColumn)
        return one_line(entry.name) + (entry.is_folder ? "/" : "");
    if (column == kSizeColumn)
        return entry.is_file ? format_bytes(entry.bytes) : "";
    if (column == kAgeColumn)
        return age_text(entry.age);
    return kinds_[index] == Kind::recording ? "recording" : "";
}

std::optional<std::string> FileChooser::draw_entries(Frame& frame, const Box& box) {
    if (listing_ == nullptr || listing_->error) {
        const std::string text =
            listing_ == nullptr ? "Reading the folder\u2026" : to_text(*listing_->error);
        draw_notice(frame.canvas, box, text);
        return std::nullopt;
    }
    const Theme& theme = frame.canvas.theme();
    TableContent content;
    content.columns = kChooserColumns;
    content.rows = shown_.size() + (has_above_ ? 1 : 0);
    content.sorted_by = sorted_by_;
    content.descending = descending_;
    content.text = [this](std::uint64_t row, std::size_t column) { return cell_text(row, column); };
    content.look = [&](std::uint64_t row) {
        RowLook look{.selected = row == chosen_};
        if (has_above_ && row == 0)
            return look;
        const std::size_t index = shown_[row - (has_above_ ? 1 : 0)];
        const FolderEntry& entry = listing_->entries[index];
        if (kinds_[index] == Kind::recording)
            look.mark = theme.accent;
        else if (!entry.is_folder)
            look.text = theme.faint_text;
        return look;
    };
    content.empty = typed_.part.empty() ? "This folder is empty. Backspace goes up."
                                        : "No name here contains that.";
    const TableTouch touch = table_.draw(frame, box, "entries", content);
    if (touch.title) {
        descending_ = sorted_by_ == *touch.title && !descending_;
        sorted_by_ = *touch.title;
        is_stale_ = true;
        has_moved_ = false;
    }
    if (touch.clicked) {
        chosen_ = *touch.clicked;
        has_moved_ = true;
        line_.takes_focus = true;
    }
    return touch.double_clicked ? pick(*touch.double_clicked) : std::nullopt;
}

std::string FileChooser::problem() const {
    if (problem_.empty() && listing_ != nullptr && listing_->error)
        return to_text(*listing_->error);
    return problem_;
}

std::string FileChooser::about_text() const {
    if (!problem_.empty())
        return problem_;
    if (listing_ != nullptr && listing_->is_cut)
        return fmt::format("Only {} entries are listed: type the rest of the path.",
                           format_count(kMostFolderEntries));
    if (listing_ != nullptr && recognised_ < kinds_.size())
        return fmt::format("Looking for recordings in {}\u2026",
                           format_counted(kinds_.size(), "entry", "entries"));
    const auto recordings = std::ranges::count(kinds_, Kind::recording);
    return fmt::format("{} can be opened. Enter opens, up and down choose, Backspace goes up.",
                       format_counted(static_cast<std::uint64_t>(recordings), "recording"));
}

std::optional<std::string> FileChooser::draw_foot(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float height = ImGui::GetFrameHeight();
    const Box line{box.left, box.top, box.right, box.bottom - height};
    canvas.text_within(line, about_text(), problem_.empty() ? theme.faint_text : theme.problem);
    constexpr std::string_view kOpen = "Open";
    constexpr std::string_view kOpenAll = "Open all recordings in this folder";
    float left = box.left;
    const auto press = [&](const char* id, std::string_view text) {
        const float width = button_width(canvas, text);
        const Box at{left, box.bottom - height, left + width, box.bottom};
        left += width + canvas.px(8);
        return button(canvas, at, id, text, ButtonLook::raised).left;
    };
    if (press("open", kOpen))
        line_.entered = true;
    const bool opens_all = press("open all", kOpenAll);
    return opens_all ? std::optional(typed_.folder) : std::nullopt;
}

}  // namespace tidemark::viz
