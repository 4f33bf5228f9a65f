/* The loops over records, compiled: what `python_loops` says, at the speed of C.
 *
 * Decides: nothing. It finds what the Python form finds, and makes the same objects of it.
 * Never: reads outside a buffer, whatever the numbers in it say; words an error about a batch:
 * `scan` gives up with None, and the Python form then says what is wrong.
 *
 * One source for CPython 3.11 and all later ones (the limited API). The parts, in order: numbers,
 * scan, buffers, take, gather, headers, fields of a record, records, the module.
 * docs/compiled.md explains how it is kept true. KIP-98 is the format.
 */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define STRIDE 5   /* positions per record: key from, key to, value from, value to, headers */
#define SHORTEST 7 /* bytes of the shortest record */
#define MOST_FIELDS 16

/* -- numbers: signed varints, seven bits a byte, lowest first, zigzag --------------------------- */

typedef struct {
    const uint8_t *at, *end;
    int bad;
} Cursor;
static uint64_t read_long_raw(Cursor *cursor, int bits)
{
    uint64_t raw = 0;
    for (int shift = 0; shift < bits && cursor->at < cursor->end; shift += 7) {
        uint64_t byte = *cursor->at++;
        uint64_t low = byte & 127;
        if (shift + 7 > bits && low >> (bits - shift)) break;
        raw |= low << shift;
        if (byte < 128) return raw;
    }
    cursor->bad = 1;
    return 0;
}

static inline uint64_t read_raw(Cursor *cursor, int bits)
{
    if (cursor->at < cursor->end && *cursor->at < 128) return *cursor->at++;
    return read_long_raw(cursor, bits);
}

static inline int64_t signed_of(uint64_t raw)
{
    return (int64_t)((raw >> 1) ^ (~(raw & 1) + 1));
}

/* Step over a size and as many bytes; the size comes back, -1 for a null. */
static inline int64_t step_over(Cursor *cursor)
{
    int64_t size = signed_of(read_raw(cursor, 32));
    if (size < 0) return -1;
    if (cursor->end - cursor->at < size) {
        cursor->bad = 1;
        return -1;
    }
    cursor->at += size;
    return size;
}

/* -- scan: one pass over a batch ---------------------------------------------------------------- */

typedef struct {
    const uint8_t *data;
    Py_ssize_t size, count;
    int64_t base_offset, base_time;
    int64_t *offsets, *times;
    int32_t *bounds;
} Batch;

static int headers_are_whole(Cursor *cursor)
{
    int64_t left = signed_of(read_raw(cursor, 32));
    if (left < 0) return 0;
    for (; left > 0 && !cursor->bad; left--) {
        if (step_over(cursor) < 0) return 0; /* a header has a name */
        step_over(cursor);
    }
    return !cursor->bad;
}

/* Walk one record, which begins at the cursor; 0 when it contradicts itself. */
static int scan_record(Batch *batch, Cursor *cursor, Py_ssize_t index, int64_t *before)
{
    int64_t length = signed_of(read_raw(cursor, 32));
    if (cursor->bad || length < 1 || cursor->end - cursor->at < length) return 0;
    Cursor within = {cursor->at + 1, cursor->at + length, 0};
    uint64_t time = (uint64_t)signed_of(read_raw(&within, 64));
    int64_t delta = signed_of(read_raw(&within, 32));
    if (delta <= *before || delta > INT64_MAX - batch->base_offset) return 0;
    *before = delta;
    int32_t *bounds = batch->bounds + index * STRIDE;
    int64_t size = step_over(&within);
    int32_t at = (int32_t)(within.at - batch->data);
    bounds[0] = size < 0 ? at : at - (int32_t)size;
    bounds[1] = size < 0 ? -1 : at;
    size = step_over(&within);
    at = (int32_t)(within.at - batch->data);
    bounds[2] = size < 0 ? at : at - (int32_t)size;
    bounds[3] = size < 0 ? -1 : at;
    bounds[4] = at;
    batch->offsets[index] = batch->base_offset + delta;
    batch->times[index] = (int64_t)((uint64_t)batch->base_time + time);
    if (within.bad || !headers_are_whole(&within)) return 0;
    cursor->at = within.end;
    return 1;
}

static int scan_batch(Batch *batch)
{
    Cursor cursor = {batch->data, batch->data + batch->size, 0};
    int64_t before = -1;
    for (Py_ssize_t index = 0; index < batch->count; index++)
        if (!scan_record(batch, &cursor, index, &before)) return 0;
    return cursor.at == cursor.end;
}

