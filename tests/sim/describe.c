/* tests/sim/describe.c - see describe.h. */
#include "tests/sim/describe.h"

#include "state/restore.h"

#include <proto/state.pb-c.h>

#include <inttypes.h>

void describe_key(br_buf *out, br_bytes key)
{
    for (size_t i = 0; i < key.len; i++) {
        unsigned char c = (unsigned char)key.data[i];
        if (c >= ' ' && c < 0x7f)
            br_buf_addc(out, (char)c);
        else
            br_buf_printf(out, "\\%02x", c);
    }
}

static void describe_accs(br_buf *out, Brine__State__Accumulator *const *accs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Brine__State__Accumulator *acc = accs[i];
        br_buf_adds(out, i ? " " : "(");
        if (acc->value && acc->value->has_int_)
            br_buf_printf(out, "v%" PRId64, acc->value->int_);
        else if (acc->has_sum)
            br_buf_printf(out, "s%" PRId64, acc->sum);
        else
            br_buf_printf(out, "n%" PRIu64, acc->count);
    }
    br_buf_adds(out, ")");
}

void describe_row(br_buf *out, br_bytes bytes)
{
    Brine__State__Row *row =
        brine__state__row__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!row) {
        br_buf_adds(out, "no row");
        return;
    }
    if (row->version) br_buf_printf(out, "@%" PRId64, row->version->offset);
    if (row->n_accumulators > 0) describe_accs(out, row->accumulators, row->n_accumulators);
    for (size_t i = 0; i < row->n_partials; i++) {
        const Brine__State__Partial *partial = row->partials[i];
        br_buf_adds(out, " ");
        describe_key(out, br_bytes_of(partial->id.data, partial->id.len));
        br_buf_printf(out, "@%" PRId64, partial->version->offset);
        describe_accs(out, partial->accumulators, partial->n_accumulators);
    }
    brine__state__row__free_unpacked(row, NULL);
}

static void describe_marker(br_buf *out, br_bytes bytes)
{
    Brine__State__Marker *marker =
        brine__state__marker__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    BR_ASSERT(marker && marker->version);
    br_buf_printf(out, "marker @%" PRId64, marker->version->offset);
    brine__state__marker__free_unpacked(marker, NULL);
}

void describe_record(br_buf *out, const memory_record *record)
{
    describe_key(out, record->key);
    br_buf_adds(out, " = ");
    if (!record->value.data)
        br_buf_adds(out, "null");
    else if (record->value.len > 0 && record->value.data[0] == '{')
        br_buf_addb(out, record->value);
    else if (br_bytes_equal(record->key, BR_MARKER_KEY))
        describe_marker(out, record->value);
    else
        describe_row(out, record->value);
}
