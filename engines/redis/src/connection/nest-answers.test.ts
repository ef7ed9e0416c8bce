import assert from 'node:assert/strict'
import { it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { DriverConnection } from '../driver.ts'
import { NestAnswers } from './nest-answers.ts'

it('answers of NestJS services are heard while a call waits, however long, and until the second search after it', async () => {
  const happened: string[] = []
  const driver = {
    subscribe: async (channel: string) => void happened.push(`+${channel}`),
    unsubscribe: async (channels: readonly string[]) => void happened.push(`-${channels}`)
  } as unknown as DriverConnection
  const answers = new NestAnswers(driver)
  await answers.hear('p.reply', 'in-1-a')
  await answers.hear('p.reply', 'in-2-a')
  for (let n = 0; n < 3; n++) answers.sweep()
  answers.over('in-1-')
  for (let n = 0; n < 3; n++) answers.sweep()
  assert.deepEqual([happened, answers.has('p.reply'), answers.isNeeded], [['+p.reply'], true, true])
  answers.over('in-2-')
  answers.sweep()
  // A call that comes between the two searches uses the subscription that is there.
  await answers.hear('p.reply', 'in-3-a')
  answers.sweep()
  answers.over('in-3-')
  answers.sweep()
  assert.deepEqual([happened, answers.isNeeded], [['+p.reply'], false])
  answers.sweep()
  assert.deepEqual([happened, answers.has('p.reply')], [['+p.reply', '-p.reply'], false])
  answers.close()
})

it('channels of answers are searched each second while there are some, and nothing is searched without one', async () => {
  using time = new VirtualTime()
  const happened: string[] = []
  const driver = {
    subscribe: async (channel: string) => void happened.push(`+${channel}`),
    unsubscribe: async (channels: readonly string[]) => void happened.push(`-${channels}`)
  } as unknown as DriverConnection
  const answers = new NestAnswers(driver)
  for (const call of [1, 2]) {
    for (const pattern of ['p', 'q']) await answers.hear(`${pattern}.reply`, `${pattern}-${call}-a`)
    assert.equal(time.timers, 1)
    for (const pattern of ['p', 'q']) answers.over(`${pattern}-${call}-`)
    await time.pass(1_999)
    assert.deepEqual([happened.splice(0), time.timers], [['+p.reply', '+q.reply'], 1])
    await time.pass(1)
    assert.deepEqual(
      [happened.splice(0), time.timers],
      [['-p.reply,q.reply'], 0],
      'the process wakes for nothing'
    )
  }
  await answers.hear('p.reply', 'in-3-a')
  answers.close()
  assert.equal(time.timers, 0)
})

it('a channel of answers that is refused is asked for again by the next call', async () => {
  let isRefused = true
  const driver = {
    subscribe: async () => {
      if (isRefused) throw new Error('NOPERM')
    },
    unsubscribe: async () => {}
  } as unknown as DriverConnection
  const answers = new NestAnswers(driver)
  await assert.rejects(answers.hear('p.reply', 'in-1-a'), /NOPERM/)
  assert.equal(answers.has('p.reply'), false)
  isRefused = false
  await answers.hear('p.reply', 'in-2-a')
  assert.equal(answers.has('p.reply'), true)
  answers.close()
})
