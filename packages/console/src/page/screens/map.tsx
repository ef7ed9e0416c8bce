/** Who calls whom, live: services, engines and callers, and what goes between them. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { count, ms } from '../format.ts'
import { layOut } from '../map/layout.ts'
import { type Edge, type Graph, graphOf, type Node } from '../map/model.ts'
import { hrefOf } from '../route.ts'
import type { Screen, ScreenProps } from './screen.ts'

export const map: Screen = { id: 'map', title: 'Map', View: MapScreen }

const WIDE = { width: 168, height: 58 }
/** Two of them fit beside each other on a phone. */
const NARROW = { width: 148, height: 58 }
type Size = typeof WIDE
/** From layer to layer, and from box to box within one. */
const GAP = { across: 150, along: 30 }
const DOWN_GAP = { across: 96, along: 16 }
const MARGIN = 20

function MapScreen({ shown, overview, path: [chosen] }: ScreenProps) {
  const now = graphOf(overview, shown.history, shown.topics.traces)
  const graph = useRemembered(now)
  const [box, width] = useWidth()
  const picture = pictureOf(graph, width)
  const node = graph.nodes.find(({ id }) => id === chosen)
  const edges =
    node === undefined
      ? graph.edges
      : graph.edges.filter(({ from, to }) => from === node.id || to === node.id)
  const lookOf = (edge: Edge) =>
    node !== undefined && !edges.includes(edge) ? `${classOf(edge)} dim` : classOf(edge)
  const nameOf = (id: string) => graph.nodes.find((each) => each.id === id)?.name ?? id
  return (
    <main class="map">
      <div class="title">
        <h2>Map</h2>
        <ul class="key" aria-label="Lines">
          <li class="message">requests</li>
          <li class="event">events</li>
          <li class="failing">with errors</li>
        </ul>
      </div>
      {graph.leftOut > 0 && (
        <p class="hint">Not shown: {graph.leftOut} callers and calls, there are too many.</p>
      )}
      <div class="canvas card" ref={box}>
        {graph.nodes.length === 0 ? (
          <p class="hint">No service listens yet</p>
        ) : (
          <div class="sheet" style={{ width: `${picture.width}px`, height: `${picture.height}px` }}>
            <svg width={picture.width} height={picture.height} aria-hidden="true">
              {picture.lines.map(({ edge, d }) => (
                <path
                  key={edge.id}
                  class={lookOf(edge)}
                  d={d}
                  style={{ strokeWidth: `${1.2 + Math.log10(1 + edge.rate)}px` }}
                />
              ))}
              {picture.lines.map(
                ({ edge, label }) =>
                  edge.rate > 0 && (
                    <Label key={edge.id} look={lookOf(edge)} text={figuresOf(edge)} {...label} />
                  )
              )}
            </svg>
            {picture.boxes.map(({ node: each, x, y }) => (
              <a
                key={each.id}
                class={`box ${each.kind}${each === node ? ' chosen' : ''}`}
                style={{
                  left: `${x}px`,
                  top: `${y}px`,
                  width: `${picture.size.width}px`,
                  height: `${picture.size.height}px`
                }}
                href={each === node ? hrefOf('map') : hrefOf('map', each.id)}
                aria-current={each === node ? 'true' : undefined}
              >
                <span class="name">
                  {each.kind === 'service' && <span class={`dot ${each.state}`} />}
                  <bdi>{each.name}</bdi>
                </span>
                <span class="note">{each.note}</span>
              </a>
            ))}
          </div>
        )}
      </div>
      <section aria-labelledby="calls">
        <div class="bar">
          <h3 id="calls">
            {node === undefined ? (
              'All calls and events'
            ) : (
              <>
                Calls and events of <bdi>{node.name}</bdi>
              </>
            )}
          </h3>
          {node?.service !== undefined && <a href={hrefOf('services', node.service)}>Look at the service</a>}
          {node !== undefined && <a href={hrefOf('map')}>Show all</a>}
        </div>
        <Calls edges={edges} nameOf={nameOf} />
      </section>
    </main>
  )
}

/** Figures on a line, with room around them. */
function Label(props: {
  readonly look: string
  readonly text: string
  readonly x: number
  readonly y: number
}) {
  const { look, text, x, y } = props
  const width = text.length * 6 + 10
  return (
    <g class={look}>
      <rect x={x - width / 2} y={y - 12} width={width} height={16} rx={4} />
      <text x={x} y={y} text-anchor="middle">
        {text}
      </text>
    </g>
  )
}

