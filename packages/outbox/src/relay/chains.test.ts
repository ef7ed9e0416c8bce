/** Which events of a batch are tried, and which are left behind unanswered. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Engine } from '../testing/engine.ts'
import { until } from '../testing/until.ts'
import { publishAll } from './chains.ts'

describe('a batch of events', () => {
  /** Publishes events, named by their data; those named `silent…` are answered when `answer` is called. */
  function begin(events: readonly { data: string; key?: string }[], few: number) {
    const engine = new Engine()
    const silent: (() => void)[] = []
    engine.fail = ({ data }) =>
      String(data).startsWith('silent')
        ? new Promise((resolve) => silent.push(() => resolve({ duplicate: false })))
        : undefined
    let end = () => {}
    const over = new Promise<void>((resolve) => {
      end = resolve
    })
    let isOver = false
    const rows = events.map(({ data, key = null }, index) => ({
      ...{ position: String(index), id: data, pattern: 'a', key, headers: null },
      data: JSON.stringify(data),
      attempts: '0'
    }))
    const outcome = publishAll(rows, engine, { timeout: 2 ** 30, mayGoOn: () => !isOver, over, few })
    return {
      engine,
      outcome,
      end() {
        isOver = true
        end()
      },
      answer: () => silent.splice(0).map((one) => one())
    }
  }

  it('leaves a few behind that are not answered, and tells what becomes of them', async () => {
    const { engine, outcome, end, answer } = begin(
      [{ data: 'silent', key: 'k' }, { data: 'behind', key: 'k' }, { data: 'other' }],
      1
    )
    await until(() => engine.stored.length === 1)
    end()
    const { published, failures, unanswered } = await outcome
    assert.deepEqual([published, failures], [['2'], []])
    assert.deepEqual(
      unanswered.map(({ position }) => position),
      ['0']
    )
    answer()
    assert.deepEqual((await unanswered[0]!.ended).published, ['0'])
    // Later events of its key are tried in a later round.
    assert.deepEqual(engine.of('a'), ['other'])
  })

  it('waits for all while more than a few are not answered', async () => {
    const { engine, outcome, end, answer } = begin([{ data: 'silent 1' }, { data: 'silent 2' }], 1)
    await until(() => engine.underWay === 2)
    let hasEnded = false
    void outcome.then(() => {
      hasEnded = true
    })
    end()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(hasEnded, false)
    answer()
    const { published, unanswered } = await outcome
    assert.equal(published.length + unanswered.length, 2)
  })

  it('waits for an event as long as its time has not come', async () => {
    const { engine, outcome, answer } = begin([{ data: 'silent' }, { data: 'other' }], 16)
    await until(() => engine.stored.length === 1)
    answer()
    assert.deepEqual((await outcome).unanswered, [])
  })
})
