/** Attacks of unknown clients on the port of an app, and their outcomes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  cancel,
  channel,
  entry,
  event,
  frame,
  request,
  setup,
  stream,
  uint16
} from '@elysia-microservices/rsocket/testing'
import { isInCheck } from '@elysia-microservices/test-support'
import { memory, microservice } from 'elysia-microservices'
import { type WebSocketOptions, type WebSocketStats, websocket } from './index.ts'
import { Bare, clientOf, type Listening, listen, newApp } from './testing/app.ts'
import { TURNS } from './wire/messages.ts'

const ORIGIN = 'https://shop.example'

class Log {
  readonly lines: string[] = []
  error(line: string) {
    this.lines.push(line)
  }
  warn(line: string) {
    this.lines.push(line)
  }
}

/** The service under test, and the calls that its handlers have received. */
class Setting {
  readonly log = new Log()
  readonly calls: string[] = []
  values = 0
  running = 0
  readonly service = microservice({ transport: memory(), logger: this.log })
    .message('shop.echo', ({ data }) => data)
    .message('shop.user', ({ peer }) => peer?.user ?? null)
    .message('shop.never', () => {
      this.running++
      return new Promise(() => {})
    })
    .message('shop.values', async function* (this: unknown) {
      for (;;) yield setting.value()
    })
    .message({ cmd: 'inside' }, () => this.called('inside'))
    .message('shop.secrets.all', () => this.called('shop.secrets.all'))
    .message('internal', () => this.called('internal'))
    .event('internal.changed', () => void this.called('internal.changed'))
    .message('>', ({ pattern }) => this.called(`> ${pattern}`))

  constructor() {
    setting = this
  }

  value(): string {
    this.values++
    return 'x'.repeat(64 * 1024)
  }

  called(what: string): string {
    this.calls.push(what)
    return what
  }

  open(options: Partial<WebSocketOptions> = {}): Promise<Listening> {
    return listen(
      newApp()
        .use(this.service)
        .use(websocket({ expose: ['shop.*'], ...options }))
    )
  }

  get stats(): WebSocketStats {
    return this.service.stats().find(({ transport }) => transport === 'websocket') as WebSocketStats
  }
}

let setting: Setting

const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** All bytes that a bare WebSocket has received, once they contain a text. */
const heard = async (bare: Bare, text: string) => {
  const all = () => Buffer.concat(bare.messages).toString('latin1')
  await until(() => all().includes(text))
  return all()
}

const cookie = { cookie: 'session=1' }

describe('who may connect', () => {
  const cases: [string, WebSocketOptions['origins'], Record<string, string>, number | undefined][] = [
    ['a page of another host', undefined, { origin: ORIGIN }, 403],
    [
      'a page of another host that names ours in its own',
      undefined,
      { origin: 'https://localhost.evil.example' },
      403
    ],
    ['a page of no host', undefined, { origin: 'null' }, 403],
    ['a page that is not on the list', ['https://other.example'], { origin: ORIGIN }, 403],
    ['a page on the list', [ORIGIN], { origin: ORIGIN, ...cookie }, undefined],
    ['any page, where all may', '*', { origin: ORIGIN }, undefined],
    ['a program, which has no cookies of anybody', undefined, {}, undefined],
    ['cookies from nowhere', undefined, cookie, 403]
  ]
  for (const [what, origins, headers, status] of cases)
    it(`${what}: ${status ?? 'may'}`, async () => {
      const setting = new Setting()
      await using app = await setting.open({ origins })
      const bare = new Bare(app.url, [], headers)
      if (status === undefined) await bare.opened()
      else assert.equal(await bare.closed, 0)
      assert.equal(bare.status, status)
      bare.socket.terminate()
      assert.equal(
        setting.log.lines.filter((line) => line.includes('An upgrade was refused')).length,
        status ? 1 : 0
      )
    })

  it('nobody with a target that is no URL; others still may', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    for (const target of ['//', '///', '//[', '//:1']) {
      const socket = net.connect(app.port, 'localhost')
      socket.on('error', () => {})
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
      // Some runtimes answer, and others say nothing.
      await Promise.race([once(socket, 'data'), once(socket, 'close'), pause(50)])
      socket.destroy()
    }
    const bare = new Bare(app.url, [], {})
    await bare.opened()
    bare.socket.terminate()
  })

  it('a page of our own host: may, with its port', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const own = new Bare(app.url, [], { origin: `http://localhost:${app.port}`, ...cookie })
    await own.opened()
    own.socket.terminate()
    const other = new Bare(app.url, [], { origin: 'http://localhost' })
    await other.closed
    assert.equal(other.status, 403)
  })
})