static void drop(PyObject *one, PyObject *two, PyObject *three)
{
    Py_XDECREF(one);
    Py_XDECREF(two);
    Py_XDECREF(three);
}

static PyObject *as_numbers(PyObject *bytes, const char *format)
{
    PyObject *view = PyMemoryView_FromObject(bytes);
    PyObject *numbers = view ? PyObject_CallMethod(view, "cast", "s", format) : NULL;
    Py_XDECREF(view);
    return numbers;
}

static PyObject *scan(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer data;
    long long base_offset, base_time;
    Py_ssize_t count;
    PyObject *found = NULL, *offsets = NULL, *times = NULL, *bounds = NULL;
    if (!PyArg_ParseTuple(args, "y*nLL:scan", &data, &count, &base_offset, &base_time))
        return NULL;
    if (count < 0 || count > data.len / SHORTEST || data.len > INT32_MAX || base_offset < 0) {
        PyBuffer_Release(&data);
        Py_RETURN_NONE;
    }
    offsets = PyBytes_FromStringAndSize(NULL, count * 8);
    times = PyBytes_FromStringAndSize(NULL, count * 8);
    bounds = PyBytes_FromStringAndSize(NULL, count * 4 * STRIDE);
    if (offsets && times && bounds) {
        Batch batch = {data.buf, data.len, count, base_offset, base_time,
                       (int64_t *)PyBytes_AsString(offsets), (int64_t *)PyBytes_AsString(times),
                       (int32_t *)PyBytes_AsString(bounds)};
        int whole;
        Py_BEGIN_ALLOW_THREADS
        whole = scan_batch(&batch);
        Py_END_ALLOW_THREADS
        found = whole ? Py_BuildValue("NNN", as_numbers(offsets, "q"), as_numbers(times, "q"),
                                      as_numbers(bounds, "i"))
                      : Py_NewRef(Py_None);
    }
    drop(offsets, times, bounds);
    PyBuffer_Release(&data);
    return found;
}

/* -- buffers: records and their bounds, as `scan` or an array has them -------------------------- */

typedef struct {
    Py_buffer data, bounds;
    Py_ssize_t count;
} Places;

static void release_places(Places *places)
{
    PyBuffer_Release(&places->data);
    PyBuffer_Release(&places->bounds);
}

static int get_places(Places *places, PyObject *data, PyObject *bounds)
{
    if (PyObject_GetBuffer(data, &places->data, PyBUF_SIMPLE) < 0) return 0;
    if (PyObject_GetBuffer(bounds, &places->bounds, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&places->data);
        return 0;
    }
    places->count = places->bounds.len / (4 * STRIDE);
    return 1;
}

/* Find a key (0) or a value (2): 1 when it is there, 0 for a null, -1 with an error. */
static inline int find(const Places *places, Py_ssize_t index, int column, const char **from,
                       Py_ssize_t *size)
{
    const int32_t *bounds = (const int32_t *)places->bounds.buf + index * STRIDE + column;
    int32_t begin = bounds[0], end = bounds[1];
    *from = places->data.buf;
    *size = 0;
    if (end < 0) return 0;
    if (begin < 0 || begin > end || end > places->data.len) {
        PyErr_SetString(PyExc_ValueError, "a bound lies outside the records");
        return -1;
    }
    *from += begin;
    *size = end - begin;
    return 1;
}

static inline PyObject *cut_out(const Places *places, Py_ssize_t index, int column)
{
    const char *from;
    Py_ssize_t size;
    int there = find(places, index, column, &from, &size);
    if (there > 0) return PyBytes_FromStringAndSize(from, size);
    return there < 0 ? NULL : Py_NewRef(Py_None);
}

/* Read (data, bounds, column, start, stop), the arguments of `take` and `gather`. */
static int get_range(PyObject *args, Places *places, int *column, Py_ssize_t *start,
                     Py_ssize_t *stop)
{
    PyObject *data, *bounds;
    if (!PyArg_ParseTuple(args, "OOinn", &data, &bounds, column, start, stop) ||
        !get_places(places, data, bounds))
        return 0;
    if ((*column == 0 || *column == 2) && 0 <= *start && *start <= *stop &&
        *stop <= places->count)
        return 1;
    release_places(places);
    PyErr_SetString(PyExc_IndexError, "there is no such column, or there are no such records");
    return 0;
}

/* -- take: keys or values as a list ------------------------------------------------------------- */

