// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** Makes the background work of the remap engine, entry by entry: the tables of ABORTED transactions, and of COMMITTED
  * ones oldest first.
  *
  * A table that was begun is walked to its end, then `free` gives the txid back. Aborted and committed tables take
  * turns, so neither kind waits for ever; of the aborted ones, those that were there when the last of a round was FREE
  * make the next round, so none waits for more than two rounds. The LPNs of up to four entries are read ahead (`fetch`,
  * `fetched` in any order, each into the place of its number modulo 4); all else is read again in the job, because a
  * SWAP or PLAIN may have changed it meanwhile. Up to six jobs are under way; `ended` for one clock each. Reset forgets
  * everything.
  */
class RemapWalker(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_walker")

  val oldest = slave port Flow(UInt(5 bits))
  val aborted = in port Bits(RemapParam.mostTxids bits)
  val walked = out port UInt(5 bits) // whose table is walked or was the last
  val size = in port UInt(16 bits) // entries it has
  val reached = out port UInt(16 bits) // entries of it that the walk has come to; 0 from a few clocks after it is FREE
  val fetch = master port Stream(RemapFetch(p))
  val fetched = slave port Flow(RemapFetched())
  val walk = master port Stream(RemapWalk(p))
  val ended = in port Bool()
  val free = master port Flow(UInt(5 bits))
  val busy = out port Bool()

  private val active = RegInit(False)
  private val merge = Reg(Bool()) init False
  private val txid = Reg(UInt(5 bits))
  private val last = RegNext(size)
  walked := txid
  private val sized = RegNext(active) init False // `last` belongs to `txid`
  private val fetches, jobs = Reg(UInt(16 bits)) // entries asked for, entries given to the slots
  private val under = Reg(UInt(3 bits)) init 0 // jobs
  reached := jobs
  private val have = Reg(Bits(4 bits)) init 0 // places
  private case class Place() extends Bundle {
    val lpn = UInt(32 bits)
    val failed = Bool()
  }
  private val places = Mem(Place(), 4)
  busy := active

  private val fetching = Stream(RemapFetch(p))
  fetching.valid := sized && active && fetches =/= last && fetches - jobs =/= 4
  fetching.place := fetches.resized
  fetching.index.number := fetches.resized
  fetching.index.txid := txid
  fetch << fetching.m2sPipe()
  when(fetching.fire)(fetches := fetches + 1)

  private val came = Place()
  came.lpn := fetched.lpn
  came.failed := fetched.failed
  places.write(fetched.place, came, fetched.valid)
  private val next = Stream(RemapWalk(p))
  private val place = places.readAsync(jobs.resize(2))
  next.valid := have(jobs.resize(2)) && under =/= 6
  next.merge := merge
  next.index.number := jobs.resized
  next.index.txid := txid
  next.lpn := place.lpn
  next.unread := place.failed
  walk << next.m2sPipe().s2mPipe() // `RemapIssue` knows late whether it has room
  when(next.fire) {
    jobs := jobs + 1
    have(jobs.resize(2)) := False
  }
  when(fetched.valid)(have(fetched.place) := True)
  under := under + next.fire.asUInt - ended.asUInt

  private val over = sized && active && jobs === last && under === 0
  free.valid := RegNext(over) init False
  free.payload := txid

  // Who is to be walked, a clock late: the old choice stands until three clocks after the end of its walk. `merge`
  // still says what the last walk was.
  private val toMerge = RegNext(oldest)
  private val round = Reg(Bits(RemapParam.mostTxids bits)) init 0
  private val left = round & aborted
  round := left.orR.mux(left, aborted)
  private val toDrop = Flow(UInt(5 bits))
  toDrop.valid := round.orR
  toDrop.payload := OHToUInt(OHMasking.first(round))
  private val stale = History(free.valid, 3, init = True).orR
  private val chooseMerge = toMerge.valid && !(toDrop.valid && merge)
  when(!active && !stale) {
    fetches := 0
    jobs := 0
  }
  when(!active && !stale && (toMerge.valid || toDrop.valid)) {
    active := True
    merge := chooseMerge
    txid := chooseMerge ? toMerge.payload | toDrop.payload
  }
  when(over)(active := False)
}
