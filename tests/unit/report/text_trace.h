// Traces as text: each line is one record. To add a case, add lines.
//
//   alloc NAME ADDRESS BYTES [stack=FILE:LINE:FUNCTION;CALLER...] [forward=STACK] [op=NAME]
//         [dev=N] [stream=N] [req=BYTES] [thread=N] [native=ADDRESS] [untraced] [class]
//   free NAME [stack=...] | defer NAME [stack=...] | complete NAME
//   segment ADDRESS BYTES [dev=N] [stream=N] [pool=N] | endsegment, map, unmap: the same
//   driver KIND KEY BYTES [owner=KEY] [flags=N] [dev=N] [stack=...] | enddriver KIND KEY
//   sample REASON FREE TOTAL [dev=N] | pool KEY RESERVED USED [dev=N]   figures of the driver
//   madefor TEXT | processes OWN OTHER [dev=N]     after a request; figures of NVML
//   call ACTION [dev=N] [pool=N] [value=N]      a number of format::AllocatorAction
//   settings TEXT | memory MOMENT FREE [dev=N] [req=BYTES] | refuse BYTES FREE [dev=N] [pool=N]
//   start | stop | phase NAME | endphase NAME | note TEXT | mainend | end
//   instance N CLASS [root=CLASS] [path=PATH]        FUNCTION@N in a stack: a method of it
//   tensor NAME KIND TENSOR [detail=TEXT] [instance=N]   content of block NAME
//   search N [reason=N] [step=N] [flags=N]      a search for the holders of blocks
//   holder N NAME KIND TEXT... [more=N]         a holder of block NAME, found by search N
//   read BYTES [stack=...] [op=OUTERMOST>...] [flags=N]   reads a value that does not exist
//   scope THREAD TEXT | endscope THREAD TEXT
//   wait TICKS | loss RECORDS BYTES | chunk | defchunk | meta KEY VALUE...
//
// `class` writes the shape as a definition; otherwise the event holds it. Lines that begin with
// # are comments.
#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace_builder.h"

namespace peakline::test {

class TextTrace {
public:
    explicit TextTrace(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            add_line(line);
        }
    }

    TraceBuilder& builder() { return builder_; }
    Bytes bytes() { return builder_.finish(); }

private:
    struct Words {
        std::vector<std::string> plain;
        std::map<std::string, std::string> named;

        std::string get(const std::string& name, const std::string& fallback = {}) const {
            const auto found = named.find(name);
            return found == named.end() ? fallback : found->second;
        }
        uint64_t number(const std::string& name, uint64_t fallback) const {
            const std::string text = get(name);
            return text.empty() ? fallback : std::stoull(text, nullptr, 0);
        }
        bool has_named(const std::string& name) const { return named.count(name) != 0; }
        bool has(const std::string& word) const {
            for (const std::string& other : plain) {
                if (other == word) {
                    return true;
                }
            }
            return false;
        }
    };

    static inline const std::map<std::string, format::SegmentAction> kSegmentActions = {
        {"segment", format::SegmentAction::kAlloc},
        {"endsegment", format::SegmentAction::kFree},
        {"map", format::SegmentAction::kMap},
        {"unmap", format::SegmentAction::kUnmap}};

    static Words split(const std::string& line) {
        Words words;
        std::istringstream in(line);
        for (std::string word; in >> word;) {
            const size_t equals = word.find('=');
            if (equals == std::string::npos) {
                words.plain.push_back(word);
            } else {
                words.named[word.substr(0, equals)] = word.substr(equals + 1);
            }
        }
        return words;
    }

