import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { pause } from '@elysia-microservices/test-support'
import { IncomingMessage } from '@elysia-microservices/transport/kit'
import type { Carried } from '../carrier.ts'
import { Told } from '../words.ts'
import type { OpenConnection } from './open-connection.ts'
import { OwnAnswer } from './own-answer.ts'

function newConnection() {
  const answered: string[] = []
  const caller = { streams: 0, hasRoomFor: () => true, room: { use() {} } }
  const connection = {
    control: { add() {}, remove() {}, address: () => 'control' },
    callers: { of: () => caller },
    carrier: { atTurnEnd: queueMicrotask, publish: (_: string, words: string) => answered.push(words) },
    answers: { send: (_: string, words: string) => answered.push(words) },
    logger: { error() {}, warn() {} }
  } as unknown as OpenConnection
  return { answered, connection }
}

it('a stream that has begun is given up at the end of its lifetime, though no word of the caller arrives', async () => {
  const { answered, connection } = newConnection()
  let ends = 0
  const token = { kind: 'stream', timeout: 2, demand: 9, window: 100, lifetime: 5 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => ends++)
  const message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: undefined,
    timeout: 2,
    lifetime: 5,
    arrivedAt: performance.now()
  })
  const aborted = once(message.signal, 'abort')
  answer.begin(message)
  answer.stream(
    (async function* () {
      yield 1
      await aborted
    })()
  )
  await Promise.race([aborted, pause(1_000)])
  assert.ok(message.signal.aborted, 'The handler still runs, though the lifetime of its stream is over')
  assert.deepEqual([ends, answered.length], [1, 1])
  assert.equal(message.remaining, 0)
})

it('a request is given up when its caller stops waiting, though no word of the caller arrives', async () => {
  const { answered, connection } = newConnection()
  let ends = 0
  const token = { kind: 'request', timeout: 5, demand: 1, window: 0 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => ends++)
  const message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: undefined,
    timeout: 5
  })
  const aborted = once(message.signal, 'abort')
  answer.begin(message)
  // Timers end in the order of their times, however busy the machine is.
  await Promise.race([aborted, pause(1_000)])
  assert.ok(message.signal.aborted, 'The handler still runs, though the time of its caller is over')
  assert.deepEqual([ends, answered], [1, []])
})

it('a stream stays within its window, however many characters its caller claims to have taken', () => {
  const ends: (() => void)[] = []
  const connection = {
    control: { add() {}, remove() {}, address: () => 'control' },
    callers: { of: () => ({ streams: 0, hasRoomFor: () => true, room: { use() {} } }) },
    carrier: { publish() {}, atTurnEnd: (task: () => void) => ends.push(task) },
    logger: { error() {}, warn() {} }
  } as unknown as OpenConnection
  const token = { kind: 'stream', timeout: undefined, demand: 9, window: 20 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => {})
  const LARGE = 'x'.repeat(30)
  assert.equal(answer.next(LARGE), false)
  for (const end of ends.splice(0)) end()
  answer.told(Told.granted, { words: `${Told.granted}9,1000000` } as Carried)
  assert.equal(answer.next(LARGE), false, 'More was taken than was sent')
})
