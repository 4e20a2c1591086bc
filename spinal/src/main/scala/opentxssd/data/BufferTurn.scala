// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._
import spinal.lib._

/** How far the log covers what is in the write buffer: rules erase and checkpoint of docs/architecture.md.
  *
  * A block whose last page was overwritten by a frame may be erased when that frame is on NAND and its entry is behind
  * a durable watermark; a map page that names a frame may be used then. Which frames these are firmware cannot tell. So
  * it is shown a watermark that is held back.
  *
  * Contract. Plain frames are linked in turns, and none begins while one is being linked (`linking`): `turn` is that
  * of those that are linked now, `old` says that one of the other turn is not issued yet. In the clock in which a
  * turn begins the log's head is X. When all frames of the turn before are issued the head is Y, so their entries lie
  * before Y; and when the durable watermark has come to Y, `held` becomes X. Two such pairs wait at most, and then no
  * further turn begins. So when `held` has come to H, all that was logged or linked in the last clock in which the
  * head was below H is behind a durable watermark; and also all that was logged or linked in a clock in which the
  * head was H and no plain frame was linked and not issued. `restart`, for a clock: what is linked now is to be
  * issued; a turn begins for it as soon as that can be, in place of the younger pair. `ready` from the next clock on
  * says that all of it is issued. It may come again only while `ready` is high. `held` never falls while `enable` is
  * high, and is never above `durableMark`. While it is the head no turn begins but for `restart`. Reset or `enable`
  * low: 0.
  */
class BufferTurn extends Component {
  setDefinitionName("otx_buffer_turn")

  val enable = in port Bool()
  val head = in port UInt(48 bits)
  val durableMark = in port UInt(48 bits)
  val turn = out port Bool()
  val old = in port Bool()
  val linking = in port Bool() // the map names a frame, or is about to, that is in no turn yet
  val restart = in port Bool()
  val ready = out port Bool()
  val held = out port UInt(48 bits)

  private case class Span() extends Bundle {
    val began, ends = UInt(48 bits) // X and Y
  }
  private val now = RegInit(False)
  turn := now
  private val shown = Reg(UInt(48 bits)) init 0
  held := shown
  private val younger, older = Reg(Span())
  private val settles = RegInit(False) // `older` waits for the durable watermark
  private object State extends SpinalEnum {
    val Begin, Issues, Waits = newElement() // of a turn; until the one before is issued; until `older` is free
  }
  import State._
  private val state = RegInit(Begin)
  private val wanted = RegInit(False) // a turn for `restart` has not begun
  private val serves = RegInit(False) // this turn is the one for it
  ready := !wanted && !serves
  when(restart)(wanted := True)
  private val age = Reg(UInt(2 bits)) // clocks of this turn, up to 3: then `old` is about it
  when(age =/= 3)(age := age + 1)

  when(settles && durableMark >= older.ends) {
    shown := older.began
    settles := False
  }
  switch(state) {
    is(Begin) {
      when(!linking && (head =/= shown || wanted)) {
        now := !now
        younger.began := head
        age := 0
        serves := wanted
        when(!restart)(wanted := False)
        state := Issues
      }
    }
    is(Issues) {
      when(age === 3 && !old) {
        younger.ends := head
        serves := False
        state := Waits
      }
    }
    is(Waits) {
      when(!settles) {
        older := younger
        settles := True
        state := Begin
      }.elsewhen(wanted)(state := Begin)
    }
  }
  when(!enable) {
    state := Begin
    shown := 0
    settles := False
    wanted := False
    serves := False
  }
}
