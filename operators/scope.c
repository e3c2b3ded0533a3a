/* operators/scope.c - see scope.h. */
#include "operators/scope.h"

#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"
#include "runtime/base/names.h"

/* The slot of a kept field of the record that nothing has asked for yet. Resolving it late leaves
 * fields undecoded that `keep` only lets through, and reads inner fields straight from the record.
 */
#define LATE UINT32_MAX

typedef struct entry {
    char *name;
    uint32_t slot; /* or LATE */
    bool group;    /* of the groupBy's key */
} entry;

struct br_layout {
    br_path *paths; /* fields of the record: path i, its text names[i], goes to slots[i] */
    char **names;
    uint32_t *slots;
    size_t count;
    size_t slot_count;
    br_scope **scopes;
    size_t scope_count;
};

struct br_scope {
    br_layout *layout;
    bool open;      /* fields of the record are visible, unless hidden */
    entry *entries; /* names with a meaning of their own, in order */
    size_t count;
    char **hidden; /* first names of record fields */
    size_t hidden_count;
    /* What br_scope_shape lent out. */
    const char **shape_names;
    uint32_t *shape_slots;
    const char **shape_hidden;
};

br_layout *br_layout_create(void)
{
    return BR_NEW(br_layout);
}

static void scope_destroy(br_scope *scope)
{
    for (size_t i = 0; i < scope->count; i++) br_free(scope->entries[i].name);
    for (size_t i = 0; i < scope->hidden_count; i++) br_free(scope->hidden[i]);
    br_free(scope->entries);
    br_free(scope->hidden);
    br_free(scope->shape_names);
    br_free(scope->shape_slots);
    br_free(scope->shape_hidden);
    br_free(scope);
}

void br_layout_destroy(br_layout *layout)
{
    if (!layout) return;
    for (size_t i = 0; i < layout->scope_count; i++) scope_destroy(layout->scopes[i]);
    for (size_t i = 0; i < layout->count; i++) {
        br_path_dispose(&layout->paths[i]);
        br_free(layout->names[i]);
    }
    br_free(layout->paths);
    br_free(layout->names);
    br_free(layout->slots);
    br_free(layout->scopes);
    br_free(layout);
}

size_t br_layout_slots(const br_layout *layout)
{
    return layout->slot_count;
}

size_t br_layout_fields(const br_layout *layout, const br_path **paths, const char *const **names,
                        const uint32_t **slots)
{
    *paths = layout->paths;
    *names = (const char *const *)layout->names;
    *slots = layout->slots;
    return layout->count;
}

static br_status new_slot(br_layout *layout, uint32_t *slot, br_err *err)
{
    if (layout->slot_count >= BR_SLOTS_MAX)
        return br_fail(err, BR_ERR_LIMIT,
                       "more than %d fields and computed values between two topics; use fewer, or "
                       "split the job in two",
                       BR_SLOTS_MAX);
    *slot = (uint32_t)layout->slot_count++;
    return BR_OK;
}

/* The slot of a record field; a field that is new here is added. */
static br_status field_slot(br_layout *layout, const br_path *path, uint32_t *slot, br_err *err)
{
    for (size_t i = 0; i < layout->count; i++) {
        if (!br_path_equal(&layout->paths[i], path)) continue;
        *slot = layout->slots[i];
        return BR_OK;
    }
    br_status st = new_slot(layout, slot, err);
    if (st != BR_OK) return st;
    br_buf text = {0};
    br_path_print(path, path->count, &text);
    size_t n = layout->count++;
    layout->paths = br_realloc(layout->paths, (n + 1) * sizeof(*layout->paths));
    layout->names = br_realloc(layout->names, (n + 1) * sizeof(*layout->names));
    layout->slots = br_realloc(layout->slots, (n + 1) * sizeof(*layout->slots));
    layout->paths[n] = br_path_copy(path, 0);
    layout->names[n] = br_strdup(br_buf_cstr(&text));
    layout->slots[n] = *slot;
    br_buf_dispose(&text);
    return BR_OK;
}

static br_scope *scope_create(br_layout *layout)
{
    br_scope *scope = BR_NEW(br_scope);
    scope->layout = layout;
    layout->scopes =
        br_realloc(layout->scopes, (layout->scope_count + 1) * sizeof(*layout->scopes));
    layout->scopes[layout->scope_count++] = scope;
    return scope;
}

static void add_entry(br_scope *scope, const char *name, uint32_t slot, bool group)
{
    scope->entries = br_realloc(scope->entries, (scope->count + 1) * sizeof(*scope->entries));
    scope->entries[scope->count++] = (entry){br_strdup(name), slot, group};
}

static entry *find_entry(const br_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->count; i++)
        if (strcmp(scope->entries[i].name, name) == 0) return &scope->entries[i];
    return NULL;
}

