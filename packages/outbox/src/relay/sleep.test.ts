import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Sleep } from './sleep.ts'

it('a sleep ends when it is woken, also if that was before it began, and only that one', async () => {
  const sleep = new Sleep()
  const long = sleep.sleep(2 ** 30)
  sleep.wake()
  await long
  sleep.wake()
  sleep.wake()
  await sleep.sleep(2 ** 30)
  let isOver = false
  const next = sleep.sleep(2 ** 30).then(() => {
    isOver = true
  })
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(isOver, false)
  sleep.wake()
  await next
  await sleep.sleep(0)
})