/** Rows of the table below the map. */
const MAX_ROWS = 200

function Calls({
  edges,
  nameOf
}: {
  readonly edges: readonly Edge[]
  readonly nameOf: (id: string) => string
}) {
  const rows = edges.flatMap((edge) => edge.parts.map((part) => ({ edge, part }))).slice(0, MAX_ROWS)
  if (rows.length === 0)
    return (
      <p class="hint">Nothing was called since this page was opened, of services that describe themselves.</p>
    )
  return (
    <table class="patterns calls">
      <thead>
        <tr>
          <th scope="col">from</th>
          <th scope="col">to</th>
          <th scope="col">pattern</th>
          <th scope="col" class="over">
            over
          </th>
          <th scope="col" class="rate">
            a second
          </th>
          <th scope="col" class="p50">
            mean ms
          </th>
          <th scope="col" class="errors">
            errors/s
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ edge, part }) => (
          <tr key={`${edge.id} ${part.transport} ${part.pattern}`}>
            <td>
              <bdi>{nameOf(edge.from)}</bdi>
            </td>
            <td>
              <bdi>{nameOf(edge.to)}</bdi>
            </td>
            <th scope="row">
              {part.pattern === '' ? <i>not handled by anybody</i> : <code>{part.pattern}</code>}
              {edge.kind === 'event' && <span class="tag">event</span>}
            </th>
            <td class="over">{part.transport}</td>
            <td class="rate">{count(part.rate)}</td>
            <td class="p50">{ms(part.ms)}</td>
            <td class={part.errors > 0 ? 'errors some' : 'errors'}>{count(part.errors)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function classOf({ kind, rate, errors }: Edge): string {
  const state = rate === 0 ? ' still' : errors > 0 ? ' failing' : ''
  return `${kind}${state}`
}

function figuresOf({ rate, ms: time, errors }: Edge): string {
  const parts = [`${count(rate)}/s`]
  if (time !== undefined && time > 0) parts.push(`${ms(time)} ms`)
  if (errors > 0) parts.push(`${count(errors)} err/s`)
  return parts.join(' · ')
}

/** What was there once stays, without a rate: so that boxes do not jump when somebody makes a pause. */
function useRemembered(now: Graph): Graph {
  const seen = useRef({ nodes: new Map<string, Node>(), edges: new Map<string, Edge>() })
  const { nodes, edges } = seen.current
  for (const node of nodes.values())
    if (node.kind === 'service' && !now.nodes.some(({ id }) => id === node.id)) nodes.delete(node.id)
  for (const node of now.nodes) if (nodes.has(node.id) || nodes.size < 100) nodes.set(node.id, node)
  for (const [id, edge] of edges) {
    if (!nodes.has(edge.from) || !nodes.has(edge.to)) edges.delete(id)
    else
      edges.set(id, {
        ...edge,
        rate: 0,
        errors: 0,
        parts: edge.parts.map((part) => ({ ...part, rate: 0, errors: 0 }))
      })
  }
  for (const edge of now.edges) if (edges.has(edge.id) || edges.size < 200) edges.set(edge.id, edge)
  return { nodes: [...nodes.values()], edges: [...edges.values()], leftOut: now.leftOut }
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(() => Math.max(200, innerWidth - 60))
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const changed = new ResizeObserver(() => setWidth(element.clientWidth))
    changed.observe(element)
    return () => changed.disconnect()
  }, [])
  return [box, width] as const
}

