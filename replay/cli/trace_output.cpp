// The trace is encoded in memory; from there it goes to the file as it is, or through a writer.
#include "replay/cli/trace_output.h"

#include <vector>

#include "traces/io/output_file.h"
#include "traces/tmk/tmk.h"

namespace tidemark {
namespace {

class EncodedTrace final : public ByteSink {
  public:
    Result<void> write(std::span<const std::byte> bytes) override {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return {};
    }

    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace

FileKind trace_kind(const std::string& path) {
    return path.ends_with(".tmk")     ? FileKind::recording
           : path.ends_with(".jsonl") ? FileKind::jsonl_export
                                      : FileKind::unknown;
}

Result<TraceTarget> find_target(const std::string& path) {
    TraceTarget target;
    if (!path.ends_with(".tmk") && path != "-") {
        TM_ASSIGN(target.writer, find_writer(path));
    }
    return target;
}

Result<TraceOutput> write_trace(const TraceTarget& target, const OutputTarget& to,
                                const std::function<Result<TraceInfo>(TraceSink& sink)>& pour) {
    TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(to));
    EncodedTrace encoded;
    const std::unique_ptr<TraceSink> encoder = make_tmk_writer(encoded);
    TraceOutput output;
    TM_ASSIGN(output.info, pour(*encoder));
    TM_TRY(encoder->finish(output.info));
    output.summary.written = output.info.event_count;
    if (target.writer == nullptr) {
        TM_TRY(file->write(encoded.bytes()));
    } else {
        TM_ASSIGN(const auto whole, open_tmk(encoded.bytes(), to.path));
        TM_ASSIGN(output.summary, target.writer->write(*whole, *file));
    }
    TM_TRY(file->commit());
    return output;
}

}  // namespace tidemark
