// Facts of a trace for `Trace.info()`, without its events.
#include "report.h"
#include "report/render/format/json_writer.h"
#include "report/render/table/run_facts.h"

namespace peakline::report {

std::string make_info(const TraceReader& reader) {
    const Definitions& definitions = reader.definitions();
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, reader);
    json.field("chunk_count", static_cast<uint64_t>(reader.chunks().size()));
    json.field("is_being_written", reader.is_being_written());
    json.field("has_events", reader.has_events());
    json.field("has_summary", !reader.summary().views.empty());
    json.key("definitions").begin_object();
    json.field("strings", definitions.strings.count());
    json.field("python_frames", definitions.python_frames.count());
    json.field("python_nodes", definitions.python_nodes.count());
    json.field("native_frames", definitions.native_frames.count());
    json.field("native_nodes", definitions.native_nodes.count());
    json.field("contexts", definitions.contexts.count());
    json.field("classes", definitions.classes.count());
    json.field("threads", definitions.threads.count()).end_object();
    json.field("problems", reader.problems().texts());
    return json.end_object().take();
}

}  // namespace peakline::report
