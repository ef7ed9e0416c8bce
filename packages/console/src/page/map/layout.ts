/**
 * Where the nodes of a map stand: in layers, callers before what they call. It depends on names and edges alone, never
 * on rates, so that nothing moves while figures do.
 */

/** A node's layer, and its place within. */
export interface Place {
  readonly layer: number
  readonly index: number
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>
  /** Nodes of each layer. */
  readonly sizes: readonly number[]
}

/** Rounds in which the order within layers follows the neighbours. */
const ROUNDS = 4

/** Places nodes. Edges to nodes that are not there, and to themselves, are passed over. */
export function layOut(
  names: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[]
): Layout {
  const ids = [...names].sort()
  const known = new Set(ids)
  const next = new Map<string, string[]>(ids.map((id) => [id, []]))
  const before = new Map<string, string[]>(ids.map((id) => [id, []]))
  for (const { from, to } of forwards(
    ids,
    edges.filter((edge) => known.has(edge.from) && known.has(edge.to))
  )) {
    next.get(from)?.push(to)
    before.get(to)?.push(from)
  }
  const layers = layersOf(ids, next, before)
  for (let round = 0; round < ROUNDS; round++) {
    const neighbours = round % 2 === 0 ? before : next
    const order = round % 2 === 0 ? layers : [...layers].reverse()
    const at = new Map(
      layers.flatMap((layer) => layer.map((id, index) => [id, index / layer.length] as const))
    )
    for (const layer of order) {
      const middle = new Map(
        layer.map((id) => [id, middleOf(neighbours.get(id) ?? [], at) ?? at.get(id) ?? 0])
      )
      layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0) || (a < b ? -1 : 1))
      for (const [index, id] of layer.entries()) at.set(id, index / layer.length)
    }
  }
  return {
    places: new Map(layers.flatMap((ids, layer) => ids.map((id, index) => [id, { layer, index }] as const))),
    sizes: layers.map(({ length }) => length)
  }
}

/** Edges without those that close a circle, and each once. Goes through nodes by name, without recursion: there may be many. */
function forwards(
  ids: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[]
): { from: string; to: string }[] {
  const targets = new Map<string, Set<string>>()
  const hasCaller = new Set<string>()
  for (const { from, to } of edges) {
    if (from === to) continue
    const known = targets.get(from) ?? new Set()
    known.add(to)
    targets.set(from, known)
    hasCaller.add(to)
  }
  const state = new Map<string, 'open' | 'done'>()
  const kept: { from: string; to: string }[] = []
  // Whom nobody calls comes first, so that circles are cut behind it.
  for (const start of [...ids.filter((id) => !hasCaller.has(id)), ...ids]) {
    if (state.has(start)) continue
    state.set(start, 'open')
    const path = [{ id: start, left: [...(targets.get(start) ?? [])].sort() }]
    while (path.length > 0) {
      const { id, left } = path[path.length - 1] as (typeof path)[number]
      const to = left.shift()
      if (to === undefined) {
        state.set(id, 'done')
        path.pop()
      } else if (state.get(to) !== 'open') {
        kept.push({ from: id, to })
        if (state.get(to) === undefined) {
          state.set(to, 'open')
          path.push({ id: to, left: [...(targets.get(to) ?? [])].sort() })
        }
      }
    }
  }
  return kept
}

/** Each node behind all that lead to it. */
function layersOf(
  ids: readonly string[],
  next: ReadonlyMap<string, readonly string[]>,
  before: ReadonlyMap<string, readonly string[]>
): string[][] {
  const layer = new Map<string, number>()
  const missing = new Map(ids.map((id) => [id, before.get(id)?.length ?? 0]))
  const ready = ids.filter((id) => missing.get(id) === 0)
  for (const id of ready) {
    const own = Math.max(-1, ...(before.get(id) ?? []).map((from) => layer.get(from) ?? 0)) + 1
    layer.set(id, own)
    for (const to of next.get(id) ?? []) {
      const left = (missing.get(to) ?? 0) - 1
      missing.set(to, left)
      if (left === 0) ready.push(to)
    }
  }
  const layers: string[][] = []
  for (const id of ids) {
    const own = layer.get(id) ?? 0
    while (layers.length <= own) layers.push([])
    layers[own]?.push(id)
  }
  return layers
}

function middleOf(ids: readonly string[], at: ReadonlyMap<string, number>): number | undefined {
  if (ids.length === 0) return undefined
  return ids.reduce((sum, id) => sum + (at.get(id) ?? 0), 0) / ids.length
}
