/** A service to which the engine delivers a message once for each of its subscriptions. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Dispatcher, PayloadTooLargeError, type Route } from '@elysia-microservices/transport/kit'
import type { Carried, Words } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { Hub, type TestCarrier, TestEngine } from '../testing/hub.ts'
import { replyHead, replyToken, textOf } from '../words.ts'
import type { Controlled } from './control.ts'
import { DialogueServer } from './dialogue-server.ts'
import type { OpenConnection } from './open-connection.ts'
import { Responder } from './responder.ts'
import { type Subject, Subjects } from './subjects.ts'

const logger = { error() {}, warn() {} }
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A service whose events go to every process, and its requests to one. */
async function serving(routes: readonly Route[]) {
  const hub = new Hub()
  const handled: string[] = []
  const dispatcher: Dispatcher = {
    routes: () => routes,
    request: ({ route }) => void handled.push(`request ${route}`),
    event: ({ route }) => void handled.push(`event ${route}`)
  }
  const engine = new TestEngine(hub)
  const server = new DialogueServer({
    engine,
    context: { name: 'orders', version: undefined, logger },
    queues: { message: 'orders', event: undefined },
    toEvery: true
  })
  await server.start(dispatcher)
  stops.push(() => server.stop({ drain: 0 }))
  const caller: TestCarrier = await engine.open({
    lost() {},
    restored() {},
    refused() {},
    unpublished() {},
    failed() {},
    ended() {}
  })
  const inbox = caller.newInbox()
  const answers: string[] = []
  caller.listen(inbox, ({ words }) => void answers.push(String(words)))
  const ask = async (pattern: string, kind: 'request' | 'event' = 'request') => {
    caller.publish(
      pattern,
      JSON.stringify({ pattern, data: 1 }),
      inbox + replyToken(kind, 1, newSecret(), undefined)
    )
    for (let turns = 0; turns < 5; turns++) await turn()
  }
  return { handled, answers, ask }
}

describe('a service of which several subscriptions get a request', () => {
  it('answers it once, and does not say that it lacks it', async () => {
    const { handled, answers, ask } = await serving([
      { kind: 'event', route: 'orders.*' },
      { kind: 'message', route: 'orders.new' }
    ])
    await ask('orders.new')
    assert.deepEqual([handled, answers], [['request orders.new'], ['+e']])
  })

  it('handles an event by the handlers of events, in each subscription that counts once', async () => {
    const { handled, answers, ask } = await serving([
      { kind: 'event', route: 'orders.*' },
      { kind: 'message', route: 'orders.new' }
    ])
    await ask('orders.new', 'event')
    assert.deepEqual([handled, answers], [['event orders.new'], []])
  })

  it('says that it lacks a request which only handlers of many events get', async () => {
    const { handled, answers, ask } = await serving([{ kind: 'event', route: 'orders.>' }])
    await ask('orders.new')
    assert.deepEqual([handled, answers], [[], ['+n']])
  })
})

