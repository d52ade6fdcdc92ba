"""As many pairs as a graph allows: tells a format whether those who are left can be paired at all.

Edmonds' algorithm for any graph. A set of vertices is an integer with a bit for each: bit 0 is
vertex 0. So one step looks at all neighbours at once, and a thousand players are no trouble.
"""

from collections.abc import Iterator, Sequence

Graph = Sequence[int]  # for each vertex the set of its neighbours
Mates = dict[int, int]  # both ways; who has none is missing


def bits(vertices: int) -> Iterator[int]:
    """The members of a set, the lowest first."""
    while vertices:
        lowest = vertices & -vertices
        yield lowest.bit_length() - 1
        vertices ^= lowest


def bits_from_above(vertices: int) -> Iterator[int]:
    """The members of a set, the highest first."""
    while vertices:
        highest = vertices.bit_length() - 1
        yield highest
        vertices ^= 1 << highest


def match(graph: Graph, vertices: int, mates: Mates) -> int:
    """Add as many pairs as possible to `mates`, which are all among the vertices.

    Who has a mate keeps one, but maybe another. Returns those who remain without.
    """
    free = vertices
    for vertex in mates:
        free ^= 1 << vertex
    for vertex in bits(free):
        if free >> vertex & 1 and graph[vertex] & free:
            mate = next(bits(graph[vertex] & free))
            mates[vertex], mates[mate] = mate, vertex
            free ^= 1 << vertex | 1 << mate
    for vertex in bits(free):
        if free >> vertex & 1:
            search = _Search(graph, vertices, mates, free & ~(1 << vertex))
            end = search.from_root(vertex)
            if end is None:
                vertices &= ~search.reached  # No later search can gain by coming here.
            else:
                free ^= 1 << vertex | 1 << end
    return free


class _Search:
    """A search for an alternating path from a free vertex, the root, to another free one.

    An outer vertex is reached by a path of even length: its next edge may be any. When two outer
    vertices are neighbours, the cycle that this closes is odd, a blossom; all its vertices are
    outer then, and share a base.
    """

    def __init__(self, graph: Graph, vertices: int, mates: Mates, free: int) -> None:
        self._graph, self._vertices, self._mates, self._free = graph, vertices, mates, free
        self._parents: Mates = {}  # the vertex before, on the way from the root
        self._bases: dict[int, int] = {}  # of vertices in blossoms
        self._blossoms: dict[int, int] = {}  # base -> its vertices
        self.reached = self._outer = 0
        self._queue: list[int] = []

    def from_root(self, root: int) -> int | None:
        """Change mates along a path, if there is one. Returns the free vertex at its end."""
        end = self._reach(1 << root)
        for vertex in self._queue:
            if end is None:
                end = self._grow(vertex)
            if end is None:
                end = self._close(vertex)
        return end

    def _reach(self, outer: int) -> int | None:
        """Note new outer vertices; if one has a free neighbour, the search is over."""
        self.reached |= outer
        self._outer |= outer
        for vertex in bits(outer):
            if ends := self._graph[vertex] & self._free:
                end = next(bits(ends))
                self._parents[end] = vertex
                self._change(end)
                return end
            self._queue.append(vertex)
        return None

    def _grow(self, vertex: int) -> int | None:
        for inner in bits(self._graph[vertex] & self._vertices & ~self.reached):
            if not self.reached >> inner & 1:
                self._parents[inner] = vertex
                self.reached |= 1 << inner
                end = self._reach(1 << self._mates[inner])
                if end is not None:
                    return end
        return None

    def _close(self, vertex: int) -> int | None:
        """Make blossoms of all odd cycles that the neighbours of an outer vertex close."""
        while closing := self._graph[vertex] & self._outer & ~self._blossom(vertex):
            other = next(bits(closing))
            base = self._common_base(vertex, other)
            blossom = self._blossom(base)
            for start, child in ((vertex, other), (other, vertex)):
                blossom |= self._turn(start, child, base)
            for each in bits(blossom):
                self._bases[each] = base
            self._blossoms[base] = blossom
            end = self._reach(blossom & ~self._outer)
            if end is not None:
                return end
        return None

    def _base(self, vertex: int) -> int:
        return self._bases.get(vertex, vertex)

    def _blossom(self, vertex: int) -> int:
        base = self._base(vertex)
        return self._blossoms.get(base, 1 << base)

    def _common_base(self, one: int, other: int) -> int:
        path = {base := self._base(one)}
        while base in self._mates:  # The root has none.
            base = self._base(self._parents[self._mates[base]])
            path.add(base)
        base = self._base(other)
        while base not in path:
            base = self._base(self._parents[self._mates[base]])
        return base

    def _turn(self, vertex: int, child: int, base: int) -> int:
        """Let one side of a cycle be walked the other way too; returns its vertices."""
        side = 0
        while self._base(vertex) != base:
            mate = self._mates[vertex]
            side |= self._blossom(vertex) | self._blossom(mate)
            self._parents[vertex] = child
            child, vertex = mate, self._parents[mate]
        return side

    def _change(self, end: int) -> None:
        vertex: int | None = end
        while vertex is not None:
            parent = self._parents[vertex]
            following = self._mates.get(parent)
            self._mates[vertex], self._mates[parent] = parent, vertex
            vertex = following
