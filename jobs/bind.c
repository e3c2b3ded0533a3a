/* jobs/bind.c - see bind.h. Recursion follows the tree, whose depth yaml.c bounds. */
#include "jobs/bind.h"

#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"
#include "runtime/base/names.h"
#include "runtime/base/units.h"

#include <proto/job.pb-c.h>

#include <ctype.h>
#include <stdio.h>

typedef struct binder {
    br_buf path; /* of the value at hand */
    br_places *places;
    br_job_errors *errors;
} binder;

static void *allocate(void *self, size_t size)
{
    (void)self;
    return br_alloc(size);
}

static void release(void *self, void *mem)
{
    (void)self;
    br_free(mem);
}

static ProtobufCAllocator allocator = {allocate, release, NULL};

void br_bind_free(ProtobufCMessage *message)
{
    protobuf_c_message_free_unpacked(message, &allocator);
}

/* Places */

static void add_place(binder *b, int line, int column)
{
    br_places *places = b->places;
    places->at = br_grow(places->at, &places->cap, places->count + 1, sizeof(*places->at));
    places->at[places->count++] = (br_place){br_strdup(br_buf_cstr(&b->path)), line, column};
}

static const br_place *find_exactly(const br_places *places, br_bytes path)
{
    for (size_t i = 0; i < places->count; i++)
        if (br_bytes_equal(br_str(places->at[i].path), path)) return &places->at[i];
    return NULL;
}

const br_place *br_places_find(const br_places *places, const char *path)
{
    br_bytes rest = br_str(path);
    const br_place *place = find_exactly(places, rest);
    while (!place && rest.len > 0) {
        do rest.len--;
        while (rest.len > 0 && rest.data[rest.len] != '.' && rest.data[rest.len] != '[');
        place = find_exactly(places, rest);
    }
    return place;
}

void br_places_dispose(br_places *places)
{
    for (size_t i = 0; i < places->count; i++) br_free(places->at[i].path);
    br_free(places->at);
    *places = (br_places){0};
}

/* Paths: each push returns the length to go back to. */

static size_t push_name(binder *b, const char *name)
{
    size_t before = b->path.len;
    br_buf_printf(&b->path, before > 0 ? ".%s" : "%s", name);
    return before;
}

static size_t push_index(binder *b, size_t index)
{
    size_t before = b->path.len;
    br_buf_printf(&b->path, "[%zu]", index);
    return before;
}

static void add_error(binder *b, int line, int column, const char *fmt, ...) BR_PRINTF(4, 5);
static void add_error(binder *b, int line, int column, const char *fmt, ...)
{
    br_err err = {0};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err.message, sizeof(err.message), fmt, args);
    va_end(args);
    br_job_errors_add(b->errors, line, column, br_buf_cstr(&b->path), err.message);
}

/* What the node is not; a refused one has its error already. */
static void add_kind_error(binder *b, const br_yaml *node, const char *wanted)
{
    if (node->kind == BR_YAML_REFUSED) return;
    if (node->kind == BR_YAML_NULL)
        add_error(b, node->line, node->column, "the field has no value: wanted is %s", wanted);
    else
        add_error(b, node->line, node->column, "found %s, wanted is %s",
                  br_yaml_kind_name(node->kind), wanted);
}

/* Single values. `out` is the member in the message's struct. */

static bool bind_bool(binder *b, const br_yaml *node, protobuf_c_boolean *out)
{
    bool yes = strcmp(node->text, "true") == 0;
    if (!yes && strcmp(node->text, "false") != 0) {
        add_error(b, node->line, node->column, "`%.80s` is neither `true` nor `false`", node->text);
        return false;
    }
    *out = yes;
    return true;
}

static bool bind_int(binder *b, const br_yaml *node, int64_t min, int64_t max, int64_t *out)
{
    br_err err;
    if (br_parse_int(br_str(node->text), min, max, out, &err) == BR_OK) return true;
    add_error(b, node->line, node->column, "%s", err.message);
    return false;
}

/* An enum value's name as job files have it. */
static const char *lower_name(char out[64], const char *name)
{
    size_t i = 0;
    for (; name[i] && i < 63; i++) out[i] = (char)tolower((unsigned char)name[i]);
    out[i] = '\0';
    return out;
}

static bool bind_enum(binder *b, const br_yaml *node, const ProtobufCEnumDescriptor *type, int *out)
{
    br_buf allowed = {0};
    char name[64];
    bool found = false;
    for (unsigned i = 0; i < type->n_values && !found; i++) {
        lower_name(name, type->values[i].name);
        found = strcmp(name, node->text) == 0;
        if (found) *out = type->values[i].value;
        br_buf_printf(&allowed, i > 0 ? ", %s" : "%s", name);
    }
    if (!found)
        add_error(b, node->line, node->column, "`%.80s` is not allowed here: allowed are %s",
                  node->text, br_buf_cstr(&allowed));
    br_buf_dispose(&allowed);
    return found;
}

