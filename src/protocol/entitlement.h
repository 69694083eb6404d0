/* SPDX-License-Identifier: Apache-2.0 */
/* Entitlements that the driver checks: the two gates of Listing 27.6, Table 27.7, and one that is chosen. */
#ifndef PROTOCOL_ENTITLEMENT_H
#define PROTOCOL_ENTITLEMENT_H

/*
 * X(id, key, capability, holders, kind). Kinds: OPEN, read when a client is opened; DRIVER, Table 27.7;
 * PROPERTY, the second access check of ch. 27, whose key is not public (chosen).
 */
#define PR_ENTITLEMENTS(X)                                                                                   \
    X(OPEN, "com.apple.ane.iokit-user-access",                                                               \
      "the hard kernel gate: open the user client, privileged device open",                                  \
      "2: the broker and its per-user sibling", OPEN)                                                        \
    X(DATA_CHAINING, "com.apple.ane.allow-dataChaining-access",                                              \
      "resident data-chaining on the direct-path client", "kernel-checked at client init", OPEN)             \
    X(REALTIME, "com.apple.ane.realtime-priority-client", "the real-time-priority client grant", "", DRIVER) \
    X(SYSTEM_PRIORITIES, "com.apple.ane.allow-system-reserved-priorities",                                   \
      "use of the system-reserved scheduling priorities", "", DRIVER)                                        \
    X(MEMORY, "com.apple.ane.memory", "a memory-access grant", "", DRIVER)                                   \
    X(DATA, "com.apple.ane.allow-data", "a data-access grant", "", DRIVER)                                   \
    X(SET_HINTS, "com.apple.private.ane.allow-set-client-hints", "set per-client hints", "", DRIVER)         \
    X(SHARE_HINTS, "com.apple.private.ane.allow-share-coalition-hints", "share hints across a coalition",    \
      "", DRIVER)                                                                                            \
    X(RAW_ACCESS, "privileged-virtual-machine-access",                                                       \
      "raw registers, command injection and exclave methods (chosen key)", "", PROPERTY)

enum pr_entitlement {
#define X(id, key, capability, holders, kind) PR_ENTITLEMENT_##id,
    PR_ENTITLEMENTS(X)
#undef X
        PR_ENTITLEMENT_COUNT
};

/* As a set: one bit for each. */
#define PR_ENTITLEMENT_BIT(id) (1u << PR_ENTITLEMENT_##id)
#define PR_ENTITLEMENTS_ALL    ((1u << PR_ENTITLEMENT_COUNT) - 1u)
_Static_assert(PR_ENTITLEMENT_COUNT < 32, "a set is one word");

#endif
