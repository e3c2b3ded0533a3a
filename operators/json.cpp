/* operators/json.cpp - see json.h; simdjson 3 on demand behind a C face.
 * Shape:     the wanted paths form a tree of steps; one pass over a document visits its fields in
 *            order and descends where the tree does. A pass in the document's order, and not a
 *            look-up per path, makes the first of several equal names win whatever is asked for,
 *            and gives two paths below one object without turning back.
 * Why C++:   simdjson has no C interface. */
#include "operators/json_document.hpp"

#include <new>

using namespace br_json;

namespace
{

constexpr size_t NONE = SIZE_MAX;

/* A step of the wanted paths. Siblings are alternatives: fields of one object, or elements. */
struct node {
    br_bytes name; /* data NULL: an index */
    int64_t index;
    bool plain;    /* the name can stand in JSON as it is: no quote, no backslash */
    size_t output; /* first path that ends here, or NONE */
    size_t child, sibling;
    size_t child_count;
    uint64_t seen; /* the reading that found it last: later fields of that name do not count */
};

/* What documents are asked for. */
struct tree {
    node *nodes; /* [0] is the document */
    size_t used;
    size_t *next_output; /* per path: the next one that ends at the same node, or NONE */
    uint64_t readings;
};

/* A reading for a tree. */
struct wanted_reading : reading {
    tree *wanted;
    br_value *out;
};

} // namespace

struct br_json_reader {
    br_json::parser parser{};
    br_path *paths; /* owned copies; the tree borrows their names */
    size_t count;
    tree wanted;
};

