import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DriverChannel, Received } from '../driver.ts'
import { acknowledging, afterAll } from './acknowledging.ts'

const PACKET = '{"pattern":"p","data":1}'
const WORDS = 'x 1'

/** Gives a message to a handler. @returns what the server was told of it, in order */
function given(content: string, handle: (ended: () => void) => boolean): string[] {
  const told: string[] = []
  const channel = {
    acknowledge: (tag: number) => void told.push(`acknowledge ${tag}`),
    reject: (tag: number) => void told.push(`reject ${tag}`)
  } as unknown as DriverChannel
  const message = { content: Buffer.from(content), fields: { deliveryTag: 7 } } as Received
  acknowledging(channel, message, handle)
  return told
}

describe('a message of the queue shared with NestJS', () => {
  it('is acknowledged when its handlers have ended, and not before', () => {
    let end = () => {}
    const told = given(PACKET, (ended) => {
      end = ended
      return true
    })
    assert.deepEqual(told, [])
    end()
    assert.deepEqual(told, ['acknowledge 7'])
  })

  it('is rejected if nobody can handle it, or its handling throws', () => {
    assert.deepEqual(
      given(PACKET, () => false),
      ['reject 7']
    )
    const told: string[] = []
    const channel = { reject: () => void told.push('reject') } as unknown as DriverChannel
    const message = { content: Buffer.from(PACKET), fields: { deliveryTag: 7 } } as Received
    const handle = () => {
      throw new Error('bad')
    }
    assert.throws(() => acknowledging(channel, message, handle), /bad/)
    assert.deepEqual(told, ['reject'])
  })

  it('is settled as its handler says, once', () => {
    for (const [as, expected] of [
      ['done', 'acknowledge 7'],
      ['again', 'give back 7'],
      ['dead', 'reject 7']
    ] as const) {
      const told: string[] = []
      const say = (what: string) => (tag: number) => void told.push(`${what} ${tag}`)
      const channel = { acknowledge: say('acknowledge'), giveBack: say('give back'), reject: say('reject') }
      const message = { content: Buffer.from(PACKET), fields: { deliveryTag: 7 } } as Received
      acknowledging(channel as unknown as DriverChannel, message, (ended, settle) => {
        settle(as)
        ended()
        return true
      })
      assert.deepEqual(told, [expected])
    }
  })

  it('is delivered again if its channel is closed: its handler hears nothing of that', () => {
    const acknowledge = () => {
      throw new Error('Channel closed')
    }
    const message = { content: Buffer.from(PACKET), fields: { deliveryTag: 7 } } as Received
    acknowledging({ acknowledge } as unknown as DriverChannel, message, (ended) => {
      ended()
      return true
    })
  })

  it('has ended when each of its handlers has, however often one says so', () => {
    let done = 0
    const ended = afterAll(2, () => done++)
    const [one, other] = [ended(), ended()]
    one()
    one()
    assert.equal(done, 0)
    other()
    other()
    assert.equal(done, 1)
  })

  it('is acknowledged at once, and only once, if it belongs to the protocol of this library', () => {
    for (const isHandled of [true, false])
      assert.deepEqual(
        given(WORDS, (ended) => {
          ended()
          return isHandled
        }),
        ['acknowledge 7']
      )
  })
})
