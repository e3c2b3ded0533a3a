/* jobs/text_table.h - rows of texts in aligned columns, for people.
 * Thread: one. */
#ifndef BR_JOBS_TEXT_TABLE_H
#define BR_JOBS_TEXT_TABLE_H

#include "runtime/base/bytes.h"

enum { BR_TEXT_COLUMNS_MAX = 6 };

/* All-zero but for columns is empty. */
typedef struct br_text_table {
    size_t columns;
    char **cells; /* columns a row */
    size_t count, cap;
} br_text_table;

/* The next cell, from left to right, then the next row; copied. */
void br_text_table_add(br_text_table *table, const char *fmt, ...) BR_PRINTF(2, 3);
/* Appends all rows, each behind indent, and empties the table. */
void br_text_table_write(br_text_table *table, const char *indent, br_buf *out);

#endif
