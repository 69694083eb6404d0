/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of the firmware that the seeds quote, as formats. What the firmware logs of these is exactly this
 * text. X(id, source); the format is PR_LINE_<id>. Lines of which the seeds quote only a rule are in
 * rule.def.
 */
#ifndef PROTOCOL_LOG_LINE_H
#define PROTOCOL_LOG_LINE_H

#define PR_LINE_COMMAND "CMD = %#04x [%s]"
#define PR_LINE_CALL    "[EXELOOP] CMD=%#04x [PROC CALL] at %lld : ProgId=%d ProcId=%d Proc=%d Pri=%d"
#define PR_LINE_CALL_BARS \
    "[EXELOOP] CMD=%#04x [PROC CALL WITH BARS] at %lld : ProgId=%d ProcId=%d Proc=%d Pri=%d"
#define PR_LINE_CALL_EVENTS \
    "[EXELOOP] CMD=%#04x [PROC CALL WITH EVENTS] at %lld : ProgId=%d ProcId=%d Proc=%d Pri=%d"
#define PR_LINE_TRIGGER         "[EXELOOP] CMD=%#04x [CR TRIGGER] at %lld : cacheHandler 0x%llx"
#define PR_LINE_CACHE_HANDLER   "cacheHandler: 0x%llx"
#define PR_LINE_SHAPE           "Bufs = %d Priority = %d CustomBars = %d WaitEvents = %d SignalEvents = %d"
#define PR_LINE_BAR             "bar[%d]: type=%d cfg=%d barId=%d value=0x%llx bufSize=%lld"
#define PR_LINE_WAIT_EVENT      "waitEvent[%d]: type=%d mask=%x id=%lld value=%lld"
#define PR_LINE_SIGNAL_EVENT    "signalEvent[%d]: type=%d mask=%x id=%lld value=%lld"
#define PR_LINE_PROCEDURE       "getProcedureCallType(): invalid procedureId=%d, tot=%d"
#define PR_LINE_QUEUE_FULL      "[isHWReady] priority queue is full!"
#define PR_LINE_INFERENCE       "CSNE_CMD_INFERENCE_CALL dropped. prog %d process %d not running."
#define PR_LINE_TRIGGER_DROPPED "cacheHandler (0x%llx) in wrong state (%d) for trigger. trigger dropped."
#define PR_LINE_PREFETCH        "Dsid (%d) Event (0x%x)"
#define PR_LINE_UNSUPPORTED     "Cmd 0x%x is not supported through ExeLoop cmd channel"
#define PR_LINE_RPC_DIRTY       "RPCEventMap[%d] is dirty. (No ack from driver)"
#define PR_LINE_IPC_WRITER      "IPC Writer regAddr 0x%lx regValue 0x%x"
#define PR_LINE_PAGE_SIZE       "MMU invalid page size: %x"
#define PR_LINE_L2C             "Uncorrectable L2C error overflow"

/*
 * CHOSEN in part: the heads of CALL_BARS, CALL_EVENTS and TRIGGER are those of CALL (Listing 29.2 has what
 * follows), and SIGNAL_EVENT is WAIT_EVENT with its own name ("the matching signal line", ch. 30).
 */
#define PR_LINES(X)                       \
    X(COMMAND, "seeds ch. 30")            \
    X(CALL, "seeds ch. 30")               \
    X(CALL_BARS, "seeds Listing 29.2")    \
    X(CALL_EVENTS, "seeds Listing 29.2")  \
    X(TRIGGER, "seeds Listing 29.2")      \
    X(CACHE_HANDLER, "seeds ch. 30")      \
    X(SHAPE, "seeds ch. 30")              \
    X(BAR, "seeds ch. 29")                \
    X(WAIT_EVENT, "seeds ch. 30")         \
    X(SIGNAL_EVENT, "seeds ch. 30")       \
    X(PROCEDURE, "seeds ch. 30")          \
    X(QUEUE_FULL, "seeds ch. 30")         \
    X(INFERENCE, "seeds ch. 30")          \
    X(TRIGGER_DROPPED, "seeds ch. 30")    \
    X(PREFETCH, "seeds ch. 30")           \
    X(UNSUPPORTED, "seeds ch. 29 and 30") \
    X(RPC_DIRTY, "seeds ch. 30")          \
    X(IPC_WRITER, "seeds ch. 30")         \
    X(PAGE_SIZE, "seeds ch. 28")          \
    X(L2C, "seeds Listing 29.3")

enum pr_line {
#define X(id, source) PR_LINE_NUMBER_##id,
    PR_LINES(X)
#undef X
        PR_LINE_COUNT
};

#endif
