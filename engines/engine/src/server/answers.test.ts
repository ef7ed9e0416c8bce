/** Answers to callers that do not use this library: NestJS clients, and programs of other systems on the engine. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { answerWith, IncomingMessage, RpcError } from '@elysia-microservices/transport/kit'
import { MOST_OF_ONE } from '../batches.ts'
import { textOf } from '../words.ts'
import { ForeignAnswer } from './foreign-answer.ts'
import { NestAnswer } from './nest-answer.ts'
import type { OpenConnection } from './open-connection.ts'

class Setting {
  /** Words that were published, and the reply address behind those that had one. */
  readonly said: string[] = []
  readonly headers: unknown[] = []
  readonly log: string[] = []
  readonly ended: boolean[] = []
  readonly removed: unknown[] = []
  hasRoom = true
  readonly connection = {
    control: { add() {}, remove: (one: unknown) => this.removed.push(one), address: () => 'control' },
    callers: { sendForeign: (_: string, words: string) => this.said.push(`later ${words.length}`) },
    carrier: {
      maxPayload: 100_000,
      hasRoomFor: () => this.hasRoom,
      publish: (_: string, words: string | Uint8Array, reply?: string, headers?: unknown) => {
        this.said.push(reply === undefined ? textOf(words) : `${textOf(words)} ${reply}`)
        if (headers !== undefined) this.headers.push(headers)
      }
    },
    engine: { title: 'SHOP', foreignErrorHeaders: (code: string, message: string) => ({ code, message }) },
    logger: { error: (line: string) => void this.log.push(line), warn() {} }
  } as unknown as OpenConnection
  readonly message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: undefined
  })

  foreign(): ForeignAnswer {
    return new ForeignAnswer(this.connection, 'reply', this.message, (hasFailed) =>
      this.ended.push(hasFailed)
    )
  }

  nest(): NestAnswer {
    return new NestAnswer(this.connection, 'reply', '"1"', this.message, (hasFailed) =>
      this.ended.push(hasFailed)
    )
  }
}

describe('an answer to a program of another system', () => {
  it('is the plain value, or nothing', () => {
    for (const [value, words] of [
      [{ a: 1 }, '{"a":1}'],
      [undefined, '']
    ] as const) {
      const setting = new Setting()
      answerWith(value, setting.foreign())
      assert.deepEqual([setting.said, setting.ended], [[words], [false]])
    }
  })

  it('waits for room if it is large, and is an error if it is too large for a message', () => {
    const setting = new Setting()
    answerWith('x'.repeat(MOST_OF_ONE), setting.foreign())
    answerWith('x'.repeat(100_000), setting.foreign())
    const [later, refused] = setting.said
    assert.deepEqual([later, setting.ended], [`later ${MOST_OF_ONE + 2}`, [false, true]])
    assert.match(refused ?? '', /INTERNAL|PAYLOAD_TOO_LARGE/)
  })

  it('is the error of its handler, also in headers', () => {
    const setting = new Setting()
    setting.foreign().error(new RpcError({ code: 'FULL', message: 'no room' }))
    assert.match(setting.said[0] ?? '', /FULL/)
    assert.deepEqual([setting.headers, setting.ended], [[{ code: 'FULL', message: 'no room' }], [true]])
  })

  it('is the first value of a stream, whose clean-up is logged if it fails', async () => {
    const setting = new Setting()
    answerWith(
      (async function* () {
        try {
          yield 1
          yield 2
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the handler is broken
          throw new Error('broken')
        }
      })(),
      setting.foreign()
    )
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.deepEqual([setting.said, setting.ended, setting.log.length], [['1'], [false], 1])
    assert.match(setting.log[0] ?? '', /clean-up/i)
  })

  it('is an error when the service stops before its handler has answered', () => {
    const setting = new Setting()
    const answer = setting.foreign()
    answer.cut()
    answer.value(1)
    assert.deepEqual([setting.said.length, setting.ended], [1, [true]])
  })
})

describe('an answer to a NestJS client', () => {
  it('asks once a second at most whether anybody listens to its stream, and ends when nobody does', async () => {
    using time = new VirtualTime()
    const setting = new Setting()
    let isLeft = false
    const answer = setting.nest()
    answerWith(
      (async function* () {
        try {
          for (let n = 1; ; n++) {
            await new Promise((resolve) => setTimeout(resolve, 600))
            yield n
          }
        } finally {
          isLeft = true
        }
      })(),
      answer.running
    )
    await time.pass(3_000)
    assert.deepEqual(
      setting.said.map((one) => one.endsWith(' control')),
      [false, true, false, true, false]
    )
    answer.callerGone()
    await time.pass(1_000)
    assert.deepEqual(
      [isLeft, setting.said.length, setting.ended, setting.removed],
      [true, 5, [false], [answer]]
    )
  })

  it('asks nothing if it is one value', async () => {
    using time = new VirtualTime()
    const setting = new Setting()
    const answer = setting.nest()
    await time.pass(60_000)
    answer.running.value(1)
    assert.deepEqual(setting.said, ['{"response":1,"isDisposed":true,"id":"1"}'])
    assert.deepEqual(setting.removed, [answer])
  })

  it('waits for the engine with the values of a stream', async () => {
    const setting = new Setting()
    const turns = async () => {
      for (let n = 0; n < 5; n++) await new Promise(setImmediate)
    }
    setting.hasRoom = false
    const answer = setting.nest()
    let made = 0
    answerWith(
      (async function* () {
        while (made < 3) yield ++made
      })(),
      answer.running
    )
    await turns()
    assert.deepEqual([made, setting.said], [0, []])
    setting.hasRoom = true
    answer.running.resume()
    await turns()
    assert.deepEqual([made, setting.ended], [3, [false]])
  })

  it('is an error if it is larger than a message: its client takes no parts', () => {
    const setting = new Setting()
    const answer = setting.nest()
    answer.running.value('x'.repeat(100_000))
    assert.match(setting.said[0] ?? '', /"id":"1"/)
    assert.match(setting.said[0] ?? '', /Internal server error/)
    assert.match(
      setting.log[0] ?? '',
      /An answer of 100\d\d\d characters is larger than a message of SHOP may be/
    )
  })

  it('is an error when the service stops before its handler has answered, which is aborted', () => {
    const setting = new Setting()
    const answer = setting.nest()
    const { signal } = setting.message
    answer.cut()
    assert.deepEqual([signal.aborted, setting.said.length, setting.ended], [true, 1, [true]])
  })
})
