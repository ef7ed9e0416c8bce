import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { microservice } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { newApp, underBun } from '../testing/http-app.ts'
import { happening } from '../testing/service.ts'
import { callOptions, clients, gateway } from './index.ts'

const logger = { error: () => {}, warn: () => {} }

/** The calls that run at the service. */
let running = 0
/** The most calls that ran at the same time. */
let most = 0
let changed = happening()
function count(by: number): void {
  running += by
  changed.happen()
}
async function untilRunning(isEnough: (count: number) => boolean): Promise<void> {
  while (!isEnough(running)) {
    await changed.happened
    changed = happening()
  }
}

const untilGone = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
  .message('waits', async ({ signal }) => {
    count(1)
    await untilGone(signal)
    count(-1)
  })
  .message('silent', async function* ({ signal }) {
    count(1)
    try {
      yield 'first'
      await untilGone(signal)
    } finally {
      count(-1)
    }
  })
  .message('short', async function* () {
    count(1)
    most = Math.max(most, running)
    yield 1
    await new Promise((resolve) => setImmediate(resolve))
    count(-1)
  })
  .message('never', async function* ({ signal }) {
    count(1)
    try {
      await untilGone(signal)
      yield 'too late'
    } finally {
      count(-1)
    }
  })

/** Resolves when the client of a request has left, without asking for the request's signal on Node. */
async function left(request: Request): Promise<unknown> {
  const { runtime } = request as { runtime?: { node?: { res: NodeJS.EventEmitter } } }
  if (runtime?.node !== undefined) return once(runtime.node.res, 'close')
  return request.signal.aborted || once(request.signal, 'abort')
}

/** Happen when the app's hook has begun to wait, and when a request that the hook held up is over. */
let entered = happening()
let settled = happening()
const isHeldUp = (request: Request) => request.headers.has('x-held-up')

const http = behindGateway(service, (client) =>
  newApp()
    .onBeforeHandle(async ({ request }) => {
      if (!isHeldUp(request)) return
      entered.happen()
      await left(request)
    })
    .onAfterResponse(({ request }) => {
      if (isHeldUp(request)) settled.happen()
    })
    .use(
      gateway(
        client,
        {
          'GET /waits': 'waits',
          'POST /waits': 'waits',
          'GET /silent': { stream: 'silent' },
          'GET /beating': { stream: 'silent', heartbeat: 50 },
          'GET /short': { stream: 'short' },
          'GET /never': { stream: 'never' },
          'POST /never': { stream: 'never' }
        },
        { logger, timeout: false }
      )
    )
    .use(clients({ users: client }, { logger }))
    .get('/own', ({ users, ...context }) =>
      users.request('waits', undefined, callOptions(context, { timeout: false }))
    )
)

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
const HEAD = (path: string) => `HEAD ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
const POST = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}`

/** Bun closes a connection by itself when a request follows one whose answer has not begun. */
const SENT = underBun ? 1 : 20
/** Deno begins with a request of a socket when the request before it is answered. */
const ALL = 'Deno' in globalThis ? 1 : SENT

const CASES: readonly (readonly [name: string, request: string, begun: number])[] = [
  ['values', GET('/waits'), ALL],
  ['values that are asked for with a body', POST('/waits'), ALL],
  ['values of which only the head is asked for', HEAD('/waits'), ALL],
  ['values of a handler of the app', GET('/own'), ALL],
  ['streams', GET('/silent'), 1],
  ['streams with a heartbeat', GET('/beating'), 1],
  ['streams without a first value', GET('/never'), 1],
  ['streams that are asked for with a body', POST('/never'), 1]
]

describe('a client that leaves after it has sent many requests over one socket', () => {
  for (const [name, request, begun] of CASES)
    for (const how of ['destroy', 'resetAndDestroy'] as const)
      it(`ends all of its ${name} (${how})`, async () => {
        const socket = net.connect({ port: http.port, host: 'localhost' })
        socket.on('error', () => {})
        socket.on('data', () => {})
        socket.write(request.repeat(SENT))
        await untilRunning((all) => all >= begun)
        socket[how]()
        await untilRunning((all) => all === 0)
      })

  if (!underBun)
    it('has one stream at a time, each after the end of the stream before it', async () => {
      most = 0
      const socket = net.connect({ port: http.port, host: 'localhost' })
      let text = ''
      socket.on('data', (chunk) => {
        text += String(chunk)
      })
      socket.write(GET('/short').repeat(20))
      while ([...text.matchAll(/event: end/g)].length < 20) await once(socket, 'data')
      assert.equal(most, 1)
      socket.destroy()
    })

  it('while a client that stays gets all of its answers', async () => {
    const socket = net.connect({ port: http.port, host: 'localhost' })
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    socket.write(GET('/nothing').repeat(20))
    while ([...text.matchAll(/HTTP\/1.1 404/g)].length < 20) await once(socket, 'data')
    socket.destroy()
  })
})

describe('a client that leaves while a hook of the app still waits', () => {
  for (const path of ['/waits', '/own', '/silent', '/beating', '/never'])
    it(`ends what the gateway then begins: ${path}`, async () => {
      entered = happening()
      settled = happening()
      const socket = net.connect({ port: http.port, host: 'localhost' })
      socket.on('error', () => {})
      socket.write(GET(path).replace('\r\n\r\n', '\r\nx-held-up: 1\r\n\r\n'))
      await entered.happened
      socket.destroy()
      await settled.happened
      await untilRunning((all) => all === 0)
    })
})
