/** The model of the map: services, engines and callers are nodes, and the messages between them are edges. */
import { isEngine } from '../../engines.ts'
import type { CallRate, EventsView, Kind, Link, Overview, ServiceView, TracesView } from '../../protocol.ts'
import type { History } from '../history.ts'
import { type Names, nameOf, namesOf, receiverNamed } from './names.ts'

/** A box of the map. */
export interface Node {
  readonly id: string
  readonly kind: 'service' | 'engine' | 'caller'
  readonly name: string
  readonly state: 'good' | 'odd' | 'bad'
  /** The text below the name. */
  readonly note: string
  /** The id of the service's view on the page, if it has one. */
  readonly service?: string
  /** No process of the service is reached. */
  readonly isDown?: true
}

/** A line of the map: all messages of one kind from one node to another. */
export interface Edge {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly kind: Kind
  readonly rate: number
  readonly errors: number
  /** Mean duration in milliseconds; missing if nothing was measured. */
  readonly ms?: number
  /** The reason why the receiver is not reached at the moment; missing if it is. */
  readonly problem?: string
  readonly parts: readonly Part[]
}

/** The messages of one pattern in an edge. */
export interface Part {
  readonly pattern: string
  readonly transport: string
  readonly rate: number
  readonly errors: number
  readonly ms?: number
  readonly problem?: string
}

export interface Graph {
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  /** The number of nodes and edges that did not fit on the map. */
  readonly leftOut: number
  /** The ids of boxes whose names are now known to belong to other boxes. */
  readonly merged: readonly string[]
}

/** The largest numbers of boxes and lines that are still readable. */
export const MAX_NODES = 60
export const MAX_EDGES = 100
/** Largest number of patterns of an edge. */
const MAX_PARTS = 50
/** The number of samples over which rates are averaged, so that figures do not jump. */
const AVERAGED = 5

const NAMELESS = 'Clients without a name'
const NOBODY = {
  nest: 'Nest clients',
  unnamed: NAMELESS,
  others: 'Other clients',
  client: NAMELESS
} as const

/** Facts beside the descriptions and samples of services. */
export interface Beside {
  readonly traces?: TracesView | undefined
  /** The keys of the current alerts. The alert of a lost engine has the id of the engine's box as its key. */
  readonly problems?: ReadonlySet<string>
  /** Groups get events of engines, and relays of outboxes publish to them, which no service counts. */
  readonly events?: EventsView | undefined
}

