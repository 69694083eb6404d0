/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HELLO: who the process is, what the policy grants it, whether there is room for it; then its task and its
 * ring.
 */
#ifndef SERVICE_GREETING_H
#define SERVICE_GREETING_H

#include "service/message.h"

void svc_greeting_answer(struct svc_peer *session, const struct pr_service_hello *hello,
                         struct svc_reply *reply);

#endif
