/**
 * Computes the positions on the map: callers before the services that they call, lines around the boxes in between,
 * and room for the figures of each line. The layout depends only on names, edges and the width, never on rates, so
 * that nothing moves while figures change.
 */
import { type EdgeLabel, Graph, type GraphLabel, layout, type NodeLabel } from '@dagrejs/dagre'

/** The part of a line that influences its position. */
export interface Line {
  readonly id: string
  readonly from: string
  readonly to: string
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly width: number
  readonly height: number
  /** The size of all boxes, and the room for the figures of each line. */
  readonly box: Size
  readonly label: Size
  /** The upper left corners of the boxes. */
  readonly boxes: ReadonlyMap<string, Point>
  /** The path of each line, and the centre of its figures. */
  readonly lines: ReadonlyMap<string, { readonly d: string; readonly label: Point }>
}

interface Size {
  readonly width: number
  readonly height: number
}
/** The room for the figures of a line: rate and time side by side, and errors below. */
const LABEL: Size = { width: 92, height: 30 }
/** The same for phones, where rate, time and errors are below each other. */
export const NARROW_LABEL: Size = { width: 72, height: 44 }
/** Pixels between two rows of boxes, in addition to the figures of lines. The largest distance that fits is used. */
const [FAR, NEAR, CLOSE] = [90, 44, 34]
const WIDE: Size = { width: 148, height: 56 }
/** With this width a row of five boxes fits on a small screen, too. */
const MEDIUM: Size = { width: 128, height: 56 }
/** The size of boxes on phones. */
const NARROW: Size = { width: 116, height: 52 }

/**
 * Chooses the direction: from left to right if there is room, otherwise from top to bottom. Edges to missing nodes
 * are ignored.
 * @param room pixels from left to right
 */
export function layOut(names: readonly string[], edges: readonly Line[], room: number): Layout {
  const chosen = besideEachOther(names, edges, room) ?? belowEachOther(names, edges, room)
  return inMiddle(chosen, Math.max(room, chosen.width))
}

/**
 * Tries the closest layout first: if even that does not fit, no other does, and each layout of a large map takes
 * time.
 */
function besideEachOther(names: readonly string[], edges: readonly Line[], room: number): Laid | undefined {
  const closest = laidOut(names, edges, 'LR', MEDIUM, CLOSE)
  if (closest.width > room) return undefined
  for (const [box, ranksep] of [
    [WIDE, FAR],
    [WIDE, NEAR],
    [MEDIUM, NEAR]
  ] as const) {
    const laid = laidOut(names, edges, 'LR', box, ranksep)
    if (laid.width <= room) return laid
  }
  return closest
}

function belowEachOther(names: readonly string[], edges: readonly Line[], room: number): Laid {
  const wide = laidOut(names, edges, 'TB', WIDE, NEAR)
  return wide.width <= room ? wide : laidOut(names, edges, 'TB', NARROW, NEAR)
}

interface Laid {
  readonly box: Size
  readonly label: Size
  readonly width: number
  readonly height: number
  readonly boxes: readonly (readonly [string, Point])[]
  readonly lines: readonly (readonly [string, { readonly points: readonly Point[]; readonly label: Point }])[]
}

function laidOut(
  names: readonly string[],
  edges: readonly Line[],
  rankdir: 'LR' | 'TB',
  box: Size,
  ranksep: number
): Laid {
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true })
  const isWide = box !== NARROW
  const margin = isWide ? 20 : 8
  const label = isWide ? LABEL : NARROW_LABEL
  graph.setGraph({
    rankdir,
    nodesep: isWide ? 24 : 8,
    edgesep: isWide ? 12 : 4,
    ranksep,
    marginx: margin,
    marginy: margin
  })
  const ids = [...names].sort()
  for (const id of ids) graph.setNode(id, { ...box })
  const known = new Set(ids)
  const drawn = edges
    .filter(({ from, to }) => known.has(from) && known.has(to))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id, from, to } of drawn) graph.setEdge(from, to, { ...label, labelpos: 'c' }, id)
  layout(graph)
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return {
    box,
    label,
    width,
    height,
    boxes: ids.map((id) => {
      const { x = 0, y = 0 } = graph.node(id) as Partial<Point>
      return [id, { x: x - box.width / 2, y: y - box.height / 2 }] as const
    }),
    lines: drawn.map(({ id, from, to }) => {
      const { x = 0, y = 0, points = [] } = graph.edge(from, to, id) as Partial<Point> & { points?: Point[] }
      const at = { x, y }
      return [id, { points: straightAt(at, points, rankdir === 'LR' ? 'x' : 'y', label), label: at }] as const
    })
  }
}

/**
 * Makes a line go straight through the middle of its figures, so that it does not cross the figures beside them.
 */
function straightAt(label: Point, points: readonly Point[], along: 'x' | 'y', room: Size): readonly Point[] {
  const at = points.findIndex(({ x, y }) => x === label.x && y === label.y)
  const part = room[along === 'x' ? 'width' : 'height'] / 4
  const sign = Math.sign((points.at(-1)?.[along] ?? 0) - (points[0]?.[along] ?? 0))
  const ends = [-sign, sign].map((way) => ({ ...label, [along]: label[along] + way * part }))
  return at < 0 ? points : points.toSpliced(at, 1, ...ends)
}

function inMiddle({ box, label, width: own, height, boxes, lines }: Laid, width: number): Layout {
  const by = (width - own) / 2
  const to = ({ x, y }: Point) => ({ x: x + by, y })
  return {
    box,
    label,
    width,
    height,
    boxes: new Map(boxes.map(([id, corner]) => [id, to(corner)])),
    lines: new Map(
      lines.map(([id, { points, label: at }]) => [id, { d: curveThrough(points.map(to)), label: to(at) }])
    )
  }
}

/**
 * A smooth curve. It bends at each point except the first and the last, and is straight half way between two
 * points.
 */
function curveThrough(points: readonly Point[]): string {
  const [first, ...others] = points
  const last = others.at(-1)
  if (first === undefined || last === undefined) return ''
  const text = ({ x, y }: Point) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`
  const between = (a: Point, b: Point) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 })
  const bends = others
    .slice(0, -1)
    .map((point, index) => `Q${text(point)} ${text(between(point, others[index + 1] as Point))}`)
  return `M${text(first)}${bends.length > 0 ? `L${text(between(first, others[0] as Point))}` : ''}${bends.join('')}L${text(last)}`
}
