/** Reports of streams, events and starts, beside requests. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderHtml } from '../html/page.ts'
import type { StreamTask, Task } from '../task/task.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { isClean, type Round } from './comparison.ts'
import { describeTask, keyOf, titleOf } from './contest.ts'
import { renderMarkdown } from './markdown.ts'
import { describeOutcome } from './schedule.ts'
import type { Contest, Measurement } from './schema.ts'
import { readStored } from './stored.ts'
import { renderComparison } from './table.ts'

const STREAM: StreamTask = { mode: 'stream', generator: 'sync', take: 'iterate', values: 100_000, pause: 0 }
const EMIT: Task = { mode: 'emit', batch: 1, busy: 0.5 }
const START: Task = { mode: 'start' }

const rounds = (task: Task, elysia: Partial<Measurement>, nest: Partial<Measurement>): Round[] =>
  [1, 2].map(() => [measurement({ task, ...elysia }), measurement({ task, target: 'nest', ...nest })])

const of = (
  task: Task,
  elysia: Partial<Measurement>,
  nest: Partial<Measurement>,
  contest: Partial<Contest> = {}
) => comparison([[{ task, layout: 'shared', ...contest }, rounds(task, elysia, nest)]])

const streams = of(STREAM, { rps: 900_000, clientRssPeak: 70 }, { rps: 300_000, clientRssPeak: 80 })
const events = of(
  EMIT,
  { rps: 1900, sent: 4000, arrived: 4000, lost: 0, clientRssPeak: 80 },
  { rps: 1950, sent: 90_000, arrived: 3000, lost: 87_000, clientRssPeak: 800 }
)
const starts = of(START, { p50: 90, listenMs: 80 }, { p50: 270, listenMs: 260 })

describe('a contest', () => {
  for (const [task, words] of [
    [{ mode: 'request', handler: 'sync' }, ''],
    [{ mode: 'request', handler: 'waits' }, 'a handler that waits for a later turn'],
    [STREAM, '100,000 values of a generator'],
    [{ ...STREAM, generator: 'observable', take: 'send' }, '100,000 values of an Observable, read by send()'],
    [{ ...STREAM, pause: 1000 }, '100,000 values of a generator, 1000 ms after each'],
    [{ ...EMIT, busy: 0 }, 'events, each awaited'],
    [{ ...EMIT, batch: 1000 }, 'events, 1,000 before any is awaited, a server that needs 0.5 ms for each'],
    [START, 'from the start of the process to the first answer']
  ] satisfies [Task, string][]) {
    it(`is described as '${words}'`, () => assert.equal(describeTask(task), words))
  }

  it('with another task is another contest, and an echo is the default task', () => {
    const [stream] = streams.contests
    const { task: _, ...plain } = stream!
    assert.notEqual(keyOf(stream!), keyOf(plain))
    assert.equal(keyOf(plain), keyOf({ ...plain, task: { mode: 'request', handler: 'sync' } }))
    assert.match(
      titleOf(stream!),
      /^shared connection · 10 streams at a time · each with its own client · a string/
    )
    assert.match(titleOf(starts.contests[0]!), /^start · each with its own client/)
  })
})

describe('a report', () => {
  it('of streams has the values, the time of the first one, and the memory of client and server', () => {
    const text = renderComparison(streams)
    assert.match(text, /values\/s +first value p50 ms .*server peak MiB .*client peak MiB/)
    assert.match(text, /^elysia +900,000 /m)
    assert.match(text, /^elysia is ahead in values\/s: the worst of its 2 runs, 900,000/m)
    assert.doesNotMatch(text, /req\/s/)
  })

  it('of events names how many arrived, and a target that has lost some cannot win', () => {
    const text = renderComparison(events)
    assert.match(text, /handled\/s +sent +arrived +lost /)
    assert.match(text, /^nest +1,950 +90,000 +3,000 +87,000 /m)
    assert.match(text, /nest had errors or losses and cannot win/)
    assert.equal(isClean(events), false)
    assert.equal(isClean(streams), true)
  })

  it('of starts is decided by the first answer', () => {
    const text = renderComparison(starts)
    assert.match(text, /first answer ms +slowest ms +listening ms +idle MiB/)
    assert.match(text, /^elysia is ahead in first answer ms: the worst of its 2 runs, 90\.000/m)
  })

  it('of a slow reader is decided by the memory of client and server', () => {
    const slow = of({ ...STREAM, pause: 1000 }, { rssPeak: 50 }, { rssPeak: 90 })
    assert.match(renderComparison(slow), /^elysia is ahead in server peak MiB: /m)
  })

  it('is the same after writing and reading, and has the same contents in every form', async () => {
    const sizes = [{ target: 'elysia', packages: 3, files: 1234, bytes: 5_600_000, packedBytes: 300_000 }]
    const all = { ...streams, contests: [streams, events, starts].flatMap(({ contests }) => contests), sizes }
    assert.deepEqual(readStored('a.json', JSON.stringify(all)).comparison, all)
    const html = await renderHtml(all)
    const markdown = renderMarkdown(all)
    for (const expected of ['values/s', 'first answer ms', 'handled/s', '1,234']) {
      assert.ok(html.includes(expected), `HTML: ${expected}`)
      assert.ok(markdown.includes(expected), `Markdown: ${expected}`)
    }
    assert.match(markdown, /^\| elysia \| 5\.60 \| 1,234 \| 3 \| 300 \|$/m)
    assert.ok(html.includes('client peak MiB') && html.includes('listening ms'))
  })
})

describe('the line of an outcome', () => {
  for (const [outcome, line] of [
    [measurement({}), 'elysia  1,000 req/s  p99 3.000 ms'],
    [measurement({ task: STREAM }), 'elysia  1,000 values/s  first value p99 3.000 ms'],
    [measurement({ task: EMIT, lost: 7 }), 'elysia  1,000 handled/s  promise p99 3.000 ms  7 lost'],
    [measurement({ task: START, listenMs: 5 }), 'elysia  listening 5.0 ms  first answer 1.000 ms']
  ] as const) {
    it(`is '${line}'`, () => assert.equal(describeOutcome(outcome), line))
  }
})