static PyObject *take(PyObject *Py_UNUSED(module), PyObject *args)
{
    Places places;
    int column;
    Py_ssize_t start, stop;
    if (!get_range(args, &places, &column, &start, &stop)) return NULL;
    PyObject *found = PyList_New(stop - start);
    for (Py_ssize_t index = start; found && index < stop; index++) {
        PyObject *each = cut_out(&places, index, column);
        if (!each) {
            Py_CLEAR(found);
            break;
        }
        PyList_SetItem(found, index - start, each);
    }
    release_places(&places);
    return found;
}

/* -- gather: keys or values as the three buffers of an Arrow array ------------------------------ */

static int measure(const Places *places, int column, Py_ssize_t start, Py_ssize_t stop,
                   int64_t *total)
{
    const char *from;
    Py_ssize_t size;
    *total = 0;
    for (Py_ssize_t index = start; index < stop; index++) {
        if (find(places, index, column, &from, &size) < 0) return 0;
        *total += size;
    }
    if (*total > INT32_MAX) PyErr_SetString(PyExc_ValueError, "an Arrow array of more than 2 GiB");
    return *total <= INT32_MAX;
}

static Py_ssize_t copy_column(const Places *places, int column, Py_ssize_t start,
                              Py_ssize_t stop, char *values,
                              int32_t *ends, uint8_t *valid)
{
    Py_ssize_t nulls = 0, size = 0;
    int32_t at = 0;
    const char *from;
    ends[0] = 0;
    for (Py_ssize_t index = start; index < stop; index++) {
        Py_ssize_t bit = index - start;
        if (find(places, index, column, &from, &size)) {
            memcpy(values + at, from, size);
            at += (int32_t)size;
            valid[bit >> 3] |= (uint8_t)(1 << (bit & 7));
        } else {
            nulls++;
        }
        ends[bit + 1] = at;
    }
    return nulls;
}

static PyObject *gather(PyObject *Py_UNUSED(module), PyObject *args)
{
    Places places;
    int column;
    Py_ssize_t start, stop;
    int64_t total;
    PyObject *found = NULL;
    if (!get_range(args, &places, &column, &start, &stop)) return NULL;
    if (measure(&places, column, start, stop, &total)) {
        Py_ssize_t bits = (stop - start + 7) / 8;
        PyObject *valid = PyBytes_FromStringAndSize(NULL, bits);
        PyObject *ends = PyBytes_FromStringAndSize(NULL, (stop - start + 1) * 4);
        PyObject *values = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
        if (valid && ends && values) {
            Py_ssize_t nulls;
            uint8_t *bitmap = memset(PyBytes_AsString(valid), 0, bits);
            char *to = PyBytes_AsString(values);
            int32_t *positions = (int32_t *)PyBytes_AsString(ends);
            Py_BEGIN_ALLOW_THREADS
            nulls = copy_column(&places, column, start, stop, to, positions, bitmap);
            Py_END_ALLOW_THREADS
            found = Py_BuildValue("OOOn", valid, ends, values, nulls);
        }
        drop(valid, ends, values);
    }
    release_places(&places);
    return found;
}

/* -- headers ------------------------------------------------------------------------------------ */

static PyObject *read_header(Cursor *cursor)
{
    int64_t name_size = step_over(cursor);
    const char *name = (const char *)cursor->at - name_size;
    int64_t size = name_size < 0 ? -1 : step_over(cursor);
    if (cursor->bad || name_size < 0) {
        PyErr_SetString(PyExc_ValueError, "the headers are not where the bounds say");
        return NULL;
    }
    PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)name_size, "replace");
    PyObject *data = size < 0 ? Py_NewRef(Py_None)
                              : PyBytes_FromStringAndSize((const char *)cursor->at - size, size);
    PyObject *pair = text && data ? PyTuple_Pack(2, text, data) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(data);
    return pair;
}

