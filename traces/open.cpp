// From a name to a trace: generators by their prefix, .tmk and every other format by their content.
#include "traces/open.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "traces/generators/generators.h"
#include "traces/io/output_file.h"
#include "traces/readers/foreign_files.h"
#include "traces/readers/format.h"
#include "traces/tmk/tmk.h"

namespace tidemark {
namespace {

constexpr std::string_view kGenerate = "generate:";
constexpr std::size_t kHead = 4096;  // what formats may look at
constexpr std::size_t kForeignHead = std::size_t{1} << 20U;

// A reader makes events faster than one thread encodes them, but no reader keeps four busy.
unsigned encoding_helpers() {
    constexpr unsigned kMost = 3;
    return std::min(hardware_threads() - 1, kMost);
}

class MemorySink final : public ByteSink {
  public:
    Result<void> write(std::span<const std::byte> bytes) override {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return {};
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

class FileSink final : public ByteSink {
  public:
    explicit FileSink(OutputFile& file) : file_(file) {}

    Result<void> write(std::span<const std::byte> bytes) override { return file_.write(bytes); }

  private:
    OutputFile& file_;
};

// Takes events until the work is cancelled.
class CancellableSink final : public TraceSink {
  public:
    CancellableSink(TraceSink& sink, const Cancelling& cancelled)
        : sink_(sink), cancelled_(cancelled) {}

    Result<void> append(std::span<const TraceEvent> events) override {
        if (cancelled_())
            return fail(ErrorCode::cancelled, "reading was cancelled");
        return sink_.append(events);
    }

    Result<void> finish(const TraceInfo& info) override { return sink_.finish(info); }

  private:
    TraceSink& sink_;
    const Cancelling& cancelled_;
};

const FormatInfo* find_format(std::span<const std::byte> head) {
    for (const FormatInfo& format : all_formats()) {
        if (format.recognises(head))
            return &format;
    }
    return nullptr;
}

Result<const FormatInfo*> recognise(ByteSource& source) {
    TM_TRY(source.need(kHead));
    const std::span<const std::byte> head =
        source.window().first(std::min(source.window().size(), kHead));
    if (head.empty())
        return fail(ErrorCode::bad_input,
                    source.cut_off() ? "is cut off before its first byte" : "is empty",
                    source.name(), "a trace was expected");
    if (const FormatInfo* const format = find_format(head); format != nullptr)
        return format;
    TM_TRY(source.need(kForeignHead));
    const std::span<const std::byte> begin =
        source.window().first(std::min(source.window().size(), kForeignHead));
    if (std::optional<Error> foreign = explain_foreign_file(
            source.name(), {reinterpret_cast<const char*>(begin.data()), begin.size()}))
        return tl::make_unexpected(std::move(*foreign));
    return fail(ErrorCode::bad_input, "is not a recording that Tidemark can read", source.name(),
                "it reads memory snapshots of PyTorch, logs of RMM, CuPy and Umpire, profiles of "
                "torch.profiler and JAX, Nsight Systems' .sqlite, JSON lines and .tmk, also "
                "compressed by xz, zstd or gzip");
}

// Writes a stream that is not a .tmk into `sink`.
Result<TraceInfo> read_stream(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    TM_ASSIGN(const FormatInfo* format, recognise(source));
    TM_ASSIGN(TraceInfo info, format->read(source, sink, options));
    info.cut_off = info.cut_off || source.cut_off();
    return info;
}

// Writes a trace into `sink`.
Result<TraceInfo> copy_trace(const Trace& trace, TraceSink& sink) {
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::vector<TraceEvent> events;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return trace.info();
        events.resize(batch.count);
        for (std::size_t i = 0; i < batch.count; ++i)
            events[i] = batch[i];
        TM_TRY(sink.append(events));
    }
}

Result<std::unique_ptr<Trace>> open_whole_tmk(ByteSource& source) {
    std::vector<std::byte> bytes;
    for (;;) {
        TM_TRY(source.need(1));
        if (source.window().empty())
            break;
        bytes.insert(bytes.end(), source.window().begin(), source.window().end());
        source.consume(source.window().size());
    }
    return open_tmk(std::move(bytes), source.name());
}

// An open source, and the trace itself if it is a .tmk; neither for a generated trace.
struct Opened {
    std::unique_ptr<ByteSource> source;
    std::unique_ptr<Trace> tmk;
};

Result<Opened> open_either(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
    Opened opened{.source = std::move(source), .tmk = nullptr};
    opened.source->end_when(options.cancelled);
    TM_TRY(opened.source->need(kHead));
    if (!is_tmk(opened.source->window()))
        return opened;
    if (FileDescriptor file = opened.source->file(); file.valid()) {
        TM_ASSIGN(opened.tmk, open_tmk(std::move(file), opened.source->name()));
    } else {
        TM_ASSIGN(opened.tmk, open_whole_tmk(*opened.source));
    }
    return opened;
}

Result<Opened> open_either(const std::string& path, const ReadOptions& options) {
    if (path.starts_with(kGenerate))
        return Opened{};
    TM_ASSIGN(std::unique_ptr<ByteSource> source, open_bytes(named_part(path).path));
    return open_either(std::move(source), options);
}

Result<TraceInfo> generate_or_read(const std::string& path, ByteSource* source, TraceSink& sink,
                                   const ReadOptions& options) {
    if (options.cancelled) {
        ReadOptions inside = options;
        inside.cancelled = {};
        CancellableSink cancellable(sink, options.cancelled);
        return generate_or_read(path, source, cancellable, inside);
    }
    return source == nullptr ? generate(std::string_view(path).substr(kGenerate.size()), sink)
                             : read_stream(*source, sink, options);
}

Result<std::unique_ptr<Trace>> trace_of(const std::string& path, Opened opened,
                                        const ReadOptions& options) {
    if (opened.tmk)
        return std::move(opened.tmk);
    MemorySink bytes;
    const std::unique_ptr<TraceSink> writer = make_tmk_writer(bytes, encoding_helpers());
    TM_ASSIGN(const TraceInfo info, generate_or_read(path, opened.source.get(), *writer, options));
    TM_TRY(writer->finish(info));
    return open_tmk(bytes.take(), opened.source ? opened.source->name() : path);
}

}  // namespace

NamedPart named_part(const std::string& name) {
    const std::size_t mark = name.rfind('#');
    if (mark == std::string::npos || mark == 0 || file_identity(name))
        return {name, {}};
    std::size_t part = 0;
    const char* const end = name.data() + name.size();
    const auto [parsed, code] = std::from_chars(name.data() + mark + 1, end, part);
    std::string path = name.substr(0, mark);
    if (code != std::errc() || parsed != end || !file_identity(path))
        return {name, {}};
    return {std::move(path), part};
}

std::size_t count_recordings(const std::string& path) {
    if (!file_identity(path))  // a pipe: examining it would consume its bytes
        return 1;
    const Result<std::unique_ptr<ByteSource>> source = open_bytes(path);
    if (!source || !(*source)->need(kHead) || is_tmk((*source)->window()))
        return 1;
    const Result<const FormatInfo*> format = recognise(**source);
    if (!format || (*format)->count == nullptr)
        return 1;
    return std::max<std::size_t>((*format)->count(**source).value_or(1), 1);
}

Result<std::unique_ptr<Trace>> open_trace(const std::string& path, const ReadOptions& options) {
    ReadOptions inside = options;
    if (!inside.part)
        inside.part = named_part(path).part;
    TM_ASSIGN(Opened opened, open_either(path, inside));
    return trace_of(path, std::move(opened), inside);
}

Result<std::unique_ptr<Trace>> open_trace(std::unique_ptr<ByteSource> source,
                                          const ReadOptions& options) {
    const std::string name = source->name();
    TM_ASSIGN(Opened opened, open_either(std::move(source), options));
    return trace_of(name, std::move(opened), options);
}

bool is_trace_file(const std::string& path) {
    if (!file_identity(path))  // a pipe: examining it would consume its bytes
        return false;
    const Result<std::unique_ptr<ByteSource>> source = open_bytes(path);
    if (!source || !(*source)->need(kHead))
        return false;
    const std::span<const std::byte> window = (*source)->window();
    return is_tmk(window) || find_format(window.first(std::min(window.size(), kHead))) != nullptr;
}

Result<TraceInfo> import_trace(const std::string& path, const OutputTarget& target,
                               const ReadOptions& options) {
    ReadOptions inside = options;
    if (!inside.part)
        inside.part = named_part(path).part;
    TM_ASSIGN(const Opened opened, open_either(path, inside));
    TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(target));
    FileSink bytes(*file);
    const std::unique_ptr<TraceSink> writer = make_tmk_writer(bytes, encoding_helpers());
    TM_ASSIGN(const TraceInfo info,
              opened.tmk ? copy_trace(*opened.tmk, *writer)
                         : generate_or_read(path, opened.source.get(), *writer, inside));
    TM_TRY(writer->finish(info));
    TM_TRY(file->commit());
    return info;
}

}  // namespace tidemark
