import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Pair, summarize } from './comparison.ts'
import type { Measurement } from './measurement.ts'
import { describeSeconds } from './schedule.ts'
import { spread } from './statistics.ts'
import { renderComparison } from './table.ts'

const measurement = (figures: Partial<Measurement>): Measurement => ({
  target: 'elysia',
  client: 'elysia',
  method: null,
  protocol: null,
  runtime: 'bun',
  host: '127.0.0.1',
  port: 1,
  concurrency: 10,
  connections: 10,
  duration: 1,
  warmup: 0,
  measuredSeconds: 1,
  payload: 200,
  rps: 1000,
  p50: 1,
  p90: 2,
  p99: 3,
  max: 4,
  completed: 1000,
  errors: 0,
  firstError: null,
  serverCpuUsPerRequest: 10,
  clientCpuUsPerRequest: 10,
  serverRssMb: 50,
  serverPid: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  environment: {
    cpu: 'a CPU',
    cpuCount: 2,
    memoryMb: 1,
    kernel: 'a kernel',
    bun: '1.0.0',
    node: null,
    packages: {},
    pinning: { server: 0, client: 1, note: null }
  },
  ...figures
})

const pair = (elysia: Partial<Measurement>, nest: Partial<Measurement> = {}): Pair => ({
  elysia: measurement(elysia),
  nest: measurement(nest)
})

const CONTEST = { client: 'own', connections: 10 } as const

describe('a spread', () => {
  for (const [values, expected] of [
    [[3, 1, 2], { median: 2, min: 1, max: 3 }],
    [[4, 1, 2, 10], { median: 3, min: 1, max: 10 }],
    [[5], { median: 5, min: 5, max: 5 }],
    [[], null]
  ] as const) {
    it(`of [${values}] is ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(spread(values), expected)
    })
  }
})

describe('a comparison', () => {
  it('takes ratios within each pair, not between medians', () => {
    const { elysia, nest, ratio } = summarize(CONTEST, [
      pair({ rps: 200 }, { rps: 100 }),
      pair({ rps: 900 }, { rps: 300 }),
      pair({ rps: 400 }, { rps: 400 })
    ])
    assert.equal(elysia.rps?.median, 400)
    assert.equal(nest.rps?.median, 300)
    assert.deepEqual(ratio.rps, { median: 2, min: 1, max: 3 })
  })

  it('leaves out what is not known', () => {
    const { elysia, ratio } = summarize(CONTEST, [pair({ p50: null, serverCpuUsPerRequest: null })])
    assert.equal(elysia.p50, null)
    assert.equal(ratio.p50, null)
    assert.equal(ratio.serverCpuUsPerRequest, null)
  })

  it('names the figures in which Nest is ahead, whichever way is better', () => {
    const { nestAhead } = summarize(CONTEST, [pair({ rps: 999, p50: 0.5, p99: 3.1 })])
    assert.deepEqual(nestAhead, ['rps', 'p99'])
  })

  it('adds up errors', () => {
    assert.deepEqual(summarize(CONTEST, [pair({ errors: 2 }), pair({ errors: 1 }, { errors: 4 })]).errors, {
      elysia: 3,
      nest: 4
    })
  })
})

describe('the table', () => {
  const options = {
    runs: 1,
    clients: ['own'],
    duration: 1,
    warmup: 0,
    concurrency: 10,
    payload: 200,
    runtime: 'bun',
    protocol: 'rsocket'
  } as const

  const render = (connections: number, pairs: Pair[]) =>
    renderComparison({
      startedAt: '2026-01-01T00:00:00.000Z',
      options,
      environment: measurement({}).environment,
      contests: [summarize({ client: 'own', connections }, pairs)]
    })

  it('shows each side, the ratio, and what it ran on', () => {
    const table = render(10, [pair({ rps: 12_345.6, serverRssMb: null }, { rps: 5000 })])
    assert.match(table, /a CPU, 2 CPUs · a kernel · Bun 1\.0\.0 · server on CPU 0, client on CPU 1/)
    assert.match(table, /connection per client · 10 requests at a time · each with its own client/)
    assert.match(table, /^elysia +12,346 +1\.000 +2\.000 +3\.000 +4\.000 +10\.00 +10\.00 +– +0$/m)
    assert.match(table, /^elysia ÷ nest +2\.47x +1\.00x/m)
    assert.match(table, /Nest is ahead in nothing\./)
  })

  it('says where Nest is ahead', () => {
    const table = render(1, [pair({ rps: 10, max: 9 })])
    assert.match(table, /shared connection · /)
    assert.match(table, /Nest is ahead in req\/s, max ms\./)
  })

  it('aligns its columns', () => {
    const lines = render(10, [pair({ rps: 1_234_567 })]).split('\n')
    const ends = lines.filter((line) => /^(elysia|nest) +\d/.test(line)).map((line) => line.length)
    assert.equal(new Set(ends).size, 1)
  })
})

describe('the time that is left', () => {
  for (const [seconds, text] of [
    [5, '5 s'],
    [60, '1 min 0 s'],
    [95, '1 min 35 s']
  ] as const) {
    it(`of ${seconds} seconds is '${text}'`, () => {
      assert.equal(describeSeconds(seconds), text)
    })
  }
})
