import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport/kit'
import type { DriverChannel } from '../driver.ts'
import { Deliveries } from './deliveries.ts'

/** Deliveries with these tags. */
function deliveriesOf(...tags: number[]) {
  const said: string[] = []
  const clock = new ManualClock()
  const state = { isClosed: false }
  const say = (text: string) => {
    if (state.isClosed) throw new Error('Channel closed')
    said.push(text)
  }
  const channel = {
    acknowledge: (tag: number, isAllUpTo = false) => say(`${isAllUpTo ? 'all up to ' : ''}${tag}`),
    giveBack: (tag: number) => say(`back ${tag}`)
  } as unknown as DriverChannel
  const deliveries = new Deliveries(channel, clock)
  for (const tag of tags) deliveries.came(tag)
  return { deliveries, said, clock, state }
}

const turn = () => new Promise(setImmediate)

describe('deliveries that are done', () => {
  it('are acknowledged once a turn, together up to the first that is not', async () => {
    const { deliveries, said } = deliveriesOf(1, 2, 3, 4, 5)
    for (const tag of [2, 1, 5, 4]) deliveries.acknowledge(tag)
    assert.deepEqual(said, [])
    await turn()
    assert.deepEqual(said.splice(0), ['all up to 2', '5', '4'])
    deliveries.acknowledge(3)
    await turn()
    assert.deepEqual(said.splice(0), ['all up to 3'])
    await turn()
    assert.deepEqual(said, [])
  })

  it('leave those that were given back to others', async () => {
    const { deliveries, said } = deliveriesOf(1, 2, 3)
    deliveries.giveBack(1)
    deliveries.acknowledge(2)
    deliveries.flush()
    assert.deepEqual(said, ['back 1', 'all up to 2'])
    await turn()
    assert.equal(said.length, 2)
  })

  it('are passed on within a time by the server, which is waited for if there are any', async () => {
    const { deliveries, clock } = deliveriesOf(1, 2)
    await deliveries.passedOn()
    assert.equal(clock.waiting, 0)
    deliveries.acknowledge(1)
    let isOver = false
    const passed = deliveries.passedOn().then(() => {
      isOver = true
    })
    await clock.advance(99)
    assert.equal(isOver, false)
    await clock.advance(1)
    await passed
  })

  it('are delivered again if the channel is closed: nothing fails here', async () => {
    const { deliveries, said, state } = deliveriesOf(1, 2)
    state.isClosed = true
    deliveries.giveBack(1)
    deliveries.acknowledge(2)
    await turn()
    assert.deepEqual(said, [])
  })
})
