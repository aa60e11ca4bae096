// Writes a trace of an extreme shape: shape_trace SHAPE COUNT DEVICES FILE. For bench_shapes.py,
// which shows how time and memory of each command grow with COUNT.
//
// SHAPE is letters, each a thing of which every block has one of its own: l line, m module, t
// thread, s stream, o operator, d depth of its stack; and around every block: p a phase, n a phase
// that never ends, e a step, k a note, g a segment. With f each block is freed at once.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/unit/report/trace_builder.h"

using namespace peakline;
using format::DefType;
using format::MarkKind;

namespace {

constexpr uint64_t kBase = 0x7000'0000'0000;

class ShapeTrace {
public:
    ShapeTrace(const std::string& shape, uint64_t device_count)
        : shape_(shape), device_count_(device_count) {
        builder_.mark(MarkKind::kTracingStarted);
    }

    void add_block(uint64_t number) {
        const auto device = number % device_count_;
        begin_marks(number);
        const uint64_t address = kBase + number * 512;
        const uint32_t stream = has('s') ? define_one(DefType::kStream, {number + 1}) : 0;
        if (has('g')) {
            builder_.put(format::Segment{
                format::SegmentAction::kAlloc, device, stream, kBase + number * 512, 512});
        }
        const uint32_t context = context_of(number);
        builder_.advance(1);
        builder_.count_gpu_bytes(512);
        test::Bytes body = test::fields({context, device, stream, 500});
        test::put_zz(body, 12);
        const uint64_t ordinal = builder_.alloc_inline(body, address);
        if (has('f')) {
            builder_.free(ordinal);
        }
        end_marks(number);
    }

    test::Bytes finish() {
        builder_.mark(MarkKind::kMainEnd);
        builder_.mark(MarkKind::kProcessEnd);
        return builder_.finish();
    }

private:
    bool has(char letter) const { return shape_.find(letter) != std::string::npos; }

    uint32_t define_one(DefType type, std::initializer_list<uint64_t> values) {
        return builder_.define(type, test::fields(values));
    }

    uint32_t text(const std::string& stem, uint64_t number) {
        return builder_.define_string(stem + std::to_string(number));
    }

    void begin_marks(uint64_t number) {
        builder_.advance(1);
        if (has('e')) {
            builder_.mark(MarkKind::kStep, builder_.define_string("step"));
        }
        if (has('p') || has('n')) {
            builder_.mark(MarkKind::kPhaseBegin, text("phase", number));
        }
        if (has('k')) {
            builder_.mark(MarkKind::kNote, text("note", number));
        }
    }

    void end_marks(uint64_t number) {
        if (has('p')) {
            builder_.advance(1);
            builder_.mark(MarkKind::kPhaseEnd, text("phase", number));
        }
    }

    uint32_t context_of(uint64_t number) {
        const uint64_t line = has('l') ? number + 1 : 1;
        const uint64_t instance = has('m') ? number + 1 : 0;
        if (instance != 0) {
            builder_.define_unnumbered(
                DefType::kInstance,
                test::fields({instance, text("Layer", 0), text("Net", 0), text("net.", number)}));
        }
        if (number == 0 || has('l') || has('m')) {
            const uint32_t file = has('l') ? text("/work/file", number) : text("/work/file", 0);
            const uint32_t name = builder_.define_string("forward");
            const uint32_t frame =
                define_one(DefType::kPythonFrame, {file, name, name, line, instance});
            frame_ = frame;
        }
        if (number == 0 || has('l') || has('m') || has('d')) {
            node_ = define_one(DefType::kPythonNode, {has('d') ? node_ : 0, frame_});
        }
        const uint32_t thread = number == 0 || has('t')
                                    ? define_one(DefType::kThread, {number + 1000, text("t", 0)})
                                    : 1;
        const uint32_t name = text("aten::op", has('o') ? number : 0);
        if (number == 0 || has('l') || has('m') || has('d') || has('t') || has('o')) {
            context_ = define_one(DefType::kContext, {thread, node_, 0, 0, name, 0});
        }
        return context_;
    }

    const std::string shape_;
    const uint64_t device_count_;
    test::TraceBuilder builder_;
    uint32_t frame_ = 0;
    uint32_t node_ = 0;
    uint32_t context_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: shape_trace SHAPE COUNT DEVICES FILE\n");
        return 2;
    }
    const uint64_t count = std::strtoull(argv[2], nullptr, 10);
    ShapeTrace trace(argv[1], std::strtoull(argv[3], nullptr, 10));
    for (uint64_t number = 0; number < count; ++number) {
        trace.add_block(number);
    }
    const test::Bytes bytes = trace.finish();
    std::ofstream file(argv[4], std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file.good() ? 0 : 1;
}
