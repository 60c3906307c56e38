#include "event_scan.hpp"

#include <functional>
#include <unordered_map>
#include <utility>

#include "json_text.hpp"

namespace ftax {

namespace {

using View = std::string_view;
using Pair = std::pair<View, View>;

constexpr std::int64_t kAbsent = EventTable::kAbsent;
// Limits of the reader in Python: microseconds, and where it would read decimals as a double.
constexpr std::int64_t kLongestUs = std::int64_t{1} << 52;
constexpr std::int64_t kExactUs = std::int64_t{1} << 43;
constexpr std::int64_t kLargestDevice = std::int64_t{1} << 31;

struct PairHash {
    std::size_t operator()(const Pair& pair) const {
        const std::hash<View> hash;
        return hash(pair.first) * 31 + hash(pair.second);
    }
};

// Numbers things in order of appearance.
template <class Key, class Hash = std::hash<Key>>
class Numbering {
  public:
    std::int32_t operator[](const Key& key) {
        const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::int32_t>(size()));
        if (is_new) order_.push_back(key);
        return found->second;
    }
    std::size_t size() const { return order_.size(); }
    const std::vector<Key>& order() const { return order_; }

  private:
    std::unordered_map<Key, std::int32_t, Hash> numbers_;
    std::vector<Key> order_;
};

struct Ids {
    std::int64_t correlation = kAbsent;
    std::int64_t stream = kAbsent;
    std::int64_t device = kAbsent;
    std::int64_t external = kAbsent;
    std::int64_t old_external = kAbsent;
};

// What one event says; views of its text, without quotes where they are of strings.
struct Event {
    View phase;
    View category;
    View name;
    View process = "null";  // as it was written
    View thread = "null";
    std::int64_t start_ns = kAbsent;
    std::int64_t duration_ns = kAbsent;
    Ids ids;
};

// Text that is compared as it was written, and so must be written in one way only.
bool read_plain(JsonText& text, View& found) {
    JsonText::String string;
    if (!text.string(string) || string.escaped) return false;
    found = string.raw;
    return true;
}

bool read_name(JsonText& text, View& found) {
    JsonText::String string;
    if (!text.string(string)) return false;
    found = string.raw;
    return true;
}

bool read_id(JsonText& text, std::int64_t& found) {
    found = kAbsent;
    if (text.take_null()) return true;
    JsonText::Number number;
    if (!text.number(number) || !number.integer || !number.exact) return false;
    found = number.negative ? -number.whole : number.whole;
    return true;
}

bool read_device(JsonText& text, std::int64_t& found) {
    return read_id(text, found) &&
           (found == kAbsent || (found >= -kLargestDevice && found < kLargestDevice));
}

// A process or thread: a number or a string, as it was written.
bool read_row(JsonText& text, View& found) {
    const char next = text.peek();
    const char* begin = text.position();
    if (next == '"') {
        View ignored;
        if (!read_plain(text, ignored)) return false;
    } else {
        std::int64_t number = 0;
        if (!read_id(text, number)) return false;
        if (number == 0 && next == '-') return false;  // -0, which is 0 written in another way
    }
    found = {begin, static_cast<std::size_t>(text.position() - begin)};
    return true;
}

bool read_time(JsonText& text, std::int64_t largest_fractional_us, std::int64_t& found) {
    found = kAbsent;
    if (text.take_null()) return true;
    JsonText::Number number;
    if (!text.number(number) || !number.exact || number.whole >= kLongestUs) return false;
    if (!number.integer && number.whole >= largest_fractional_us) return false;
    found = number.whole * 1000 + number.thousandths;
    if (number.negative) found = -found;
    return true;
}

// The number of a row of the viewer: 7 of "stream 7", else none.
std::int64_t row_number(View row) {
    row.remove_prefix(row.rfind(' ') + 1);  // npos + 1 is 0
    if (row.empty() || row.size() > 18) return EventTable::kNone;
    std::int64_t number = 0;
    for (const char c : row) {
        if (c < '0' || c > '9') return EventTable::kNone;
        number = number * 10 + (c - '0');
    }
    return number < kLargestDevice ? number : EventTable::kNone;
}

// A number, or the address that ROCm's tracers give with a call.
bool read_stream(JsonText& text, std::int64_t& found) {
    if (text.peek() != '"') return read_id(text, found);
    View row;
    if (!read_plain(text, row)) return false;
    found = row_number(row);
    return true;
}

bool read_args_field(JsonText& text, View key, Ids& ids) {
    if (key == "correlation") return read_id(text, ids.correlation);
    if (key == "stream") return read_stream(text, ids.stream);
    if (key == "device") return read_device(text, ids.device);
    if (key == "External id") return read_id(text, ids.external);
    if (key == "external id") return read_id(text, ids.old_external);
    return text.skip();
}

template <class Field>
bool read_object(JsonText& text, Field&& read_field) {
    if (!text.take('{')) return false;
    if (text.take('}')) return true;
    View key;
    do {
        if (!read_plain(text, key) || !text.take(':') || !read_field(key)) return false;
    } while (text.take(','));
    return text.take('}');
}

bool read_args(JsonText& text, Ids& ids) {
    ids = Ids{};  // where a key is there twice, the last one counts
    if (text.take_null()) return true;
    return read_object(text, [&](View key) { return read_args_field(text, key, ids); });
}

bool read_field(JsonText& text, View key, Event& event) {
    if (key == "ph") return read_plain(text, event.phase);
    if (key == "cat") return read_plain(text, event.category);
    if (key == "name") return read_name(text, event.name);
    if (key == "pid") return read_row(text, event.process);
    if (key == "tid") return read_row(text, event.thread);
    if (key == "ts") return read_time(text, kLongestUs, event.start_ns);
    if (key == "dur") return read_time(text, kExactUs, event.duration_ns);
    if (key == "args") return read_args(text, event.ids);
    return text.skip();
}

void append_string(std::string& list, View raw) {
    if (list.size() > 1) list += ',';
    list += '"';
    list += raw;
    list += '"';
}

std::string quoted(View raw) { return '"' + std::string(raw) + '"'; }

std::int64_t id_or_none(std::int64_t id) {
    return id == kAbsent || id == 0 ? EventTable::kNone : id;
}

// Fills one table.
class TableBuilder {
  public:
    explicit TableBuilder(View category) { table_.category = quoted(category); }

