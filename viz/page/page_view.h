// PageView: the viewer inside a page, without a server and without threads: files in, events of the
// browser in, messages for the page out (viz/serve's, plain). All work is done in turn(), a piece
// at a time, so that known results are drawn before the next piece is started.
//
// One thread; the page's worker.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/stopwatch.h"
#include "viz/model/navigation/loader.h"
#include "viz/serve/remote_view.h"

namespace tidemark::viz {

struct PageOptions {
    bool dark = true;
    bool advises = false;  // itself; otherwise another does, and take_findings() brings it
    std::string location;  // to go to: see Shell::go
    // The progress of this turn's work; called within it.
    std::function<void(double share, const std::string& activity)> on_progress;
    // A file for the user has been written.
    std::function<void(const std::string& path)> take_file;
};

class PageView {
  public:
    // Errors: those of RemoteView::open.
    static Result<std::unique_ptr<PageView>> open(const PageOptions& options);

    // Adds what is in these files; what they are called is shown.
    void add(std::vector<std::string> files);

    // Events of the browser. False: invalid; none of them is taken.
    bool take(std::span<const std::byte> message);

    // The findings of `advise` in another worker, as its findings() returned them; "[]": it ended
    // without any.
    void take_findings(std::string_view json);
    std::string findings() const;

    // As `tidemark view --figures`.
    std::string figures() const;

    // Draws if that is due, else does the next piece of work.
    struct Turn {
        std::vector<std::vector<std::byte>> messages;
        double pause = -1;  // seconds until the next turn is due; below 0: not before an event
    };

    Turn turn();

  private:
    explicit PageView(const PageOptions& options);

    void send_overview(Turn& turn);

    double now() const { return static_cast<double>(clock_.elapsed()) * 1e-9; }

    PageOptions options_;
    Session session_;
    Loader loader_;
    Stopwatch clock_;
    std::unique_ptr<RemoteView> view_;
    bool chooses_ = false;        // the page is to ask for files
    bool wants_advice_ = false;   // of another worker
    bool says_overview_ = false;  // something is new in it
};

}  // namespace tidemark::viz
