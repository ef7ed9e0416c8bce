/** The live map: services, engines and callers, and the calls and events between them. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { plural } from '../../plural.ts'
import { breakable } from '../breakable.tsx'
import { count, duration, ms } from '../format.ts'
import { type Layout, layOut, NARROW_LABEL, type Point } from '../map/layout.ts'
import { type Edge, type Graph, graphOf, MAX_EDGES, MAX_NODES, type Node, withBroken } from '../map/model.ts'
import { hrefOf } from '../route.ts'
import type { Screen, ScreenProps } from './screen.ts'

export const map: Screen = { id: 'map', title: 'Map', View: MapScreen }

/** The smallest readable scale, at which five boxes in a row fit on a phone of 390 pixels. A wider map scrolls. */
const SMALLEST = 0.57
/** Milliseconds after which the map is drawn even if some services have not answered. */
const PATIENCE = 2_000

function MapScreen(props: ScreenProps) {
  const { topics, history } = props.shown
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE)
    return () => clearTimeout(timer)
  }, [])
  // The map waits for the first data; otherwise it would be drawn twice, and jump.
  const { traces, events } = topics
  const isKnown = isLate || (traces !== undefined && events !== undefined && history.size > 0)
  return isKnown ? <Drawn {...props} /> : <main class="map" />
}

/** The name of a box. The port at the end of an address stays, however long its host is. */
function Name({ name }: { readonly name: string }) {
  const [, given = name, at] = /^(.+)(:\d+)$/.exec(name) ?? []
  const [host, port] = given === 'localhost' && at !== undefined ? [`port ${at.slice(1)}`] : [given, at]
  return (
    <span class="address" title={name}>
      <bdi>{host}</bdi>
      {port}
    </span>
  )
}