    void add(const Event& event) {
        ++table_.events;
        if (event.start_ns == kAbsent || event.duration_ns == kAbsent) return;
        const Ids& ids = event.ids;
        table_.fractions |= event.start_ns % 1000 != 0 || event.duration_ns % 1000 != 0;
        table_.start_ns.push_back(event.start_ns);
        table_.duration_ns.push_back(event.duration_ns);
        table_.name.push_back(names_[event.name]);
        table_.row.push_back(rows_[{event.process, event.thread}]);
        table_.correlation.push_back(id_or_none(ids.correlation));
        const std::int64_t external = id_or_none(ids.external);
        table_.external.push_back(external == EventTable::kNone ? id_or_none(ids.old_external)
                                                                : external);
        table_.device.push_back(ids.device);
        table_.stream.push_back(ids.stream);
    }

    EventTable finish() && {
        table_.names = "[";
        for (const View name : names_.order()) append_string(table_.names, name);
        table_.names += ']';
        table_.rows = "[";
        for (const auto& [process, thread] : rows_.order()) {
            if (table_.rows.size() > 1) table_.rows += ',';
            table_.rows.append("[").append(process).append(",").append(thread).append("]");
        }
        table_.rows += ']';
        return std::move(table_);
    }

  private:
    EventTable table_;
    Numbering<View> names_;
    Numbering<Pair, PairHash> rows_;
};

// Fills one batch.
class BatchBuilder {
  public:
    void add(const Event& event) {
        ++batch_.events;
        if (event.phase != "X") {
            const auto number = static_cast<std::size_t>(others_[{event.phase, event.category}]);
            if (number == counts_.size()) counts_.push_back(0);
            ++counts_[number];
            return;
        }
        const auto number = static_cast<std::size_t>(categories_[event.category]);
        if (number == tables_.size()) tables_.emplace_back(event.category);
        tables_[number].add(event);
    }

    EventBatch finish() && {
        for (TableBuilder& each : tables_) batch_.tables.push_back(std::move(each).finish());
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const auto& [phase, category] = others_.order()[i];
            batch_.others.push_back({quoted(phase), quoted(category), counts_[i]});
        }
        return std::move(batch_);
    }

  private:
    EventBatch batch_;
    Numbering<View> categories_;
    std::vector<TableBuilder> tables_;
    Numbering<Pair, PairHash> others_;
    std::vector<std::int64_t> counts_;
};

}  // namespace

std::optional<EventBatch> scan_events(std::string_view events) {
    JsonText text(events);
    BatchBuilder batch;
    if (!text.at_end()) {
        do {
            Event event;
            if (!read_object(text, [&](View key) { return read_field(text, key, event); })) {
                return std::nullopt;
            }
            batch.add(event);
        } while (text.take(','));
        if (!text.at_end()) return std::nullopt;
    }
    return std::move(batch).finish();
}

}  // namespace ftax
