/* operators/aggregates/functions.h - the aggregate functions, for the list in aggregate.c. */
#ifndef BR_OPERATORS_AGGREGATES_FUNCTIONS_H
#define BR_OPERATORS_AGGREGATES_FUNCTIONS_H

#include "operators/aggregate.h"

extern const br_aggregate br_aggregate_count;    /* count(): every record */
extern const br_aggregate br_aggregate_count_of; /* count(x): those where x is not null */
extern const br_aggregate br_aggregate_sum;
extern const br_aggregate br_aggregate_avg;
extern const br_aggregate br_aggregate_min;
extern const br_aggregate br_aggregate_max;
extern const br_aggregate br_aggregate_first;
extern const br_aggregate br_aggregate_last;

#endif
