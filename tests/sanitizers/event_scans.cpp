// Reads the text of events, whole, cut anywhere and damaged anywhere, from memory that ends where
// the text does: a byte read beyond it is an error of the sanitizer.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "event_scan.hpp"

namespace {

using ftax::EventBatch;
using ftax::EventTable;
using harness::check;

const std::string kEvents =
    R"({"ph":"X","cat":"kernel","name":"gemm<\u003cfloat>","pid":0,"tid":7,"ts":12.345,"dur":3,)"
    R"("args":{"device":0,"stream":7,"correlation":4,"External id":9,"grid":[[1,2],{"a":null}]}},)"
    "\n"
    R"( {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "t 1",)"
    R"("ts": -1, "dur": 0.5, "args": {"correlation": 4, "cbid": 211.5e-3, "ok": true}},)"
    R"({"ph":"s","cat":"ac2g","id":4,"ts":1,"name":"Größe"},{},)"
    R"({"ph":"X","cat":"kernel","name":"k","pid":"stream 7","tid":null,"ts":1,"dur":null})";
constexpr char kNoise[] = "\"\\{}[],:0123456789.eE-+ntfu\x01\x7f\x80\xc3\xed\xff\0 \n";

// A copy in memory of just that size.
std::optional<EventBatch> scan(std::string_view text) {
    const std::unique_ptr<char[]> exact(new char[text.size()]);
    text.copy(exact.get(), text.size());
    return ftax::scan_events({exact.get(), text.size()});
}

void check_batch(const EventBatch& batch) {
    std::int64_t events = 0;
    for (const auto& other : batch.others) events += other.events;
    for (const EventTable& table : batch.tables) {
        events += table.events;
        const std::size_t rows = table.start_ns.size();
        check(rows <= static_cast<std::size_t>(table.events), "more rows than events");
        for (const std::size_t size :
             {table.duration_ns.size(), table.name.size(), table.row.size(),
              table.correlation.size(), table.external.size(), table.device.size(),
              table.stream.size()}) {
            check(size == rows, "columns of different lengths");
        }
    }
    check(events == batch.events, "events were lost");
}

void whole() {
    const std::optional<EventBatch> batch = scan(kEvents);
    check(batch && batch->events == 5, "plain events were refused");
    check_batch(*batch);
    check(batch->tables.size() == 2 && batch->others.size() == 2, "events of another kind");
    const EventTable& kernels = batch->tables[0];
    check(kernels.events == 2 && kernels.start_ns == std::vector<std::int64_t>{12345},
          "a kernel with another time");
    check(!scan(R"({"tid":"\u0031"})"),
          "a thread written with escapes was not left to the other reader");
    check(scan("") && scan(" \n")->events == 0, "no events were refused");
    check(!scan("{}]") && !scan("{},") && !scan("[]") && !scan("1"), "no event was accepted");
}

void cut() {
    for (std::size_t end = 0; end <= kEvents.size(); ++end) {
        for (const std::size_t begin : {std::size_t{0}, end / 2}) {
            if (const auto batch = scan(std::string_view(kEvents).substr(begin, end - begin))) {
                check_batch(*batch);
            }
        }
    }
}

void damaged() {
    std::mt19937 random(1);
    for (int round = 0; round < 50'000; ++round) {
        std::string text = kEvents;
        for (unsigned many = 1 + random() % 4; many > 0; --many) {
            const std::size_t place = random() % text.size();
            text.replace(place, random() % 3, 1, kNoise[random() % sizeof kNoise]);
        }
        if (const auto batch = scan(text)) check_batch(*batch);
    }
}

void deep() {
    for (const std::size_t depth : {10, 1'000'000}) {
        const std::string text =
            "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
        check(scan(text).has_value() == (depth == 10), "lists within lists");
    }
}

}  // namespace

int main() {
    whole();
    cut();
    damaged();
    deep();
    return 0;
}
