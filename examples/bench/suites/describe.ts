/** Describes as text how a suite was measured. */
import type { Comparison } from '../report/schema.ts'
import type { SuiteName } from '../task/task.ts'
import { IN_FLIGHT } from './catalog.ts'

const overHttp = (tool: string): string =>
  `load by ${tool}, a connection for each request at a time; every answer is compared before the load, its status under it; ` +
  'a gateway and the service behind it run on one CPU, and its figures are of both; ' +
  'first answer is from the start of the process'

const WORDS: Readonly<Record<SuiteName, (tool: string) => string>> = {
  http: overHttp,
  pairs: overHttp,
  db: () =>
    `PostgreSQL and the callers share a CPU, the server has its own; 10,000 users, a pool of 20 connections that a query waits for up to 2 s, one query with one driver (Fiber: pgx); ` +
    'messages share a connection, callers over HTTP have one each; ' +
    `our services have limits.inFlight ${IN_FLIGHT}, but service-no-limit; ` +
    'a caller without an answer comes again after a second, give or take a half',
  web: () =>
    'in Chromium, HTTP/1.1 without TLS where nothing else is said; the page asks again as soon as it is answered, or reads one stream after the other; ' +
    'every answer and every value is checked; memory is of the server, beside a page that stands still until the end',
  scale: (tool) =>
    `HTTP by ${tool}, messages by a load process for each CPU that the workers leave; where they leave none, all share, and a second worker shows nothing`
}

export function describeLoad({ contests }: Comparison, suite: SuiteName): string {
  const clients = contests.flatMap(({ results }) => results.map(({ client }) => client))
  const used = [...new Set(clients)].filter((name) => name === 'wrk' || name === 'autocannon')
  const note = used.includes('autocannon')
    ? ' (wrk is not on the PATH; what loads is the slower end with fast servers)'
    : ''
  return `${WORDS[suite](used.join(' and ') || 'nothing')}${note}`
}
