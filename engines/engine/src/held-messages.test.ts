import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HeldMessages } from './held-messages.ts'

function holding(max?: number) {
  const told: string[] = []
  const held = new HeldMessages(
    {
      unpublished: (address, error) => void told.push(`${address}: ${error.message}`),
      failed: (error) => void told.push(`failed ${(error as Error).message}`)
    },
    max
  )
  const published: string[] = []
  const hold = (name: string, size: number) => held.hold(name, size, () => void published.push(name))
  return { held, told, published, hold }
}

describe('messages that wait for a server', () => {
  it('leave in order when it is there, each once, and count until then', () => {
    const { held, published, hold } = holding()
    hold('a', 3)
    hold('b', 4)
    assert.deepEqual([held.size, published], [7, []])
    held.release()
    held.release()
    assert.deepEqual([held.size, published], [0, ['a', 'b']])
  })

  it('are as many as there is room for, and their sender hears of one more', () => {
    const { held, told, published, hold } = holding(10)
    hold('a', 4)
    hold('b', 6)
    hold('c', 1)
    assert.deepEqual(told, ['c: 10 bytes already wait for a server; 1 more would exceed the limit of 10'])
    held.release()
    assert.deepEqual(published, ['a', 'b'])
    hold('d', 10)
    held.release()
    assert.deepEqual([published.at(-1), told.length], ['d', 1])
  })

  it('leave though one before them cannot be published, and one that must wait again comes behind them', () => {
    const { held, told, published, hold } = holding()
    held.hold('a', 1, () => {
      throw new Error('no')
    })
    held.hold('b', 1, () => hold('b', 1))
    hold('c', 1)
    held.release()
    assert.deepEqual([told, published, held.size], [['failed no'], ['c'], 1])
    held.release()
    assert.deepEqual(published, ['c', 'b'])
  })
})