    void add_line(const std::string& line) {
        const Words words = split(line);
        if (words.plain.empty() || line[line.find_first_not_of(' ')] == '#') {
            return;
        }
        const std::string& verb = words.plain[0];
        if (verb == "alloc") {
            add_alloc(words);
        } else if (verb == "meta") {
            const size_t value = line.find(words.plain[1]) + words.plain[1].size() + 1;
            builder_.define_meta(words.plain[1], line.substr(value));
        } else if (verb == "instance") {
            builder_.define_unnumbered(
                format::DefType::kInstance,
                fields({std::stoull(words.plain[1]),
                        builder_.define_string(words.plain[2]),
                        words.has_named("root") ? builder_.define_string(words.get("root")) : 0,
                        words.has_named("path") ? builder_.define_string(words.get("path")) : 0}));
        } else if (verb == "tensor") {
            add_tensor(words);
        } else if (verb == "search") {
            builder_.define_unnumbered(format::DefType::kHolderSearch,
                                       fields({std::stoull(words.plain[1]),
                                               words.number("tick", 0),
                                               words.number("reason", 1),
                                               words.number("step", 0),
                                               words.number("blocks", 1),
                                               words.number("objects", 1000),
                                               words.number("us", 2500),
                                               words.number("flags", 0)}));
        } else if (verb == "holder") {
            add_holder(words);
        } else if (!add_free(words) && !add_mark(words) && !add_rare(words)) {
            throw std::invalid_argument("not a line of a text trace: " + line);
        }
    }

    bool add_free(const Words& words) {
        const std::string& verb = words.plain[0];
        if (verb == "free") {
            const bool has_place = !words.named.empty();
            builder_.free(ordinals_.at(words.plain[1]), has_place ? context_of(words) : 0);
        } else if (verb == "defer") {
            const bool has_place = !words.named.empty();
            builder_.free_deferred(ordinals_.at(words.plain[1]), has_place ? context_of(words) : 0);
        } else if (verb == "complete") {
            builder_.free_completed(ordinals_.at(words.plain[1]));
        } else {
            return false;
        }
        return true;
    }

    bool add_mark(const Words& words) {
        const std::string& verb = words.plain[0];
        if (verb == "start") {
            builder_.mark(format::MarkKind::kTracingStarted);
        } else if (verb == "stop") {
            builder_.mark(format::MarkKind::kTracingStopped);
        } else if (verb == "end") {
            builder_.mark(format::MarkKind::kProcessEnd);
        } else if (verb == "mainend") {
            builder_.mark(format::MarkKind::kMainEnd);
        } else if (verb == "note") {
            builder_.mark(format::MarkKind::kNote, builder_.define_string(words.plain[1]));
        } else if (verb == "phase") {
            builder_.mark(format::MarkKind::kPhaseBegin, builder_.define_string(words.plain[1]));
        } else if (verb == "endphase") {
            builder_.mark(format::MarkKind::kPhaseEnd, builder_.define_string(words.plain[1]));
        } else {
            return false;
        }
        return true;
    }

    bool add_rare(const Words& words) {
        const std::string& verb = words.plain[0];
        if (verb == "wait") {
            builder_.advance(std::stoull(words.plain[1]));
        } else if (verb == "chunk") {
            builder_.next_event_chunk();
        } else if (verb == "defchunk") {
            builder_.next_definition_chunk();
        } else if (verb == "scope" || verb == "endscope") {
            const auto action =
                verb == "scope" ? format::ScopeAction::kBegin : format::ScopeAction::kEnd;
            builder_.put(format::Scope{
                action, std::stoull(words.plain[1]), builder_.define_string(words.plain[2])});
        } else if (verb == "read") {
            builder_.put(format::ValueRead{context_of(words),
                                           std::stoull(words.plain[1]),
                                           builder_.define_string(words.get("op")),
                                           words.number("flags", 0)});
        } else if (kSegmentActions.count(verb) != 0) {
            builder_.put(format::Segment{kSegmentActions.at(verb),
                                         words.number("dev", 0),
                                         words.number("stream", 0),
                                         std::stoull(words.plain[1], nullptr, 0),
                                         std::stoull(words.plain[2])});
            put_pool(words);
        } else if (verb == "driver" || verb == "enddriver" || verb == "sample" || verb == "pool") {
            add_driver(words);
        } else if (verb == "madefor") {
            builder_.put(format::MadeFor{builder_.define_string(words.plain[1])});
        } else if (verb == "shared") {  // kind, key, name
            builder_.put(format::SharedMemory{
                static_cast<format::DriverKind>(std::stoull(words.plain[1])),
                std::stoull(words.plain[2], nullptr, 0),
                words.plain.size() > 3
                    ? builder_.define_string("cuda-ipc " + words.get("role") + " " + words.plain[3])
                    : 0});
        } else if (verb == "processes") {
            builder_.put(format::DeviceProcesses{words.number("dev", 0),
                                                 std::stoull(words.plain[1]),
                                                 std::stoull(words.plain[2]),
                                                 1});
        } else if (add_allocator_call(words)) {
            return true;
        } else if (verb == "loss") {
            builder_.put(format::Loss{std::stoull(words.plain[1]), std::stoull(words.plain[2])});
        } else {
            return false;
        }
        return true;
    }

