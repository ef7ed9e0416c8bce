import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { collected, pause, VirtualTime } from '@elysia-microservices/test-support'
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

it('a stream fills its window exactly, and goes on when one character of it is taken', () => {
  const turn: (() => void)[] = []
  const { answered, connection } = newConnection()
  Object.assign(connection.carrier, { atTurnEnd: (task: () => void) => turn.push(task) })
  const token = { kind: 'stream', timeout: undefined, demand: 9, window: 10 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => {})
  // Nine characters of a value, as JSON.
  assert.equal(answer.next('x'.repeat(7)), true)
  assert.equal(answer.next('x'.repeat(7)), false)
  for (const end of turn.splice(0)) end()
  const size = answered[0]?.length ?? 0
  answer.told(Told.granted, { words: `${Told.granted}9,${size - 10}` } as Carried)
  assert.equal(answer.next(1), false, 'the window is full')
  answer.told(Told.granted, { words: `${Told.granted}9,${size - 9}` } as Carried)
  for (const end of turn.splice(0)) end()
  assert.equal(answered.length, 2)
})

it('a stream within its lifetime has what is left of that, not of the wait for its first value, and ends without a timer', async () => {
  using time = new VirtualTime()
  const { answered, connection } = newConnection()
  const removed: unknown[] = []
  connection.control.remove = (call) => void removed.push(call)
  let ends = 0
  const token = { kind: 'stream', timeout: 1_000, demand: 9, window: 1_000, lifetime: 60_000 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => ends++)
  const message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: undefined,
    timeout: 1_000,
    lifetime: 60_000,
    arrivedAt: time.now
  })
  answer.begin(message)
  assert.equal(message.remaining, 1_000)
  await time.pass(500)
  answer.next('a')
  assert.equal(message.remaining, 59_500)
  await time.pass(20_000)
  assert.deepEqual([message.signal.aborted, ends], [false, 0])
  answer.complete()
  assert.deepEqual([time.timers, ends, removed], [0, 1, [answer]])
  assert.equal(answered.length, 2)
})

/** An answer to a stream whose caller has no room at first, and its words that wait for that. */
function waitingAnswer() {
  const { answered, connection } = newConnection()
  const waiting: { leaves(words: string): string | undefined }[] = []
  const caller = { streams: 0, hasRoomFor: () => false, room: { use() {} }, forget() {} }
  const turn: (() => void)[] = []
  Object.assign(connection, {
    callers: {
      of: () => caller,
      sendOf: (_: unknown, answer: (typeof waiting)[number]) => waiting.push(answer) > 0
    },
    carrier: {
      publish: (_: string, words: string) => answered.push(words),
      atTurnEnd: (task: () => void) => turn.push(task)
    }
  })
  const ended: boolean[] = []
  const token = { kind: 'stream', timeout: undefined, demand: 9, window: 40 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, (hasFailed) => ended.push(hasFailed))
  const turnEnds = () => {
    for (const end of turn.splice(0)) end()
  }
  return { answer, caller, waiting, ended, turnEnds, answered }
}

it('an answer whose words wait for room has ended when they have left, and not before', () => {
  const { answer, caller, waiting, ended, turnEnds, answered } = waitingAnswer()
  answer.next('x')
  turnEnds()
  answer.complete()
  assert.deepEqual([ended, caller.streams, answered, waiting.length], [[], 1, [], 2])
  for (const one of waiting.splice(0)) one.leaves('words')
  assert.deepEqual([ended, caller.streams], [[false], 0])
})

it('headers of an answer come with its first value, also if that had to wait for room', () => {
  const { answered, connection } = newConnection()
  const caller = { streams: 0, hasRoomFor: () => false, room: { use() {} } }
  const turn: (() => void)[] = []
  Object.assign(connection.callers, { of: () => caller })
  Object.assign(connection.carrier, { atTurnEnd: (task: () => void) => turn.push(task) })
  const token = { kind: 'stream', timeout: undefined, demand: 9, window: 100 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => {})
  const sets = ['{"headers":{"page":"1"}}']
  answer.begin({ takeSet: () => sets.shift(), begins() {} } as unknown as IncomingMessage)
  // A source that cannot wait has emitted before it was asked to wait.
  assert.equal(answer.next('a'), false)
  answer.next('b')
  caller.hasRoomFor = () => true
  answer.resume()
  for (const end of turn.splice(0)) end()
  assert.deepEqual([sets.length, answered.length], [0, 1])
  assert.match(answered[0] ?? '', /^\+h\d+ \{"headers":\{"page":"1"\}\}\+v\["a","b"\]$/)
})

it('words that have waited for room count in the window of their stream', () => {
  const { answer, caller, waiting, turnEnds } = waitingAnswer()
  answer.next('x'.repeat(50))
  turnEnds()
  caller.hasRoomFor = () => true
  for (const one of waiting.splice(0)) one.leaves('x'.repeat(50))
  assert.equal(answer.next('x'), false, 'more is in transit than the caller takes')
})

it('an answer that is given up while its words wait for room ends, and they are not sent', () => {
  const { answer, caller, ended, turnEnds } = waitingAnswer()
  const forgotten: unknown[] = []
  Object.assign(caller, { forget: (one: unknown) => forgotten.push(one) })
  answer.next('x')
  turnEnds()
  answer.complete()
  answer.callerGone()
  assert.deepEqual([forgotten, ended, caller.streams], [[answer], [false], 0])
})

it('a stream that is given up while its words wait for room ends at once', () => {
  const { answer, caller, ended, turnEnds } = waitingAnswer()
  answer.next('x')
  turnEnds()
  answer.callerGone()
  assert.deepEqual([ended, caller.streams, answer.isDone], [[false], 0, true])
})

it('a channel whose answer is too large for any message ends, and its handler reads the reason', async () => {
  const { answered, connection } = newConnection()
  Object.assign(connection, { engine: { name: 'shop' } })
  const ended: boolean[] = []
  const token = { kind: 'stream', timeout: undefined, demand: 9, window: 100 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, (hasFailed) => ended.push(hasFailed))
  const input = answer.openInput()
  const reading = assert.rejects(collected(input), /larger than the 33554432 bytes that shop\(\) carries/)
  answer.next('x'.repeat(33 * 1024 * 1024))
  await reading
  assert.deepEqual([ended, answer.isDone], [[true], true])
  assert.match(answered.join(), /Internal server error/)
})
