/* operators/operator.c - see operator.h. */
#include "operators/operator.h"

size_t br_rows_allowed(const br_task_context *context, br_row *const *rows, size_t count)
{
    while (count > 0 && rows[count - 1]->offset >= context->stop_offset) count--;
    return count;
}

br_status br_op_forward(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    br_status result = BR_OK;
    for (size_t i = 0; i < op->child_count; i++) {
        br_op *child = op->children[i];
        size_t allowed = br_rows_allowed(op->context, rows, count);
        if (allowed == 0) break;
        br_status st = child->class->process(child, rows, allowed, err);
        if (st >= 0) continue;
        /* A later stop is at an earlier record, as no child sees rows behind the last stop: so the
         * last message is the one to be told. */
        result = st;
        if (st != BR_ERR_BAD_RECORD) break;
    }
    return result;
}

br_status br_op_bad_row(br_op *op, const br_row *row, const br_err *why, br_err *err)
{
    const br_outlet *outlet = op->context->outlet;
    br_status st = outlet->bad_record(outlet->self, row, op->id, why, err);
    if (st == BR_ERR_BAD_RECORD && row->offset < op->context->stop_offset)
        op->context->stop_offset = row->offset;
    return st;
}