function Drawn({ shown, overview, path: [chosen] }: ScreenProps) {
  const { traces, alerts, events } = shown.topics
  const problems = new Set(alerts?.alerts.map(({ key }) => key))
  const now = graphOf(overview, shown.history, { traces, problems, events })
  const all = withBroken(remembered(now))
  const [box, width] = useWidth()
  const picture = useLayout(all, width)
  // The table has what the picture has: new boxes and lines may have to wait for their positions.
  const graph = {
    ...all,
    nodes: all.nodes.filter(({ id }) => picture.boxes.has(id)),
    edges: all.edges.filter(({ id }) => picture.lines.has(id))
  }
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
        <p class="hint">
          Not shown: {plural(graph.leftOut, 'caller or call', 'callers and calls')}, there are too many.
        </p>
      )}
      <div class="canvas card" ref={box}>
        {graph.nodes.length === 0 ? (
          <p class="hint">No service listens yet</p>
        ) : (
          <div
            class="sheet"
            style={{
              width: `${picture.width}px`,
              height: `${picture.height}px`,
              zoom: Math.max(SMALLEST, Math.min(1, width / picture.width))
            }}
          >
            <svg width={picture.width} height={picture.height} aria-hidden="true">
              <defs>
                {['', 'still', 'failing'].map((state) => (
                  <marker
                    key={state}
                    id={`to${state}`}
                    class={state}
                    viewBox="0 0 8 8"
                    refX="7"
                    refY="4"
                    markerUnits="userSpaceOnUse"
                    markerWidth="9"
                    markerHeight="9"
                    orient="auto"
                  >
                    <path d="M0 .5 8 4 0 7.5z" />
                  </marker>
                ))}
              </defs>
              {graph.edges.map((edge) => (
                <path
                  key={edge.id}
                  class={lookOf(edge)}
                  d={picture.lines.get(edge.id)?.d}
                  style={{ strokeWidth: `${1.2 + Math.log10(1 + edge.rate)}px` }}
                />
              ))}
              {graph.edges.map((edge) => {
                const at = picture.lines.get(edge.id)?.label
                return (
                  at !== undefined &&
                  edge.rate > 0 && (
                    <Figures key={edge.id} look={lookOf(edge)} edge={edge} at={at} room={picture.label} />
                  )
                )
              })}
            </svg>
            {graph.nodes.map((each) => (
              <a
                key={each.id}
                class={`box ${each.kind}${each === node ? ' chosen' : ''}`}
                style={{
                  left: `${picture.boxes.get(each.id)?.x ?? 0}px`,
                  top: `${picture.boxes.get(each.id)?.y ?? 0}px`,
                  width: `${picture.box.width}px`,
                  height: `${picture.box.height}px`
                }}
                href={each === node ? hrefOf('map') : hrefOf('map', each.id)}
                aria-current={each === node ? 'true' : undefined}
              >
                <span class="name">
                  {(each.kind === 'service' || each.state !== 'good') && <span class={`dot ${each.state}`} />}
                  <Name name={each.name} />
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
          {node !== undefined && (
            <span class="links">
              {node.service !== undefined && <a href={hrefOf('services', node.service)}>Open the service</a>}
              <a href={hrefOf('map')}>Show all</a>
            </span>
          )}
        </div>
        <Calls edges={edges} nameOf={nameOf} />
      </section>
    </main>
  )
}

/** The figures of a line, on a background with a margin. */
function Figures(props: {
  readonly look: string
  readonly edge: Edge
  readonly at: Point
  readonly room: Layout['label']
}) {
  const { look, edge, at, room } = props
  const { rate, ms: time = 0, errors } = edge
  const takes = time > 0 ? [time < 1_000 ? `${ms(time)} ms` : duration(time)] : []
  const calls = [`${count(rate)}/s`, ...takes]
  const fails = errors > 0 ? [`${count(errors)} errors/s`] : []
  const lines = [...(room === NARROW_LABEL ? calls : [calls.join(' · ')]), ...fails]
  const height = lines.length * 14 + 2
  const width = Math.min(room.width, Math.max(...lines.map(({ length }) => length)) * 6 + 8)
  return (
    <g class={look}>
      <rect x={at.x - width / 2} y={at.y - height / 2} width={width} height={height} rx={4} />
      {lines.map((line, index) => (
        <text
          key={line}
          class={index >= lines.length - fails.length ? 'bad' : undefined}
          x={at.x}
          y={at.y - height / 2 + 12 + index * 14}
          text-anchor="middle"
        >
          {line}
        </text>
      ))}
    </g>
  )
}

/** Largest number of rows in the table below the map. */
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
          <th scope="col" class="end">
            from
          </th>
          <th scope="col" class="end">
            to
          </th>
          <th scope="col">pattern</th>
          <th scope="col" class="over">
            over
          </th>
          <th scope="col" class="rate">
            msg/s
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
            <td class="end">
              <bdi>{nameOf(edge.from)}</bdi>
            </td>
            <td class="end">
              <bdi>{nameOf(edge.to)}</bdi>
            </td>
            <th scope="row">
              {part.pattern === '' ? <i>not handled by anybody</i> : <code>{breakable(part.pattern)}</code>}
              {edge.kind === 'event' && <span class="tag">event</span>}
              <span class="note ends">
                <bdi>{nameOf(edge.from)}</bdi> → <bdi>{nameOf(edge.to)}</bdi>
              </span>
              {part.problem !== undefined && <span class="note broken">{part.problem}</span>}
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

function classOf({ kind, rate, errors, problem }: Edge): string {
  const state = problem !== undefined ? ' failing' : rate === 0 ? ' still' : errors > 0 ? ' failing' : ''
  return `${kind}${state}`
}

/** The state is outside of the component, so that the map is the same when the user comes back from another screen. */
const seen = { nodes: new Map<string, Node>(), edges: new Map<string, Edge>() }

/**
 * Keeps boxes and lines that have disappeared, without a rate, so that boxes do not jump when a caller pauses or
 * does not answer.
 */
function remembered(now: Graph): Graph {
  const { nodes, edges } = seen
  for (const id of now.merged) nodes.delete(id)
  for (const node of nodes.values())
    if (node.kind === 'service' && !now.nodes.some(({ id }) => id === node.id)) nodes.delete(node.id)
  for (const node of now.nodes) if (nodes.has(node.id) || nodes.size < MAX_NODES) nodes.set(node.id, node)
  for (const [id, edge] of edges) {
    if (!nodes.has(edge.from) || !nodes.has(edge.to)) edges.delete(id)
    else {
      const { problem: _, ...known } = edge
      edges.set(id, {
        ...known,
        rate: 0,
        errors: 0,
        parts: edge.parts.map(({ problem: _, ...part }) => ({ ...part, rate: 0, errors: 0 }))
      })
    }
  }
  for (const edge of now.edges) if (edges.has(edge.id) || edges.size < MAX_EDGES) edges.set(edge.id, edge)
  return { ...now, nodes: [...nodes.values()], edges: [...edges.values()] }
}

/**
 * After computing a layout, the map waits for this multiple of the time that it took. Otherwise a large map that
 * changes all the time would use too much of the processor.
 */
const REST = 20

interface LastLayout {
  readonly key: string
  readonly width: number
  readonly layout: Layout
  /** The time until which the map waits, unless its width changes. */
  readonly until: number
}

/**
 * Computes the layout only if a box, a line or the width has changed. New boxes and lines have no position until
 * then.
 */
function useLayout({ nodes, edges }: Graph, width: number): Layout {
  const last = useRef<LastLayout | undefined>(undefined)
  const names = nodes.map(({ id }) => id)
  const key = JSON.stringify([names.toSorted(), edges.map(({ id }) => id).sort(), width])
  const begin = performance.now()
  const known = last.current
  if (known?.width === width && (known.key === key || begin < known.until)) return known.layout
  const layout = layOut(names, edges, width)
  const end = performance.now()
  last.current = { key, width, layout, until: end + REST * (end - begin) }
  return layout
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
