// The views, drawn from samples, against their golden pictures. A new one is a line in kScenes and
// a run with TIDEMARK_UPDATE_GOLDEN=1; look at what it wrote before it is kept.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/headless/golden.h"
#include "viz/headless/still.h"
#include "viz/headless/still_screen.h"
#include "viz/model/navigation/loader.h"

namespace tidemark::viz {
namespace {

struct ViewScene {
    const char* name;
    const char* trace;  // under traces/samples/torch, or generate:...
    std::vector<std::string> views;
    const char* location = "";
    std::vector<std::string> policies = {};
    bool dark = true;
    std::vector<std::string> gpu_memory = {};  // over tiers
    std::uint32_t width = 1200;
    std::uint32_t height = 750;
};

const std::array kScenes = {
    ViewScene{"overview", "gpt2_var.pickle.xz", {"overview"}, "", {"torch", "vpmm"}},
    ViewScene{"answer", "gpt2_var.pickle.xz", {"overview"}, "", {}, false, {}, 900, 600},
    ViewScene{"timeline", "gpt2_var.pickle.xz", {"timeline"}, "peak"},
    ViewScene{"address-map", "multistream.pickle.xz", {"address-map"}, "peak", {}, false},
    ViewScene{"segments", "gpt2_var.pickle.xz", {"address-map"}, "peak", {}, true, {}, 1600, 900},
    ViewScene{"segments-small", "gpt2_var.pickle.xz", {"address-map"}, "", {}, false, {}, 900, 600},
    ViewScene{"memory-now", "gpt2_var.pickle.xz", {"memory-now"}, "peak"},
    ViewScene{"compare", "gpt2_var.pickle.xz", {"compare"}, "", {"torch", "vpmm"}},
    ViewScene{"compare-many",
              "gpt2_var.pickle.xz",
              {"compare"},
              "",
              {"torch", "buddy", "best-fit", "vpmm", "bump"},
              false,
              {},
              900,
              600},
    ViewScene{"side-by-side",
              "gpt2_var.pickle.xz",
              {"side-by-side"},
              "peak",
              {"torch", "torch:expandable_segments=true"},
              false,
              {},
              900,
              600},
    ViewScene{"no-stacks", "generate:training", {"stacks"}, "peak"},
    ViewScene{"events", "graphs.pickle.xz", {"timeline", "events"}, "peak", {}, false},
    ViewScene{"blocks", "generate:training", {"address-map", "blocks"}, "peak"},
    ViewScene{"leaks", "graphs.pickle.xz", {"timeline", "leaks"}},
    ViewScene{"findings", "gpt2_var.pickle.xz", {"timeline", "findings"}, "peak", {}, false},
    ViewScene{"launches", "generate:training", {"timeline"}, "event=20000..20060"},
    ViewScene{"owners", "resnet-frames.pickle.xz", {"owners"}, "peak", {}, false},
    ViewScene{
        "owners-annotation", "gpt2_var.pickle.xz", {"owners"}, "t=1.15s..1.8s;owners=annotation"},
    ViewScene{
        "blocks-over-time", "resnet-frames.pickle.xz", {"blocks-over-time"}, "t=0.78s..0.88s"},
    ViewScene{"blocks-over-time-pools", "graphs.pickle.xz", {"blocks-over-time"}, "", {}, false},
    ViewScene{"diff", "resnet-frames.pickle.xz", {"timeline+diff"}, "measure=0.75s..0.83s"},
    ViewScene{"stacks", "resnet-frames.pickle.xz", {"stacks"}, "peak"},
    ViewScene{"range", "gpt2_var.pickle.xz", {"timeline", "range"}, "measure=1.2s..1.5s"},
    ViewScene{"tiers", "generate:training", {"timeline"}, "", {}, true, {"60%"}},
};

std::string path_of(const std::string& trace) {
    return trace.starts_with("generate:")
               ? trace
               : std::string(TIDEMARK_SOURCE_DIR "/traces/samples/torch/") + trace;
}

void load_sample(Session& session, Loader& loader, const ViewScene& scene) {
    LoadRequest request;
    request.files = {path_of(scene.trace)};
    request.policies = scene.policies;
    request.tiers.gpu_memory = scene.gpu_memory;
    request.keep = false;
    loader.add(std::move(request));
    loader.wait();
    for (const ViewedRun& run : session.runs) {
        INFO(to_text(run.state.error));
        REQUIRE(run.state.phase == LoadState::Phase::ready);
    }
}

StillOptions options_of(const ViewScene& scene) {
    StillOptions options;
    options.screen = {scene.width, scene.height, 1, FontChoice::built_in};
    options.dark = scene.dark;
    options.views = scene.views;
    options.location = scene.location;
    return options;
}

Bitmap drawn(const ViewScene& scene) {
    Session session;
    Loader loader(session);
    load_sample(session, loader, scene);
    const Result<Bitmap> bitmap = draw_still(session, options_of(scene));
    REQUIRE(bitmap);
    return *bitmap;
}

}  // namespace

TEST_CASE("views look as they did", "[golden]") {
    for (const ViewScene& scene : kScenes)
        check_golden(scene.name, drawn(scene));
}

TEST_CASE("close by, the address map's ruler has addresses") {
    const ViewScene scene{"addresses", "gpt2_var.pickle.xz", {"address-map"}, "peak"};
    Session session;
    Loader loader(session);
    load_sample(session, loader, scene);
    const auto screen = StillScreen::open(session, options_of(scene));
    REQUIRE(screen);
    (*screen)->settle();
    (*screen)->shell().camera().show_addresses({0.631, 0.636});
    (*screen)->settle();
    check_golden(scene.name, (*screen)->frame());
}

}  // namespace tidemark::viz
