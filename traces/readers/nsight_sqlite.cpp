// nsight-sqlite: the output of `nsys export --type sqlite` for a report that was recorded with
// `nsys profile --cuda-memory-usage=true`. The reader uses the table CUDA_GPU_MEMORY_USAGE_EVENTS,
// as the "SQLite Schema Reference" of NVIDIA Nsight Systems describes it: `start` (ns),
// `globalPid`, `deviceId`, `address`, `bytes`, `streamId`, `memKind` (2 device, 3 array, 5 device
// static; the rest is host or managed memory, which is left out) and `memoryOperationType` (0
// allocation, 1 deallocation). Columns are found by name, since versions differ. TARGET_INFO_GPU
// has the names of GPUs.
//
// SQLite reads databases from untrusted sources, so it is told to trust nothing in them. It needs
// the whole file: memory O(bytes). A build without SQLite reports that.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#ifdef TIDEMARK_SQLITE
#include <sqlite3.h>
#endif

#include "core/base/text.h"
#include "traces/readers/address_events.h"
#include "traces/readers/format.h"

namespace tidemark::formats {
namespace {

bool recognise_sqlite(std::span<const std::byte> head) {
    constexpr std::string_view kMagic("SQLite format 3\0", 16);
    return std::string_view(reinterpret_cast<const char*>(head.data()), head.size())
        .starts_with(kMagic);
}

#ifdef TIDEMARK_SQLITE

constexpr std::string_view kHowToExport =
    "record with `nsys profile --cuda-memory-usage=true` and export with `nsys export --type "
    "sqlite`";
constexpr std::string_view kUsageTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";
constexpr std::int64_t kMostGpus = 256;
constexpr std::int64_t kLatestStart = std::int64_t{1} << 61;  // ns
constexpr int kLongestValue = 16 << 20;                       // of a text in a database
constexpr int kStepsBetweenChecks = 100'000;

constexpr std::int64_t kKindDevice = 2;
constexpr std::int64_t kKindArray = 3;
constexpr std::int64_t kKindDeviceStatic = 5;

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};

struct EndStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// The rows of one query.
class Rows {
  public:
    Rows(sqlite3* database, std::unique_ptr<sqlite3_stmt, EndStatement> statement)
        : database_(database), statement_(std::move(statement)) {}

    // False: there are no more rows, or reading failed.
    bool next() {
        status_ = sqlite3_step(statement_.get());
        return status_ == SQLITE_ROW;
    }

    bool failed() const { return status_ != SQLITE_DONE && status_ != SQLITE_ROW; }

    std::string reason() const { return sqlite3_errmsg(database_); }

    bool is_number(int column) const {
        return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
    }

    std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

    std::string text(int column) const {
        const auto* const text = sqlite3_column_text(statement_.get(), column);
        return text == nullptr
                   ? std::string()
                   : std::string(
                         reinterpret_cast<const char*>(text),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
    }

  private:
    sqlite3* database_;
    std::unique_ptr<sqlite3_stmt, EndStatement> statement_;
    int status_ = SQLITE_ROW;
};

class NsightReader {
  public:
    NsightReader(ByteSource& source, const ReadOptions& options)
        : source_(source), options_(options) {}

    Result<TraceInfo> read(TraceSink& sink);

  private:
    // Columns in the order of the query; the last three may be missing.
    enum Column : std::size_t {
        kStart,
        kAddress,
        kBytes,
        kKind,
        kOperation,
        kDevice,
        kPid,
        kStream
    };

    static constexpr std::array<std::string_view, 8> kColumns{
        "start",    "address",   "bytes",   "memKind", "memoryOperationType",
        "deviceId", "globalPid", "streamId"};

    Result<void> open();
    Result<Rows> query(const std::string& text) const;
    Result<std::vector<std::string>> columns_of(std::string_view table) const;
    Result<void> read_events();
    bool read_row(const Rows& rows, const std::array<int, kColumns.size()>& at);
    Result<void> read_gpus();
    Result<void> read_start();
    void warn();

    tl::unexpected<Error> broken(const std::string& reason) const {
        return fail(ErrorCode::bad_input, "SQLite can't read it: " + reason, source_.name(),
                    "export it again");
    }

