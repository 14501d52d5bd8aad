// Measures loading, then frames along a camera path.
#include "viz/app/bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "replay/cli_support/terminal.h"
#include "viz/app/bench_screen.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {
namespace {

constexpr int kZoomSteps = 90;  // from the whole run to one event, and as many back
constexpr int kPanSteps = 30;   // at each of three depths
constexpr std::array<double, 3> kPanDepths = {0.5, 1e-2, 1e-4};  // of the run's length
constexpr int kFirstFrames = 5;
constexpr std::size_t kQueryColumns = 2000;
constexpr std::chrono::milliseconds kBenchPause{2};

double milliseconds(const Stopwatch& watch) {
    return static_cast<double>(watch.elapsed()) * 1e-6;
}

// Milliseconds of processor time over all threads of the process: unlike wall time, it is valid on
// a machine that others use as well.
double processor_time() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Percentiles {
    double p50 = 0;
    double p99 = 0;
    double worst = 0;
};

Percentiles percentiles(std::vector<double> values) {
    if (values.empty())
        return {};
    std::sort(values.begin(), values.end());
    const auto at = [&values](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(0.5), at(0.99), values.back()};
}

// How long each part took, frame by frame.
struct Times {
    std::vector<double> wall;
    std::vector<double> cpu;  // on all threads

    void add(double wall_ms, double cpu_ms) {
        wall.push_back(wall_ms);
        cpu.push_back(cpu_ms);
    }
};

// Starts now.
class Lap {
  public:
    void end(Times& times) const { times.add(milliseconds(watch_), processor_time() - processor_); }

  private:
    Stopwatch watch_;
    double processor_ = processor_time();
};

// Frames of one view along the path.
struct PathTimes {
    std::string view;
    double settle = 0;  // until no background work was left
    Times query;        // of only the curves, for kQueryColumns
    Times draw;         // queries and vertices
    Times render;       // pixels
    Times total;
};

// Milliseconds since the process started, as far as a program can tell.
struct LoadTimes {
    double first_frame = 0;  // of a run that has events
    double complete = 0;     // the first picture after everything was loaded
    std::uint64_t events = 0;
    std::uint64_t anonymous_bytes = 0;  // memory that no file backs, at the end
    std::uint64_t anonymous_peak = 0;   // and at most
};

// 0 where the system doesn't say.
std::uint64_t anonymous_memory() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word)
        if (word == "RssAnon:") {
            std::uint64_t kib = 0;
            status >> kib;
            return kib << 10;
        }
    return 0;
}

class Bench {
  public:
    Bench(const ViewCommand& command, std::unique_ptr<BenchScreen> screen)
        : command_(command), screen_(std::move(screen)), loader_(session_), shell_(session_) {}

    Result<void> load() {
        LoadRequest request = command_.load;
        request.advises = false;  // replays of its own, which would be measured instead
        loader_.add(std::move(request));
        bool running = true;
        while (running) {
            running = loader_.running();
            loader_.poll();
            frame(nullptr);
            const History* const history = first_history();
            if (history != nullptr && history->counts().events > 0 && times_.first_frame == 0)
                times_.first_frame = milliseconds(clock_);
            look_at_memory();
            std::this_thread::sleep_for(kBenchPause);
        }
        times_.complete = milliseconds(clock_);
        for (const ViewedRun& run : session_.runs)
            if (run.state.phase == LoadState::Phase::failed)
                return tl::make_unexpected(run.state.error);
        if (first_history() == nullptr)
            return fail(ErrorCode::unsupported, "has no history to measure with",
                        command_.load.files.empty() ? "" : command_.load.files.front());
        times_.events = first_history()->counts().events;
        return {};
    }

    // Zooms in on the peak and out again, then pans.
    Result<void> measure(const std::string& view) {
        TM_TRY(shell_.show(view));
        Camera& camera = shell_.camera();
        camera.fit();
        PathTimes times;
        times.view = view;
        settle(times);
        const History& history = *first_history();
        const Position peak =
            history.position(camera.unit(), history.peak_event(Series::allocated));
        const double depth = static_cast<double>(camera.extent()) / Camera::kShortest;
        const double step = std::pow(std::max(depth, 2.0), -1.0 / kZoomSteps);
        for (int i = 0; i < 2 * kZoomSteps; ++i) {
            camera.zoom(i < kZoomSteps ? step : 1 / step, peak);
            frame(&times);
        }
        for (const double share : kPanDepths) {
            camera.fit();
            camera.zoom(share, peak);
            for (int i = 0; i < kPanSteps; ++i) {
                camera.pan(i < kPanSteps / 2 ? 0.05 : -0.05);
                frame(&times);
            }
        }
        look_at_memory();
        paths_.push_back(std::move(times));
        return {};
    }

    std::string report() const { return command_.json ? json() : table(); }

  private:
    const History* first_history() const {
        return session_.runs.empty() ? nullptr : session_.runs.front().history.get();
    }

    void look_at_memory() {
        times_.anonymous_bytes = anonymous_memory();
        times_.anonymous_peak = std::max(times_.anonymous_peak, times_.anonymous_bytes);
    }

