/* operators/scope.h - what names mean at one place of a stage: which slot a row holds them in.
 * Shape:     a br_layout is all slots of a stage: fields to be read from the record, and computed
 *            values. A br_scope is the names visible at one operator; operators derive new scopes
 *            from it, so branches do not see each other's fields.
 * Invariant: a slot is written by one operator only; so branches may share rows.
 * Lifetime:  scopes belong to their layout; all strings are copied.
 * Thread:    compile time, one thread; read-only afterwards. */
#ifndef BR_OPERATORS_SCOPE_H
#define BR_OPERATORS_SCOPE_H

#include "operators/path.h"
#include "operators/value.h"

typedef struct br_layout br_layout;
typedef struct br_scope br_scope;

br_layout *br_layout_create(void);
void br_layout_destroy(br_layout *layout); /* and its scopes; NULL is fine */
size_t br_layout_slots(const br_layout *layout);
/* Fields to be read from the record: path i goes to slot field_slot[i]. Borrow the layout. */
size_t br_layout_fields(const br_layout *layout, const br_path **paths, const char *const **names,
                        const uint32_t **slots);

/* The scope of a record as it comes: every path is a field that it may have. */
br_scope *br_scope_of_record(br_layout *layout);
/* A scope of exactly these names, each with a new slot (from slot 0 on, in order, if the layout is
 * new): the result of a groupBy. group_count: how many of them, from the first, are the group. */
br_scope *br_scope_of_fields(br_layout *layout, const char *const *names, size_t count,
                             size_t group_count);
/* A copy that can be changed without changing `scope`. */
br_scope *br_scope_derive(const br_scope *scope);

/* Gives `name` a new slot, hiding what it meant before. BR_ERR_LIMIT: BR_SLOTS_MAX. */
BR_MUST_USE br_status br_scope_set(br_scope *scope, const char *name, uint32_t *slot, br_err *err);
/* `map: keep / drop`. BR_ERR_CONFIG: a name that this scope cannot have (with the nearest). */
BR_MUST_USE br_status br_scope_keep(br_scope *scope, const char *const *names, size_t count,
                                    br_err *err);
BR_MUST_USE br_status br_scope_drop(br_scope *scope, const char *const *names, size_t count,
                                    br_err *err);

/* Where a path's value is: slot, and in *rest (owned, dispose it) the steps still to go into it,
 * count 0 where the slot is the value. A new field of the record is added to the layout.
 * BR_ERR_CONFIG: not a name here, with the nearest that is. */
BR_MUST_USE br_status br_scope_resolve(br_scope *scope, const br_path *path, uint32_t *slot,
                                       br_path *rest, br_err *err);

/* For a sink: what a row looks like here. */
typedef struct br_shape {
    bool whole;               /* all of the record's fields, but for `hidden`, and then `names` */
    bool untouched;           /* whole, nothing hidden, nothing set: the record's bytes can go on */
    uint32_t whole_slot;      /* BR_JSON of the record, if whole and not untouched */
    const char *const *names; /* fields by name, in order, with their slots */
    const uint32_t *slots;
    size_t count;
    const char *const *hidden;
    size_t hidden_count;
    size_t group_count; /* the first so many names are a group (after a groupBy), or 0 */
} br_shape;

/* Borrows the scope. May add the whole record as a field to the layout. */
BR_MUST_USE br_status br_scope_shape(br_scope *scope, br_shape *out, br_err *err);

#endif