/* The headers of a record as a list ('l') or a tuple ('h'), or the sum of their sizes ('S'). */
static PyObject *headers_of(const Places *places, Py_ssize_t index, char code)
{
    int32_t from = ((const int32_t *)places->bounds.buf)[index * STRIDE + 4];
    const uint8_t *data = places->data.buf;
    if (from < 0 || from >= places->data.len) {
        PyErr_SetString(PyExc_ValueError, "a bound lies outside the records");
        return NULL;
    }
    Cursor cursor = {data + from, data + places->data.len, 0};
    int64_t left = signed_of(read_raw(&cursor, 32)), sum = left > 0 ? 0 : -1;
    if (code == 'S') {
        for (left *= 2; left > 0 && !cursor.bad; left--) {
            int64_t size = step_over(&cursor);
            sum += size > 0 ? size : 0;
        }
        return PyLong_FromLongLong(sum);
    }
    if (code == 'h' && left <= 0) return PyTuple_New(0);
    PyObject *found = PyList_New(0);
    for (; found && left > 0; left--) {
        PyObject *pair = read_header(&cursor);
        if (!pair || PyList_Append(found, pair) < 0) Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    PyObject *whole = found && code == 'h' ? PyList_AsTuple(found) : Py_XNewRef(found);
    Py_XDECREF(found);
    return whole;
}

/* -- fields: the base of `Record`, of which C knows where each field lies ----------------------- */

#define FIELDS 10
typedef struct { PyObject_HEAD PyObject *fields[FIELDS]; } Fields;
#define FIELD(index, name) \
    {name, T_OBJECT_EX, offsetof(Fields, fields) + sizeof(PyObject *) * (index), 0, NULL}
static PyMemberDef field_members[] = {
    FIELD(0, "topic"), FIELD(1, "partition"), FIELD(2, "offset"), FIELD(3, "timestamp"),
    FIELD(4, "timestamp_type"), FIELD(5, "key"), FIELD(6, "value"), FIELD(7, "headers"),
    FIELD(8, "leader_epoch"), FIELD(9, "_origin"), {NULL}};

static int fields_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (int index = 0; index < FIELDS; index++) Py_VISIT(((Fields *)self)->fields[index]);
    return 0;
}

static int fields_clear(PyObject *self)
{
    for (int index = 0; index < FIELDS; index++) Py_CLEAR(((Fields *)self)->fields[index]);
    return 0;
}

static void fields_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    fields_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot fields_slots[] = {
    {Py_tp_doc, "The fields of a record; see kgroup.consumer.Record."},
    {Py_tp_members, field_members}, {Py_tp_traverse, fields_traverse},
    {Py_tp_clear, fields_clear}, {Py_tp_dealloc, fields_dealloc}, {0, NULL}};
static PyType_Spec fields_spec = {
    "kgroup.wire.records._compiled.RecordFields", sizeof(Fields), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, fields_slots};

/* -- records: an iterator that makes objects of the caller's class ------------------------------ */

typedef enum { BY_PLACE, BY_NAME, AS_TUPLE } Form;
typedef struct {
    PyObject_HEAD
    Places places;
    Py_buffer offsets, times;
    Py_ssize_t at, stop;
    Form form;
    int width;
    PyTypeObject *made;
    allocfunc make;
    char codes[MOST_FIELDS];
    PyObject *names;                  /* tuple; used BY_NAME */
    PyObject *constants[MOST_FIELDS]; /* by field; NULL where the code is not '=' */
} Records;
typedef struct { PyObject *fields_type, *records_type; } State;

static PyObject *field_of(Records *self, int field, Py_ssize_t index)
{
    const Places *places = &self->places;
    const int32_t *bounds = (const int32_t *)places->bounds.buf + index * STRIDE;
    switch (self->codes[field]) {
    case '=': return Py_NewRef(self->constants[field]);
    case 'o': return PyLong_FromLongLong(((const int64_t *)self->offsets.buf)[index]);
    case 't': return PyLong_FromLongLong(((const int64_t *)self->times.buf)[index]);
    case 'k': return cut_out(places, index, 0);
    case 'v': return cut_out(places, index, 2);
    case 'K': return PyLong_FromLong(bounds[1] < 0 ? -1 : bounds[1] - bounds[0]);
    case 'V': return PyLong_FromLong(bounds[3] < 0 ? -1 : bounds[3] - bounds[2]);
    default: return headers_of(places, index, self->codes[field]);
    }
}

static PyObject *next_record(PyObject *iterator)
{
    Records *self = (Records *)iterator;
    if (self->at >= self->stop) return NULL;
    PyObject *record = self->make(self->made, self->form == AS_TUPLE ? self->width : 0);
    for (int field = 0; record && field < self->width; field++) {
        PyObject *value = field_of(self, field, self->at);
        if (!value) {
            Py_CLEAR(record);
        } else if (self->form == BY_PLACE) {
            ((Fields *)record)->fields[field] = value;
        } else if (self->form == AS_TUPLE) {
            PyTuple_SetItem(record, field, value);
        } else {
            if (PyObject_GenericSetAttr(record, PyTuple_GetItem(self->names, field), value) < 0) {
                Py_CLEAR(record);
            }
            Py_DECREF(value);
        }
    }
    self->at += record != NULL;
    return record;
}

static PyObject *length_hint(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSsize_t(((Records *)self)->stop - ((Records *)self)->at);
}

