/* jobs/text_table.c - see text_table.h. */
#include "jobs/text_table.h"

#include "runtime/base/alloc.h"

#include <stdio.h>

void br_text_table_add(br_text_table *table, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    char *text = br_alloc((size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    table->cells = br_grow(table->cells, &table->cap, table->count + 1, sizeof(char *));
    table->cells[table->count++] = text;
}

/* Characters, not bytes: what UTF-8 goes on with is not counted. */
static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void measure(const br_text_table *table, size_t widths[BR_TEXT_COLUMNS_MAX])
{
    for (size_t i = 0; i < table->count; i++) {
        size_t w = width(table->cells[i]);
        if (w > widths[i % table->columns]) widths[i % table->columns] = w;
    }
}

void br_text_table_write(br_text_table *table, const char *indent, br_buf *out)
{
    size_t widths[BR_TEXT_COLUMNS_MAX] = {0};
    BR_ASSERT(table->columns <= BR_TEXT_COLUMNS_MAX && table->count % table->columns == 0);
    measure(table, widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        bool last = column + 1 == table->columns;
        if (column == 0) br_buf_adds(out, indent);
        br_buf_adds(out, table->cells[i]);
        for (size_t n = width(table->cells[i]); n < widths[column] + 2 && !last; n++)
            br_buf_addc(out, ' ');
        while (last && out->len > 0 && out->data[out->len - 1] == ' ') out->len--;
        if (last) br_buf_addc(out, '\n');
        br_free(table->cells[i]);
    }
    br_free(table->cells);
    table->cells = NULL;
    table->count = table->cap = 0;
}
