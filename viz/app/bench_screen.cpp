// The two screens.
#include "viz/app/bench_screen.h"

#include <utility>

#include "viz/app/window.h"
#include "viz/headless/offscreen.h"

namespace tidemark::viz {
namespace {

class MemoryScreen final : public BenchScreen {
  public:
    explicit MemoryScreen(const OffscreenOptions& options) : screen_(options) {}

    void begin(const Theme& theme) override { screen_.begin(theme); }

    void end() override { screen_.end(); }

    std::string renderer() const override { return "software rasteriser"; }

  private:
    Offscreen screen_;
};

class WindowScreen final : public BenchScreen {
  public:
    explicit WindowScreen(std::unique_ptr<GlWindow> window) : window_(std::move(window)) {}

    void begin(const Theme& theme) override {
        window_->wait(0);
        window_->take_input();
        window_->begin(theme);
    }

    void end() override {
        window_->end();
        window_->finish();
    }

    std::string renderer() const override { return window_->renderer(); }

  private:
    std::unique_ptr<GlWindow> window_;
};

}  // namespace

Result<std::unique_ptr<BenchScreen>> open_bench_screen(const ViewCommand& command) {
    const float scale = command.scale > 0 ? command.scale : 1;
    if (!command.window_bench) {
        OffscreenOptions options;
        options.width = command.width;
        options.height = command.height;
        options.scale = scale;
        return std::make_unique<MemoryScreen>(options);
    }
    WindowOptions options;
    options.width = command.width;
    options.height = command.height;
    options.scale = scale;
    options.title = "Tidemark";
    options.as_fast_as_it_goes = true;
    TM_ASSIGN(auto window, GlWindow::open(options));
    return std::make_unique<WindowScreen>(std::move(window));
}

}  // namespace tidemark::viz