/** Where all of it is drawn: layers from left to right, or, where that is too wide, from top to bottom. */
function pictureOf({ nodes, edges }: Graph, room: number) {
  const { places, sizes } = layOut(
    nodes.map(({ id }) => id),
    edges
  )
  const most = Math.max(1, ...sizes)
  const wide = 2 * MARGIN + sizes.length * WIDE.width + (sizes.length - 1) * GAP.across
  const isDown = wide > room
  const gap = isDown ? DOWN_GAP : GAP
  const size = isDown ? NARROW : WIDE
  // Boxes of a layer that has no room beside each other go on below.
  const columns = isDown
    ? Math.max(1, Math.min(most, Math.floor((room - 2 * MARGIN + gap.along) / (size.width + gap.along))))
    : 0
  const width = isDown
    ? Math.max(room, 2 * MARGIN + columns * (size.width + gap.along) - gap.along)
    : Math.max(wide, room)
  const spread = isDown || sizes.length < 2 ? 0 : Math.min(120, (width - wide) / (sizes.length - 1))
  const tall = most * (size.height + gap.along) - gap.along
  const tops: number[] = []
  let top = MARGIN
  for (const count of sizes) {
    tops.push(top)
    const rows = isDown ? Math.ceil(count / columns) : 1
    top += rows * (size.height + gap.along) - gap.along + gap.across
  }
  const height = isDown ? top - gap.across + MARGIN : tall + 2 * MARGIN
  const used = wide + spread * Math.max(0, sizes.length - 1)
  const at = (id: string) => {
    const { layer, index } = places.get(id) ?? { layer: 0, index: 0 }
    const count = sizes[layer] ?? 1
    if (!isDown) {
      const own = count * (size.height + gap.along) - gap.along
      return {
        x: (width - used) / 2 + MARGIN + layer * (size.width + gap.across + spread),
        y: MARGIN + (tall - own) / 2 + index * (size.height + gap.along)
      }
    }
    const row = Math.floor(index / columns)
    const inRow = Math.min(columns, count - row * columns)
    const own = inRow * (size.width + gap.along) - gap.along
    return {
      x: (width - own) / 2 + (index % columns) * (size.width + gap.along),
      y: (tops[layer] ?? MARGIN) + row * (size.height + gap.along)
    }
  }
  const boxes = nodes.map((node) => ({ node, ...at(node.id) }))
  const taken: { x: number; y: number }[] = []
  const lines = edges.map((edge) => {
    const { d, middle } = curveOf(at(edge.from), at(edge.to), size, isDown, edge.kind === 'event' ? 9 : 0)
    const label = { ...middle }
    while (taken.some(({ x, y }) => Math.abs(x - label.x) < 110 && Math.abs(y - label.y) < 15)) label.y += 15
    taken.push(label)
    return { edge, d, label }
  })
  return { width, height: Math.max(height, ...taken.map(({ y }) => y + MARGIN)), size, boxes, lines }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** A curve from box to box. @param aside keeps lines of both kinds between the same boxes apart */
function curveOf(
  from: Point,
  to: Point,
  size: Size,
  isDown: boolean,
  aside: number
): { d: string; middle: Point } {
  if (from.x === to.x && from.y === to.y) {
    // It calls itself.
    const [left, right] = [from.x + size.width * 0.6, from.x + size.width * 0.9]
    const [top, above] = [from.y, from.y - 22]
    const loop = curve(
      { x: left, y: top },
      { x: left, y: above },
      { x: right, y: above },
      { x: right, y: top }
    )
    return { ...loop, middle: { x: from.x + size.width / 2, y: top - 6 } }
  }
  const centre = ({ x, y }: Point) => ({ x: x + size.width / 2 + aside, y: y + size.height / 2 + aside })
  const [a, b] = [centre(from), centre(to)]
  const isBack = isDown ? b.y <= a.y : b.x <= a.x
  if (isDown) {
    const start = { x: a.x, y: isBack ? from.y : from.y + size.height }
    const end = { x: b.x, y: isBack ? to.y + size.height : to.y }
    const bend = Math.max(24, Math.abs(end.y - start.y) / 2) * (isBack ? -1 : 1)
    return curve(start, { x: start.x, y: start.y + bend }, { x: end.x, y: end.y - bend }, end)
  }
  const start = { x: isBack ? from.x : from.x + size.width, y: a.y }
  const end = { x: isBack ? to.x + size.width : to.x, y: b.y }
  const bend = Math.max(40, Math.abs(end.x - start.x) / 2) * (isBack ? -1 : 1)
  return curve(start, { x: start.x + bend, y: start.y }, { x: end.x - bend, y: end.y }, end)
}

function curve(a: Point, b: Point, c: Point, d: Point): { d: string; middle: Point } {
  const mean = (axis: 'x' | 'y') => (a[axis] + 3 * b[axis] + 3 * c[axis] + d[axis]) / 8
  return {
    d: `M${a.x} ${a.y}C${b.x} ${b.y} ${c.x} ${c.y} ${d.x} ${d.y}`,
    middle: { x: mean('x'), y: mean('y') + 4 }
  }
}
