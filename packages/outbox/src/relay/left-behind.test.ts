import assert from 'node:assert/strict'
import { it } from 'node:test'
import { emptyOutcome, type Outcome, type Unanswered } from './chains.ts'
import { LeftBehind } from './left-behind.ts'

/** An event that is answered when a test says so. */
function unanswered(position: string) {
  let answer = (_: Outcome) => {}
  const ended = new Promise<Outcome>((resolve) => {
    answer = resolve
  })
  const one: Unanswered = { position, until: 0, ended }
  return { one, answer: () => answer({ ...emptyOutcome(), published: [position], duplicates: 1 }) }
}

it('the outcome of events that were left behind is taken once, when it is told', async () => {
  let told = 0
  const left = new LeftBehind(() => void told++)
  const [first, second] = [unanswered('1'), unanswered('2')]
  left.add([first.one, second.one])
  assert.deepEqual([left.size, left.take().published], [2, []])
  first.answer()
  await first.one.ended
  await new Promise(setImmediate)
  assert.deepEqual([left.size, told], [1, 1])
  const taken = left.take()
  assert.deepEqual([taken.published, taken.duplicates, left.take().published], [['1'], 1, []])
  // It could not be recorded.
  left.putBack(taken)
  const all = left.takeAll()
  second.answer()
  assert.deepEqual((await all).published, ['1', '2'])
  assert.deepEqual([left.size, left.take().published, told], [0, [], 2])
})
