/* operators/expr_eval.c - the value of a native expression for one row.
 * Thread: any; a tree is read-only once it is resolved. */
#include "operators/expr_internal.h"

#include "operators/json.h"

static br_value text_or_null(br_bytes bytes)
{
    return bytes.data ? br_value_text(bytes) : br_value_null();
}

/* Of several headers of one name the last counts, as in Kafka's own lastHeader. */
static br_value header(const br_row *row, const char *name)
{
    for (size_t i = row->header_count; i > 0; i--)
        if (br_bytes_equal(row->headers[i - 1].name, br_str(name)))
            return text_or_null(row->headers[i - 1].value);
    return br_value_null();
}

static br_value metadata(const br_expr_node *node, const br_row *row)
{
    switch (node->meta) {
    case EXPR_KEY: return text_or_null(row->key);
    case EXPR_TIMESTAMP:
        return row->timestamp_ms == -1 ? br_value_null() : br_value_int(row->timestamp_ms);
    case EXPR_PARTITION: return br_value_int(row->partition);
    case EXPR_OFFSET: return br_value_int(row->offset);
    case EXPR_TOPIC: return br_value_text(br_str(row->topic));
    case EXPR_HEADER: return header(row, node->name);
    }
    return br_value_null();
}

static br_status field(const br_expr_node *node, const br_row *row, br_arena *arena, br_value *out,
                       br_err *err)
{
    const br_value *slot = &row->slots[node->slot];
    if (node->rest.count == 0) {
        *out = *slot;
        return BR_OK;
    }
    if (slot->kind == BR_JSON) return br_json_get(slot->s, &node->rest, arena, out, err);
    *out = (br_value){.kind = BR_MISSING};
    return BR_OK;
}

static bool is_true(const br_value *v)
{
    return !br_value_is_null(v) && !(v->kind == BR_BOOL && !v->b);
}

static br_status at_column(const br_expr_node *node, br_status st, br_err *err)
{
    return st == BR_OK ? BR_OK : br_wrap(err, "column %d", node->column);
}

static br_status operate(const br_expr_node *node, const br_row *row, br_arena *arena,
                         br_value *out, br_err *err)
{
    br_value a, b;
    br_status st = br_expr_node_eval(node->args[0], row, arena, &a, err);
    if (st != BR_OK) return st;
    switch (node->op) { /* those that do not always need a second operand */
    case EXPR_NOT: *out = br_value_bool(!is_true(&a)); return BR_OK;
    case EXPR_NEGATE: return at_column(node, br_expr_negate(&a, out, err), err);
    case EXPR_AND:
    case EXPR_OR:
        if (is_true(&a) == (node->op == EXPR_AND))
            return br_expr_node_eval(node->args[1], row, arena, out, err);
        *out = a;
        return BR_OK;
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_FLOOR_DIV:
    case EXPR_MOD:
    case EXPR_NO_OP: break;
    }
    st = br_expr_node_eval(node->args[1], row, arena, &b, err);
    if (st != BR_OK) return st;
    return at_column(node,
                     node->op <= EXPR_NE ? br_expr_compare(node->op, &a, &b, out, err)
                                         : br_expr_arith(node->op, &a, &b, out, err),
                     err);
}

static br_status call(const br_expr_node *node, const br_row *row, br_arena *arena, br_value *out,
                      br_err *err)
{
    br_value args[BR_FUNCTION_ARGS_MAX];
    for (size_t i = 0; i < node->arg_count; i++) {
        br_status st = br_expr_node_eval(node->args[i], row, arena, &args[i], err);
        if (st != BR_OK) return st;
    }
    br_status st = br_function_call(node->fn, args, node->arg_count, arena, out, err);
    return at_column(node, st, err);
}

br_status br_expr_node_eval(const br_expr_node *node, const br_row *row, br_arena *arena,
                            br_value *out, br_err *err)
{
    switch (node->kind) {
    case EXPR_LITERAL: *out = node->value; return BR_OK;
    case EXPR_FIELD: return field(node, row, arena, out, err);
    case EXPR_META: *out = metadata(node, row); return BR_OK;
    case EXPR_OPERATE: return operate(node, row, arena, out, err);
    case EXPR_CALL: return call(node, row, arena, out, err);
    }
    return br_fail(err, BR_ERR_BAD_RECORD, "no value");
}
