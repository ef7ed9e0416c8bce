import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DriverChannel, Received } from '../driver.ts'
import { acknowledging } from './acknowledging.ts'

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
