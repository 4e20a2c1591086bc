// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** Chooses the background work of the remap engine, entry by entry: the tables of ABORTED transactions, and of COMMITTED ones oldest first.
  *
  * A table that was begun is walked to its end, then `free` gives the txid back. Aborted and committed tables take turns, so neither kind waits for ever. `walk`
  * offers one entry; the next one comes after `walkDone`, so that between two entries the engine can do anything else. Reset forgets everything.
  */
class RemapWalker extends Component {
  setDefinitionName("otx_remap_walker")

  val oldest = slave port Flow(UInt(5 bits))
  val aborted = slave port Flow(UInt(5 bits))
  val count = in port Vec(UInt(16 bits), OtxParam.txids)
  val walk = master port Stream(RemapWalk())
  val walkDone = in port Bool()
  val free = master port Flow(UInt(5 bits))
  val walking = out port Bool()

  private val active = RegInit(False)
  private val waiting = RegInit(False) // for walkDone
  private val merge = Reg(Bool()) init False
  private val index = Reg(TxIndex())
  private val ended = RegNext(index.number === Pick(count, index.txid))
  private val looked = RegInit(False) // `ended` belongs to `index`
  private val over = looked && !waiting && ended // gives the txid back in the next clock
  looked := active && !waiting && !over

  walking := active || oldest.valid || aborted.valid
  walk.valid := looked && !waiting && !ended
  walk.merge := merge
  walk.index := index
  free.valid := RegNext(over) init False
  free.payload := RegNext(index.txid)

  // Who is to be walked, a clock late: the old choice stands until two clocks after the end of its walk. `merge` still says what the last walk was.
  private val toMerge = RegNext(oldest)
  private val toDrop = RegNext(aborted)
  private val stale = free.valid || RegNext(free.valid, init = True)
  private val chooseMerge = toMerge.valid && !(toDrop.valid && merge)
  when(!active && !stale && (toMerge.valid || toDrop.valid)) {
    active := True
    merge := chooseMerge
    index.txid := chooseMerge ? toMerge.payload | toDrop.payload
    index.number := 0
  }
  when(walk.fire)(waiting := True)
  when(walkDone) {
    waiting := False
    index.number := index.number + 1
  }
  when(over)(active := False)
}
