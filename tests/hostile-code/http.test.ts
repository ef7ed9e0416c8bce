/**
 * Hostile code behind each HTTP endpoint of this library: whatever a function of the user throws or returns, the
 * request is answered, nothing internal is in the answer, and the process goes on.
 */
import assert from 'node:assert/strict'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { consolePage } from '@elysia-microservices/console'
import { health, prometheus, telemetry } from '@elysia-microservices/telemetry'
import { isOnPush, within } from '@elysia-microservices/test-support'
import { tellFigures } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { asyncApiRoute } from 'elysia-microservices/describe'
import { callOptions, clients, gateway } from 'elysia-microservices/gateway'
import { listen, newApp } from '../support/http-app.ts'
import { underBun } from '../workspace.ts'
import { SECRET } from './atoms.ts'
import { make, RECIPES, type Recipe } from './recipes.ts'

/** The present act of hostile code: it returns, throws or rejects with the value of a recipe. */
let act: () => unknown = () => undefined
const WAYS = { returns: make, throws: thrown, rejects: rejected }
/**
 * The acts that are tried at a place. On a push each runtime tries every other recipe, in one of the three ways, which
 * differs from place to place: an answer goes wrong by its value or by its way, and seldom by both together.
 */
function actsAt(place: number): { readonly what: string; readonly run: () => unknown }[] {
  const recipes = Object.entries(RECIPES).filter((_, index) => !isOnPush || (index % 2 === 0) === underBun)
  return recipes.flatMap(([name, recipe], index) =>
    Object.entries(WAYS)
      .filter((_, way) => !isOnPush || (place + index + way) % 3 === 0)
      .map(([how, run]) => ({ what: `${how} ${name}`, run: () => run(recipe) }))
  )
}

function thrown(recipe: Recipe): never {
  throw make(recipe)
}

/** A rejection that nobody need handle: it may be read as a mere value. */
function rejected(recipe: Recipe): Promise<never> {
  const promise = (async () => thrown(recipe))()
  promise.catch(() => {})
  return promise
}

/** A logger that fails, too. */
const logger = { error: () => act() as undefined, warn: () => act() as undefined }
const quiet = { error() {}, warn() {} }

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)

/** The members of an object that hostile code makes: each time they are read. */
function hostileFields<Given extends object>(given: Given, ...names: string[]): Given {
  for (const name of names) Object.defineProperty(given, name, { get: () => act(), enumerable: true })
  return given
}

/** A place in which hostile code runs: an app, and what is asked of it. */
interface Place {
  readonly app: () => AnyElysia | Promise<AnyElysia>
  readonly asks: readonly (readonly [path: string, init?: RequestInit])[]
  /** Statuses that are right here. */
  readonly statuses: readonly number[]
  /** The page is for operators, who may see the reasons. */
  readonly isForOperators?: true
}

const transport = memory()
const service = microservice({ transport, logger: quiet })
  .message('echo', ({ data }) => data)
  .message('values', async function* () {
    yield 1
  })
  .event('seen', () => {})

const newClient = () => connect({ transport, logger: quiet })
const POST = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body)
})
/** A client of the user's own making. */
const hostileClient = () =>
  ({ ...clientMembers, request: () => act(), stream: () => act(), emit: () => act() }) as never
const clientMembers = { status: 'connected', connect: async () => {}, close: async () => {} }

const routesWith = (option: object) => ({
  'GET /value': { pattern: 'echo', ...option },
  'POST /value': { pattern: 'echo', ...option },
  'GET /stream': { stream: 'values', ...option },
  'POST /event': { emit: 'seen', ...option }
})
/** A request for an upgrade, which `fetch` does not send. */
const UPGRADE: RequestInit = {}

async function ask(url: string, init?: RequestInit): Promise<readonly [status: number, text: string]> {
  const response = await fetch(url, { ...init, redirect: 'manual' })
  return [response.status, await response.text()]
}

async function upgrade(url: string, path: string): Promise<readonly [status: number, text: string]> {
  const { port, host } = new URL(url)
  const socket = net.connect(Number(port), 'localhost')
  const headers = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='
  socket.write([`GET ${path} HTTP/1.1`, `host: ${host}`, ...headers, key, '', ''].join('\r\n'))
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.includes('\r\n\r\n')) break
  }
  return [Number(text.split(' ')[1]), text]
}

const ROUTES: Place['asks'] = [['/value'], ['/value', POST({})], ['/stream'], ['/event', POST({})]]
const ANSWERS = [200, 202, 204, 400, 404, 415, 422, 500, 502, 503, 504]

/** A transport that says anything about itself. */
function hostileTransport(stats: () => unknown): Transport {
  const inner = memory()
  return {
    ...inner,
    server: (context) => Object.assign(inner.server(context), { stats: stats as never })
  }
}