    ByteSource& source_;
    const ReadOptions& options_;
    std::vector<unsigned char> bytes_;
    std::unique_ptr<sqlite3, CloseDatabase> database_;  // reads from bytes_
    std::vector<AddressEvent> events_;
    std::map<std::int64_t, std::uint32_t> processes_;
    std::uint64_t elsewhere_ = 0;  // events about host or managed memory
    TraceInfo info_;
};

// The whole file, in a database that may do nothing but read it.
Result<void> NsightReader::open() {
    for (;;) {
        TM_TRY(source_.need(1));
        const auto window = source_.window();
        if (window.empty())
            break;
        const auto* const begin = reinterpret_cast<const unsigned char*>(window.data());
        bytes_.insert(bytes_.end(), begin, begin + window.size());
        source_.consume(window.size());
        if (options_.progress)
            options_.progress(source_.raw_done());
    }
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
    database_.reset(database);
    if (opened != SQLITE_OK)
        return broken("there is no memory for it");
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(
        database, kStepsBetweenChecks,
        [](void* self) {
            const Cancelling& cancelled = static_cast<NsightReader*>(self)->options_.cancelled;
            return cancelled && cancelled() ? 1 : 0;
        },
        this);
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    if (sqlite3_deserialize(database, "main", bytes_.data(), size, size,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return broken(sqlite3_errmsg(database));
    sqlite3_exec(database, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
    return {};
}

Result<Rows> NsightReader::query(const std::string& text) const {
    sqlite3_stmt* statement = nullptr;
    const int prepared = sqlite3_prepare_v2(database_.get(), text.c_str(),
                                            static_cast<int>(text.size()), &statement, nullptr);
    std::unique_ptr<sqlite3_stmt, EndStatement> owned(statement);
    if (prepared != SQLITE_OK)
        return broken(sqlite3_errmsg(database_.get()));
    return Rows(database_.get(), std::move(owned));
}

// The columns of an ordinary table of that name; none if there is no such table.
Result<std::vector<std::string>> NsightReader::columns_of(std::string_view table) const {
    TM_ASSIGN(Rows tables, query(fmt::format("SELECT 1 FROM sqlite_master WHERE type = 'table' AND "
                                             "rootpage > 0 AND name = '{}'",
                                             table)));
    std::vector<std::string> names;
    if (!tables.next()) {
        if (tables.failed())
            return broken(tables.reason());
        return names;
    }
    TM_ASSIGN(Rows columns, query(fmt::format("SELECT name FROM pragma_table_info('{}')", table)));
    while (columns.next())
        names.push_back(columns.text(0));
    if (columns.failed())
        return broken(columns.reason());
    return names;
}

// False: a value that is missing or impossible.
bool NsightReader::read_row(const Rows& rows, const std::array<int, kColumns.size()>& at) {
    for (std::size_t column = kStart; column <= kOperation; ++column)
        if (!rows.is_number(at[column]))
            return false;
    const auto optional = [&](Column column) {
        return at[column] < 0 || !rows.is_number(at[column]) ? 0 : rows.number(at[column]);
    };
    const std::int64_t kind = rows.number(at[kKind]);
    if (kind != kKindDevice && kind != kKindArray && kind != kKindDeviceStatic) {
        ++elsewhere_;
        return true;
    }
    const std::int64_t operation = rows.number(at[kOperation]);
    const std::int64_t device = optional(kDevice);
    const std::int64_t start = rows.number(at[kStart]);
    const std::int64_t bytes = rows.number(at[kBytes]);
    if (operation < 0 || operation > 1 || device < 0 || device >= kMostGpus || start < 0 ||
        start > kLatestStart || bytes < 0)
        return false;
    const auto process =
        processes_.try_emplace(optional(kPid), static_cast<std::uint32_t>(processes_.size()))
            .first->second;
    events_.push_back({.time = start,
                       .kind = operation == 0 ? EventKind::allocate : EventKind::free,
                       .address = static_cast<std::uint64_t>(rows.number(at[kAddress])),
                       .size = static_cast<Bytes>(bytes),
                       .stream = static_cast<std::uint64_t>(optional(kStream)),
                       .space = process,
                       .device = static_cast<std::uint16_t>(device)});
    return true;
}

Result<void> NsightReader::read_events() {
    TM_ASSIGN(const std::vector<std::string> names, columns_of(kUsageTable));
    if (names.empty())
        return fail(ErrorCode::bad_input, fmt::format("has no table {}", kUsageTable),
                    source_.name(), std::string(kHowToExport));
    std::array<int, kColumns.size()> at{};
    std::string list;
    int count = 0;
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
        at[column] = -1;
        if (std::ranges::find(names, kColumns[column]) != names.end()) {
            at[column] = count++;
            list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", kColumns[column]);
        } else if (column <= kOperation) {
            return fail(ErrorCode::unsupported,
                        fmt::format("{} has no column {}", kUsageTable, kColumns[column]),
                        source_.name(), "this version of Nsight Systems writes another schema");
        }
    }
    TM_ASSIGN(Rows rows, query(fmt::format("SELECT {} FROM \"{}\"", list, kUsageTable)));
    for (std::uint64_t row = 1; rows.next(); ++row) {
        if (read_row(rows, at))
            continue;
        ++info_.anomalies.bad_records;
        if (!options_.lenient)
            return fail(ErrorCode::bad_input, "a missing or impossible value",
                        fmt::format("{}: {} row {}", source_.name(), kUsageTable, row),
                        "--lenient skips and counts such rows");
    }
    if (rows.failed()) {
        if (options_.cancelled && options_.cancelled())
            return fail(ErrorCode::cancelled, "reading was given up");
        return broken(rows.reason());
    }
    return {};
}

Result<void> NsightReader::read_gpus() {
    TM_ASSIGN(const std::vector<std::string> names, columns_of("TARGET_INFO_GPU"));
    const auto has = [&names](std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    if (!has("id") || !has("name"))
        return {};
    TM_ASSIGN(Rows rows, query(fmt::format("SELECT id, name, {} FROM TARGET_INFO_GPU",
                                           has("totalMemory") ? "totalMemory" : "0")));
    while (rows.next()) {
        const std::int64_t id = rows.number(0);
        if (!rows.is_number(0) || id < 0 || id >= kMostGpus)
            continue;
        info_.devices.resize(std::max(info_.devices.size(), static_cast<std::size_t>(id) + 1));
        info_.devices[static_cast<std::size_t>(id)] = {
            rows.text(1).substr(0, 256),
            static_cast<Bytes>(std::max<std::int64_t>(rows.number(2), 0))};
    }
    return {};
}

// When the session began, in ns since 1970.
Result<void> NsightReader::read_start() {
    TM_ASSIGN(const std::vector<std::string> names, columns_of("TARGET_INFO_SESSION_START_TIME"));
    if (std::ranges::find(names, "utcEpochNs") == names.end())
        return {};
    TM_ASSIGN(Rows rows, query("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1"));
    if (rows.next() && rows.is_number(0) && rows.number(0) > 0 && rows.number(0) < kLatestStart)
        info_.start_time = rows.number(0) + std::ranges::min(events_, {}, &AddressEvent::time).time;
    return {};
}

void NsightReader::warn() {
    if (elsewhere_ > 0)
        info_.warnings.push_back(fmt::format("{} about host or managed memory left out",
                                             format_counted(elsewhere_, "event")));
    if (processes_.size() > 1)
        info_.warnings.push_back(fmt::format(
            "memory of {} together", format_counted(processes_.size(), "process", "processes")));
    const bool no_times =
        events_.size() > 1 &&
        std::ranges::all_of(events_, [](const AddressEvent& event) { return event.time == 0; });
    if (no_times)
        info_.warnings.emplace_back(
            "all events are at time 0, as some versions of Nsight Systems export them: their order "
            "is that of the table");
}

Result<TraceInfo> NsightReader::read(TraceSink& sink) {
    info_.format = "nsight-sqlite";
    info_.source = "NVIDIA Nsight Systems";
    TM_TRY(open());
    TM_TRY(read_events());
    if (events_.empty())
        return fail(ErrorCode::bad_input, "no memory of a GPU was allocated in it", source_.name(),
                    std::string(kHowToExport));
    TM_TRY(read_gpus());
    TM_TRY(read_start());
    warn();
    TM_TRY(write_address_events(std::move(events_), sink, options_, source_.name(), info_));
    return std::move(info_);
}

Result<TraceInfo> read_sqlite(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return NsightReader(source, options).read(sink);
}

#else

Result<TraceInfo> read_sqlite(ByteSource& source, TraceSink& /*sink*/,
                              const ReadOptions& /*options*/) {
    return fail(ErrorCode::unsupported, "this Tidemark was built without SQLite, which reads it",
                source.name(),
                "build it where SQLite is (on Debian and Ubuntu: apt-get install libsqlite3-dev)");
}

#endif

}  // namespace

FormatInfo nsight_sqlite() {
    return {"nsight-sqlite",
            "SQLite export of NVIDIA Nsight Systems, with --cuda-memory-usage=true",
            recognise_sqlite, read_sqlite};
}

}  // namespace tidemark::formats
