/* SPDX-License-Identifier: Apache-2.0 */
/* Entitlements that something checks (seeds Table 27.7). */
#ifndef PROTOCOL_ENTITLEMENT_H
#define PROTOCOL_ENTITLEMENT_H

/* X(id, key, capability, holders) */
#define PR_ENTITLEMENTS(X)                                                  \
    X(OPEN, "com.apple.ane.iokit-user-access",                              \
      "the hard kernel gate: open the user client, privileged device open", \
      "2: the broker and its per-user sibling")                             \
    X(DATA_CHAINING, "com.apple.ane.allow-dataChaining-access",             \
      "resident data-chaining on the direct-path client", "kernel-checked at client init")

/*
 * The second access check, beside the entitlement to open: a privileged-virtual-machine-access property,
 * probed once at client open (ch. 27). No source has its key: CHOSEN.
 */
#define PR_ENTITLEMENTS_CHOSEN(X)                       \
    X(RAW_ACCESS, "com.apple.ane.privileged-vm-access", \
      "raw registers, command injection, exclave and debug methods", "")

enum pr_entitlement {
#define X(id, key, capability, holders) PR_ENTITLEMENT_##id,
    PR_ENTITLEMENTS(X) PR_ENTITLEMENTS_CHOSEN(X)
#undef X
        PR_ENTITLEMENT_COUNT
};

#endif
