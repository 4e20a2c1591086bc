// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._

/** What the command executor waits for. */
object ExecutorState extends SpinalEnum(binaryOneHot) {
  // format: off
  val Idle,    // a command
    Look,      // nothing: opcode and transaction are looked at
    Start,     // nothing: decides by opcode
    Room,      // pages for data and log
    Probe,     // the engine to take a LOOKUP
    Probed,    // its answer
    Append,    // a page and the log
    Link,      // the engine to take PLAIN, APPEND or TRIM
    Linked,    // its answer
    Issue,     // the flash scheduler
    After,     // nothing: ends a write or trim
    Record,    // the log to take COMMIT or ABORT
    Tx,        // the engine to take a transaction's change
    Settle,    // its state to show
    Scan,      // nothing: RECOVER looks for an open transaction
    Sum,       // nothing: QUERY adds the next txid
    Wait,      // the log to take the wait
    Drop,      // the write frame pool to take back frames
    Finish =   // the completion to be taken
    newElement()
  // format: on
}
