/** The ends of upgrades and their sockets, however many there are and whatever their clients do. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import type { Dispatcher } from '@elysia-microservices/transport/kit'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { type WebSocketOptions, type WebSocketStats, websocket } from './index.ts'
import { type Listening, listen, newApp } from './testing/app.ts'

const logger = { error() {}, warn() {} }
const underDeno = 'Deno' in globalThis
const underNode = !('Bun' in globalThis || underDeno)

/** Upgrades that are right, and some that are not. */
const WRONG: Record<string, string>[] = [
  {},
  {},
  { 'sec-websocket-key': 'short' },
  { 'sec-websocket-version': '1' },
  { upgrade: 'h2c' }
]

const newService = (transport: Transport = memory()) =>
  microservice({ transport, logger }).message('shop.echo', ({ data }) => data)

const statsOf = (service: ReturnType<typeof newService>) =>
  service.stats().find(({ transport }) => transport === 'websocket') as WebSocketStats

const open = (options: Partial<WebSocketOptions>, service = newService()) =>
  listen(
    newApp()
      .use(service)
      .use(websocket({ expose: ['shop.*'], ...options }))
  )

const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** A socket that asks for an upgrade, and that does not close its side when the server has closed its own. */
class Asking {
  readonly socket: net.Socket
  answer = ''
  readonly closed: Promise<unknown>

  constructor({ port }: Listening, headers: Record<string, string> = {}, path = '/rsocket') {
    this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1')
    })
    this.closed = new Promise((resolve) => this.socket.once('close', resolve))
    const all = {
      host: 'localhost',
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers
    }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  }

  async status(): Promise<number> {
    await until(() => this.answer.includes('\r\n\r\n'))
    return Number(this.answer.split(' ')[1])
  }

  /** Resolves when the server has closed the whole socket: until then it takes what is written. */
  async untilGone(): Promise<void> {
    await until(() => {
      if (!this.socket.destroyed) this.socket.write('x')
      return this.socket.destroyed
    })
  }
}

const statusesOf = async (all: readonly Asking[]) => {
  const statuses = await Promise.all(all.map((one) => one.status()))
  return {
    in: statuses.filter((one) => one === 101).length,
    out: statuses.filter((one) => one === 503).length
  }
}

/** Clients that connect at the same time. */
const STORM = isInCheck ? 80 : 200

describe('a limit of connections', () => {
  for (const limit of ['connections', 'connectionsPerAddress'] as const)
    it(`holds in a storm: limits.${limit}`, async () => {
      const service = newService()
      await using app = await open({ limits: { [limit]: 20 } }, service)
      for (let round = 0; round < 2; round++) {
        const all = Array.from({ length: STORM }, () => new Asking(app))
        assert.deepEqual(await statusesOf(all), { in: 20, out: STORM - 20 })
        for (const { socket } of all) socket.destroy()
        await until(() => statsOf(service).connections.current === 0)
      }
    })

  it('holds when all upgrades have waited for the same service', async () => {
    let start = () => {}
    const started = new Promise<void>((resolve) => {
      start = resolve
    })
    const transport = memory()
    const slow: Transport = {
      ...transport,
      server(context) {
        const server = transport.server(context)
        const startNow = server.start.bind(server)
        return Object.assign(server, {
          start: async (dispatcher: Dispatcher) => {
            await started
            await startNow(dispatcher)
          }
        })
      }
    }
    await using app = await open({ limits: { connections: 20 } }, newService(slow))
    const all = Array.from({ length: 200 }, () => new Asking(app))
    // A plain request is answered when the upgrades that were sent before it wait.
    await fetch(`http://127.0.0.1:${app.port}/nothing`)
    start()
    assert.deepEqual(await statusesOf(all), { in: 20, out: 180 })
    for (const { socket } of all) socket.destroy()
  })

  it('gets the places back of clients that leave at once, or ask wrongly', async () => {
    await using app = await open({ limits: { connections: 20 } })
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 20; n++) {
        const asking = new Asking(app, WRONG[n % WRONG.length])
        // Deno's server never stops after a connection that was reset before its answer.
        if (n % 2 === 0 || underDeno) await asking.status()
        else await once(asking.socket, 'connect')
        asking.socket.resetAndDestroy()
      }
    }
    let last = new Asking(app)
    while ((await last.status()) !== 101) last = new Asking(app)
    last.socket.destroy()
  })
})

describe('an upgrade is accepted, however its client writes the headers', () => {
  const TURNS = 'turns.rsocket.elysia-microservices'
  const written: [what: string, headers: Record<string, string>, protocol: string | undefined][] = [
    [
      'subprotocols without spaces, as of the package ws',
      { 'sec-websocket-protocol': `rsocket,${TURNS}` },
      TURNS
    ],
    ['subprotocols between more spaces', { 'sec-websocket-protocol': `rsocket ,\t  ${TURNS}` }, TURNS],
    [
      'a subprotocol a line',
      { 'sec-websocket-protocol': `rsocket\r\nsec-websocket-protocol: ${TURNS}` },
      TURNS
    ],
    ['only the subprotocol of RSocket', { 'sec-websocket-protocol': 'other,rsocket' }, 'rsocket'],
    ['only subprotocols that nobody knows', { 'sec-websocket-protocol': 'a,b' }, undefined],
    ['upper case', { upgrade: 'WebSocket', connection: 'UPGRADE' }, undefined],
    ['a list of connections without spaces', { connection: 'keep-alive,Upgrade' }, undefined],
    ['an extension', { 'sec-websocket-extensions': 'permessage-deflate;client_max_window_bits' }, undefined]
  ]
  for (const [what, headers, protocol] of written)
    it(what, async () => {
      await using app = await open({})
      const asking = new Asking(app, headers)
      assert.equal(await asking.status(), 101)
      assert.equal(/^sec-websocket-protocol: *(.*?)\r$/im.exec(asking.answer)?.[1], protocol)
      asking.socket.destroy()
    })
})

// Bun closes such sockets itself, and Deno answers them like all requests.
if (underNode)
  describe('an upgrade that is refused', () => {
    const refused: [
      what: string,
      options: Partial<WebSocketOptions>,
      headers: Record<string, string>,
      number
    ][] = [
      ['a page of another host', {}, { origin: 'https://evil.example' }, 403],
      ['a limit', { limits: { connections: 1 } }, {}, 503],
      ['cookies from nowhere', {}, { cookie: 'session=1' }, 403],
      ['a version that nobody speaks', {}, { 'sec-websocket-version': '1' }, 400],
      ['another protocol', {}, { upgrade: 'h2c' }, 426]
    ]
    for (const [what, options, headers, status] of refused)
      it(`is answered, and its socket closed, whatever its client does: ${what}`, async () => {
        await using app = await open(options)
        const first = new Asking(app)
        assert.equal(await first.status(), 101)
        const all = Array.from({ length: 20 }, () => new Asking(app, headers))
        for (const asking of all) {
          assert.equal(await asking.status(), status)
          await asking.untilGone()
        }
        first.socket.destroy()
      })

    it('is cut off if the app does not decide within limits.handshake', async () => {
      const app = newApp()
        .onRequest(() => new Promise<void>(() => {}))
        .use(newService())
        .use(websocket({ expose: ['shop.*'], limits: { handshake: 50 } }))
      await using listening = await listen(app)
      const asking = new Asking(listening)
      await asking.untilGone()
      assert.equal(asking.answer, '')
    })
  })