    void frame(PathTimes* times) {
        PathTimes unseen;
        PathTimes& into = times != nullptr ? *times : unseen;
        if (times != nullptr)
            query(into.query);
        const Lap whole;
        screen_->begin(shell_.theme());
        ShellInput input;
        input.scale = command_.scale > 0 ? command_.scale : 1;
        shell_.draw(input);
        whole.end(into.draw);
        const Lap pixels;
        screen_->end();
        pixels.end(into.render);
        whole.end(into.total);
    }

    // The work that a view does once, when it is first shown, ends before its frames are measured.
    void settle(PathTimes& times) {
        const Stopwatch watch;
        int frames = 0;
        do {
            frame(nullptr);
            look_at_memory();
            std::this_thread::sleep_for(kBenchPause);
        } while (++frames < kFirstFrames || shell_.busy());
        times.settle = milliseconds(watch);
    }

    // What the timeline requests for a window of that width.
    void query(Times& times) {
        columns_.resize(kQueryColumns);
        const Camera& camera = shell_.camera();
        const Lap lap;
        first_history()->series(camera.unit(), camera.window().begin, camera.window().end,
                                columns_);
        lap.end(times);
    }

    double per_event(std::uint64_t bytes) const {
        return static_cast<double>(bytes) /
               static_cast<double>(std::max<std::uint64_t>(times_.events, 1));
    }

    std::string table() const {
        std::string text = fmt::format(
            "events                {}\nrenderer              {}, {} x {}\n"
            "first picture         {:.2f} s\ncomplete              {:.2f} s\n"
            "memory without files  {} ({:.2f} bytes an event), at most {}\n\n"
            "milliseconds                       p50     p99   worst   cpu: p50     p99   worst\n",
            format_count(times_.events), screen_->renderer(), command_.width, command_.height,
            times_.first_frame / 1e3, times_.complete / 1e3, format_bytes(times_.anonymous_bytes),
            per_event(times_.anonymous_bytes), format_bytes(times_.anonymous_peak));
        const auto line = [&text](const std::string& what, const Times& times) {
            const Percentiles wall = percentiles(times.wall);
            const Percentiles cpu = percentiles(times.cpu);
            text += fmt::format("{:<30}{:>8.2f}{:>8.2f}{:>8.2f}{:>11.2f}{:>8.2f}{:>8.2f}\n", what,
                                wall.p50, wall.p99, wall.worst, cpu.p50, cpu.p99, cpu.worst);
        };
        for (const PathTimes& path : paths_) {
            text += fmt::format("{:<30}{:>8.0f} once\n", path.view + ": preparation", path.settle);
            line(fmt::format("{}: {} columns", path.view, kQueryColumns), path.query);
            line(path.view + ": queries, shapes", path.draw);
            line(path.view + ": pixels", path.render);
            line(path.view + ": frame", path.total);
        }
        return text;
    }

    static std::string json_times(const Times& times) {
        const Percentiles wall = percentiles(times.wall);
        const Percentiles cpu = percentiles(times.cpu);
        return fmt::format(R"({{"p50": {:.4f}, "p99": {:.4f}, "worst": {:.4f}, "cpu_p50": {:.4f}, )"
                           R"("cpu_p99": {:.4f}, "cpu_worst": {:.4f}}})",
                           wall.p50, wall.p99, wall.worst, cpu.p50, cpu.p99, cpu.worst);
    }

    std::string json() const {
        std::string text = fmt::format(
            R"({{"events": {}, "renderer": "{}", "width": {}, "height": {}, )"
            "\"first_picture_ms\": {:.1f}, \"complete_ms\": {:.1f}, \"anonymous_bytes\": {}, "
            R"("anonymous_bytes_per_event": {:.3f}, "anonymous_peak_per_event": {:.3f}, )"
            R"("views": {{)",
            times_.events, screen_->renderer(), command_.width, command_.height, times_.first_frame,
            times_.complete, times_.anonymous_bytes, per_event(times_.anonymous_bytes),
            per_event(times_.anonymous_peak));
        for (const PathTimes& path : paths_)
            text += fmt::format(
                R"({}"{}": {{"frames": {}, "settle_ms": {:.1f}, "query_ms": {}, "draw_ms": {}, )"
                R"("render_ms": {}, "frame_ms": {}}})",
                &path == paths_.data() ? "" : ", ", path.view, path.total.wall.size(), path.settle,
                json_times(path.query), json_times(path.draw), json_times(path.render),
                json_times(path.total));
        return text + "}}\n";
    }

    const ViewCommand& command_;
    Stopwatch clock_;
    std::unique_ptr<BenchScreen> screen_;
    Session session_;
    Loader loader_;
    Shell shell_;
    LoadTimes times_;
    std::vector<SeriesColumn> columns_;
    std::vector<PathTimes> paths_;
};

}  // namespace

Result<ExitCode> run_bench(const ViewCommand& command) {
    if (command.load.files.empty())
        return fail(ErrorCode::bad_option, "needs a trace", "--bench");
    TM_ASSIGN(auto screen, open_bench_screen(command));
    Bench bench(command, std::move(screen));
    TM_TRY(bench.load());
    if (command.views.empty()) {
        for (const char* view : {"timeline", "address-map", "blocks-over-time"})
            TM_TRY(bench.measure(view));
    } else {
        for (const std::string& view : command.views)
            TM_TRY(bench.measure(view));
    }
    write_output(bench.report());
    return ExitCode::yes;
}

}  // namespace tidemark::viz