    // Kinds and reasons are numbers of format/events.h.
    void add_driver(const Words& words) {
        const std::string& verb = words.plain[0];
        const auto number = [&](size_t i) { return std::stoull(words.plain[i], nullptr, 0); };
        const uint64_t device = words.number("dev", 0);
        if (verb == "driver") {
            builder_.put(format::DriverAlloc{static_cast<format::DriverKind>(number(1)),
                                             words.number("flags", 0),
                                             context_of(words),
                                             device,
                                             0,
                                             number(2),
                                             number(3),
                                             words.number("owner", 0)});
        } else if (verb == "enddriver") {
            builder_.put(format::DriverFree{static_cast<format::DriverKind>(number(1)), number(2)});
        } else if (verb == "sample") {
            builder_.put(format::DriverSample{
                static_cast<format::SampleReason>(number(1)), device, number(2), number(3)});
        } else {
            builder_.put(format::PoolSample{device, number(1), number(2), number(3)});
        }
    }

    void put_pool(const Words& words) {
        if (words.has_named("pool")) {
            builder_.put(format::InPool{words.number("pool", 0)});
        }
    }

    bool add_allocator_call(const Words& words) {
        const std::string& verb = words.plain[0];
        const uint64_t device = words.number("dev", 0);
        if (verb == "call") {
            builder_.put(format::AllocatorCall{
                static_cast<format::AllocatorAction>(std::stoull(words.plain[1])),
                device,
                words.number("pool", 0),
                words.number("value", 0)});
        } else if (verb == "settings") {
            builder_.put(format::AllocatorSettings{builder_.define_string(words.plain[1])});
        } else if (verb == "memory") {
            builder_.put(
                format::DeviceMemory{static_cast<format::MemoryMoment>(std::stoull(words.plain[1])),
                                     device,
                                     words.number("req", 0),
                                     std::stoull(words.plain[2])});
        } else if (verb == "refuse") {
            const uint64_t bytes = std::stoull(words.plain[1]);
            builder_.put(
                format::OutOfMemory{context_of(words), device, bytes, std::stoull(words.plain[2])});
            builder_.put(format::Refusal{bytes, words.number("stream", 0), 0});
            put_pool(words);
        } else {
            return false;
        }
        return true;
    }

    void add_alloc(const Words& words) {
        const uint64_t address = std::stoull(words.plain[2], nullptr, 0);
        const uint64_t block_bytes = std::stoull(words.plain[3]);
        const uint64_t requested_bytes = words.number("req", block_bytes);
        Bytes shape = fields({context_of(words),
                              words.number("dev", 0),
                              words.number("stream", 0),
                              requested_bytes});
        put_zz(shape, static_cast<int64_t>(block_bytes - requested_bytes));
        if (!words.has("class")) {
            ordinals_[words.plain[1]] = builder_.alloc_inline(shape, address);
            count_on_gpu(words, block_bytes);
            return;
        }
        const auto [at, is_new] = classes_.try_emplace(shape, 0);
        if (is_new) {
            at->second = builder_.define(format::DefType::kClass, shape);
        }
        ordinals_[words.plain[1]] = builder_.alloc_class(at->second, address);
        count_on_gpu(words, block_bytes);
    }

    void count_on_gpu(const Words& words, uint64_t block_bytes) {
        if (!format::is_of_host(static_cast<uint32_t>(words.number("dev", 0)))) {
            builder_.count_gpu_bytes(block_bytes);
        }
    }

    void add_tensor(const Words& words) {
        static const std::map<std::string, format::TensorKind> kKinds = {
            {"parameter", format::TensorKind::kParameter},
            {"buffer", format::TensorKind::kBuffer},
            {"gradient", format::TensorKind::kGradient},
            {"state", format::TensorKind::kOptimizerState}};
        Bytes body = fields({++tensor_count_,
                             static_cast<uint64_t>(kKinds.at(words.plain[2])),
                             builder_.define_string(words.plain[3])});
        put_uv(body, words.has_named("detail") ? builder_.define_string(words.get("detail")) : 0);
        put_uv(body, words.number("instance", 0));
        builder_.define_unnumbered(format::DefType::kTensor, body);
        body.clear();
        put_zz(body, static_cast<int64_t>(ordinals_.at(words.plain[1])));
        put_uv(body, tensor_count_);
        builder_.define_unnumbered(format::DefType::kTensorBlocks, body);
    }