static bool is_hidden(const br_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->hidden_count; i++)
        if (strcmp(scope->hidden[i], name) == 0) return true;
    return false;
}

static void hide(br_scope *scope, const char *name)
{
    if (is_hidden(scope, name)) return;
    scope->hidden = br_realloc(scope->hidden, (scope->hidden_count + 1) * sizeof(*scope->hidden));
    scope->hidden[scope->hidden_count++] = br_strdup(name);
}

br_scope *br_scope_of_record(br_layout *layout)
{
    br_scope *scope = scope_create(layout);
    scope->open = true;
    return scope;
}

br_scope *br_scope_of_fields(br_layout *layout, const char *const *names, size_t count,
                             size_t group_count)
{
    br_scope *scope = scope_create(layout);
    BR_ASSERT(layout->slot_count + count <= BR_SLOTS_MAX);
    for (size_t i = 0; i < count; i++)
        add_entry(scope, names[i], (uint32_t)layout->slot_count++, i < group_count);
    return scope;
}

br_scope *br_scope_derive(const br_scope *scope)
{
    br_scope *copy = scope_create(scope->layout);
    copy->open = scope->open;
    for (size_t i = 0; i < scope->count; i++)
        add_entry(copy, scope->entries[i].name, scope->entries[i].slot, scope->entries[i].group);
    for (size_t i = 0; i < scope->hidden_count; i++) hide(copy, scope->hidden[i]);
    return copy;
}

br_status br_scope_set(br_scope *scope, const char *name, uint32_t *slot, br_err *err)
{
    br_status st = new_slot(scope->layout, slot, err);
    if (st != BR_OK) return st;
    entry *old = find_entry(scope, name);
    if (old)
        old->slot = *slot;
    else
        add_entry(scope, name, *slot, false);
    return BR_OK;
}

static br_status fail_unknown(const br_scope *scope, const char *name, br_err *err)
{
    if (scope->open && is_hidden(scope, name))
        return br_fail(err, BR_ERR_CONFIG, "field `%s` was dropped above", name);
    const char **names = br_calloc(scope->count, sizeof(*names));
    for (size_t i = 0; i < scope->count; i++) names[i] = scope->entries[i].name;
    const char *near = br_nearest(br_str(name), names, scope->count);
    br_buf list = {0};
    for (size_t i = 0; i < scope->count && !near; i++)
        br_buf_printf(&list, "%s`%s`", i > 0 ? ", " : "", names[i]);
    if (near)
        br_fail(err, BR_ERR_CONFIG, "unknown field `%s`, did you mean `%s`?", name, near);
    else if (scope->count > 0)
        br_fail(err, BR_ERR_CONFIG, "unknown field `%s`; here there are %s", name,
                br_buf_cstr(&list));
    else
        br_fail(err, BR_ERR_CONFIG, "unknown field `%s`; no field is left here", name);
    br_buf_dispose(&list);
    br_free(names);
    return BR_ERR_CONFIG;
}

/* The name of a whole field as keep and drop take it: a name of this scope, a path of one step, or
 * any other text as it is. *name is owned. */
static br_status whole_name(const br_scope *scope, const char *text, char **name, br_err *err)
{
    br_path path;
    br_err unused;
    *name = NULL;
    if (find_entry(scope, text) || br_path_parse(&path, br_str(text), &unused) != BR_OK) {
        *name = br_strdup(text);
        return BR_OK;
    }
    bool whole = path.count == 1;
    if (whole) *name = br_strdup(path.steps[0].name);
    br_path_dispose(&path);
    if (whole) return BR_OK;
    return br_fail(err, BR_ERR_CONFIG,
                   "`%s` lies inside a field; keep and drop take whole fields (give it a name of "
                   "its own with `set` first)",
                   text);
}

static br_status visible_name(const br_scope *scope, const char *text, char **name, br_err *err)
{
    br_status st = whole_name(scope, text, name, err);
    if (st != BR_OK || find_entry(scope, *name) || (scope->open && !is_hidden(scope, *name)))
        return st;
    st = fail_unknown(scope, *name, err);
    br_free(*name);
    *name = NULL;
    return st;
}

/* Moves the fields of the group to the front, each part in its order: the shape counts on it. */
static void group_first(br_scope *scope)
{
    entry *sorted = br_calloc(scope->count, sizeof(*sorted));
    size_t n = 0;
    for (int pass = 1; pass >= 0; pass--)
        for (size_t i = 0; i < scope->count; i++)
            if (scope->entries[i].group == (pass == 1)) sorted[n++] = scope->entries[i];
    br_free(scope->entries);
    scope->entries = sorted;
}