/** Makes the graph from the current data. */
export function graphOf(
  overview: Overview,
  histories: ReadonlyMap<string, History>,
  { traces, problems = new Set(), events }: Beside = {}
): Graph {
  const { services } = overview
  const names = namesOf(overview)
  const nodes = new Map<string, Node>()
  let leftOut = 0
  const add = (node: Node) => {
    if (nodes.has(node.id)) return true
    if (nodes.size >= MAX_NODES) leftOut++
    else nodes.set(node.id, node)
    return nodes.has(node.id)
  }
  for (const [name, views] of names.services) add(serviceNode(name, views))
  const drafts = new Map<string, Draft>()
  const engineOf = (transport: string): Node => {
    const id = `engine ${transport}`
    const isLost = problems.has(id)
    const [state, note] = isLost ? (['bad', 'lost'] as const) : (['good', 'engine'] as const)
    return { id, kind: 'engine', name: transport, state, note }
  }
  for (const [name, views] of names.services)
    for (const view of views) {
      for (const { name: transport } of histories.get(view.id)?.moments.at(-1)?.sample.transports ?? [])
        if (isEngine(transport)) add(engineOf(transport))
      for (const call of averaged(histories.get(view.id))) {
        const from = call.from === 'engine' ? engineOf(call.transport) : callerNode(callerOf(call), names)
        if (!add(from) || !nodes.has(serviceId(name))) leftOut++
        // The latest figures of a service that is not reached are old: its lines stay, but nothing moves on them.
        else addTo(drafts, from.id, serviceId(name), view.problem === undefined ? call : stillOf(call))
      }
    }
  // Counts of services themselves are exact, so spans only add what is missing.
  const counted = new Set(drafts.keys())
  /** Whether the receiver counts the calls of a process, under its name or under that of one of its clients. */
  const isCounted = ({ kind }: Link, from: Node, to: Node) =>
    [from.id, ...[...(names.clients.get(from.name) ?? [])].map(callerId)].some((id) =>
      counted.has(keyOf(kind, id, to.id))
    )
  for (const link of traces?.links ?? []) {
    const from = link.from === undefined ? engineOf(link.transport) : callerNode(link.from, names)
    const to = receiverOf(link, names) ?? engineOf(link.transport)
    // A call that has reached nobody is in nobody's counts.
    const isLost = link.unheard !== undefined && (link.unheard.problem !== undefined || to.isDown === true)
    if (isCounted(link, from, to) && !isLost) continue
    if (add(from) && add(to)) addTo(drafts, from.id, to.id, link, link.unheard?.problem)
  }
  for (const { engine, handlers } of events?.groups ?? [])
    for (const { pattern, services: own } of handlers)
      for (const service of own) {
        const to = serviceNamed(service, services)
        const from = engineOf(engine)
        if (to === undefined || !isEngine(engine) || !nodes.has(to) || !add(from)) continue
        // Nothing may have come since the page was opened, and a process that is gone counts nothing.
        addTo(drafts, from.id, to, { kind: 'event', transport: engine, pattern, rate: 0, errors: 0 })
      }
  for (const { service, schema, engine, rate, isSilent } of events?.outboxes ?? []) {
    const from = engine === undefined ? undefined : serviceNamed(service, services)
    if (from === undefined || engine === undefined) continue
    const to = engineOf(engine)
    // The relay's client may have sent spans of the same events.
    if (drafts.has(keyOf('event', from, to.id)) || !nodes.has(from) || !add(to)) continue
    const pattern = `outbox ${schema}`
    addTo(drafts, from, to.id, {
      ...{ kind: 'event', transport: engine, pattern, errors: 0 },
      rate: isSilent === true ? 0 : rate
    })
  }
  const edges = [...drafts.values()].map(edgeOf).sort((a, b) => b.rate - a.rate || (a.id < b.id ? -1 : 1))
  return withBroken({
    nodes: [...nodes.values()],
    edges: edges.slice(0, MAX_EDGES),
    leftOut: leftOut + Math.max(0, edges.length - MAX_EDGES),
    merged: [...names.owners.keys()].map(callerId)
  })
}

/** Gives the lines to services that are not reached a reason, if they have none. */
export function withBroken(graph: Graph): Graph {
  const down = new Map(graph.nodes.flatMap((node) => (node.isDown === true ? [[node.id, node.name]] : [])))
  if (down.size === 0) return graph
  return {
    ...graph,
    edges: graph.edges.map((edge) => {
      const name = down.get(edge.to)
      if (name === undefined) return edge
      const problem = edge.problem ?? `${name} is not reached`
      return {
        ...edge,
        problem,
        parts: edge.parts.map((part) => ({ ...part, problem: part.problem ?? problem }))
      }
    })
  }
}

/** The node that gets the messages of a link; `undefined`: the engine. */
function receiverOf({ from, to, unheard, kind, transport, pattern }: Link, names: Names): Node | undefined {
  if (to === undefined && unheard === undefined) return undefined
  const handler = receiverNamed(names, to, kind, pattern)
  if (handler !== undefined && (to !== undefined || handler !== from)) return callerNode(handler, names)
  const { name: listener, problem } = unheard ?? {}
  if (listener !== undefined && names.services.has(listener)) return callerNode(listener, names)
  const name = listener ?? (transport === '' ? 'Other services' : `Other services over ${transport}`)
  const [state, note] =
    problem === undefined ? (['good', 'not described'] as const) : (['bad', 'not reached'] as const)
  return { id: `peer ${name}`, kind: 'caller', name, state, note }
}

/** The name of who has sent a call. */
function callerOf({ caller, from, transport }: CallRate): string {
  if (caller !== undefined) return caller
  if (from === 'unnamed' && transport === 'websocket') return 'Browser pages'
  return NOBODY[from as keyof typeof NOBODY] ?? NAMELESS
}

function stillOf({ kind, transport, pattern }: CallRate): Averaged {
  return { kind, transport, pattern, rate: 0, errors: 0 }
}

interface Draft {
  readonly from: string
  readonly to: string
  readonly kind: Kind
  readonly parts: Map<
    string,
    { transport: string; pattern: string; rate: number; errors: number; time: number; problem?: string }
  >
}

