// Decides when to draw: at 60 Hz while something moves, a few frames after every input, else never.
#include "viz/app/window_loop.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "replay/cli_support/trace_files.h"
#include "viz/app/state_log.h"
#include "viz/app/window.h"
#include "viz/headless/png.h"
#include "viz/live/attach.h"
#include "viz/shell/loader_host.h"
#include "viz/shell/settings.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {
namespace {

constexpr double kFrame = 1.0 / 60;
constexpr double kLoadingPause = 0.05;  // how often progress is checked
constexpr double kTypingPause = 0.25;   // a text cursor blinks
constexpr double kIdlePause = 1.0;      // nothing happens at all
constexpr int kSettleFrames = 4;        // ImGui lays out from the previous frame

std::string title_of(const ViewCommand& command) {
    std::string title = "Tidemark";
    if (!command.load.files.empty())
        title += " - " + std::filesystem::path(command.load.files.front()).filename().string();
    return title;
}

// The first name of this kind that no file has.
std::string image_name() {
    std::error_code ignored;
    for (int i = 1;; ++i) {
        std::string name = fmt::format("tidemark-{}.png", i);
        if (!std::filesystem::exists(name, ignored))
            return name;
    }
}

std::vector<AttachableProgram> attachable() {
    std::vector<AttachableProgram> programs;
    for (const live::LiveProgram& program : attachable_programs())
        programs.push_back({program.name(), program.process(),
                            fmt::format("{} records, {}", format_count(program.counters.sequence),
                                        format_duration(program.age))});
    return programs;
}

class WindowProgram {
  public:
    WindowProgram(const ViewCommand& command, std::unique_ptr<GlWindow> window, StateLog log)
        : command_(command),
          window_(std::move(window)),
          log_(std::move(log)),
          loader_(session_),
          living_(session_),
          shell_(session_, host()) {}

    Result<void> begin() {
        begin_settings();
        if (!command_.load.files.empty())
            loader_.add(command_.load);
        for (const std::string& program : command_.attach)
            TM_TRY(living_.attach(program));
        for (const std::string& view : command_.views)
            TM_TRY(shell_.show(view));
        TM_TRY(shell_.find(command_.find));
        if (!command_.location.empty())
            TM_TRY(shell_.go(command_.location));
        return {};
    }

    Result<void> run() {
        while (!window_->closing()) {
            if (window_->wait(pause()))
                settle_ = kSettleFrames;
            if (loader_.poll())
                settle_ = kSettleFrames;
            if (living_.poll())
                settle_ = std::max(settle_, 1);
            if (now() >= next_look_) {
                next_look_ = now() + kIdlePause;
                if (shell_.look_for_programs())
                    settle_ = std::max(settle_, 1);
            }
            if (!due())
                continue;
            TM_TRY(frame());
        }
        if (command_.screenshot_to.wanted())
            TM_TRY(write_png(bitmap_, command_.screenshot_to));
        return {};
    }

  private:
    // A file that isn't understood stays as it is, and the window starts without it.
    void begin_settings() {
        if (!command_.no_settings)
            settings_path_ = settings_path();
        if (!settings_path_.empty()) {
            if (const auto read = read_settings(settings_path_)) {
                apply(*read, shell_);
            } else {
                settings_path_.clear();
                shell_.say("Settings are not used. " + to_text(read.error()));
            }
        }
        if (command_.theme_given || settings_path_.empty())
            shell_.set_dark(command_.dark);
        settings_ = settings_of(shell_);
    }

    // As soon as something looks different, but not while the user types.
    void keep_settings_changed() {
        const ViewSettings now = settings_of(shell_);
        if (settings_path_.empty() || ImGui::GetIO().WantTextInput || now == settings_)
            return;
        if (const auto kept = keep_settings(settings_path_, settings_, now); !kept) {
            settings_path_.clear();
            shell_.say("Settings are not kept. " + to_text(kept.error()));
        }
        settings_ = now;
    }

