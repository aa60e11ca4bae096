#include "event_names.h"

#include <iterator>
#include <vector>

#include "report/render/format/json_writer.h"
#include "report/replay/values/device_names.h"
#include "report/replay/values/phase.h"

namespace peakline::report {
namespace {

// The keys of every block of an event, in the order of their fields in a context.
struct EventKey {
    const char* field;
    const char* by;
};
constexpr EventKey kEventKeys[] = {{"categories", "category"},
                                   {"modules", "module"},
                                   {"operators", "op"},
                                   {"made_in", "phase"},
                                   {"lifetimes", "lifetime"}};

void put_new(JsonWriter& json,
             const char* name,
             const std::vector<std::string>& texts,
             size_t* given) {
    json.key(name).begin_array();
    for (; *given < texts.size(); ++*given) {
        json.value(texts[*given]);
    }
    json.end_array();
}

template <class Words>
void put_words(JsonWriter& json, const char* name, const Words& words) {
    json.key(name).begin_array();
    for (const char* word : words) {
        json.value(word);
    }
    json.end_array();
}

// [file, line, function, is native]
void put_frame(JsonWriter& json, const Location& location) {
    json.begin_array().value(location.file).value(location.line);
    json.value(location.qualified_name.empty() ? location.function : location.qualified_name);
    json.value(location.is_native).end_array();
}

// Writes the lists that stay the same while events are read.
void put_fixed(JsonWriter& json, const TraceReader& reader) {
    const Definitions& definitions = reader.definitions();
    put_words(json, "kinds", kEventKindNames);
    put_words(json, "phase_names", kPhaseNames);
    json.key("streams").begin_array().value(uint64_t{0});
    for (const uint64_t handle : definitions.streams.items()) {
        json.value(handle);
    }
    json.end_array().key("threads").begin_array();
    json.begin_array().value(uint64_t{0}).value("").end_array();
    for (const Thread& thread : definitions.threads.items()) {
        json.begin_array().value(thread.kernel_id).value(definitions.text(thread.name)).end_array();
    }
    json.end_array().key("tensor_types").begin_array();
    json.begin_array().value("").begin_array().end_array().end_array();  // ids count from 1
    for (const TensorType& type : definitions.tensor_types) {
        json.begin_array().value(definitions.text(type.dtype)).value(type.shape).end_array();
    }
    json.end_array();
    json.key("host_devices").begin_object();
    for (const uint32_t device : {format::kPinnedDevice, format::kCpuDevice}) {
        json.field(std::to_string(device), device_word(device));
    }
    json.end_object();
    json.field("tick_seconds", reader.seconds(1));
    json.field("start_realtime_ns", reader.superblock().start_realtime_ns);
}

}  // namespace

std::string EventNames::take_new(const PageNames& names, const EventColumns& batch) {
    JsonWriter json;
    json.begin_object();
    if (is_first_) {
        put_fixed(json, reader_);
        is_first_ = false;
    }
    for (size_t i = 0; i < std::size(kEventKeys); ++i) {
        const EventKey& key = kEventKeys[i];
        put_new(json, key.field, names.keys[page_key(key.by)].names, &given_.names[i]);
    }
    json.key("lines").begin_array();
    for (; given_.lines < names.lines.size(); ++given_.lines) {
        json.value(label_text(paths_, names.lines[given_.lines]));
    }
    json.end_array().key("frames").begin_array();
    for (; given_.frames < names.frames.size(); ++given_.frames) {
        put_frame(json, names.frames[given_.frames].location);
    }
    json.end_array().key("nodes").begin_array();
    for (; given_.nodes < names.nodes.size(); ++given_.nodes) {
        const PageNode& node = names.nodes[given_.nodes];
        json.begin_array().value(node.parent).value(node.frame).end_array();
    }
    json.end_array().key("contexts").begin_array();
    for (; given_.contexts < names.contexts.size(); ++given_.contexts) {
        const PageContext& one = names.contexts[given_.contexts];
        json.begin_array().value(one.node).value(one.line);
        for (const EventKey& key : kEventKeys) {
            json.value(one.keys[page_key(key.by)]);
        }
        json.end_array();
    }
    json.end_array().key("texts").begin_object();
    for (const uint32_t text : batch.text) {
        if (text != kNoId && texts_.insert(text).second) {
            json.field(std::to_string(text), reader_.definitions().text(text));
        }
    }
    return json.end_object().end_object().take();
}

}  // namespace peakline::report
