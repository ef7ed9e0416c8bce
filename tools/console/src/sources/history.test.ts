import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { until } from '@elysia-microservices/test-support'
import { STEP } from '../past.ts'
import { hasSqlite, PastFile } from '../past-file.ts'
import type { Overview, Sample } from '../protocol.ts'
import { History } from './history.ts'

const folder = mkdtempSync(join(tmpdir(), 'history-'))
after(() => rmSync(folder, { recursive: true }))

const now = Math.floor(Date.now() / STEP)
const overview = (version: string): Overview => ({
  canTry: false,
  interval: 1_000,
  services: [
    {
      id: 'a',
      service: 'a',
      described: { name: 'a', version, status: 'listening', isCounted: true, leftOut: [] }
    }
  ]
})
const sampleAt = (step: number, rate: number): Sample => {
  const figures = { rate, inFlight: 0, errors: 0, failures: 0 }
  const rows = [{ kind: 'message', pattern: 'x', ...figures } as const]
  return {
    at: step * STEP,
    services: { a: { transports: [], outboxes: [], total: figures, rows, calls: [] } }
  }
}

function historyIn(file: string) {
  const log: string[] = []
  const logger = { error() {}, warn: (line: string) => void log.push(line) }
  const history = new History({ history: file, logger })
  history.begin(() => {})
  return { history, log }
}

describe('the history of a console', () => {
  it('survives a restart of its process, with its marks, or says why not', async () => {
    const file = join(folder, 'kept.sqlite')
    const first = historyIn(file)
    await first.history.ask({ id: 'a' })
    first.history.sampled(sampleAt(now - 5, 3), overview('1'))
    first.history.sampled(sampleAt(now - 4, 4), overview('2'))
    if (!hasSqlite()) {
      assert.match(first.log[0] ?? '', /this runtime has no SQLite/)
      return
    }
    const kept = async () => {
      for await (const batch of new PastFile(file).figures(now - 100)) return batch.length
      return 0
    }
    await until('the step is kept', async () => (await kept()) === 2)
    let next = now - 4
    await until('the next step is kept', async () => {
      first.history.sampled(sampleAt(++next, 5), overview('2'))
      return (await kept()) >= 4
    })

    const second = historyIn(file)
    const past = await second.history.ask({ id: 'a' })
    assert.deepEqual(past.figures.rate?.slice(0, 2), [3, 4])
    assert.deepEqual(
      past.patterns.map(({ key }) => key),
      ['message x']
    )
    assert.deepEqual(
      second.history.latest().marks.map(({ version }) => version),
      ['2']
    )
    assert.deepEqual([first.log, second.log], [[], []])
  })

  it('is kept for an hour only', async () => {
    if (!hasSqlite()) return
    const file = new PastFile(join(folder, 'old.sqlite'))
    const figures = new Float32Array(8)
    const rows = Array.from({ length: 1_000 }, (_, step) => ({ step, id: 'a', key: '', figures }))
    await file.write(rows, [], 0)
    await file.write([], [], 900)
    const left: number[] = []
    for await (const batch of file.figures(-1)) for (const { step } of batch) left.push(step)
    assert.deepEqual([left.length, left[0], left.at(-1)], [99, 901, 999])
  })

  for (const [what, from, byte] of [
    ['pages are garbage', 4_096, 0xa5],
    ['first page is lost', 0, 0]
  ] as const)
    it(`begins a new file when its ${what}, keeps the damaged one beside it, and says so`, async () => {
      if (!hasSqlite()) return
      const path = join(folder, `${byte}.sqlite`)
      const figures = new Float32Array(8)
      const rows = Array.from({ length: 1_000 }, (_, n) => ({ step: now - 1, id: `${n}`, key: '', figures }))
      await new PastFile(path).write(rows, [], 0)
      const bytes = readFileSync(path)
      writeFileSync(path, bytes.fill(byte, from))
      const { history, log } = historyIn(path)
      await until('it is told', () => log.length === 1)
      assert.match(log[0] ?? '', /was damaged \(.*\): it is now .*\.sqlite\.damaged, and a new file begins/)
      assert.deepEqual(readFileSync(`${path}.damaged`), bytes)
      for (let step = now - 3; step <= now; step++) history.sampled(sampleAt(step, 1), overview('1'))
      const kept = async () => {
        const steps = new Set<number>()
        for await (const batch of new PastFile(path).figures(now - 100))
          for (const { step } of batch) steps.add(step)
        return steps.size
      }
      await until('the new file has what was in memory', async () => {
        history.sampled(sampleAt(now + 1, 1), overview('1'))
        return (await kept()) >= 3
      })
      assert.equal(log.length, 1)
    })

  it('stays in memory where its file is no database, and says so once', async () => {
    const path = join(folder, 'text.sqlite')
    writeFileSync(path, 'no database '.repeat(1_000))
    const { history, log } = historyIn(path)
    for (let step = now - 3; step <= now; step++) history.sampled(sampleAt(step, 1), overview('1'))
    assert.deepEqual((await history.ask({ id: 'a' })).figures.rate, [1, 1, 1, 1])
    await until('the reason is told', () => log.length === 1)
    assert.match(log[0] ?? '', /in memory only, not in options.history/)
  })
})