static ProtobufCMessage *bind_message(binder *b, const br_yaml *node,
                                      const ProtobufCMessageDescriptor *type);

static bool bind_scalar(binder *b, const br_yaml *node, const ProtobufCFieldDescriptor *field,
                        void *out)
{
    int64_t n = 0;
    if (node->kind != BR_YAML_TEXT) {
        add_kind_error(b, node, "one value");
        return false;
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING: *(char **)out = br_strdup(node->text); return true;
    case PROTOBUF_C_TYPE_BOOL: return bind_bool(b, node, out);
    case PROTOBUF_C_TYPE_ENUM: return bind_enum(b, node, field->descriptor, out);
    case PROTOBUF_C_TYPE_INT32:
        if (!bind_int(b, node, INT32_MIN, INT32_MAX, &n)) return false;
        *(int32_t *)out = (int32_t)n;
        return true;
    case PROTOBUF_C_TYPE_INT64: return bind_int(b, node, INT64_MIN, INT64_MAX, out);
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: break;
    }
    BR_ASSERT(false); /* no field of job.proto has another type */
    return false;
}

static bool bind_value(binder *b, const br_yaml *node, const ProtobufCFieldDescriptor *field,
                       void *out)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) return bind_scalar(b, node, field, out);
    *(ProtobufCMessage **)out = bind_message(b, node, field->descriptor);
    return true;
}

/* Short forms */

static ProtobufCMessage *new_message(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = br_alloc(type->sizeof_message);
    protobuf_c_message_init(type, message);
    return message;
}

static ProtobufCMessage *bind_duration(binder *b, const br_yaml *node)
{
    ProtobufCMessage *message = new_message(&brine__job__duration__descriptor);
    br_err err;
    if (node->kind != BR_YAML_TEXT)
        add_kind_error(b, node, "a duration such as 250ms or 10s");
    else if (br_parse_duration(br_str(node->text), &((Brine__Job__Duration *)message)->ms, &err) !=
             BR_OK)
        add_error(b, node->line, node->column, "%s", err.message);
    return message;
}

static ProtobufCMessage *bind_size(binder *b, const br_yaml *node)
{
    ProtobufCMessage *message = new_message(&brine__job__size__descriptor);
    br_err err;
    if (node->kind != BR_YAML_TEXT)
        add_kind_error(b, node, "a size such as 64MiB");
    else if (br_parse_size(br_str(node->text), &((Brine__Job__Size *)message)->bytes, &err) !=
             BR_OK)
        add_error(b, node->line, node->column, "%s", err.message);
    return message;
}

/* Named and Property are both a required text under a name, which a mapping's key can give; they
 * differ in whether the name may be missing. First field: the name; second: the text. */
static bool is_pair(const ProtobufCMessageDescriptor *type)
{
    return type == &brine__job__named__descriptor || type == &brine__job__property__descriptor;
}

static void *member(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return (char *)message + field->offset;
}

/* `node` is the text, its key (if any) the name. */
static ProtobufCMessage *bind_pair(binder *b, const br_yaml *node,
                                   const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = new_message(type);
    if (node->key) *(char **)member(message, &type->fields[0]) = br_strdup(node->key);
    (void)bind_scalar(b, node, &type->fields[1], member(message, &type->fields[1]));
    return message;
}

/* `name: expr`, a mapping with one key, in a list. */
static ProtobufCMessage *bind_pair_item(binder *b, const br_yaml *node,
                                        const ProtobufCMessageDescriptor *type)
{
    if (node->kind == BR_YAML_TEXT && type == &brine__job__named__descriptor)
        return bind_pair(b, node, type);
    if (node->kind == BR_YAML_MAP && node->count == 1) return bind_pair(b, node->first, type);
    add_kind_error(b, node,
                   type == &brine__job__named__descriptor
                       ? "one expression, or one `name: expression`"
                       : "one `name: value`");
    return new_message(type);
}

/* Fields */

static bool bind_element(binder *b, const br_yaml *node, const ProtobufCFieldDescriptor *field,
                         void **out)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || !is_pair(field->descriptor))
        return bind_value(b, node, field, out);
    *out = node->key ? bind_pair(b, node, field->descriptor)
                     : bind_pair_item(b, node, field->descriptor);
    return true;
}

/* The nodes from first on become the elements: texts or messages, so pointers. */
static void bind_elements(binder *b, const br_yaml *first, size_t count,
                          const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    size_t *n = (size_t *)(void *)((char *)message + field->quantifier_offset);
    void **array = br_calloc(count, sizeof(void *));
    BR_ASSERT(field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE);
    *(void ***)member(message, field) = array;
    for (size_t i = 0; i < count; i++, first = first->next) {
        size_t before = push_index(b, i);
        add_place(b, first->line, first->column);
        if (bind_element(b, first, field, &array[*n])) ++*n;
        b->path.len = before;
    }
}