br_status br_scope_keep(br_scope *scope, const char *const *names, size_t count, br_err *err)
{
    br_scope kept = {.layout = scope->layout};
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        char *name;
        st = visible_name(scope, names[i], &name, err);
        if (st == BR_OK && !find_entry(&kept, name)) {
            const entry *known = find_entry(scope, name);
            add_entry(&kept, name, known ? known->slot : LATE, known && known->group);
        }
        br_free(name);
    }
    if (st == BR_OK) { /* kept takes the old entries, to be freed below */
        entry *entries = scope->entries;
        size_t old = scope->count;
        scope->entries = kept.entries;
        scope->count = kept.count;
        scope->open = false;
        kept.entries = entries;
        kept.count = old;
        group_first(scope);
    }
    for (size_t i = 0; i < kept.count; i++) br_free(kept.entries[i].name);
    br_free(kept.entries);
    return st;
}

static void remove_entry(br_scope *scope, entry *gone)
{
    br_free(gone->name);
    size_t behind = (size_t)(scope->entries + scope->count - (gone + 1));
    memmove(gone, gone + 1, behind * sizeof(*gone));
    scope->count--;
}

br_status br_scope_drop(br_scope *scope, const char *const *names, size_t count, br_err *err)
{
    for (size_t i = 0; i < count; i++) {
        char *name;
        br_status st = visible_name(scope, names[i], &name, err);
        if (st != BR_OK) return st;
        entry *known = find_entry(scope, name);
        if (known) remove_entry(scope, known);
        if (scope->open) hide(scope, name);
        br_free(name);
    }
    return BR_OK;
}

/* The entry that the longest part of path names, with how many steps that takes. A name like
 * device.id (a groupBy's field) takes two. */
static const entry *match_entry(const br_scope *scope, const br_path *path, size_t *steps)
{
    const entry *found = NULL;
    br_buf text = {0};
    for (*steps = path->count; *steps > 1 && !found; *steps -= !found) {
        br_buf_reset(&text);
        br_path_print(path, *steps, &text);
        found = find_entry(scope, br_buf_cstr(&text));
    }
    br_buf_dispose(&text);
    return found ? found : find_entry(scope, path->steps[0].name);
}

br_status br_scope_resolve(br_scope *scope, const br_path *path, uint32_t *slot, br_path *rest,
                           br_err *err)
{
    size_t steps = 0;
    *rest = (br_path){0};
    BR_ASSERT(path->count > 0);
    const entry *known = match_entry(scope, path, &steps);
    if (known && known->slot != LATE) {
        *slot = known->slot;
        *rest = br_path_copy(path, steps);
        return BR_OK;
    }
    if (known || (scope->open && !is_hidden(scope, path->steps[0].name)))
        return field_slot(scope->layout, path, slot, err);
    return fail_unknown(scope, path->steps[0].name, err);
}

/* Fields that keep let through are read from the record whole. */
static br_status settle_late(br_scope *scope, br_err *err)
{
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < scope->count; i++) {
        entry *e = &scope->entries[i];
        br_step step = {.name = e->name};
        uint32_t slot = e->slot;
        if (slot == LATE) st = field_slot(scope->layout, &(br_path){&step, 1}, &slot, err);
        scope->shape_slots[i] = slot;
        scope->shape_names[i] = e->name;
    }
    return st;
}

/* Names that are set come behind the record's fields, which must not show them a second time. */
static size_t list_hidden(br_scope *scope)
{
    size_t n = 0;
    for (size_t i = 0; i < scope->hidden_count; i++) scope->shape_hidden[n++] = scope->hidden[i];
    for (size_t i = 0; i < scope->count; i++)
        if (!is_hidden(scope, scope->entries[i].name))
            scope->shape_hidden[n++] = scope->entries[i].name;
    return n;
}

br_status br_scope_shape(br_scope *scope, br_shape *out, br_err *err)
{
    size_t count = scope->count, hidden = scope->hidden_count + count;
    scope->shape_names = br_realloc(scope->shape_names, (count + 1) * sizeof(const char *));
    scope->shape_slots = br_realloc(scope->shape_slots, (count + 1) * sizeof(uint32_t));
    scope->shape_hidden = br_realloc(scope->shape_hidden, (hidden + 1) * sizeof(const char *));
    br_status st = settle_late(scope, err);
    if (st != BR_OK) return st;
    *out = (br_shape){.whole = scope->open,
                      .untouched = scope->open && hidden == 0,
                      .names = scope->shape_names,
                      .slots = scope->shape_slots,
                      .count = count,
                      .hidden = scope->shape_hidden,
                      .hidden_count = scope->open ? list_hidden(scope) : 0};
    while (out->group_count < count && scope->entries[out->group_count].group) out->group_count++;
    if (!out->whole || out->untouched) return BR_OK;
    return field_slot(scope->layout, &(br_path){0}, &out->whole_slot, err);
}