namespace
{

/* ---- the wanted paths ---- */

void put(wanted_reading *r, const node *n, br_value v)
{
    for (size_t i = n->output; i != NONE; i = r->wanted->next_output[i]) r->out[i] = v;
}

br_status read_node(wanted_reading *r, node *n, od::value &value);

/* *out: the child that the field is for, or NULL. */
br_status match_field(wanted_reading *r, const node *parent, od::raw_json_string key, node **out)
{
    const char *raw = key.raw();
    size_t left = static_cast<size_t>(r->json.data + r->json.len - raw);
    size_t len = r->escapes ? raw_text_len(r, raw) : 0;
    bool escaped = has_escape(r, raw, len);
    br_bytes name = BR_NO_BYTES;
    if (escaped) {
        br_status st = glance(r, key, &name);
        if (st != BR_OK) return st;
    }
    *out = nullptr;
    for (size_t i = parent->child; i != NONE; i = r->wanted->nodes[i].sibling) {
        node *n = &r->wanted->nodes[i];
        bool same;
        if (escaped)
            same = n->name.data && br_bytes_equal(n->name, name);
        else /* the quote behind it is looked at first: it rules out nearly every other name */
            same = n->name.data && n->plain && n->name.len < left && raw[n->name.len] == '"' &&
                   memcmp(raw, n->name.data, n->name.len) == 0;
        if (!same) continue;
        if (n->seen != r->wanted->readings) *out = n;
        return BR_OK;
    }
    return BR_OK;
}

/* Where one wanted field is left and simdjson can compare its name: that one, else NULL. */
node *last_wanted(const wanted_reading *r, const node *parent, size_t left)
{
    if (left != 1 || r->escapes) return nullptr;
    size_t i = parent->child;
    while (r->wanted->nodes[i].seen == r->wanted->readings) i = r->wanted->nodes[i].sibling;
    node *n = &r->wanted->nodes[i];
    return n->name.data && n->plain ? n : nullptr;
}

/* Looks for n from where the object was read up to, which is a third faster than visiting. */
br_status look_up(wanted_reading *r, node *n, od::object &object)
{
    od::value value;
    std::string_view name(n->name.data, n->name.len);
    simdjson::error_code code = object.find_field(name).get(value);
    if (code == simdjson::NO_SUCH_FIELD) return BR_OK;
    if (!code) return read_node(r, n, value);
    r->at = nullptr; /* somewhere on the way to it */
    return fail_code(r, code);
}

br_status read_fields(wanted_reading *r, const node *parent, od::object &object)
{
    size_t left = parent->child_count;
    node *last = last_wanted(r, parent, left);
    if (last) return look_up(r, last, object);
    for (auto item : object) {
        od::field field;
        simdjson::error_code code = std::move(item).get(field);
        if (code) return fail_code(r, code);
        r->at = field.key().raw();
        node *n;
        br_status st = match_field(r, parent, field.key(), &n);
        if (st != BR_OK) return st;
        if (!n) continue;
        st = read_node(r, n, field.value());
        if (st != BR_OK || --left == 0) return st;
        last = last_wanted(r, parent, left);
        if (last) return look_up(r, last, object);
    }
    return BR_OK;
}

br_status read_elements(wanted_reading *r, const node *parent, od::array &array)
{
    size_t left = parent->child_count;
    int64_t index = 0;
    for (auto item : array) {
        od::value element;
        simdjson::error_code code = std::move(item).get(element);
        if (code) return fail_code(r, code);
        for (size_t i = parent->child; i != NONE; i = r->wanted->nodes[i].sibling) {
            node *n = &r->wanted->nodes[i];
            if (n->name.data || n->index != index) continue;
            br_status st = read_node(r, n, element);
            if (st != BR_OK) return st;
            if (--left == 0) return BR_OK;
            break;
        }
        index++;
    }
    return BR_OK;
}

br_status read_node(wanted_reading *r, node *n, od::value &value)
{
    n->seen = r->wanted->readings;
    r->at = value.raw_json_token().data();
    od::json_type type;
    simdjson::error_code code = value.type().get(type);
    if (code) return fail_code(r, code);
    br_value v = br_value_null();
    br_status st = BR_OK;
    if (type == od::json_type::object) {
        od::object object;
        code = value.get_object().get(object);
        if (code) return fail_code(r, code);
        if (n->output != NONE) st = keep_json(r, object, &v);
        if (st == BR_OK) put(r, n, v);
        return st == BR_OK && n->child != NONE ? read_fields(r, n, object) : st;
    }
    if (type == od::json_type::array) {
        od::array array;
        code = value.get_array().get(array);
        if (code) return fail_code(r, code);
        if (n->output != NONE) st = keep_json(r, array, &v);
        if (st == BR_OK) put(r, n, v);
        return st == BR_OK && n->child != NONE ? read_elements(r, n, array) : st;
    }
    if (n->output == NONE) return BR_OK; /* a path leads through it: missing */
    st = read_scalar(r, value, type, false, &v);
    if (st == BR_OK) put(r, n, v);
    return st;
}

/* ---- documents ---- */

/* The node of `parent` for this step; made where there is none. */
size_t obtain_child(tree *t, size_t parent, const br_step *step)
{
    br_bytes name = step->name ? br_str(step->name) : BR_NO_BYTES;
    for (size_t i = t->nodes[parent].child; i != NONE; i = t->nodes[i].sibling) {
        const node *n = &t->nodes[i];
        bool same = n->name.data ? name.data && br_bytes_equal(n->name, name)
                                 : !name.data && n->index == step->index;
        if (same) return i;
    }
    size_t made = t->used++;
    node *n = &t->nodes[made];
    n->name = name;
    n->index = step->index;
    n->plain =
        !name.data || (!memchr(name.data, '"', name.len) && !memchr(name.data, '\\', name.len));
    n->output = n->child = NONE;
    n->sibling = t->nodes[parent].child;
    n->child_count = 0;
    n->seen = 0;
    t->nodes[parent].child = made;
    t->nodes[parent].child_count++;
    return made;
}

void add_root(tree *t)
{
    node *root = &t->nodes[0];
    *root = node{};
    root->output = root->child = root->sibling = NONE;
    t->used = 1;
}

void add_path(tree *t, const br_path *path, size_t output)
{
    size_t at = 0;
    for (size_t i = 0; i < path->count; i++) at = obtain_child(t, at, &path->steps[i]);
    t->next_output[output] = t->nodes[at].output;
    t->nodes[at].output = output;
}

template <class container>
br_status read_document(wanted_reading *r, od::document *doc, container &root,
                        br_status (*read_children)(wanted_reading *, const node *, container &))
{
    node *n = &r->wanted->nodes[0];
    br_status st = BR_OK;
    if (n->output != NONE) {
        br_value v;
        st = keep_json(r, root, &v);
        if (st == BR_OK) put(r, n, v);
    }
    if (st == BR_OK && n->child != NONE) st = read_children(r, n, root);
    return st == BR_OK ? finish(r, doc, root) : st;
}

br_status read_root_object(wanted_reading *r, od::document *doc)
{
    od::object root;
    simdjson::error_code code = doc->get_object().get(root);
    r->at = r->json.data;
    if (code == simdjson::INCORRECT_TYPE) return fail(r, "not a JSON object");
    if (code) return fail_code(r, code);
    return read_document(r, doc, root, read_fields);
}

/* For texts that come alone, without a reader. Memory of the largest one is kept per thread. */
br_json::parser *thread_parser()
{
    static thread_local br_json::parser mine;
    return &mine;
}

reading lone_reading(br_bytes json, br_arena *arena, br_err *err)
{
    reading r{};
    r.parser = thread_parser();
    r.json = br_arena_copy(arena, json.data ? json : BR_LITERAL(""), BR_JSON_PADDING);
    r.arena = arena;
    r.err = err;
    return r;
}

struct named_value {
    br_bytes name;
    br_value value;
};

/* All elements, so that the parser is free again before anybody is called. */
br_status collect_elements(reading *r, named_value **out, size_t *count)
{
    od::document doc;
    od::array array;
    br_status st = begin(r, &doc);
    if (st != BR_OK) return st;
    simdjson::error_code code = doc.get_array().get(array);
    if (code) return fail(r, "not an array");
    code = array.count_elements().get(*count);
    if (code) return fail_code(r, code);
    *out = static_cast<named_value *>(br_arena_alloc(r->arena, (*count + 1) * sizeof(**out)));
    size_t i = 0;
    for (auto item : array) {
        od::value element;
        code = std::move(item).get(element);
        if (code) return fail_code(r, code);
        if (i == *count) return fail_code(r, simdjson::TAPE_ERROR);
        (*out)[i].name = BR_LITERAL("");
        st = read_any(r, element, false, &(*out)[i++].value);
        if (st != BR_OK) return st;
    }
    return finish(r, &doc, array);
}

br_status collect_fields(reading *r, named_value **out, size_t *count)
{
    od::document doc;
    od::object object;
    br_status st = begin(r, &doc);
    if (st != BR_OK) return st;
    simdjson::error_code code = doc.get_object().get(object);
    if (code) return fail(r, "not an object");
    code = object.count_fields().get(*count);
    if (code) return fail_code(r, code);
    *out = static_cast<named_value *>(br_arena_alloc(r->arena, (*count + 1) * sizeof(**out)));
    size_t i = 0;
    for (auto item : object) {
        od::field field;
        code = std::move(item).get(field);
        if (code) return fail_code(r, code);
        if (i == *count) return fail_code(r, simdjson::TAPE_ERROR);
        named_value *nv = &(*out)[i++];
        st = keep_text(r, field.key(), &nv->name);
        if (st == BR_OK) st = read_any(r, field.value(), true, &nv->value);
        if (st != BR_OK) return st;
    }
    return finish(r, &doc, object);
}

br_status visit_all(const named_value *all, size_t count, br_json_visit visit, void *arg,
                    br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; i < count && st == BR_OK; i++)
        st = visit(arg, all[i].name, &all[i].value, err);
    return st;
}

