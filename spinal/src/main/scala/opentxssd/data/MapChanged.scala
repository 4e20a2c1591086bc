// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._
import spinal.lib._

/** Which pages of the map may have changed: a bit for each (docs/decisions/033).
  *
  * Contract. The bit of a page is set by `written`, an LPN of which a change stands in table memory, by `applied`, of
  * which it stands there when the task of `MapPages` ends, and by `set`, which firmware gives. `ask` names a group of
  * `group` pages; `answer` is valid some clocks later, until the next `ask`: bit n for page n of it. With `take` these
  * bits are 0 from then on. A bit is reported when its page was set before the `ask`; one that is set meanwhile is
  * reported by this `take` or by the next one. So firmware that takes first and reads the map then misses nothing.
  *
  * Two clocks for a page, and one more for each page that is set meanwhile: those go first and never wait. So the three
  * must not come in one clock: `applied` and `set` are for the mount, in which the engine does nothing. An `ask` gives
  * up the one before, and a `take` that is given up may have lost what it found. Reset forgets the question; bits are
  * as they happen to be until they are taken.
  */
class MapChanged(pages: Int, group: Int = 32) extends Component {
  setDefinitionName("otx_map_changed" + (if (group == 32) "" else s"_$group"))
  require(isPow2(group), s"groups of $group pages")
  private val nBits = log2Up(group)
  private val bits = log2Up(pages).max(nBits + 1)

  val written = slave port Flow(UInt(28 bits)) // LPN
  val applied, set = slave port Flow(UInt(18 bits))
  val ask = slave port Flow(UInt(18 - nBits bits))
  val take = in port Bool() // with `ask`
  val answer = master port Flow(Bits(group bits))

  private val changed = Mem(Bool(), 1 << bits)
  private val sets = written.valid || applied.valid || set.valid
  private val ofMount = applied.valid.mux(applied.payload, set.payload)
  private val page = written.valid.mux(written.payload >> 10, ofMount).resize(bits)

  private val busy, done = RegInit(False)
  private val takes = Reg(Bool())
  private val first = Reg(UInt(bits - nBits bits))
  private val n = Reg(UInt(nBits bits))
  private val looked = RegInit(False) // its second clock, or later: the bit is here
  private val late = Reg(Bool()) // the page was set since its first clock
  private val found = Reg(Bits(group bits))
  private val at = first @@ n
  private val same = sets && page === at
  private val read = changed.readSync(at, busy && !looked)
  changed.write(sets.mux(page, at), sets, sets || looked && takes)

  when(busy && !looked) {
    looked := True
    late := same
  }
  when(looked) {
    late := late || same
    when(!sets) { // or its write waits
      found := (read || late) ## found(group - 1 downto 1)
      looked := False
      n := n + 1
      when(n.andR) {
        busy := False
        done := True
      }
    }
  }
  when(ask.valid) {
    busy := True
    done := False
    looked := False
    takes := take
    first := ask.payload.resize(bits - nBits)
    n := 0
  }
  answer.valid := done
  answer.payload := found
}