static void bind_repeated(binder *b, const br_yaml *node, const ProtobufCFieldDescriptor *field,
                          ProtobufCMessage *message)
{
    bool pairs = field->type == PROTOBUF_C_TYPE_MESSAGE && is_pair(field->descriptor);
    bool one = field->type == PROTOBUF_C_TYPE_STRING ||
               (pairs && field->descriptor == &brine__job__named__descriptor);
    if (node->kind == BR_YAML_LIST || (node->kind == BR_YAML_MAP && pairs)) {
        bind_elements(b, node->first, node->count, field, message);
    } else if (node->kind == BR_YAML_TEXT && one) {
        br_yaml alone = *node;
        alone.key = NULL;
        bind_elements(b, &alone, 1, field, message);
    } else {
        add_kind_error(b, node, !pairs ? "a list" : one ? "a list or a mapping" : "a mapping");
    }
}

static void bind_field(binder *b, const br_yaml *node, const ProtobufCFieldDescriptor *field,
                       ProtobufCMessage *message)
{
    void *quantifier = (char *)message + field->quantifier_offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        bind_repeated(b, node, field, message);
        return;
    }
    bool bound = bind_value(b, node, field, member(message, field));
    if (bound && (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        *(uint32_t *)quantifier = field->id;
    else if (bound && field->label == PROTOBUF_C_LABEL_OPTIONAL &&
             field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
        *(protobuf_c_boolean *)quantifier = 1;
}

/* Messages */

static void add_unknown_error(binder *b, const br_yaml *node,
                              const ProtobufCMessageDescriptor *type)
{
    const char *names[64];
    br_buf allowed = {0};
    /* Nearest names are dear; no file makes more of them than errors that are kept. */
    if (b->errors->count == BR_JOB_ERRORS_MAX) return;
    BR_ASSERT(type->n_fields <= BR_COUNTOF(names));
    for (unsigned i = 0; i < type->n_fields; i++) {
        names[i] = type->fields[i].name;
        br_buf_printf(&allowed, i > 0 ? ", %s" : "%s", names[i]);
    }
    const char *near = br_nearest(br_str(node->key), names, type->n_fields);
    add_error(b, node->key_line, node->key_column, "unknown field `%.80s`%s%s%s; allowed are %s",
              node->key, near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "",
              br_buf_cstr(&allowed));
    br_buf_dispose(&allowed);
}

static bool is_choice(const ProtobufCMessageDescriptor *type)
{
    for (unsigned i = 0; i < type->n_fields; i++)
        if (!(type->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) return false;
    return type->n_fields > 0;
}

static const br_yaml *find_key(const br_yaml *map, const char *key)
{
    for (const br_yaml *node = map->first; node; node = node->next)
        if (strcmp(node->key, key) == 0) return node;
    return NULL;
}

static void check_required(binder *b, const br_yaml *node, const ProtobufCMessageDescriptor *type)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (field->label != PROTOBUF_C_LABEL_REQUIRED || find_key(node, field->name)) continue;
        size_t before = push_name(b, field->name);
        add_error(b, node->line, node->column, "the field `%s` is missing", field->name);
        b->path.len = before;
    }
}

/* The first of several nodes with the same key counts; yaml.c has added an error for the others. */
static void bind_fields(binder *b, const br_yaml *map, ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    for (const br_yaml *node = map->first; node; node = node->next) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(type, node->key);
        size_t before = b->path.len;
        if (!field) {
            add_unknown_error(b, node, type);
        } else if (find_key(map, node->key) == node) {
            push_name(b, field->name);
            add_place(b, node->line, node->column);
            bind_field(b, node, field, message);
        }
        b->path.len = before;
    }
}

static ProtobufCMessage *bind_message(binder *b, const br_yaml *node,
                                      const ProtobufCMessageDescriptor *type)
{
    if (type == &brine__job__duration__descriptor) return bind_duration(b, node);
    if (type == &brine__job__size__descriptor) return bind_size(b, node);
    ProtobufCMessage *message = new_message(type);
    if (node->kind != BR_YAML_MAP) {
        add_kind_error(b, node, "a mapping");
    } else if (is_choice(type) && node->count != 1) {
        add_error(b, node->line, node->column,
                  "found %zu keys, wanted is one: the kind (mind the indentation of its fields)",
                  node->count);
    } else {
        bind_fields(b, node, message);
        check_required(b, node, type);
    }
    return message;
}

ProtobufCMessage *br_bind(const ProtobufCMessageDescriptor *type, const br_yaml *root,
                          br_places *places, br_job_errors *errors)
{
    binder b = {.places = places, .errors = errors};
    add_place(&b, root->line, root->column);
    ProtobufCMessage *message = bind_message(&b, root, type);
    br_buf_dispose(&b.path);
    return message;
}
