// Kept recordings: what lies in the folder, whose it is, and that only what nobody writes goes.
#include "traces/live/kept_recordings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "traces/live/publisher.h"
#include "traces/live/remainder.h"
#include "traces/live/runtime_folder.h"
#include "traces/live/segment_files.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using live::KeptRecording;
using live::RecordingState;
using support::LiveChild;
using support::LiveFolder;

std::vector<KeptRecording> recordings() {
    return live::list_recordings(live::recordings_folder(), live::list_programs());
}

Result<bool> removed(const KeptRecording& recording) {
    return live::remove_recording(live::open_live_folder(live::recordings_folder()).value(),
                                  recording);
}

const KeptRecording& named(const std::vector<KeptRecording>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const KeptRecording& recording) {
        return live::text_of(recording.header.name) == name;
    });
    REQUIRE(found != all.end());
    return *found;
}

// Publishes some and goes on living until it is made to end.
auto publish(const std::string& name, bool ends_well) {
    return [name, ends_well](LiveChild::Shared& shared) {
        auto publisher =
            live::Publisher::start({.name = name, .history_limit = 1_MiB, .records = false});
        if (!publisher)
            return;
        for (std::uint64_t i = 1; i <= 10'000; ++i) {
            (*publisher)->observer().on_allocate({.size = i}, {Address{i}, i});
            (*publisher)->observer().on_deallocate({Address{i}, i}, {});
            if (i % 100 == 0)
                static_cast<void>((*publisher)->empty_rings());
        }
        shared.published = 1;
        while (!shared.go_on)
            ::usleep(100);
        if (!ends_well)
            static_cast<void>(publisher->release());
    };
}

// A recording of a process that can't be seen from here, as that of another container.
live::Header unseen_header(const LiveFolder& folder) {
    live::Header header;
    header.session = 77;
    header.process = 0x7ffffffe;
    header.process_start = 1;
    header.flags = live::kSegmented;
    header.devices = 1;
    live::put_text(header.name, "unseen");
    live::put_text(header.recording, folder.file("recordings/unseen.tml"));
    return header;
}

}  // namespace

TEST_CASE("only recordings whose programs have ended are removed", "[live]") {
    const LiveFolder folder;
    LiveChild ended(publish("ended", true));
    LiveChild died(publish("died", false));
    LiveChild living(publish("living", true));
    for (LiveChild* child : {&ended, &died, &living})
        child->await(1);
    for (LiveChild* child : {&ended, &died}) {
        child->go_on();
        child->join();
    }
    const std::string notes = folder.file("recordings/notes.txt");
    const std::string broken = folder.file("recordings/broken.tml");
    std::ofstream(notes) << "mine";
    std::ofstream(broken) << "no recording";

    const std::vector<KeptRecording> all = recordings();
    REQUIRE(all.size() == 3);
    CHECK(named(all, "ended").state == RecordingState::ended);
    CHECK(named(all, "died").state == RecordingState::unrecovered);
    CHECK(named(all, "living").state == RecordingState::in_use);
    const KeptRecording& old = named(all, "ended");
    CHECK(old.files.size() > 1);
    CHECK(std::is_sorted(old.files.begin(), old.files.end()));
    Bytes bytes = 0;
    for (const std::string& file : old.files)
        bytes += fs::file_size(file);
    CHECK(old.bytes == bytes);

    CHECK(removed(old) == true);
    CHECK(removed(named(all, "died")) == false);
    CHECK(removed(named(all, "living")) == false);
    for (const std::string& file : old.files)
        CHECK_FALSE(fs::exists(file));
    CHECK(recordings().size() == 2);

    CHECK(live::recover(live::find_program("died").value()));
    CHECK(removed(named(recordings(), "died")) == true);
    living.go_on();
    living.join();
    CHECK(removed(named(recordings(), "living")) == true);
    CHECK(recordings().empty());
    CHECK(fs::exists(notes));
    CHECK(fs::exists(broken));
}

TEST_CASE("a recording that is written by who can't be seen is left alone", "[live]") {
    const LiveFolder folder;
    REQUIRE(live::make_live_folder(live::recordings_folder()));
    std::optional<live::SegmentFiles> writer(std::in_place, unseen_header(folder), 1_MiB);
    REQUIRE(writer->begin_segment(0, {}));

    REQUIRE(recordings().size() == 1);
    CHECK(recordings()[0].state == RecordingState::in_use);
    // Listed before it was written again.
    KeptRecording listed = recordings()[0];
    listed.state = RecordingState::ended;
    CHECK(removed(listed) == false);
    REQUIRE(writer->begin_segment(0, {}));
    CHECK(removed(listed) == false);
    CHECK(fs::exists(listed.files.front()));

    writer.reset();
    const std::string part = folder.file("recordings/unseen-000003.tml.part");
    std::ofstream(part) << "begun and left";
    REQUIRE(recordings().size() == 1);
    CHECK(recordings()[0].files.size() == 2);
    CHECK(removed(recordings()[0]) == true);
    CHECK(recordings().empty());
    CHECK_FALSE(fs::exists(part));
}

}  // namespace tidemark
