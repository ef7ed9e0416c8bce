/** The requests to the servers, and their right answers. A workload is one request, or several in turn. */
import { answerOf, createdOf, DOCUMENT, HELLO, health, type Route, routes, userOf } from './work.ts'

export interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The text of the right answer; `null`: any text is right. */
  readonly text: string | null
  readonly status: number
}

export interface Workload {
  /** The title in the report. */
  readonly title: string
  /** The requests, which are sent one after the other, repeatedly. */
  readonly asked: readonly Asked[]
  /** The numbers of callers, if they differ from those of the suite. */
  readonly callers?: readonly number[]
  /** The measured seconds, if they differ from those of the suite. */
  readonly duration?: number
  /** The most runs, if they are fewer than those of the suite. */
  readonly runs?: number
}

const get = (path: string, answer: unknown, headers?: Asked['headers']): Asked => ({
  method: 'GET',
  path,
  ...(headers !== undefined && { headers }),
  text: typeof answer === 'string' ? answer : JSON.stringify(answer),
  status: 200
})

const NEW_USER = { name: 'Ada Lovelace', email: 'ada@example.com' }

const post: Asked = {
  method: 'POST',
  path: '/api/user',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(NEW_USER),
  text: JSON.stringify(createdOf(NEW_USER)),
  status: 200
}

/** One of this many look-ups finds nothing; half of these paths are similar to an existing one. */
const MISSES_IN = 10

const lookUps = routes.map((route, index): Asked => {
  if (index % MISSES_IN !== MISSES_IN - 1) return lookUp(route, index)
  const path = index % 20 === 19 ? `${route.prefix}-not` : `/nowhere/${index}`
  return { method: 'GET', path, text: null, status: 404 }
})

function lookUp(route: Route, index: number): Asked {
  const id = String(index * 7)
  if (route.kind === 'static') return get(route.prefix, answerOf(route, undefined))
  if (route.kind === 'param') return get(`${route.prefix}/${id}/detail`, answerOf(route, id))
  return get(`${route.prefix}/2026/${id}.pdf`, answerOf(route, undefined))
}

/** Changes the order, so that neighbours in the table are not requested one after the other. */
const shuffled = (all: readonly Asked[]): Asked[] => all.map((_, index) => all[(index * 7) % all.length]!)

export const httpWorkloads = {
  hello: { title: 'GET /, a text', asked: [get('/', HELLO)] },
  health: { title: 'GET /health, JSON', asked: [get('/health', health())] },
  param: { title: 'GET /api/user/:id, JSON', asked: [get('/api/user/42', userOf('42'))] },
  post: { title: 'POST /api/user, JSON in and out', asked: [post] },
  compressed: {
    title: 'GET /compressed, 8 KB of JSON, gzip',
    asked: [get('/compressed', DOCUMENT, { 'accept-encoding': 'gzip' })]
  },
  router: {
    title: '500 routes: static, with a parameter, with a wildcard, and misses',
    asked: shuffled(lookUps)
  }
} as const satisfies Readonly<Record<string, Workload>>

const users: Asked = { method: 'GET', path: '/users?limit=100', text: null, status: 200 }

export const dbWorkloads = {
  list: { title: '100 of 10,000 users from PostgreSQL', asked: [users] },
  slow: { title: '100 of 10,000 users from PostgreSQL, by a query that takes 20 ms longer', asked: [users] }
} as const satisfies Readonly<Record<string, Workload>>

export const scaleWorkloads = {
  service: { title: 'users.get as a message', asked: [] },
  http: { title: 'GET /health of an app with that service', asked: [get('/health', health())] }
} as const satisfies Readonly<Record<string, Workload>>

export const webWorkloads = {
  request: { title: 'a small request', asked: [] },
  stream: { title: 'a stream of small values', asked: [], callers: [1] },
  still: {
    title: 'a stream of 64 KB every millisecond, to a page that stands still',
    asked: [],
    callers: [1],
    duration: 10,
    runs: 1
  },
  http2: {
    title: 'a small request, with HTTP/2 and TLS in front of the server',
    asked: [],
    callers: [32],
    runs: 1
  }
} as const satisfies Readonly<Record<string, Workload>>

/** The fault of an answer; `undefined`: the answer is right. A gateway answers with text encoded as JSON. */
export function wrongIn(
  { text, status, headers }: Asked,
  gotStatus: number,
  gotText: string,
  gotHeaders: Headers
): string | undefined {
  if (gotStatus !== status) return `status ${gotStatus}, expected ${status}`
  if (text !== null && gotText !== text && gotText !== JSON.stringify(text)) {
    return `'${gotText.slice(0, 80)}', expected '${text.slice(0, 80)}'`
  }
  const compressed = headers?.['accept-encoding']
  const encoding = gotHeaders.get('content-encoding')
  return compressed === undefined || encoding === compressed ? undefined : `it is not compressed`
}

/** The requests, as the report names them. */
export function subjectOf(asked: readonly Asked[], workload: string): string {
  const [first] = asked
  if (first === undefined) return workload
  return asked.length === 1 ? `${first.method} ${first.path}` : `${asked.length} paths`
}

/** The bytes of the right answer before compression; with several requests the average; 0: any answer is right. */
export const payloadOfWorkload = (asked: readonly Asked[]): number =>
  asked.length === 0
    ? 0
    : Math.round(asked.reduce((sum, { text }) => sum + Buffer.byteLength(text ?? ''), 0) / asked.length)