const PLACES: Readonly<Record<string, Place>> = {
  'a check of health()': {
    app: () => newApp().use(health({ checks: { a: () => act() } })),
    asks: [['/livez'], ['/readyz'], ['/healthz']],
    statuses: [200, 503],
    isForOperators: true
  },
  'a service that is given to health()': {
    app: () => {
      let isMade = false
      const status = () => (isMade ? act() : 'listening')
      const given = Object.defineProperty({ stats: () => act() }, 'status', { get: status })
      const app = newApp().use(health({ services: [given as never] }))
      isMade = true
      return app
    },
    asks: [['/readyz'], ['/healthz']],
    statuses: [200, 503],
    isForOperators: true
  },
  'figures of a service that is given to health()': {
    app: () =>
      newApp().use(
        health({
          services: [
            { status: 'listening', stats: () => [hostileFields({}, 'transport', 'unavailable')] }
          ] as never
        })
      ),
    asks: [['/readyz'], ['/healthz']],
    statuses: [200, 503],
    isForOperators: true
  },
  'the registry of prometheus()': {
    app: () => newApp().use(prometheus({ registry: { metrics: () => act() } as never })),
    asks: [['/metrics']],
    statuses: [200]
  },
  'a source of figures for prometheus()': {
    app: () => {
      tellFigures({ name: 'outbox', attributes: {}, read: () => act() as never })
      tellFigures({ name: 'outbox', attributes: {}, read: async () => hostileFields({}, 'pending', 'lag') })
      return newApp().use(prometheus())
    },
    asks: [['/metrics']],
    statuses: [200]
  },
  'a transport whose figures prometheus() reads': {
    app: async () => {
      const transports = [
        hostileTransport(() => act()),
        hostileTransport(() => hostileFields({}, 'transport', 'address', 'inFlight', 'durable')),
        hostileTransport(() => ({ transport: 'x', durable: [hostileFields({}, 'pattern', 'lag')] }))
      ]
      for (const each of transports) {
        const watched = microservice({ transport: each, logger: quiet })
          .wrap(telemetry())
          .message('a', () => 1)
        await watched.listen()
        kept.push(watched)
      }
      return newApp().use(prometheus())
    },
    asks: [['/metrics']],
    statuses: [200]
  },
  'the service of asyncApiRoute()': {
    app: () => newApp().use(asyncApiRoute({ describe: () => act() } as never)),
    asks: [['/asyncapi.json']],
    statuses: [200, 500]
  },
  'allow of consolePage()': {
    app: () =>
      newApp().use(
        consolePage({ services: { a: newClient() as never }, allow: () => act() as never, logger })
      ),
    asks: [
      ['/console'],
      ['/console/page.js'],
      ['/console/v1/traces', POST({})],
      ['/console/socket', UPGRADE]
    ],
    statuses: [200, 400, 403, 415, 426]
  },
  'services of consolePage()': {
    app: () => newApp().use(consolePage({ services: () => act() as never, logger })),
    asks: [['/console'], ['/console/page.js']],
    statuses: [200]
  },
  ...Object.fromEntries(
    ['data', 'headers', 'key', 'within'].map((name): [string, Place] => [
      `the function ${name} of a route of gateway()`,
      {
        app: () =>
          newApp().use(
            gateway(
              newClient,
              routesWith(name === 'within' ? {} : { [name]: () => act() }) as never,
              { logger, timeout: 2_000, ...(name === 'within' && { within: () => act() }) } as never
            )
          ),
        asks: ROUTES,
        statuses: ANSWERS
      }
    ])
  ),
  'a client of gateway()': {
    app: () => newApp().use(gateway(hostileClient(), routesWith({}) as never, { logger })),
    asks: ROUTES,
    statuses: ANSWERS
  },
  'callOptions() in a handler of the app': {
    app: () =>
      newApp()
        .use(clients({ users: newClient }, { logger }))
        .get('/own', ({ users, ...context }) =>
          users.request('echo', 1, callOptions(context, { headers: () => act() as never }))
        ),
    asks: [],
    statuses: ANSWERS
  }
}
/** Services that live as long as the tests. */
const kept: { stop(): Promise<unknown> }[] = []

before(async () => {
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
  await service.listen()
})
after(async () => {
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  for (const each of kept) await each.stop().catch(() => {})
  await service.stop()
})

describe('hostile code behind an endpoint', () => {
  for (const [place, [name, { app, asks, statuses, isForOperators }]] of Object.entries(PLACES).entries())
    it(`gets an answer: ${name}`, async () => {
      act = () => undefined
      const { url, stop } = await listen(await app())
      const problems: string[] = []
      for (const { what, run } of actsAt(place))
        for (const [path, init] of asks) {
          const about = `${init?.method ?? 'GET'} ${path}, ${what}`
          act = run
          const answered = init === UPGRADE ? upgrade(url, path) : ask(url + path, init)
          try {
            const [status, text] = await within(answered, about, 10_000)
            if (!statuses.includes(status)) problems.push(`${about}: ${status} ${text}`)
            if (isForOperators === undefined && text.includes(SECRET)) problems.push(`${about}: ${text}`)
          } catch (error) {
            problems.push(`${about}: ${String(error)} ${String((error as Error).cause)}`)
          }
          if (unhandled.length > 0) problems.push(`${about}: ${unhandled.splice(0).length} unhandled`)
        }
      act = () => undefined
      await stop()
      assert.deepEqual(problems, [])
    })
})
