// Handles a read of a value that does not exist. If the operator's result was computed, it is
// written. Unless it is exact, the recorder (libpeakline.so) gets the read and may return an
// assumption. Without a recorder the program's listener gets it. A size is listed as one that was
// read as 0; another size computed from zeros is a number like others.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <c10/core/ScalarType.h>

#include "device_values.h"
#include "operator_info.h"
#include "preload/peakline_api.h"
#include "recorder_functions.h"
#include "running_operators.h"

namespace peakline::simulated {
namespace {

using ValueReadFunction = decltype(&peakline_value_read);

ValueReadFunction recorder() {
    static const ValueReadFunction report =
        recorder_function<decltype(peakline_value_read)>("peakline_value_read");
    return report;
}

// Writes "aten::index>aten::nonzero", outermost first, cut to `room`.
void write_chain(RunningOperators& running, char* text, size_t room) {
    text[0] = '\0';
    size_t length = 0;
    for (int i = 0; i < running.kept(); ++i) {
        const int wanted = snprintf(text + length,
                                    room - length,
                                    "%s%s",
                                    i > 0 ? ">" : "",
                                    running.items[i].info->name.c_str());
        length = std::min(room - 1, length + static_cast<size_t>(std::max(wanted, 0)));
    }
}

// The innermost operator that reads its own result.
RunningOperator* result_reader(RunningOperators& running) {
    for (int i = running.kept() - 1; i >= 0; --i) {
        if (running.items[i].info->reads_result) {
            return &running.items[i];
        }
    }
    return nullptr;
}

void put_integer(void* host, size_t bytes, int64_t count) {
    if (bytes == 1) {
        *static_cast<unsigned char*>(host) = static_cast<unsigned char>(count);
    } else if (bytes == sizeof(int32_t)) {
        const auto narrow = static_cast<int32_t>(count);
        std::memcpy(host, &narrow, sizeof narrow);
    } else if (bytes == sizeof count) {
        std::memcpy(host, &count, sizeof count);
    }
}

int64_t assumed_count(const PeaklineValueRead& read, const RunningOperator& finder) {
    const double all = static_cast<double>(finder.element_count);
    const double wanted = read.is_fraction != 0 ? std::round(read.value * all) : read.value;
    const bool may_be_more =
        finder.info->name == "aten::repeat_interleave" || finder.info->name == "aten::bincount";
    return static_cast<int64_t>(may_be_more ? wanted : std::min(wanted, all));
}

template <class Scalar>
void fill(void* host, size_t bytes, double value) {
    const Scalar scalar = static_cast<Scalar>(value);
    for (size_t at = 0; at + sizeof scalar <= bytes; at += sizeof scalar) {
        std::memcpy(static_cast<char*>(host) + at, &scalar, sizeof scalar);
    }
}

void fill_as(int scalar_type, void* host, size_t bytes, double value) {
    switch (static_cast<c10::ScalarType>(scalar_type)) {
#define PEAKLINE_FILL(type, name)       \
    case c10::ScalarType::name:         \
        fill<type>(host, bytes, value); \
        break;
        AT_FORALL_SCALAR_TYPES_AND3(Bool, Half, BFloat16, PEAKLINE_FILL)
#undef PEAKLINE_FILL
        default:
            break;
    }
}

bool is_floating_point(const RunningOperator* reader) {
    return reader != nullptr && reader->scalar_type >= 0 &&
           c10::isFloatingType(static_cast<c10::ScalarType>(reader->scalar_type));
}

}  // namespace

void on_guessed_read(void* host, size_t bytes) {
    RunningOperators& running = running_operators();
    const RunningOperator* const result = result_reader(running);
    if (result != nullptr && result->result != kUnknownResult) {
        put_integer(host, bytes, result->result);
        if (result->is_result_exact) {
            return;
        }
    }
    const RunningOperator* const finder =
        result != nullptr && result->info->finds_size ? result : nullptr;
    const RunningOperator* const reader = running.top();
    const bool is_number = finder == nullptr && is_floating_point(reader);
    const bool is_computed = finder != nullptr && finder->result > 0;
    char chain[256];
    write_chain(running, chain, sizeof chain);
    if (recorder() == nullptr) {
        if (const ReadListener report = device_values()->get_read_listener(); report != nullptr) {
            report(chain,
                   bytes,
                   finder != nullptr && !is_computed ? kReadsSize
                   : is_number                       ? kReadsNumber
                                                     : kReadsOther);
        }
        return;
    }
    PeaklineValueRead read{};
    read.operators = chain;
    read.bytes = bytes;
    read.is_size = finder != nullptr ? 1 : 0;
    read.is_computed = is_computed ? 1 : 0;
    read.is_floating_point = is_number ? 1 : 0;
    recorder()(&read);
    if (read.is_assumed == 0) {
        return;
    }
    if (finder != nullptr) {
        put_integer(host, bytes, assumed_count(read, *finder));
    } else if (reader != nullptr) {
        fill_as(reader->scalar_type, host, bytes, read.value);
    }
}

}  // namespace peakline::simulated
