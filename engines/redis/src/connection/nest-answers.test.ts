import assert from 'node:assert/strict'
import { it } from 'node:test'
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