type Averaged = Pick<CallRate, 'kind' | 'transport' | 'pattern' | 'rate' | 'errors' | 'ms'>

function addTo(drafts: Map<string, Draft>, from: string, to: string, call: Averaged, problem?: string): void {
  const id = keyOf(call.kind, from, to)
  const draft = drafts.get(id) ?? { from, to, kind: call.kind, parts: new Map() }
  drafts.set(id, draft)
  const key = JSON.stringify([call.transport, call.pattern])
  const part = draft.parts.get(key) ?? {
    transport: call.transport,
    pattern: call.pattern,
    rate: 0,
    errors: 0,
    time: 0
  }
  part.rate += call.rate
  part.errors += call.errors
  part.time += call.rate * (call.ms ?? 0)
  if (problem !== undefined) part.problem = problem
  draft.parts.set(key, part)
}

function edgeOf({ from, to, kind, parts }: Draft): Edge {
  const all = [...parts.values()].sort((a, b) => b.rate - a.rate || (a.pattern < b.pattern ? -1 : 1))
  const sum = (figure: 'rate' | 'errors' | 'time') => all.reduce((total, part) => total + part[figure], 0)
  const rate = sum('rate')
  const problem = all.find((part) => part.problem !== undefined)?.problem
  return {
    id: `${kind} ${from} > ${to}`,
    from,
    to,
    kind,
    rate,
    errors: sum('errors'),
    ...(rate > 0 && { ms: sum('time') / rate }),
    ...(problem !== undefined && { problem }),
    parts: all.slice(0, MAX_PARTS).map(({ time, ...part }) => ({
      ...part,
      ...(part.rate > 0 && { ms: time / part.rate })
    }))
  }
}

/** Calls a second, averaged over the latest samples. */
function averaged(history: History | undefined): CallRate[] {
  const moments = (history?.moments ?? []).slice(-AVERAGED)
  const calls = new Map<string, CallRate & { time: number }>()
  for (const { sample } of moments)
    for (const call of sample.calls) {
      const key = JSON.stringify([call.from, call.caller, call.kind, call.transport, call.pattern])
      const known = calls.get(key)
      const rate = (known?.rate ?? 0) + call.rate / moments.length
      const errors = (known?.errors ?? 0) + call.errors / moments.length
      const time = (known?.time ?? 0) + (call.rate / moments.length) * (call.ms ?? 0)
      calls.set(key, { ...call, rate, errors, time, ...(rate > 0 && { ms: time / rate }) })
    }
  return [...calls.values()]
}

function serviceNode(name: string, views: readonly ServiceView[]): Node {
  const bad = views.filter(
    ({ problem, described }) => problem !== undefined && described !== undefined
  ).length
  const isDown = bad === views.length && bad > 0
  const isSilent = views.every(({ described }) => described === undefined)
  const isListening = views.every(({ described }) => described?.status === 'listening')
  const versions = new Set(views.flatMap(({ described }) => described?.version || []))
  return {
    id: serviceId(name),
    kind: 'service',
    name,
    state: bad > 0 ? 'bad' : isListening ? 'good' : 'odd',
    note:
      bad > 0
        ? `${views.length === 1 ? '' : `${bad} of ${views.length} `}not reached`
        : isSilent
          ? 'not described'
          : [views.length === 1 ? '' : `${views.length} instances`, ...versions].filter(Boolean).join(', ') ||
            'service',
    service: (views[0] as ServiceView).id,
    ...(isDown && { isDown: true as const })
  }
}

/** The node for a name: that of a service with this name, or with such a client in its process, or else of a caller. */
function callerNode(given: string, { services, owners }: Names): Node {
  const name = services.has(given) ? given : (owners.get(given) ?? given)
  const views = services.get(name)
  if (views !== undefined) return serviceNode(name, views)
  return { id: callerId(name), kind: 'caller', name, state: 'good', note: 'client' }
}

function callerId(name: string): string {
  return `caller ${name}`
}

function keyOf(kind: Kind, from: string, to: string): string {
  return `${kind} ${JSON.stringify([from, to])}`
}

/** The box of the service that has an id. */
function serviceNamed(id: string, services: readonly ServiceView[]): string | undefined {
  const view = services.find((each) => each.id === id)
  return view && serviceId(nameOf(view))
}

function serviceId(name: string): string {
  return `service ${name}`
}
