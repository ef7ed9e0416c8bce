import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CheckedClient, readClients } from './clients.ts'
import type { TrialUpdate } from './protocol.ts'
import { readTrial, run } from './trial.ts'

const quiet = { error() {}, warn() {} }
const trial = { service: 'a', kind: 'message', pattern: 'p' } as const

describe('readTrial', () => {
  it('reads what the page sends', () => {
    const full = { ...trial, data: [1], headers: { a: 'b' } }
    assert.deepEqual(readTrial(full), full)
    assert.equal(readTrial(trial).data, undefined)
  })

  it('refuses anything else', () => {
    for (const given of [
      undefined,
      null,
      [],
      { ...trial, kind: 'other' },
      { ...trial, pattern: '' },
      { ...trial, pattern: {} },
      { ...trial, headers: [] },
      { ...trial, headers: { a: 1 } }
    ])
      assert.throws(() => readTrial(given), TypeError)
  })
})

describe('run', () => {
  const answering = (values: () => AsyncIterable<unknown>) => ({ stream: values }) as never as CheckedClient
  const all = async (client: CheckedClient) => {
    const updates: TrialUpdate[] = []
    for await (const update of run(client, trial, new AbortController().signal)) updates.push(update)
    return updates
  }

  it('shows values as JSON, cut where they are too long, and what JSON has no word for', async () => {
    const round: unknown[] = []
    round.push(round)
    const shown = await all(
      answering(async function* () {
        yield* [{ a: 1 }, undefined, 5n, new Uint8Array(3), 'x'.repeat(100_000), round]
      })
    )
    const texts = shown.map((each) => ('value' in each ? each.value : ''))
    assert.deepEqual(texts.slice(0, 4), ['{\n  "a": 1\n}', 'undefined', '"5n"', '"3 bytes"'])
    assert.deepEqual([texts[4]?.length, (shown[4] as { cut: number }).cut], [65_536, 100_002 - 65_536])
    assert.match(texts[5]!, /^cannot be shown: /)
  })

  it('waits for values without end, and for a connection only for a while', async () => {
    const client = {
      async *stream(_pattern: unknown, _data: unknown, options: object) {
        yield options
      }
    } as never as CheckedClient
    const [update] = await all(client)
    assert.ok(update !== undefined && 'value' in update)
    const { timeout, waitForConnection } = JSON.parse(update.value)
    assert.deepEqual([timeout, waitForConnection], [false, 5_000])
  })

  it('gives an error as the last that comes', async () => {
    const client = answering(async function* () {
      yield 1
      throw Object.assign(new Error('Sold out'), { code: 'NO_STOCK', details: { left: 0 } })
    })
    assert.deepEqual(await all(client), [
      { value: '1', cut: 0 },
      { error: { code: 'NO_STOCK', message: 'Sold out', details: '{\n  "left": 0\n}' } }
    ])
  })
})

describe('readClients', () => {
  it('takes clients and nothing else', () => {
    for (const given of [undefined, {}, { a: {} }, { a: null }, { a: { request() {} } }])
      assert.throws(() => readClients(given, quiet), { code: 'OPTION' })
  })

  it('keeps the last clients if the function fails, or returns anything else', () => {
    const client = { request() {}, stream() {}, emit() {} }
    let give: () => unknown = () => ({ a: client })
    const read = readClients(() => give(), quiet)
    const names = () => [...read().keys()]
    assert.deepEqual(names(), ['a'])
    for (const wrong of [undefined, 5, { b: undefined }, { b: client, c: {} }]) {
      give = () => wrong
      assert.deepEqual(names(), ['a'])
    }
    give = () => {
      throw new Error('no registry')
    }
    assert.deepEqual(names(), ['a'])
    give = () => ({})
    assert.deepEqual(names(), [])
  })
})