    // Repeats the sizes and the address of the block, like a recorder.
    void add_holder(const Words& words) {
        const std::string& name = words.plain[2];
        Bytes body = fields({std::stoull(words.plain[1]),
                             ordinals_.at(name),
                             words.number("address", 0x1000),
                             words.number("bytes", 512),
                             words.number("bytes", 512),
                             context_of(words),
                             0,
                             words.number("dev", 0),
                             std::stoull(words.plain[3]),
                             words.number("more", 0)});
        std::string text;
        for (size_t i = 4; i < words.plain.size(); ++i) {
            text += (i == 4 ? "" : " ") + words.plain[i];
        }
        body.insert(body.end(), text.begin(), text.end());
        builder_.define_unnumbered(format::DefType::kHolder, body);
    }

    // Threads are numbered from 1; their kernel ids are 100 times that.
    uint64_t thread_of(const Words& words) {
        const uint64_t thread = words.number("thread", 0);
        while (thread_count_ < thread) {
            ++thread_count_;
            builder_.define(format::DefType::kThread, fields({100 * thread_count_, 0}));
        }
        return thread;
    }

    uint32_t context_of(const Words& words) {
        const std::string operator_name = words.get("op");
        const Bytes body =
            fields({thread_of(words),
                    node_of(words.get("stack")),
                    native_node_of(words),
                    node_of(words.get("forward")),
                    operator_name.empty() ? 0 : builder_.define_string(operator_name),
                    words.has("untraced") ? uint64_t{format::kUntraced} : 0});
        return define_once(format::DefType::kContext, body);
    }

    // One frame, of no module.
    uint64_t native_node_of(const Words& words) {
        if (!words.has_named("native")) {
            return 0;
        }
        const uint32_t frame =
            define_once(format::DefType::kNativeFrame, fields({0, words.number("native", 0)}));
        return define_once(format::DefType::kNativeNode, fields({0, frame}));
    }

    // The leaf node of "f.py:3:foo;g.py:4:main", leaf first.
    uint32_t node_of(const std::string& stack) {
        if (stack.empty()) {
            return 0;
        }
        const size_t separator = stack.find(';');
        const uint32_t parent =
            separator == std::string::npos ? 0 : node_of(stack.substr(separator + 1));
        const uint32_t frame = frame_of(stack.substr(0, separator));
        return define_once(format::DefType::kPythonNode, fields({parent, frame}));
    }

    uint32_t frame_of(const std::string& text) {
        const size_t second = text.rfind(':');
        const size_t first = text.rfind(':', second - 1);
        std::string function = text.substr(second + 1);
        const size_t at = function.find('@');
        const uint64_t instance =
            at == std::string::npos ? 0 : std::stoull(function.substr(at + 1));
        function = function.substr(0, at);
        const size_t dot = function.rfind('.');
        const std::string name = dot == std::string::npos ? function : function.substr(dot + 1);
        Bytes body = fields({builder_.define_string(text.substr(0, first)),
                             builder_.define_string(name),
                             builder_.define_string(function),
                             std::stoull(text.substr(first + 1, second - first - 1))});
        if (instance != 0) {
            put_uv(body, instance);
        }
        return define_once(format::DefType::kPythonFrame, body);
    }

    uint32_t define_once(format::DefType type, const Bytes& body) {
        const auto [at, is_new] = defined_.try_emplace({type, body}, 0);
        if (is_new) {
            at->second = builder_.define(type, body);
        }
        return at->second;
    }

    TraceBuilder builder_;
    std::map<std::string, uint64_t> ordinals_;
    uint64_t tensor_count_ = 0;
    uint64_t thread_count_ = 0;
    std::map<Bytes, uint32_t> classes_;
    std::map<std::pair<format::DefType, Bytes>, uint32_t> defined_;
};

}  // namespace peakline::test