describe('who a client is', () => {
  const authenticate: WebSocketOptions['authenticate'] = ({ credentials, upgrade }) => {
    const user = /user=(\w+)/.exec(upgrade.headers.get('cookie') ?? '')?.[1]
    if (user !== undefined) return { user }
    return credentials?.type === 'bearer' && credentials.token.startsWith('ok ')
      ? { user: credentials.token.slice(3) }
      : false
  }
  const bearer = (token: string) => ({ type: 'bearer', token }) as const

  it('is told by its credentials, which are asked for', async () => {
    await using app = await new Setting().open({ authenticate })
    let asked = 0
    await using client = clientOf(app, {
      credentials: async () => {
        asked++
        return bearer('ok ada')
      }
    })
    assert.equal(await client.request('shop.user' as never), 'ada')
    assert.equal(asked, 1)
  })

  it('is told by the cookies of its upgrade', async () => {
    await using app = await new Setting().open({ authenticate })
    const bare = await new Bare(app.url, [TURNS], {
      origin: `http://localhost:${app.port}`,
      cookie: 'user=bob'
    }).opened()
    bare.socket.send(Buffer.concat([setup(), request(1, 'shop.user', 'null')]))
    await heard(bare, '"bob"')
    bare.socket.terminate()
  })

  it('is refused so that it hears of it, and does not try again until it is asked to', async () => {
    await using app = await new Setting().open({ authenticate })
    let asked = 0
    const told: string[] = []
    await using client = clientOf(app, {
      credentials: () => {
        asked++
        return bearer(asked === 1 ? 'wrong' : 'ok eve')
      },
      onStatus: ({ type }) => void told.push(type)
    })
    const both = [client.request('shop.user' as never), client.request('shop.user' as never)]
    for (const call of both) await assert.rejects(call, { name: 'UnauthenticatedError', mayHaveRun: false })
    assert.equal(client.status, 'disconnected')
    assert.deepEqual(told, ['status', 'connect-failed', 'status'])
    assert.equal(await client.request('shop.user' as never), 'eve')
    assert.equal(asked, 2)
  })

  for (const [what, verdict] of [
    ['nothing', () => undefined],
    ['a user without a name', () => ({ user: 7 })],
    ['an error', () => Promise.reject(new Error('down'))]
  ] as const)
    it(`is refused by ${what}`, async () => {
      await using app = await new Setting().open({ authenticate: verdict as never })
      await using client = clientOf(app)
      await assert.rejects(client.connect(), { name: 'UnauthenticatedError' })
    })

  it('is accepted by true, which names nobody', async () => {
    await using app = await new Setting().open({ authenticate: () => true })
    await using client = clientOf(app)
    await client.connect()
  })

  it('has so many connections and no more, and hears why', async () => {
    await using app = await new Setting().open({ authenticate, limits: { connectionsPerUser: 1 } })
    await using first = clientOf(app, { credentials: bearer('ok ada') })
    await first.connect()
    await using second = clientOf(app, { credentials: bearer('ok ada') })
    await assert.rejects(second.connect(), { name: 'ConnectionError', message: /connectionsPerUser/ })
    await using other = clientOf(app, { credentials: bearer('ok bob') })
    await other.connect()
  })

  it('has no further connection by resuming a lost one, but goes on with one that still counts', async () => {
    const setting = new Setting()
    await using app = await setting.open({ authenticate, limits: { connectionsPerUser: 1 } })
    const token = 'a token of sixteen'
    const credentials = frame(0, 'METADATA_PUSH', 'M', bearerEntry('ok ada'))
    const version = [uint16(1), uint16(0)]
    const resume = frame(0, 'RESUME', '', ...version, uint16(token.length), token, Buffer.alloc(16))
    const goOn = async (expected: string) => {
      const next = await new Bare(app.url, [TURNS]).opened()
      next.socket.send(Buffer.concat([credentials, resume]))
      await heard(next, expected)
      return next
    }
    const lost = await new Bare(app.url, [TURNS]).opened()
    const first = [setup({ token, metadata: bearerEntry('ok ada') }), request(1, 'shop.user', 'null')]
    lost.socket.send(Buffer.concat(first))
    await heard(lost, '"ada"')
    // The server has not noticed yet that the old socket is lost.
    const second = await goOn('"ada"')
    second.socket.terminate()
    await until(() => setting.stats.resumable.connections.current === 1)
    const other = clientOf(app, { credentials: bearer('ok ada') })
    await other.connect()
    const refused = await goOn('limits.connectionsPerUser is reached (1)')
    await refused.closed
    await other.close()
    await until(() => setting.stats.connections.current === 0)
    const last = await goOn('"ada"')
    last.socket.terminate()
  })

  it('matters before a lost connection goes on: a stolen token is no use to another user', async () => {
    const setting = new Setting()
    await using app = await setting.open({ authenticate })
    const token = 'a token of sixteen'
    const credentials = (user: string) => frame(0, 'METADATA_PUSH', 'M', bearerEntry(`ok ${user}`))
    const version = [uint16(1), uint16(0)]
    const resume = frame(0, 'RESUME', '', ...version, uint16(token.length), token, Buffer.alloc(16))
    const victim = await new Bare(app.url, [TURNS]).opened()
    victim.socket.send(
      Buffer.concat([setup({ token, metadata: bearerEntry('ok ada') }), request(1, 'shop.user', 'null')])
    )
    await heard(victim, '"ada"')
    victim.socket.terminate()
    await until(() => setting.stats.resumable.connections.current === 1)
    for (const [first, why] of [
      [credentials('mallory'), 'belongs to another user'],
      [Buffer.alloc(0), 'credentials are not accepted'],
      [Buffer.concat([credentials('ada'), credentials('ada')]), 'only one METADATA_PUSH']
    ] as const) {
      const thief = await new Bare(app.url, [TURNS]).opened()
      thief.socket.send(Buffer.concat([first, resume]))
      await heard(thief, why)
      await thief.closed
      assert.equal(setting.stats.resumable.connections.current, 1)
    }
    const owner = await new Bare(app.url, [TURNS]).opened()
    owner.socket.send(Buffer.concat([credentials('ada'), resume]))
    // The server sends values again that the client has not acknowledged.
    await heard(owner, '"ada"')
    assert.equal(setting.stats.resumable.connections.current, 0)
    owner.socket.terminate()
  })
})

