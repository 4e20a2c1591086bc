# SPDX-License-Identifier: Apache-2.0
"""`remap_soc_top.py FOLDER [NAME=N ...]`: the SoC of examples/remap_engine_soc without its record table, as
FOLDER/remap_soc_top.v: the streams of `soc/remap_engine.py`, as a LiteX user has them, are ports, and so are the states
and counts of all txids. NAME=N: another configuration than the example's (RemapConfig)."""

import logging
import sys

try:
    from litex.build.generic_platform import Pins, Subsignal
    from migen import Cat

    from examples.remap_engine_soc.record_soc import CONFIG, EngineSoC, generate, platform
    from soc.remap_engine import RELEASED, RSP, RemapConfig, op_layout, tx_layout
except ImportError as e:
    sys.exit(f"remap_soc_top: {e}; source tools/env.sh first")


class Top(EngineSoC):
    def __init__(self, config):
        pads_of = platform("remap_soc_top")
        super().__init__(pads_of, config)
        engine = self.engine
        op = [*op_layout(engine.config), ("last", 1)]
        for name, layout, taken in [
            ("op", op, True),
            ("tx", tx_layout(engine.config), True),
            ("rsp", RSP, False),
            ("released", RELEASED, False),
        ]:
            ep = getattr(engine, name)
            pads_of.add_extension(
                [
                    (
                        name,
                        0,
                        *(
                            Subsignal(f, Pins(w))
                            for f, w in [("valid", 1), ("ready", 1), *((f"payload_{f}", w) for f, w in layout)]
                        ),
                    )
                ]
            )
            pads = pads_of.request(name)
            signals = [(pads.valid, ep.valid), *((getattr(pads, f"payload_{f}"), getattr(ep, f)) for f, _ in layout)]
            self.comb += [inner.eq(pad) if taken else pad.eq(inner) for pad, inner in signals]
            self.comb += pads.ready.eq(ep.ready) if taken else ep.ready.eq(pads.ready)
        for name, value in [
            ("states", Cat(*engine.state)),
            ("counts", Cat(*engine.entries)),
            ("walking", engine.walking),
        ]:
            pads_of.add_extension([(name, 0, Pins(len(value)))])
            self.comb += pads_of.request(name).eq(value)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    own = {name: int(n) for name, n in (arg.split("=") for arg in sys.argv[2:])}
    print("\n".join(generate(Top(RemapConfig(**own) if own else CONFIG), sys.argv[1])))
