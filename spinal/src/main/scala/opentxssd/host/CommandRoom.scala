// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import opentxssd._
import opentxssd.log.LogReserve
import spinal.core._
import spinal.lib._

/** A WRITE: its tag and its blocks. */
case class WriteSize() extends Bundle {
  val tag = UInt(5 bits)
  val blocks = UInt(6 bits)
}

/** Room for the commands that need it, before they enter the data path: so nothing in there waits for firmware, and
  * nobody waits behind one that does.
  *
  * Contract. `logOpen`: a command that needs log pages (WRITE, TRIM, WRITE ZEROES, BEGIN, PREPARE) may go. A WRITE
  * comes here first (`hold`, one at a time; the others wait for it, so a large one is not starved by small ones) and
  * goes (`go`, three clocks later at the earliest) when it finds NAND pages, frames and the log open. What has gone and
  * has not taken its frames (`fetched`) or pages (`settled`: also while it is in the write buffer) yet is counted.
  * `starved`: the one that is held finds no pages or frames. While free blocks are few it also waits until
  * the clocks are over that the one before has cost (`WritePace`). Where no more room will come (`full`, `logFull`) or
  * `fault` is set it goes all the same: the command executor then ends it with CAPACITY or READ_ONLY.
  *
  * `framesKept`: so many frames stay free, for what is in all others can be saved when the power fails
  * (`PageAllocator`). A WRITE that will get CAPACITY (`full`, too few pages) only needs frames for its data.
  *
  * All inputs may be some clocks late. What this cannot know, pages that a failing block takes away afterwards, the
  * command executor looks at again. Reset: nothing is held or promised.
  */
class CommandRoom(p: OtxParam) extends Component {
  setDefinitionName("otx_command_room")

  val hold = slave port Stream(WriteSize())
  val go = master port Stream(UInt(5 bits))
  val logOpen, starved = out port Bool()
  val supply = Ports.bare(in port Supply())
  val intake = Ports.bare(in port Intake())
  val pageClocks = in port UInt(WritePace.intervalBits bits)
  import intake.{fetched, framesFree, settled}
  import supply.{allocLeft, fault, full, logFull, logLeft}

  /** Blocks of WRITEs that have gone: those of 32 WRITEs and of all frames at most. */
  private def promised(ends: Bool, blocks: UInt): UInt = {
    val sum = Reg(UInt(16 bits)) init 0
    sum := sum + Mux(go.fire, held.blocks, U(0)).resized - Mux(ends, blocks, U(0)).resized
    sum
  }

  private val held = Reg(WriteSize())
  private val holds = RegInit(False)
  private val age = Reg(UInt(2 bits)) // clocks for which it is held, up to 2: then `fits` is about it
  hold.ready := !holds
  when(hold.fire) {
    held := hold.payload
    holds := True
    age := 0
  }
  when(holds && age =/= 2)(age := age + 1)
  when(go.fire)(holds := False)

  private val pace = new WritePace
  pace.interval := pageClocks
  pace.goes.valid := go.fire
  pace.goes.payload := held.blocks
  private val unissued = promised(settled.valid, settled.payload)
  private val needsPages = RegNext(unissued + held.blocks)
  private val needsAny = promised(fetched.valid, fetched.blocks) + held.blocks
  private val needsFrames = RegNext(needsAny + supply.framesKept)
  private val hasPages = allocLeft >= needsPages && pace.may || full
  private val refused =
    full && allocLeft < needsPages && framesFree >= RegNext(needsAny) // nothing of it is to be saved
  private val fits = RegNext(hasPages && framesFree >= needsFrames || refused || fault) init False
  starved := RegNext(holds && age === 2 && (allocLeft < needsPages || framesFree < needsFrames)) init False
  logOpen := RegNext(logLeft > LogReserve.open(p) || logFull || fault) init False
  go.valid := holds && age === 2 && fits && logOpen
  go.payload := held.tag
}