/** A bearer token as composite metadata. */
const bearerEntry = (token: string) => entry(0x7c, Buffer.of(0x81), token)

describe('a pattern that is not exposed', () => {
  const tries: [string, Buffer][] = [
    ['by its name', request(1, 'internal', '1')],
    ['by an object pattern', request(1, '{"cmd":"inside"}', '1')],
    ['by a name with more segments', request(1, 'shop.secrets.all', '1')],
    ['by a wildcard', request(1, 'shop.>', '1')],
    ['by the pattern of the handler for all', request(1, '>', '1')],
    ['by a name that only the handler for all would take', request(1, 'shop.nothing', '1')],
    ['by no name', request(1, '', '1')],
    ['by a name of an object', request(1, '__proto__', '1')],
    ['as a stream', stream(1, 'internal', 5, '1')],
    ['as a channel', channel(1, 'internal', 5, '1')],
    ['by the route of descriptions', request(1, 'elysia-microservices.describe', '1')]
  ]
  for (const [how, frames] of tries)
    it(`is not reached ${how}, and does not seem to exist`, async () => {
      const setting = new Setting()
      await using app = await setting.open()
      const bare = await new Bare(app.url, [TURNS]).opened()
      bare.socket.send(Buffer.concat([setup(), frames]))
      await heard(bare, 'PATTERN_NOT_FOUND')
      bare.socket.terminate()
      assert.deepEqual(setting.calls, [])
    })

  it('is not reached by an event', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    bare.socket.send(
      Buffer.concat([setup(), event(1, 'internal.changed', '1'), request(3, 'shop.echo', '"here"')])
    )
    await heard(bare, '"here"')
    bare.socket.terminate()
    assert.deepEqual(setting.calls, [])
  })
})

describe('bytes that are not what they must be', () => {
  it('text messages: closed with 1003', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url).opened()
    bare.socket.send('hello')
    assert.equal(await bare.closed, 1003)
    await until(() => setting.stats.connections.current === 0)
  })

  it('garbage: refused in words', async () => {
    await using app = await new Setting().open()
    for (const protocol of [[], [TURNS]]) {
      const bare = await new Bare(app.url, protocol).opened()
      bare.socket.send(Buffer.alloc(200, 0x7f))
      await bare.closed
    }
  })

  it('a message larger than any: closed, and its connection is all it costs', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url).opened()
    bare.socket.send(Buffer.alloc(2 * 1024 * 1024))
    assert.ok([1006, 1009].includes(await bare.closed))
    await using client = clientOf(app)
    assert.equal(await client.request('shop.echo' as never, 1 as never), 1)
  })

  it('a client whose call is larger than the server takes hears so, and does not send it for ever', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const told: string[] = []
    await using client = clientOf(app, { onStatus: ({ type }) => void told.push(type) })
    const call = client.request(
      'shop.echo' as never,
      'x'.repeat(3_000_000) as never,
      { idempotent: true } as never
    )
    await assert.rejects(call, { name: 'ConnectionError' })
    assert.ok(told.filter((type) => type === 'retry').length <= 2)
    assert.equal(await client.request('shop.echo' as never, 1 as never), 1)
  })

  it('a connection that says nothing: closed after limits.handshake', async () => {
    const setting = new Setting()
    await using app = await setting.open({ limits: { handshake: 30 } })
    const bare = await new Bare(app.url).opened()
    await bare.closed
    assert.match(Buffer.concat(bare.messages).toString('latin1'), /limits\.handshake/)
  })

  it('a flood of SETUPs: each connection has one', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    bare.socket.send(
      Buffer.concat([...Array.from({ length: 500 }, () => setup()), request(1, 'shop.echo', '"on"')])
    )
    await heard(bare, '"on"')
    assert.equal(setting.stats.connections.current, 1)
    bare.socket.terminate()
  })
})

