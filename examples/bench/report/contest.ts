/** A contest: the same load on all servers, put side by side. Here is what one is called. */
import { shapes } from '../payload/payload.ts'
import { plural } from './figures.ts'
import type { Contest } from './schema.ts'

/** Who asks: each target's own client, Nest's client, or raw sockets. */
export const contestClients = ['own', 'nest', 'raw'] as const
export type ContestClient = (typeof contestClients)[number]

/** How requests are spread over connections: one for each caller, or one that all share. */
export const layouts = ['per-client', 'shared'] as const
export type Layout = (typeof layouts)[number]

const LAYOUTS: Readonly<Record<Layout, string>> = {
  'per-client': 'connection per client',
  shared: 'shared connection'
}

const WHO_ASKS: Readonly<Record<ContestClient, string>> = {
  own: 'each with its own client',
  nest: "Nest's client asks everybody",
  raw: 'raw sockets ask everybody'
}

/** Parts of a title, the most telling first. */
export function titleOf(contest: Contest): string {
  return [layoutOf(contest), loadOf(contest), WHO_ASKS[contest.client], settingOf(contest)].join(' · ')
}

export const layoutOf = ({ layout }: Pick<Contest, 'layout'>): string => LAYOUTS[layout]

export function loadOf({ concurrency, connections, rate, sloMs }: Contest): string {
  const over = `over ${plural(connections, 'connection')}`
  if (sloMs !== null) return `highest rate with p99 under ${sloMs} ms ${over}`
  if (rate !== null) return `${rate.toLocaleString('en')} requests per second ${over}`
  return `${plural(concurrency, 'request')} at a time`
}

/** What is echoed, and what runs both sides. */
export function settingOf({ pattern, shape, payload, runtime }: Contest): string {
  if (shape === 'custom') return `${pattern}, ${payload.toLocaleString('en')} B as JSON · ${runtime}`
  const { title, defaultBytes } = shapes[shape]
  const size = `${payload.toLocaleString('en')} B`
  return `${title}, ${size}${defaultBytes === undefined ? ' as JSON' : ''} · ${runtime}`
}

/** The same for contests that differ at most in how much is asked at a time. */
export const familyOf = ({
  client,
  layout,
  pattern,
  shape,
  payload,
  runtime,
  rate,
  sloMs
}: Contest): string => JSON.stringify([client, layout, pattern, shape, payload, runtime, rate, sloMs])

/** The same for the same contest in two reports. */
export const keyOf = (contest: Contest): string => `${familyOf(contest)} ${contest.concurrency}`