br_path copy_path(const br_path *path)
{
    br_path copy{};
    copy.count = path->count;
    copy.steps = static_cast<br_step *>(br_calloc(path->count, sizeof(*copy.steps)));
    for (size_t i = 0; i < path->count; i++) {
        copy.steps[i].index = path->steps[i].index;
        if (path->steps[i].name) copy.steps[i].name = br_strdup(path->steps[i].name);
    }
    return copy;
}

void dispose_path(br_path *path)
{
    for (size_t i = 0; i < path->count; i++) br_free(path->steps[i].name);
    br_free(path->steps);
}

} // namespace

br_json_reader *br_json_reader_create(const br_path *paths, size_t count)
{
    br_json_reader *reader = new (br_alloc(sizeof(br_json_reader))) br_json_reader{};
    reader->count = count;
    reader->paths = static_cast<br_path *>(br_calloc(count, sizeof(*reader->paths)));
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        reader->paths[i] = copy_path(&paths[i]);
        steps += paths[i].count;
    }
    tree *t = &reader->wanted;
    t->nodes = static_cast<node *>(br_calloc(steps + 1, sizeof(*t->nodes)));
    t->next_output = static_cast<size_t *>(br_calloc(count, sizeof(*t->next_output)));
    add_root(t);
    for (size_t i = 0; i < count; i++) add_path(t, &reader->paths[i], i);
    return reader;
}

