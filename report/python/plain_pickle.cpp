// Our own pickle machine, because the standard library's trusts a file: nine bytes make it fill
// gigabytes. Here every step takes a byte of the file and makes at most one value, so the file
// bounds time and memory. Dictionaries of collections are read as plain ones, without their
// factories for missing keys.
#include "plain_pickle.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine_call.h"
#include "plain_values.h"

namespace peakline::report::python {
namespace {

constexpr uint64_t kStepsBetweenSignals = 1 << 16;

class Machine {
public:
    explicit Machine(std::string_view data)
        : data_(data),
          dictionary_(made(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)))),
          maker_(made(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)))) {}

    Held run() {
        for (uint64_t count = 1;; ++count) {
            const auto code = static_cast<unsigned char>(take(1)[0]);
            if (code == '.') {
                break;
            }
            if (!step_value(code) && !step_container(code) && !step_other(code)) {
                refuse_bad_data();
            }
            if (count % kStepsBetweenSignals == 0) {
                check(PyErr_CheckSignals());
            }
        }
        if (above_mark() != 1) {
            refuse_bad_data();
        }
        return pop();
    }

private:
    // ---- bytes --------------------------------------------------------------------------------

    std::string_view take(uint64_t count) {
        if (count > data_.size() - at_) {
            refuse_bad_data();
        }
        const std::string_view found = data_.substr(at_, count);
        at_ += count;
        return found;
    }
    uint64_t number(size_t bytes) {
        uint64_t value = 0;
        std::memcpy(&value, take(bytes).data(), bytes);
        return value;
    }
    std::string line() {
        const size_t end = data_.find('\n', at_);
        if (end == std::string_view::npos) {
            refuse_bad_data();
        }
        std::string found(take(end - at_));
        ++at_;
        return found;
    }

    // ---- the stack ----------------------------------------------------------------------------

    size_t base() const { return marks_.empty() ? 0 : marks_.back(); }
    size_t above_mark() const { return stack_.size() - base(); }
    void push(Held value) { stack_.push_back(std::move(value)); }
    void push_new(PyObject* object) { push(made(object)); }
    void push_known(PyObject* object) {
        Py_INCREF(object);
        push(Held(object));
    }
    PyObject* last() const {
        if (above_mark() == 0) {
            refuse_bad_data();
        }
        return stack_.back().get();
    }
    Held pop() {
        static_cast<void>(last());
        Held value = std::move(stack_.back());
        stack_.pop_back();
        return value;
    }
    std::vector<Held> pop_since_mark() {
        if (marks_.empty()) {
            refuse_bad_data();
        }
        const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<Held> found(std::make_move_iterator(begin),
                                std::make_move_iterator(stack_.end()));
        stack_.erase(begin, stack_.end());
        marks_.pop_back();
        return found;
    }

    // ---- values -------------------------------------------------------------------------------

    bool step_value(unsigned char code) {
        switch (code) {
            case 'N':
                return push_known(Py_None), true;
            case 0x88:
                return push_known(Py_True), true;
            case 0x89:
                return push_known(Py_False), true;
            case 'J':
                return push_new(PyLong_FromLong(static_cast<int32_t>(number(4)))), true;
            case 'K':
                return push_new(PyLong_FromUnsignedLong(number(1))), true;
            case 'M':
                return push_new(PyLong_FromUnsignedLong(number(2))), true;
            case 0x8a:
                return push_integer(number(1)), true;
            case 0x8b:
                return push_integer(number(4)), true;
            case 'G':
                return push_new(PyFloat_FromDouble(real())), true;
            case 0x8c:
                return push(text_of(take(number(1)))), true;
            case 'X':
                return push(text_of(take(number(4)))), true;
            case 0x8d:
                return push(text_of(take(number(8)))), true;
            case 'C':
                return push(bytes_of(take(number(1)))), true;
            case 'B':
                return push(bytes_of(take(number(4)))), true;
            case 0x8e:
            case 0x96:
                return push(bytes_of(take(number(8)))), true;
            default:
                return false;
        }
    }
    double real() {
        uint64_t bits = 0;
        for (const char byte : take(8)) {
            bits = bits << 8 | static_cast<unsigned char>(byte);
        }
        return std::bit_cast<double>(bits);
    }
    void push_integer(uint64_t bytes) {
        if (bytes > kMostIntegerBytes) {
            throw Refused{"the file has an integer of " + std::to_string(bytes) +
                          " bytes: no snapshot has such a one"};
        }
        push(integer_of(take(bytes)));
    }

    // ---- containers ---------------------------------------------------------------------------

    bool step_container(unsigned char code) {
        switch (code) {
            case ']':
                return push_new(PyList_New(0)), true;
            case ')':
                return push_new(PyTuple_New(0)), true;
            case '}':
                return push_new(PyDict_New()), true;
            case 0x8f:
                return push_new(PySet_New(nullptr)), true;
            case '(':
                return marks_.push_back(stack_.size()), true;
            case 't':
                return push(tuple_of(pop_since_mark())), true;
            case 0x85:
            case 0x86:
            case 0x87:
                return push_last(code - 0x84U), true;
            case 'a':
                return append(), true;
            case 'e':
                return append_since_mark(), true;
            case 's':
                return set_item(), true;
            case 'u':
                return set_since_mark(), true;
            case 0x90:
                return add_since_mark(), true;
            case 0x91:
                return push_frozen_set(), true;
            default:
                return false;
        }
    }
    PyObject* last_of(const PyTypeObject& type) const {
        PyObject* value = last();
        if (Py_TYPE(value) != &type) {
            refuse_bad_data();
        }
        return value;
    }
    void push_last(size_t count) {
        if (above_mark() < count) {
            refuse_bad_data();
        }
        marks_.push_back(stack_.size() - count);
        push(tuple_of(pop_since_mark()));
    }
    void append() {
        const Held value = pop();
        check(PyList_Append(last_of(PyList_Type), value.get()));
    }
    void append_since_mark() {
        const std::vector<Held> items = pop_since_mark();
        PyObject* list = last_of(PyList_Type);
        for (const Held& one : items) {
            check(PyList_Append(list, one.get()));
        }
    }
    void set_item() {
        const Held value = pop();
        const Held of = pop();
        check(PyDict_SetItem(last_of(PyDict_Type), key_of(of), value.get()));
    }
    void set_since_mark() {
        const std::vector<Held> items = pop_since_mark();
        PyObject* dictionary = last_of(PyDict_Type);
        if (items.size() % 2 != 0) {
            refuse_bad_data();
        }
        for (size_t i = 0; i < items.size(); i += 2) {
            check(PyDict_SetItem(dictionary, key_of(items[i]), items[i + 1].get()));
        }
    }
    static void add_to(const std::vector<Held>& items, PyObject* set) {
        for (const Held& one : items) {
            check(PySet_Add(set, key_of(one)));
        }
    }
    void add_since_mark() {
        const std::vector<Held> items = pop_since_mark();
        add_to(items, last_of(PySet_Type));
    }
    void push_frozen_set() {
        const Held set = made(PySet_New(nullptr));
        add_to(pop_since_mark(), set.get());
        push_new(PyFrozenSet_New(set.get()));
    }

    // ---- reused values, and opcodes that could run code ---------------------------------------

    bool step_other(unsigned char code) {
        switch (code) {
            case 0x80:
                return take(1), true;
            case 0x95:
                return take(8), true;
            case '0':
                return above_mark() != 0 ? static_cast<void>(pop())
                                         : static_cast<void>(pop_since_mark()),
                       true;
            case '1':
                return pop_since_mark(), true;
            case 'q':
                return put(number(1)), true;
            case 'r':
                return put(number(4)), true;
            case 0x94:
                return put(memo_.size() + sparse_.size()), true;
            case 'h':
                return get(number(1)), true;
            case 'j':
                return get(number(4)), true;
            case 'c':
                return push_named_in_lines(), true;
            case 0x93:
                return push_name_on_stack(), true;
            case 'R':
                return call(), true;
            case 'P':
            case 'Q':
                throw Refused{"the file refers to an object outside of it"};
            default:
                return false;
        }
    }
    // Indexes come in order, but a file may use any.
    void put(uint64_t index) {
        PyObject* value = last();
        Py_INCREF(value);
        if (index < memo_.size()) {
            memo_[index] = Held(value);
        } else if (index == memo_.size() && sparse_.empty()) {
            memo_.emplace_back(value);
        } else {
            sparse_[index] = Held(value);
        }
    }
    void get(uint64_t index) {
        if (index < memo_.size()) {
            return push_known(memo_[index].get());
        }
        const auto found = sparse_.find(index);
        if (found == sparse_.end()) {
            refuse_bad_data();
        }
        push_known(found->second.get());
    }
    void push_named_in_lines() {
        const std::string module = line();
        push_named(module, line());
    }
    void push_name_on_stack() {
        const Held name = pop();
        const Held module = pop();
        push_named(utf8_of(module), utf8_of(name));
    }
    // Protocols before 3 use Python 2's name of the builtins module.
    void push_named(const std::string& module, const std::string& name) {
        static constexpr std::string_view kDictionaries[] = {"defaultdict", "OrderedDict"};
        // Factories that a defaultdict may name for missing keys.
        static constexpr std::string_view kMakers[] = {
            "dict", "float", "int", "list", "set", "str", "tuple"};
        if (module == "collections" && std::ranges::count(kDictionaries, name) != 0) {
            return push_known(dictionary_.get());
        }
        if ((module == "builtins" || module == "__builtin__") &&
            std::ranges::count(kMakers, name) != 0) {
            return push_known(maker_.get());
        }
        throw Refused{"the file refers to " + module + "." + name +
                      ": only numbers, texts, lists and dictionaries are read"};
    }
    void call() {
        pop();  // the defaultdict's factory
        if (pop().get() != dictionary_.get()) {
            refuse_bad_data();
        }
        push_new(PyDict_New());
    }

    std::string_view data_;
    size_t at_ = 0;
    std::vector<Held> stack_;
    std::vector<size_t> marks_;  // sizes of the stack
    std::vector<Held> memo_;
    std::unordered_map<uint64_t, Held> sparse_;  // memo values at other indexes
    Held dictionary_;                            // represents a class that is read as a dictionary
    Held maker_;                                 // represents a factory, which is never called
};

}  // namespace

PyObject* load_plain(PyObject*, PyObject* args) {
    PyObject* bytes = nullptr;
    if (PyArg_ParseTuple(args, "S:load_plain", &bytes) == 0) {
        return nullptr;
    }
    try {
        const std::string_view data(PyBytes_AsString(bytes),
                                    static_cast<size_t>(PyBytes_Size(bytes)));
        return Machine(data).run().release();
    } catch (const Refused& refused) {
        PyErr_SetString(PyExc_ValueError, refused.why.c_str());
        return nullptr;
    } catch (...) {
        return translate_exception();
    }
}

}  // namespace peakline::report::python
