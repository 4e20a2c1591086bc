# SPDX-License-Identifier: Apache-2.0
"""The Vivado project of the Acorn, made without Vivado and without firmware: settings of the PCIe block, pins, clocks,
and what the design joins to the block. No test says that Vivado takes it.
"""

import re

import pytest

from soc import geometry
from soc.boards import acorn

CONFIG = re.compile(r"CONFIG\.(\w+) \{(.*?)\}")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    soc = acorn.Acorn(geometry.preset("acorn"), [0])
    folder = tmp_path_factory.mktemp("acorn")
    soc.platform.build(soc, build_dir=str(folder), build_name="acorn", run=False)
    return soc, {end: (folder / f"acorn.{end}").read_text() for end in ("v", "tcl", "xdc")}


def test_the_block_is_an_nvme_controller_with_its_table_where_the_front_end_has_it(project):
    found = dict(CONFIG.findall(project[1]["tcl"]))
    wanted = {
        "Class_Code_Base": "01",
        "Class_Code_Sub": "08",
        "Class_Code_Interface": "02",
        "Bar0_Scale": "Kilobytes",
        "Bar0_Size": "16",
        "MSI_Enabled": "False",
        "MSIx_Enabled": "True",
        "MSIx_Table_Size": "10",  # hexadecimal
        "MSIx_Table_Offset": "2000",
        "MSIx_PBA_Offset": "3000",
        "Maximum_Link_Width": "X4",
        "Interface_Width": "128_bit",
    }
    assert {name: found.get(name) for name in wanted} == wanted


def test_clocks_are_apart_and_their_nets_are_there(project):
    texts = project[1]
    assert f"read_xdc {acorn.ROOT}/constraints/acorn.xdc" in texts["tcl"]
    nets = re.findall(r"get_nets (\w+)", (acorn.ROOT / "constraints/acorn.xdc").read_text())
    assert nets == ["sys_clk", "pcie_clk"]
    for net in nets:
        assert re.search(rf"^wire +{net};", texts["v"], re.M)
    for clock, period in (("clk200_p", "5.0"), ("pcie_x4_clk_p", "10.0")):
        assert f"create_clock -name {clock} -period {period} [get_ports {clock}]" in texts["xdc"]


def test_each_pin_of_the_top_has_a_place_and_none_is_of_a_nand(project):
    texts = project[1]
    head = texts["v"][texts["v"].index("module acorn") :]
    ports = re.findall(r"^ +(?:input|output|inout) +wire +(?:\[(\d+):0\])? *(\w+)", head[: head.index(");")], re.M)
    names = {f"{name}[{i}]" if width else name for width, name in ports for i in range(int(width or 0) + 1)}
    placed = set(re.findall(r"set_property LOC \w+ \[get_ports \{(.+?)\}\]", texts["xdc"]))
    assert names == placed and len(names) > 60
    assert not any("nand" in name for name in names)


def test_the_front_end_sees_the_state_of_the_block(project):
    soc, texts = project
    joined = dict(re.findall(r"^\t\.(\w+) +\(([^)]*)\)", texts["v"][texts["v"].index("pcie_s7 pcie_s7(") :], re.M))
    for port in ("user_lnk_up", "cfg_command", "cfg_interrupt_msixenable", "cfg_interrupt_msixfm", "cfg_dcommand"):
        assert joined[port], f"{port} is not connected"


def test_without_a_nand_its_lines_read_as_ones():
    g = geometry.preset("acorn")
    pins = acorn.NandPins({name: acorn.Signal(width) for name, width, _ in acorn.streams.nand_layout(g)}, g)
    assert pins._in.storage.reset.value == (1 << len(pins._in.storage)) - 1
    assert len(pins._in.storage) == 8 + g.dies


def test_the_black_box_has_each_port_once(project):
    soc, _ = project
    text = acorn.black_box(soc.pcie_phy.pcie_phy_params)
    ports = re.findall(r"(?:input|output) \[\d+:0\] (\w+)", text)
    assert len(ports) == len(set(ports)) == len(soc.pcie_phy.pcie_phy_params)
    assert "input [127:0] s_axis_tx_tdata" in text and "output [127:0] m_axis_rx_tdata" in text
