/** This library sends and receives the bytes that docs/protocol.md shows. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { type WebSocketOptions, websocket } from '@elysia-microservices/websocket'
import { type Message, microservice, RpcError } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { TcpServerOptions } from 'elysia-microservices/tcp'
import { of } from 'rxjs'
import { WebSocket } from 'ws'
import { listen, newApp } from '../support/http-app.ts'
import { readVectors, type Vector } from './vectors.ts'

const vectors = readVectors()
const silent = { error() {}, warn() {} }

/** The service of the test vectors; docs/protocol.md shows its code. */
function start(options: TcpServerOptions) {
  const orders: unknown[] = []
  let canceled = 0
  return microservice({ ...options, transport: 'tcp', host: '127.0.0.1', port: 0, logger: silent })
    .message('echo', ({ data }) => data)
    .message('math.sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
    .message('math.count', async function* ({ data }: Message<number>) {
      for (let n = 0; n < data; n++) yield n
    })
    .message('pair', () => of(1, 2))
    .message('total', async ({ data }: Message<AsyncIterable<number>>) => {
      let total = 0
      for await (const n of data) total += n
      return total
    })
    .event('order.placed', ({ data }) => {
      orders.push(data)
    })
    .message('orders', () => orders)
    .message('headers', ({ headers, timeout }) => ({ ...headers, timeout }))
    .message('never', ({ signal }) => {
      signal.addEventListener('abort', () => canceled++)
      return new Promise(() => {})
    })
    .message('canceled', () => canceled)
    .message('fail', () => {
      throw new RpcError({ code: 'E', message: 'm', details: { d: 1 } })
    })
}

const SERVER_OPTIONS: Readonly<Record<string, TcpServerOptions>> = {
  nest: {},
  authenticate: {
    authenticate: ({ credentials }) => credentials?.type === 'bearer' && credentials.token === 'secret'
  },
  'inFlightPerConnection=2': { limits: { inFlightPerConnection: 2 } },
  resume: { rsocket: { resume: true } }
}

/** The calls of the client vectors. */
const CALLS: Readonly<Record<string, (client: UntypedClient) => Promise<unknown>>> = {
  "request('math.sum', [1, 2]) is 3": async (client) =>
    assert.equal(await client.request('math.sum', [1, 2]), 3),
  "emit('order.placed', { id: 7 })": (client) => client.emit('order.placed', { id: 7 }),
  "the first value of stream('math.count', 3)": async (client) => {
    for await (const value of client.stream('math.count', 3)) return assert.equal(value, 0)
    assert.fail('no value')
  },
  "request('fail') rejects with the code E": (client) =>
    assert.rejects(client.request('fail', undefined), { name: 'RpcError', code: 'E', message: 'm' }),
  "request('math.sum', [1, 2], { headers: { tenant: 'a' }, timeout: 5000 }) is 3": async (client) => {
    const options = { headers: { tenant: 'a' }, timeout: 5_000 }
    assert.equal(await client.request('math.sum', [1, 2], options), 3)
  }
}

/** Reads a number of bytes from a socket. */
class Reader {
  readonly #socket: net.Socket
  #rest = Buffer.alloc(0)
  #ended = false

  constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, chunk])
      socket.emit('more')
    })
    socket.on('end', () => {
      this.#ended = true
      socket.emit('more')
    })
    socket.on('error', () => {})
  }

  async expect(bytes: Buffer, line: string): Promise<void> {
    while (this.#rest.length < bytes.length && !this.#ended) await once(this.#socket, 'more')
    const got = this.#rest.subarray(0, bytes.length)
    assert.equal(got.toString('latin1'), bytes.toString('latin1'), `${line}\ngot ${got.toString('hex')}`)
    this.#rest = this.#rest.subarray(bytes.length)
  }

  /** Waits for the end of the connection, and fails if more bytes arrive before. */
  async end(): Promise<void> {
    while (!this.#ended) await once(this.#socket, 'more')
    assert.equal(this.#rest.toString('hex'), '')
  }
}

async function playServer({ options, steps }: Vector): Promise<void> {
  const service = start(Object.assign({}, ...options.map((option) => SERVER_OPTIONS[option])))
  await service.listen()
  let socket = net.connect(service.address!.port, '127.0.0.1')
  let reader = new Reader(socket)
  try {
    for (const { from, bytes, line } of steps) {
      if (bytes !== undefined && from === 'client') socket.write(bytes)
      else if (bytes !== undefined) await reader.expect(bytes, line)
      else if (from === 'server') await reader.end()
      else if (from === undefined) void service.stop()
      else {
        socket.destroy()
        socket = net.connect(service.address!.port, '127.0.0.1')
        reader = new Reader(socket)
      }
    }
    socket.end()
    await reader.end()
  } finally {
    socket.destroy()
    await service.stop()
  }
}

/** Plays a vector over WebSocket: each line is a message. */
async function playWebSocket({ options, steps }: Vector): Promise<void> {
  const service = start({})
  const authenticate: WebSocketOptions['authenticate'] = ({ credentials }) =>
    credentials?.type === 'bearer' && credentials.token === 'secret' ? { user: 'ada' } : false
  const door = websocket({
    expose: ['>'],
    ...(options.includes('authenticate') && { authenticate })
  })
  const app = await listen(newApp().use(service).use(door))
  const url = `${app.url.replace('http', 'ws')}/rsocket`
  const dial = async () => {
    const socket = new WebSocket(url, options.includes('turns') ? ['turns.rsocket.elysia-microservices'] : [])
    const messages: Buffer[] = []
    let isClosed = false
    socket.on('message', (message: Buffer) => {
      messages.push(message)
      socket.emit('more')
    })
    socket.on('close', () => {
      isClosed = true
      socket.emit('more')
    })
    await once(socket, 'open')
    const take = async () => {
      while (messages.length === 0 && !isClosed) await once(socket, 'more')
      return messages.shift()
    }
    return { socket, take }
  }
  let connection = await dial()
  try {
    for (const { from, bytes, line } of steps) {
      const { socket, take } = connection
      if (bytes !== undefined && from === 'client') socket.send(bytes)
      else if (bytes !== undefined) assert.equal((await take())?.toString('hex'), bytes.toString('hex'), line)
      else if (from === 'server') assert.equal(await take(), undefined, line)
      else {
        socket.terminate()
        connection = await dial()
      }
    }
  } finally {
    connection.socket.terminate()
    await app.stop()
    await service.stop()
  }
}

/** The name that a process tells. A test before may have started a service with a name; the vectors have none. */
const NAME = Symbol.for('elysia-microservices.name')

async function playClient({ title, options, steps }: Vector): Promise<void> {
  const call = CALLS[title]
  assert.ok(call, `no call for '${title}'`)
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const protocol = options.includes('nest') ? 'nest' : 'rsocket'
  Reflect.deleteProperty(globalThis, NAME)
  const client = connect({ protocol, host: '127.0.0.1', port, logger: silent })
  try {
    const accepted = once(server, 'connection') as Promise<[net.Socket]>
    // A call that waits for its connection has less than its whole timeout left, and its bytes say so.
    const connected = client.connect()
    const [socket] = await accepted
    const reader = new Reader(socket)
    await connected
    const called = call(client)
    for (const { from, bytes, line } of steps) {
      if (from === 'client') await reader.expect(bytes as Buffer, line)
      else socket.write(bytes as Buffer)
    }
    await called
    const closed = client.close()
    await reader.end()
    socket.end()
    await closed
  } finally {
    server.close()
  }
}

describe('the test vectors of docs/protocol.md', () => {
  it('are all found in the page', () => {
    assert.ok(vectors.filter(({ side }) => side === 'server').length >= 20)
    assert.equal(
      vectors.filter(({ side, options }) => side === 'client' && options.length === 0).length,
      Object.keys(CALLS).length
    )
  })

  for (const vector of vectors) {
    it(`${vector.side} ${vector.options.join(' ')}: ${vector.title}`, () =>
      vector.options.includes('websocket')
        ? playWebSocket(vector)
        : vector.side === 'server'
          ? playServer(vector)
          : playClient(vector))
  }
})