static void records_dealloc(PyObject *iterator)
{
    Records *self = (Records *)iterator;
    PyTypeObject *type = Py_TYPE(iterator);
    release_places(&self->places);
    PyBuffer_Release(&self->offsets);
    PyBuffer_Release(&self->times);
    for (int field = 0; field < self->width; field++) Py_XDECREF(self->constants[field]);
    Py_XDECREF(self->names);
    Py_XDECREF((PyObject *)self->made);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(iterator);
    Py_DECREF(type);
}

/* Read what to make: a class, a code for each field, the names of the fields, the constants. */
static int set_shape(PyObject *module, Records *self, PyTypeObject *made, const char *codes,
                     PyObject *constants)
{
    Py_ssize_t used = 0, width = (Py_ssize_t)strlen(codes);
    State *state = PyModule_GetState(module);
    if (PyType_IsSubtype(made, (PyTypeObject *)state->fields_type)) {
        self->form = BY_PLACE;
    } else {
        self->form = PyType_IsSubtype(made, &PyTuple_Type) ? AS_TUPLE : BY_NAME;
    }
    int sound = width <= MOST_FIELDS && width == PyTuple_Size(self->names) &&
                (self->form != BY_PLACE || width == FIELDS);
    for (Py_ssize_t field = 0; sound && field < width; field++) {
        self->codes[field] = codes[field];
        self->width = (int)field + 1;
        if (codes[field] == '=' && used < PyTuple_Size(constants)) {
            self->constants[field] = Py_XNewRef(PyTuple_GetItem(constants, used++));
        } else if (!strchr("otkvKVhlS", codes[field])) {
            sound = 0;
        }
    }
    if (!sound || used != PyTuple_Size(constants)) {
        PyErr_SetString(PyExc_ValueError, "the codes do not fit the class, or the constants");
        return 0;
    }
    self->made = (PyTypeObject *)Py_NewRef((PyObject *)made);
    self->make = (allocfunc)PyType_GetSlot(made, Py_tp_alloc);
    return 1;
}

static int set_columns(Records *self, PyObject *data, PyObject *offsets, PyObject *times,
                       PyObject *bounds)
{
    if (!get_places(&self->places, data, bounds) ||
        PyObject_GetBuffer(offsets, &self->offsets, PyBUF_SIMPLE) < 0 ||
        PyObject_GetBuffer(times, &self->times, PyBUF_SIMPLE) < 0)
        return 0;
    Py_ssize_t count = self->places.count;
    if (self->offsets.len / 8 == count && self->times.len / 8 == count && 0 <= self->at &&
        self->at <= self->stop && self->stop <= count)
        return 1;
    PyErr_SetString(PyExc_IndexError, "the columns differ in length, or have no such records");
    return 0;
}

static PyObject *records(PyObject *module, PyObject *args)
{
    PyTypeObject *made;
    const char *codes;
    PyObject *names, *constants, *data, *offsets, *times, *bounds;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "(O!sO!)O!(OOOO)nn:records", &PyType_Type, &made, &codes,
                          &PyTuple_Type, &names, &PyTuple_Type, &constants, &data, &offsets,
                          &times, &bounds, &start, &stop))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)((State *)PyModule_GetState(module))->records_type;
    Records *self = (Records *)PyType_GenericAlloc(type, 0); /* all fields are zero */
    if (!self) return NULL;
    self->at = start;
    self->stop = stop;
    self->names = Py_NewRef(names);
    if (!set_shape(module, self, made, codes, constants) ||
        !set_columns(self, data, offsets, times, bounds)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyMethodDef records_methods[] = {
    {"__length_hint__", length_hint, METH_NOARGS, "Records that are left."}, {NULL}};
static PyType_Slot records_slots[] = {
    {Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, next_record},
    {Py_tp_methods, records_methods}, {Py_tp_dealloc, records_dealloc}, {0, NULL}};
static PyType_Spec records_spec = {"kgroup.wire.records._compiled.Records", sizeof(Records), 0,
                                   Py_TPFLAGS_DEFAULT, records_slots};

/* -- the module --------------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"scan", scan, METH_VARARGS, "See python_loops.scan; None where that raises."},
    {"take", take, METH_VARARGS, "See python_loops.take."},
    {"gather", gather, METH_VARARGS, "See python_loops.gather."},
    {"records", records, METH_VARARGS, "See python_loops.records."},
    {NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", "The loops over records, compiled.", sizeof(State),
    functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit__compiled(void)
{
    PyObject *module = PyModule_Create(&definition);
    State *state = module ? PyModule_GetState(module) : NULL;
    if (!state || !(state->fields_type = PyType_FromSpec(&fields_spec)) ||
        !(state->records_type = PyType_FromSpec(&records_spec)) ||
        PyModule_AddObjectRef(module, "RecordFields", state->fields_type) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