void br_json_reader_destroy(br_json_reader *reader)
{
    if (!reader) return;
    for (size_t i = 0; i < reader->count; i++) dispose_path(&reader->paths[i]);
    br_free(reader->paths);
    br_free(reader->wanted.nodes);
    br_free(reader->wanted.next_output);
    reader->~br_json_reader();
    br_free(reader);
}

br_status br_json_read(br_json_reader *reader, br_bytes json, br_arena *arena, br_value *out,
                       br_err *err)
{
    wanted_reading r{};
    r.parser = &reader->parser;
    r.json = json;
    r.arena = arena;
    r.err = err;
    r.wanted = &reader->wanted;
    r.wanted->readings++;
    r.out = out;
    for (size_t i = 0; i < reader->count; i++) out[i].kind = BR_MISSING;
    od::document doc;
    br_status st = begin(&r, &doc);
    return st == BR_OK ? read_root_object(&r, &doc) : st;
}

br_status br_json_get(br_bytes json, const br_path *path, br_arena *arena, br_value *out,
                      br_err *err)
{
    size_t next = NONE;
    size_t bytes = (path->count + 1) * sizeof(node);
    tree wanted{};
    wanted.nodes = static_cast<node *>(br_arena_alloc(arena, bytes));
    wanted.next_output = &next;
    wanted.readings = 1;
    add_root(&wanted);
    add_path(&wanted, path, 0);
    wanted_reading r{lone_reading(json, arena, err), &wanted, out};
    out->kind = BR_MISSING;
    od::document doc;
    br_status st = begin(&r, &doc);
    if (st != BR_OK) return st;
    od::json_type type;
    simdjson::error_code code = doc.type().get(type);
    if (code) return fail_code(&r, code);
    if (type != od::json_type::array) return read_root_object(&r, &doc);
    od::array array;
    code = doc.get_array().get(array);
    return code ? fail_code(&r, code) : read_document(&r, &doc, array, read_elements);
}

br_status br_json_each(br_bytes json, br_arena *arena, br_json_visit visit, void *arg, br_err *err)
{
    reading r = lone_reading(json, arena, err);
    named_value *all = nullptr;
    size_t count = 0;
    br_status st = collect_elements(&r, &all, &count);
    return st == BR_OK ? visit_all(all, count, visit, arg, err) : st;
}

br_status br_json_fields(br_bytes json, br_arena *arena, br_json_visit visit, void *arg,
                         br_err *err)
{
    reading r = lone_reading(json, arena, err);
    named_value *all = nullptr;
    size_t count = 0;
    br_status st = collect_fields(&r, &all, &count);
    return st == BR_OK ? visit_all(all, count, visit, arg, err) : st;
}
