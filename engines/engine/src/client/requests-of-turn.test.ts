/** Which requests of one turn leave together. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PendingCall } from '@elysia-microservices/transport/kit'
import { REQUESTS } from '../batches.ts'
import type { Carrier } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { RequestsOfTurn } from './requests-of-turn.ts'

/** Requests of one client, whose answers take as long as the test says. */
class Setting {
  now = 1_000
  readonly sent: { readonly address: string; readonly reply: string }[] = []
  readonly failed: PendingCall[] = []
  /** Why nothing can be published. */
  failure: Error | undefined
  readonly #turn: (() => void)[] = []
  #calls = 0
  readonly requests = new RequestsOfTurn(
    {
      togetherAt: (address: string) => `together ${address}`,
      atTurnEnd: (task: () => void) => this.#turn.push(task),
      publish: (address: string, _words: string, reply: string) => {
        if (this.failure !== undefined) throw this.failure
        this.sent.push({ address, reply })
      }
    } as unknown as Carrier,
    'inbox.',
    (call) => void this.failed.push(call),
    () => this.now
  )

  send(count: number, size = 10, headers?: Readonly<Record<string, string | string[]>>): PendingCall[] {
    return Array.from({ length: count }, () => {
      const call = { sequence: ++this.#calls, batch: 0, attachment: undefined } as unknown as PendingCall
      this.requests.send(call, 'p', 'x'.repeat(size), `inbox.1r${call.sequence}-`, headers)
      return call
    })
  }

  turnEnds(): void {
    for (const end of this.#turn.splice(0)) end()
  }

  /** One of our services answers at once, or after some milliseconds. */
  know(took = 0): this {
    const [call] = this.send(1) as [PendingCall]
    this.now += took
    this.requests.answered(call)
    this.requests.over(call)
    this.sent.length = 0
    return this
  }

  /** How many messages have left, alone and together. */
  get messages(): { readonly alone: number; readonly together: number } {
    const together = this.sent.filter(({ address }) => address === 'together p').length
    return { alone: this.sent.length - together, together }
  }
}

describe('requests of one turn', () => {
  it('leave alone before one of our services has answered, and where answers take long', () => {
    for (const setting of [new Setting(), new Setting().know(25)]) {
      setting.send(40)
      setting.turnEnds()
      assert.deepEqual(setting.messages, { alone: 40, together: 0 })
    }
  })

  it('leave together as a share of those in flight, a smaller one where answers take some milliseconds', () => {
    const quick = new Setting().know()
    quick.send(40)
    quick.turnEnds()
    // The first seven: a quarter of them is less than two.
    assert.equal(quick.messages.alone, 7)
    const slower = new Setting().know(2)
    slower.send(40)
    slower.turnEnds()
    assert.equal(slower.messages.alone, 15)
    assert.ok(slower.messages.together > 0 && quick.messages.together > 0)
  })

  it('count only while they are in flight', () => {
    const setting = new Setting().know()
    for (let round = 0; round < 10; round++) for (const call of setting.send(7)) setting.requests.over(call)
    setting.turnEnds()
    assert.deepEqual(setting.messages, { alone: 70, together: 0 })
  })

  it('leave alone if they are large, or have a header with several values; and so does one without another', () => {
    const setting = new Setting().know()
    setting.send(8)
    setting.turnEnds()
    setting.sent.length = 0
    setting.send(9, 5_000)
    setting.send(9, 10, { a: ['1', '2'] })
    setting.send(1)
    setting.turnEnds()
    assert.deepEqual(setting.messages, { alone: 19, together: 0 })
    setting.send(9, 10, { a: '1' })
    setting.turnEnds()
    assert.ok(setting.messages.together > 0)
  })

  it('leave as soon as a batch is full of characters', () => {
    const setting = new Setting().know()
    setting.send(100)
    setting.turnEnds()
    setting.sent.length = 0
    setting.send(12, 4_000)
    assert.equal(setting.messages.together, 2)
    setting.turnEnds()
    assert.equal(setting.messages.together, 3)
  })

  it('leave alone for ten seconds after nobody has taken a batch, which only the engine can say', () => {
    const setting = new Setting().know()
    const calls = setting.send(20)
    setting.turnEnds()
    const { reply } = setting.sent.find(({ address }) => address === 'together p') ?? { reply: '' }
    const token = reply.slice('inbox.'.length)
    assert.match(token, new RegExp(`^${REQUESTS}1-[a-z2-7]{12}-$`))
    for (const wrong of [
      `${REQUESTS}1-${newSecret()}-`,
      `${REQUESTS}2${token.slice(3)}`,
      `${REQUESTS}x`,
      REQUESTS
    ])
      assert.equal(setting.requests.nobody(wrong), 0, wrong)
    assert.equal(setting.requests.nobody(token), 1)
    const batched = calls.filter(({ batch }) => batch === 1)
    assert.ok(batched.length > 1)
    for (const call of batched) setting.requests.alone(call)
    for (const [passed, together] of [
      [9_999, false],
      [1, true]
    ] as const) {
      setting.now += passed
      setting.sent.length = 0
      setting.send(20)
      setting.turnEnds()
      assert.equal(setting.messages.together > 0, together, `after ${passed} ms`)
    }
  })

  it('fail each if their batch cannot be published', () => {
    const setting = new Setting().know()
    const calls = setting.send(9).slice(7)
    setting.failure = new Error('too much waits')
    setting.turnEnds()
    assert.ok(calls.every((call) => setting.failed.includes(call)))
  })
})
