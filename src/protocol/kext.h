/* SPDX-License-Identifier: Apache-2.0 */
/* The three kernel extensions (seeds Table 27.1). They are version-locked: all have one build. */
#ifndef PROTOCOL_KEXT_H
#define PROTOCOL_KEXT_H

#define PR_KEXT_BUILD "9.511.3"

/* X(id, role, bundle, principal class, name it registers, provider, what else the provider matches) */
#define PR_KEXTS(X)                                                                                  \
    X(INTERFACE, "interface and hardware driver", "AppleH11ANEInterface", "ANEHWDevice", "H11ANEIn", \
      "RTBuddyService", "role ANE")                                                                  \
    X(HAL, "per-die abstraction layer", "AppleT8132ANEHAL", "AppleT8132ANEHAL", "AppleT8132ANEHAL",  \
      "IOResources", "")                                                                             \
    X(BALANCER, "multi-engine arbiter", "AppleANELoadBalancer", "ANEDriver", "H1xANELoadBalancer",   \
      "IOResources", "IOKit")

enum pr_kext_id {
#define X(id, role, bundle, class, name, provider, match) PR_KEXT_##id,
    PR_KEXTS(X)
#undef X
        PR_KEXT_COUNT
};

/*
 * RTBuddy, through which the interface driver reaches its coprocessor (seeds ch. 29): the role that names the
 * client, the endpoint's identifier, and the services it is looked up under, in the order they are tried.
 */
#define PR_RTBUDDY_SERVICE      "RTBuddyService"
#define PR_RTBUDDY_PROPERTY     "role"
#define PR_RTBUDDY_ROLE         "ANE"
#define PR_RTBUDDY_ENDPOINT     0xe400u
#define PR_RTBUDDY_ENDPOINTS(X) X("ANE1Endpoint1") X("ANEEndpoint1")
/* The one that a board with one neural engine registers (CHOSEN: no source says which the M1 has). */
#define PR_RTBUDDY_REGISTERED "ANEEndpoint1"

struct pr_kext {
    const char *bundle, *class_name, *name, *provider, *version;
};

#endif