    ShellHost host() {
        ShellHost host = loader_host(loader_);
        host.open = [this](const std::vector<std::string>& paths) { return open(paths); };
        host.save_image = [this] { saves_ = true; };
        host.pause = [this](bool paused) { living_.pause(paused); };
        host.align = [this] {
            if (const auto aligned = living_.align(!living_.by_clock()); !aligned)
                shell_.say(to_text(aligned.error()));
            return living_.by_clock();
        };
        host.programs = attachable;
        host.attach = [this](const AttachableProgram& program) {
            if (const auto run = living_.attach(std::to_string(program.process)); !run)
                shell_.say(to_text(run.error()));
        };
        host.quit = [this] { window_->close(); };
        host.saves_tables = true;
        return host;
    }

    Result<void> open(const std::vector<std::string>& paths) {
        LoadRequest request = command_.load;
        TM_ASSIGN(request.files, expand_traces(paths));
        loader_.add(std::move(request));
        return {};
    }

    double now() const { return static_cast<double>(clock_.elapsed()) * 1e-9; }

    bool moves() const { return settle_ > 0 || shell_.busy(); }

    // How long nothing needs to be done if nothing happens.
    double pause() const {
        if (moves())
            return std::max(0.0, next_ - now());
        if (living_.following())
            return kFrame;
        if (loader_.running())
            return kLoadingPause;
        return ImGui::GetIO().WantTextInput ? kTypingPause : kIdlePause;
    }

    bool due() const {
        const bool blinks = ImGui::GetIO().WantTextInput && now() >= next_ + kTypingPause;
        return (moves() && now() >= next_) || blinks;
    }

    Result<void> frame() {
        const double begin = now();
        // Not measured from the last frame's end: a late frame must not delay the next one.
        next_ = std::max(next_ + kFrame, begin);
        settle_ = std::max(0, settle_ - 1);
        ShellInput input = window_->take_input();
        input.frame_ms = frame_ms_;
        window_->begin(shell_.theme());
        shell_.draw(input);
        const bool saves = std::exchange(saves_, false);
        const bool copies = saves || command_.screenshot_to.wanted();
        window_->end(copies ? &bitmap_ : nullptr);
        frame_ms_ = (now() - begin) * 1e3;
        keep_settings_changed();
        log_.note(shell_, loader_.running());
        if (saves)
            save();
        if (command_.quits_when_drawn && !loader_.running() && !moves())
            window_->close();
        return {};
    }

    void save() {
        const std::string name = image_name();
        const Result<void> written = write_png(bitmap_, name);
        shell_.say(written ? "Saved as " + name : to_text(written.error()));
        settle_ = kSettleFrames;
    }

    const ViewCommand& command_;
    std::unique_ptr<GlWindow> window_;
    StateLog log_;
    Session session_;
    Loader loader_;
    LiveRuns living_;
    Shell shell_;
    std::string settings_path_;  // empty: they are not kept
    ViewSettings settings_;      // as they were last kept
    Stopwatch clock_;
    double next_ = 0;
    double next_look_ = 0;  // for live programs
    double frame_ms_ = 0;
    int settle_ = kSettleFrames;
    bool saves_ = false;
    Bitmap bitmap_;
};

}  // namespace

Result<ExitCode> run_window(const ViewCommand& command) {
    TM_ASSIGN(StateLog log, StateLog::open(command.state_to));
    WindowOptions options;
    options.width = command.width;
    options.height = command.height;
    options.scale = command.scale;
    options.title = title_of(command);
    options.built_in_font = command.built_in_font;
    TM_ASSIGN(auto window, GlWindow::open(options));
    WindowProgram program(command, std::move(window), std::move(log));
    TM_TRY(program.begin());
    TM_TRY(program.run());
    return ExitCode::yes;
}

}  // namespace tidemark::viz
