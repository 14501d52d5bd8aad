// The loader, the views and the software painter.
#include "tests/fuzz/draw_all.h"

#include "core/base/check.h"
#include "viz/headless/still.h"
#include "viz/model/navigation/loader.h"
#include "viz/views/view.h"

namespace tidemark::fuzz {

void draw_all(viz::Session& session) {
    bool dark = true;
    for (const viz::ViewInfo& view : viz::all_views()) {
        viz::StillOptions options;
        options.screen = {360, 240, 1, viz::FontChoice::built_in};
        options.dark = dark;
        options.views = {std::string(view.name)};
        options.find = dark ? "" : ">=4KiB";
        TM_CHECK(viz::draw_still(session, options).has_value());
        dark = !dark;
    }
}

bool draw_all(const std::string& path, bool lenient) {
    viz::Session session;
    viz::Loader loader(session);
    viz::LoadRequest request;
    request.files = {path};
    request.lenient = lenient;
    request.keep = false;
    request.advises = false;  // the target `answers` asks
    loader.add(std::move(request));
    loader.wait();
    if (session.runs.front().state.phase != viz::LoadState::Phase::ready)
        return false;
    draw_all(session);
    return true;
}

}  // namespace tidemark::fuzz
