// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
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
    Seek,      // the write buffer: a frame that a LOOKUP has found is made early
    Append,    // the log to take a TRIM
    Link,      // the engine to take PLAIN, APPEND or TRIM
    Linked,    // its answer
    Keep,      // the write buffer to take the frame
    After,     // nothing: ends a write or trim
    SeekLook,  // RFLUSH: the engine to take a LOOKUP
    SeekLooked, // its answer
    SeekOne,   // the write buffer: what it has found is made early
    Gather,    // the write buffer: frames are made early
    Aside,     // room among the commands that wait for frames to be issued
    Over,      // frames below versions of transactions to be issued
    Record,    // the log to take COMMIT, ABORT or PREPARE
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

/** The executor's state, the status that its command ends with, and the ways on that several of its parts go. `frames`:
  * how many the command came with; `again`: it has stood aside. */
class ExecutorFlow(frames: UInt, val again: Bool) extends Area {
  import ExecutorState._

  val state = RegInit(Idle)
  val next = Reg(ExecutorState()) // after Settle
  val status = Reg(UInt(4 bits))
  val txOp = Reg(UInt(3 bits))

  def end(code: Int): Unit = end(StatusCode(code))
  def end(code: UInt): Unit = {
    status := code
    state := Mux(frames === 0, Finish(), Drop())
  }

  /** Changes the transaction in hand, and goes on when that shows. */
  def change(what: Int, after: ExecutorState.E): Unit = change(what, after())
  def change(what: Int, after: ExecutorState.C): Unit = {
    txOp := what
    next := after
    state := Tx
  }

  /** Goes on when another transaction is in hand. */
  def settle(after: ExecutorState.E): Unit = {
    next := after
    state := Settle
  }
}
