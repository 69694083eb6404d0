/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entitlements: the two gates of Listing 27.6, Tables 27.7 and 27.8, and two keys that are chosen. The driver
 * checks those of kinds OPEN, DRIVER, SANDBOX and PROPERTY, the broker those of kind BROKER, the service that
 * of kind SLOT. A policy file of the service names them by their keys.
 */
#ifndef PROTOCOL_ENTITLEMENT_H
#define PROTOCOL_ENTITLEMENT_H

/*
 * X(id, key, capability, holders, kind). Kinds: OPEN, read when a client is opened; DRIVER, Table 27.7;
 * PROPERTY, the second access check of ch. 27, whose key is not public, and the permission to load images
 * without a signature (both chosen); BROKER, checked by the broker for each connection and method; SANDBOX,
 * opens a direct-path client alone; SLOT, one of a few places for latency-critical clients.
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
      "raw registers, command injection and exclave methods (chosen key)", "", PROPERTY)                     \
    X(RAW_IMAGES, "anemone.raw-images", "load program images without a signature (chosen key)", "",          \
      PROPERTY)                                                                                              \
    X(ALLOW, "com.apple.aned.private.allow", "baseline: compile, load, instantiate through the broker",      \
      "18", BROKER)                                                                                          \
    X(ACCESS, "com.apple.aned.private.ANEAccess.allow", "inference-client access-grant variant", "14",       \
      BROKER)                                                                                                \
    X(ADAPTER_WEIGHT, "com.apple.aned.private.adapterWeight.allow",                                          \
      "stream adapter weights onto a shared resident base model", "5", BROKER)                               \
    X(MODEL_SHARE, "com.apple.aned.private.processModelShare.allow",                                         \
      "share one resident model across processes", "4", BROKER)                                              \
    X(SECONDARY_COMPILER, "com.apple.aned.private.secondaryANECompilerServiceAccess.allow",                  \
      "the longer-duration compiler service for large models", "1", BROKER)                                  \
    X(AGGRESSIVE_POWER_SAVING, "com.apple.aned.private.aggressivePowerSaving",                               \
      "the aggressive-power-saving execution mode", "gate helper only", BROKER)                              \
    X(PURGE_ALL, "com.apple.aned.private.modelPurgeInAllPartitions",                                         \
      "purge models across all cache partitions", "gate helper only", BROKER)                                \
    X(DIRECT_CLASS, "com.apple.security.temporary-exception.iokit-user-client-class",                        \
      "open the direct-path user client for own submission", "27", SANDBOX)                                  \
    X(BLESSED, "com.apple.security.ts.ane-client",                                                           \
      "trust-cache blessed-client slot for latency-critical consumers", "5", SLOT)

enum pr_entitlement {
#define X(id, key, capability, holders, kind) PR_ENTITLEMENT_##id,
    PR_ENTITLEMENTS(X)
#undef X
        PR_ENTITLEMENT_COUNT
};

/* The key, a constant; NULL for a number that is none. */
static inline const char *pr_entitlement_key(unsigned id)
{
    static const char *const keys[PR_ENTITLEMENT_COUNT] = {
#define X(name, key, capability, holders, kind) [PR_ENTITLEMENT_##name] = key,
        PR_ENTITLEMENTS(X)
#undef X
    };

    return id < PR_ENTITLEMENT_COUNT ? keys[id] : (const char *)0;
}

/* As a set: one bit for each. */
#define PR_ENTITLEMENT_BIT(id) (1u << PR_ENTITLEMENT_##id)
#define PR_ENTITLEMENTS_ALL    ((1u << PR_ENTITLEMENT_COUNT) - 1u)
_Static_assert(PR_ENTITLEMENT_COUNT < 32, "a set is one word");

/* Slots of kind SLOT: as many as Table 27.8 counts holders. */
#define PR_BLESSED_SLOTS 5u

#endif