/** A service that is given messages directly, so that a test sees when each of them has ended. */
function receiving(
  routes: readonly Route[] = [
    { kind: 'message', route: 'get' },
    { kind: 'event', route: 'paid' }
  ]
) {
  const said: string[] = []
  const log: string[] = []
  const handled: unknown[] = []
  const ends: (() => void)[] = []
  const write = (line: string) => void log.push(line)
  const subjects = new Subjects(routes, String, { message: 'orders', event: 'orders' })
  const known = new Map<string, Pick<Controlled, 'beat'>>()
  const say = (address: string, words: Words) => void said.push(`${address.split('.')[1]} ${textOf(words)}`)
  const connection = {
    subjects,
    engine: { name: 'shop', title: 'SHOP' },
    carrier: {
      isInbox: (address: string) => address.startsWith('_INBOX.'),
      publish: say,
      maxPayload: 1_000_000
    },
    control: { inbox: '_INBOX.own.', byReply: (head: string) => known.get(head) },
    answers: { send: say },
    logger: { error: write, warn: write }
  } as unknown as OpenConnection
  const dispatcher: Dispatcher = {
    routes: () => routes,
    request: ({ data }) => {
      handled.push(data)
      return data
    },
    event: ({ data }) => {
      handled.push(data)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
  }
  const responder = new Responder(connection.engine, dispatcher, connection.logger)
  let ended = 0
  const receive = (address: string, words: Words, reply = '', given: Partial<Carried> = {}) => {
    const subject = subjects.all.find((one) => one.address === address) ?? (subjects.all[0] as Subject)
    const message = { address, words, reply, headers: undefined, ended: () => void ended++ }
    // Without a copy, because a field may be one that cannot be read.
    Object.defineProperties(message, Object.getOwnPropertyDescriptors(given))
    responder.receive(connection, subject, message)
  }
  return { responder, connection, subjects, receive, said, log, handled, ends, known, count: () => ended }
}

const reply = (kind: 'request' | 'stream' | 'event' = 'request') =>
  `_INBOX.caller.${replyToken(kind, 1, newSecret(), undefined)}`

describe('a message that a service cannot handle', () => {
  it('has ended at once, and its caller is told why', () => {
    const { receive, said, log, subjects, count } = receiving()
    const [{ errors: before }] = subjects.all as [Subject]
    receive('get', '{', reply())
    assert.match(
      said.splice(0).join(),
      /^caller \{"err":\{.*"code":"BAD_REQUEST","message":"The body of the request is not JSON"/
    )
    receive('get', '{"pattern":"get"}', reply(), {
      get headers(): never {
        throw new Error('no headers')
      }
    })
    assert.match(said.splice(0).join(), /"code":"BAD_REQUEST","message":"The message cannot be read"/)
    assert.deepEqual(log.splice(0), ["A message on 'get' cannot be read"])
    receive('get', '', reply(), { refusal: new PayloadTooLargeError('the size of a message', 1, 2, 'bytes') })
    assert.match(said.splice(0).join(), /"code":"PAYLOAD_TOO_LARGE"/)
    receive('get', '', reply(), { refusal: new Error('A part was lost') })
    assert.deepEqual(said, ['caller +r{"code":"REJECTED","message":"A part was lost"}'])
    assert.deepEqual([count(), subjects.all[0]?.errors], [4, before + 3])
  })

  it('has ended at once if it is an event, and nobody is told but the log', () => {
    const { receive, said, log, handled, count } = receiving()
    receive('paid', '{')
    receive('paid', '1', '', { refusal: new Error('A part was lost') })
    receive('paid', '1', reply('event'), {
      get headers(): never {
        throw new Error('no headers')
      }
    })
    assert.deepEqual(log, [
      "The body of an event on 'paid' is not JSON",
      "An event on 'paid' is dropped, because parts of it are missing",
      "A message on 'paid' cannot be read"
    ])
    assert.deepEqual([said, handled, count()], [[], [], 3])
  })

  it('has ended at once if its answer may not go where it asks', () => {
    const { receive, responder, said, log, handled, count } = receiving()
    for (const address of ['orders.delete', '_INBOX.own.1']) receive('get', '1', address)
    assert.deepEqual([responder.refused, said, handled, count()], [2, [], [], 2])
    assert.equal(log[0], "A request on 'get' is dropped: its reply address 'orders.delete' is not an inbox")
  })

  it('has ended at once if none of its handlers is for it, and only our callers of a request are told', () => {
    const { receive, said, handled, count } = receiving([{ kind: 'event', route: '>' }])
    receive('users.get', '1', reply())
    receive('users.get', '1', reply('stream'))
    assert.deepEqual(said.splice(0), ['caller +n', 'caller +n'])
    for (const address of ['_INBOX.nest.1', '_INBOX.own.1r1-abcdefghijkl-', 'orders.1r1-abcdefghijkl-'])
      receive('users.get', '1', address)
    assert.deepEqual([said, handled, count()], [[], [], 5])
  })

  it('has not ended if the service has stopped: another process may have it', () => {
    const { receive, responder, said, handled, count } = receiving()
    responder.isOver = true
    receive('get', '1', reply())
    receive('paid', '1')
    assert.deepEqual([said, handled, count()], [[], [], 0])
  })
})

describe('a message that a service handles', () => {
  it('has ended when its handler has, and is counted then', async () => {
    const { receive, said, handled, ends, subjects, count } = receiving()
    receive('paid', '{"pattern":"paid","data":5}')
    receive('paid', '7', reply('event'))
    receive('paid', '')
    assert.deepEqual([handled.splice(0), count()], [[5, 7, undefined], 0])
    for (const end of ends) end()
    await turn()
    const counted = () => subjects.all.map(({ requests, errors }) => [requests, errors])
    assert.deepEqual(
      [count(), counted()],
      [
        3,
        [
          [0, 0],
          [3, 0]
        ]
      ]
    )
    receive('get', '{"pattern":"get","data":5}', reply())
    assert.deepEqual(
      [said, count(), counted()],
      [
        ['caller +d5'],
        4,
        [
          [1, 0],
          [3, 0]
        ]
      ]
    )
  })
})

describe('the question of a caller about a call', () => {
  it('is answered by the call, or by a service that would have it and does not', () => {
    const { responder, connection, said, known } = receiving()
    const ask = (words: string, reply: string) =>
      responder.asked(connection, { address: 'everyone', words, reply, headers: undefined })
    const [mine, lost] = (['stream', 'request'] as const).map(
      (kind) => `_INBOX.caller.${replyHead(kind, 1, newSecret())}`
    ) as [string, string]
    let beats = 0
    known.set(mine, { beat: () => void beats++ })
    ask('get', mine)
    assert.deepEqual([beats, said], [1, []])
    ask('get', lost)
    assert.deepEqual(said.splice(0), ['caller +n'])
    ask('other', lost)
    ask('x'.repeat(4 * 512 + 1), lost)
    ask('get', `${lost}5`)
    ask('get', lost.replace('_INBOX.', 'orders.'))
    ask('get', lost.replace('1r', '1e'))
    ask('get', lost.replace('caller', 'own'))
    assert.deepEqual([beats, said], [1, []])
  })
})