/** Requests of one client. */
const MANY = isInCheck ? 3_000 : 20_000

describe('too much', () => {
  it(`${MANY} requests that never end: 64 run`, async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    bare.socket.send(setup())
    for (let from = 0; from < MANY; from += 1_000)
      bare.socket.send(
        Buffer.concat(Array.from({ length: 1_000 }, (_, n) => request(2 * (from + n) + 1, 'shop.never', '1')))
      )
    await until(() => setting.stats.refused['requests'] === MANY - 64)
    assert.equal(setting.running, 64)
    bare.socket.terminate()
    await until(() => setting.stats.connections.current === 0)
  })

  it('demand of 2^31-1 from one who reads nothing: a bounded number of values is made', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    bare.socket.pause()
    bare.socket.send(Buffer.concat([setup(), stream(1, 'shop.values', 2 ** 31 - 1, 'null')]))
    let before = -1
    while (setting.values === 0 || before !== setting.values) {
      before = setting.values
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    assert.ok(setting.values < 300, String(setting.values))
    bare.socket.terminate()
  })

  it('requests whose answers nobody reads: cut off', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    bare.socket.pause()
    const data = `"${'x'.repeat(100_000)}"`
    bare.socket.send(setup())
    for (let n = 0; n < 400; n++) bare.socket.send(request(2 * n + 1, 'shop.echo', data))
    await until(() => setting.stats.connections.current === 0)
    assert.ok(setting.log.lines.some((line) => /limits\.(receiveBuffer|sendBuffer)/.test(line)))
    bare.socket.terminate()
  })

  it('33 streams: 32 run', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    const bare = await new Bare(app.url, [TURNS]).opened()
    const streams = Array.from({ length: 33 }, (_, n) => stream(2 * n + 1, 'shop.values', 1, 'null'))
    bare.socket.send(Buffer.concat([setup(), ...streams]))
    await heard(bare, 'limits.streams')
    assert.equal(setting.stats.streams, 32)
    bare.socket.send(Buffer.concat(Array.from({ length: 32 }, (_, n) => cancel(2 * n + 1))))
    await until(() => setting.stats.streams === 0)
    bare.socket.terminate()
  })

  it('more connections than limits.connections, or of one address: 503', async () => {
    for (const limits of [{ connections: 1 }, { connectionsPerAddress: 1 }]) {
      const setting = new Setting()
      await using app = await setting.open({ limits })
      const first = await new Bare(app.url).opened()
      const second = new Bare(app.url)
      await second.closed
      assert.equal(second.status, 503)
      first.socket.terminate()
      await until(() => setting.stats.connections.current === 0)
      const third = await new Bare(app.url).opened()
      third.socket.terminate()
    }
  })

  it('route and headers of more than limits.headerSize: refused', async () => {
    const setting = new Setting()
    await using app = await setting.open()
    await using client = clientOf(app)
    const call = client.request(
      'shop.echo' as never,
      1 as never,
      { headers: { a: 'x'.repeat(9_000) } } as never
    )
    await assert.rejects(call, /limits\.headerSize/)
  })
})

describe('a pattern of expose that no handler has', () => {
  it('is named when the app starts, and not when the first client connects', async () => {
    const setting = new Setting()
    const more = microservice({ transport: memory(), logger: setting.log }).message('more.seen', () => 1)
    await using _app = await listen(
      newApp()
        .use(setting.service)
        .use(websocket({ expose: ['shop.*', 'more.seen', 'shop.misspelt'] }))
        .use(more)
    )
    const about = () => setting.log.lines.filter((line) => line.includes('options.expose'))
    await until(() => about().length > 0)
    await more.listen()
    assert.deepEqual(about(), [
      "websocket(): no handler matches the pattern 'shop.misspelt' of options.expose"
    ])
  })
})
