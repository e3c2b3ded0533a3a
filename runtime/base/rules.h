/* runtime/base/rules.h - the rules that make totals exact, as switches for the simulator.
 * In a normal build BR_RULE(name) is the constant true. With -DBR_RULES (the simulator's own build)
 * a rule can be taken out, to see that the simulator then finds a wrong total: a rule that nothing
 * misses is not tested, or not needed. What each is for: DESIGN.md sections 3 and 5.
 * Thread: br_rules_off is set before anything runs. */
#ifndef BR_BASE_RULES_H
#define BR_BASE_RULES_H

/* name, in words */
#define BR_RULES_LIST(X)                                                                           \
    X(row_offsets, "row offsets")                                                                  \
    X(mark_for_emission, "mark for emission")                                                      \
    X(marker_after_acks, "marker after all acknowledgements")                                      \
    X(join_by_version, "join by version")                                                          \
    X(gap_repair, "gap repair")                                                                    \
    X(restore_mends, "restore mends")                                                              \
    X(stage_two_repair, "stage-two repair")                                                        \
    X(start_at_committed, "start at the committed offset")                                         \
    X(nothing_before_end, "nothing before the start's end")                                        \
    X(skip_once_per_record, "skip rule once per record")                                           \
    X(highest_marker, "highest marker for all stores")                                             \
    X(cumulative_partials, "cumulative partials")

#ifdef BR_RULES
#include <stdint.h>

enum br_rule {
#define X(name, words) BR_RULE_##name,
    BR_RULES_LIST(X)
#undef X
};

extern uint32_t br_rules_off; /* a bit for each rule that is taken out; the simulator's */
#define BR_RULE(name) ((br_rules_off >> BR_RULE_##name & 1U) == 0)
#else
#define BR_RULE(name) 1
#endif

#endif
