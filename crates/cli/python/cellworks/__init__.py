"""Measures what communication costs, and places communicating tasks, by the command ``cellworks``.

Each function runs the command, which the same package brings, and returns what it prints as JSON:

>>> import numpy, cellworks
>>> costs = numpy.array([[0, 9, 1], [9, 0, 9], [1, 9, 0]])
>>> volumes = numpy.array([[0, 0, 5], [0, 0, 0], [5, 0, 0]])
>>> found = cellworks.solve(volumes, costs)
>>> found.cost, found.optimal
(10.0, True)
>>> sorted(found.placement[[0, 2]].tolist())
[0, 2]

The fields of JSON are described in docs/json.md of the repository.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union, overload

import numpy

__all__ = ["CellworksError", "Matrix", "Placement", "Result", "load", "solve", "stats"]

PathLike = Union[str, "os.PathLike[str]"]


class CellworksError(Exception):
    """The command has failed. The text is its message."""


class Result:
    """A result of the command. A notebook shows the page of the result, with its pictures."""

    def __init__(self, report: Mapping[str, Any], page: Optional[str] = None) -> None:
        self.report: Dict[str, Any] = dict(report)
        """The JSON of the command."""
        self.page: Optional[str] = page
        """The page of ``--html``. None if the command has written none."""

    @property
    def results(self) -> Dict[str, float]:
        """The results by name. Of several results with a name, it has the last one."""
        return {one["name"]: one["value"] for one in self.report.get("results", [])}

    def save(self, file: PathLike) -> None:
        """Writes the JSON, for `load` and for the command."""
        Path(file).write_text(json.dumps(self.report))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of `cellworks {self.report.get('command')}`>"

    def _repr_html_(self) -> Optional[str]:
        """Returns the page in a frame, which a notebook shows.

        >>> shown = solve([[0, 1], [1, 0]], "core:2")._repr_html_()
        >>> shown.startswith("<iframe srcdoc="), "&lt;svg" in shown
        (True, True)
        """
        if self.page is None:
            return None
        page = html.escape(self.page, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'


class Matrix(Result):
    """Times between all pairs of CPUs or SPEs."""

    @property
    def matrix(self) -> "numpy.ndarray[Any, numpy.dtype[numpy.float64]]":
        """The times in nanoseconds, from the row to the column. A time that was not measured is NaN.

        >>> measured = stats(matrix="atomic", machine="ps3")
        >>> measured.matrix.shape
        (6, 6)
        """
        matrices = self.report["matrices"]
        if len(matrices) != 1:
            raise ValueError(f"the result has {len(matrices)} matrices, and not one: see .report")
        rows = matrices[0]["one_way_ns"]
        return numpy.array(rows, dtype=numpy.float64)

    @property
    def places(self) -> List[str]:
        """The names of the rows and columns."""
        return list(self.report["machine"]["spe_places"])


class Placement(Result):
    """A placement of tasks."""

    @property
    def placement(self) -> "numpy.ndarray[Any, numpy.dtype[numpy.int64]]":
        """The place of task 0, of task 1 and so on."""
        return numpy.array(self.report["placement"], dtype=numpy.int64)

    @property
    def cpus(self) -> "numpy.ndarray[Any, numpy.dtype[numpy.int64]]":
        """The CPU of each task, on its node. Empty if places are no CPUs."""
        return numpy.array([one["cpu"] for one in self.report["cpus"]], dtype=numpy.int64)

    @property
    def nodes(self) -> "numpy.ndarray[Any, numpy.dtype[numpy.int64]]":
        """The node of each task. Empty if places are no CPUs."""
        return numpy.array([one["node"] for one in self.report["cpus"]], dtype=numpy.int64)

    @property
    def cost(self) -> float:
        """The sum of volume times cost of all pairs of tasks, in both directions."""
        return float(self.results["cost"])

    @property
    def bound(self) -> float:
        """A cost that no placement is below."""
        return float(self.results["bound"])

    @property
    def optimal(self) -> bool:
        """Whether the placement is proven to cost the least."""
        return bool(self.report["optimal"])


@overload
def stats(*, matrix: str, **flags: Any) -> Matrix: ...


@overload
def stats(*, matrix: None = None, **flags: Any) -> Result: ...


def stats(*, matrix: Optional[str] = None, **flags: Any) -> Result:
    """Measures with ``cellworks stats``.

    Flags are those of the command: ``machine="qs20"``, ``full=True``, ``seed=7``. With ``matrix`` the
    result is a `Matrix`.
    """
    if matrix is not None:
        flags["matrix"] = matrix
    return _run(["stats"], flags)


def solve(volumes: Any, costs: Any, **flags: Any) -> Placement:
    """Searches for a placement with ``cellworks map solve``.

    ``volumes[i, j]`` is what task i sends to task j: an array, a sparse array or matrix of scipy, or
    the name of a file that the command reads. ``costs[i, j]`` is the cost of a unit between places i
    and j, which are CPUs i and j: an array, also a sparse one, the `Matrix` of `stats`, or a text that
    the command takes for ``--costs``, such as a machine in one line. A cost that is NaN is that of the
    other direction, or 0 from a place to itself. Flags are those of the command.

    >>> ring = numpy.roll(numpy.eye(8), 1, axis=1)
    >>> found = solve(ring, "node:2@1.8us core:4@60ns", time=1)
    >>> sorted(found.nodes.tolist())
    [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found.cost
    3960.0
    >>> measured = stats(matrix="atomic", machine="ps3")
    >>> solve(ring[:6, :6], measured.matrix, time=1).placement.shape
    (6,)
    >>> solve(ring, "node:2@1.8us core:3@60ns")
    Traceback (most recent call last):
    ...
    cellworks.CellworksError: ... 8 tasks do not fit on 6 places ...
    """
    with tempfile.TemporaryDirectory(prefix="cellworks-") as folder:
        if isinstance(volumes, (str, os.PathLike)):
            tasks = os.fspath(volumes)
        else:
            tasks = os.path.join(folder, "volumes")
            count, edges = _edges(volumes)
            with open(tasks, "w") as file:
                file.write(f"tasks {count}\n")
                file.writelines(f"{i} {j} {float(volume)!r}\n" for i, j, volume in edges)
        if isinstance(costs, (str, os.PathLike)):
            places = os.fspath(costs)
        elif isinstance(costs, Result):
            places = os.path.join(folder, "costs.json")
            costs.save(places)
        else:
            places = os.path.join(folder, "costs.csv")
            with open(places, "w") as file:
                for row in _square(costs, "costs").tolist():
                    # NaN, as in the diagonal of `Matrix.matrix`, is a cost that is not known.
                    known = ("" if cost != cost else repr(cost) for cost in row)
                    file.write(",".join(known) + "\n")
        found = _run(["map", "solve", tasks], {"costs": places, **flags})
    assert isinstance(found, Placement)
    return found


def load(file: PathLike) -> Result:
    """Loads a result from JSON that the command has printed, or that ``save`` has written.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     solve([[0, 1], [1, 0]], "core:2").save(folder + "/best.json")
    ...     loaded = load(folder + "/best.json")
    >>> loaded.cost, "&lt;svg" in loaded._repr_html_()
    (2.0, True)
    """
    report = json.loads(Path(file).read_text())
    if not isinstance(report, dict) or "command" not in report:
        raise ValueError(f"{os.fspath(file)}: it is no result of cellworks: print one by --format json")
    drawn = subprocess.run(
        [_command(), "export", "html", os.path.abspath(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    # `export` refuses what has no page of its own, such as the JSON of `machine`.
    return _result(report, drawn.stdout if drawn.returncode == 0 else None)


def _result(report: Mapping[str, Any], page: Optional[str]) -> Result:
    if report["command"] == "map solve":
        return Placement(report, page)
    return (Matrix if report.get("matrices") else Result)(report, page)


def _edges(volumes: Any) -> Tuple[int, Iterable[Tuple[int, int, float]]]:
    """Returns the number of tasks, and the edges with a volume other than 0."""
    if hasattr(volumes, "tocoo"):
        if len(volumes.shape) != 2:
            raise ValueError(f"volumes have the shape {volumes.shape}: make them square")
        rows, columns = volumes.shape
        if rows != columns:
            raise ValueError(f"volumes have {rows} rows and {columns} columns: make them square")
        sparse = volumes.tocoo()
        return rows, zip(sparse.row.tolist(), sparse.col.tolist(), sparse.data.tolist())
    array = _square(volumes, "volumes")
    senders, receivers = numpy.nonzero(array)
    volumes = array[senders, receivers]
    return len(array), zip(senders.tolist(), receivers.tolist(), volumes.tolist())


def _square(values: Any, name: str) -> "numpy.ndarray[Any, numpy.dtype[numpy.float64]]":
    if hasattr(values, "toarray"):
        values = values.toarray()
    array = numpy.asarray(values, dtype=numpy.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} have the shape {array.shape}: make them square")
    return array


def _command() -> str:
    """Returns the command that was installed with this module, or that of the search path."""
    folders = [sysconfig.get_path("scripts")]
    user = getattr(sysconfig, "get_preferred_scheme", None)
    if user is not None:
        folders.append(sysconfig.get_path("scripts", user("user")))
    for folder in folders:
        file = os.path.join(folder, "cellworks")
        if os.access(file, os.X_OK):
            return file
    found = shutil.which("cellworks")
    if found is None:
        raise CellworksError(f"no command `cellworks` in {', '.join(folders)}, nor in PATH: install it")
    return found


def _run(command: List[str], flags: Mapping[str, Any]) -> Result:
    arguments = [_command(), *command, "--format", "json"]
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            if isinstance(value, (list, tuple)):
                value = ",".join(str(one) for one in value)
            arguments.append(f"{flag}={value}")
    with tempfile.TemporaryDirectory(prefix="cellworks-") as folder:
        page = Path(folder, "page.html")
        ended = subprocess.run(
            [*arguments, f"--html={page}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        # A result that is not reliable is one: `report["trust"]` has the reasons.
        if ended.returncode != 0 and not (ended.returncode == 3 and ended.stdout):
            raise CellworksError(ended.stderr.strip())
        text = page.read_text(encoding="utf-8") if page.exists() else None
    return _result(json.loads(ended.stdout), text)
