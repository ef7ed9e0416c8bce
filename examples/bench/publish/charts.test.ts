/** The charts and sentences of the documentation that are generated from a report. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome } from '../report/comparison.ts'
import type { Contest, Measurement } from '../report/schema.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { described, drawChart } from './charts.ts'
import { nestAhead } from './nest-ahead.ts'

const text: Partial<Contest> = { layout: 'shared', concurrency: 100 }

function measured(contest: Partial<Contest>, given: Partial<Measurement>, others: Partial<Measurement>) {
  const round: Outcome[] = [
    measurement({ target: 'elysia', ...given }),
    measurement({ target: 'nest', ...others })
  ]
  return comparison([[contest, [round]]])
}

describe('a chart of the documentation', () => {
  const report = measured(text, { rps: 500_000 }, { rps: 50_000 })

  it('has a bar for each measured target, with a length proportional to its figure', () => {
    const svg = drawChart('requests', report)
    const widths = [...svg.matchAll(/width="([\d.]+)" height="16"/g)].map(([, width]) => Number(width))
    assert.equal(widths.length, 2)
    assert.equal(widths[0], 10 * widths[1]!)
    assert.match(svg, />500,000<\/text>/)
  })

  it('has a description of its contents', () => {
    assert.equal(
      described('requests', report),
      'Requests a second, 100 callers, under Bun. A text of 200 B, shared connection: this project 500,000, NestJS 50,000.'
    )
    assert.ok(drawChart('requests', report).includes(`<title>${described('requests', report)}</title>`))
  })

  it('draws only what was measured', () => {
    assert.doesNotMatch(drawChart('memory', report), /<rect x/)
  })
})

describe('rows for figures in which Nest is ahead', () => {
  it('name the figure, and the difference', () => {
    const report = measured(text, { rps: 40_000, p99: 4 }, { rps: 50_000, p99: 2.5 })
    assert.equal(
      nestAhead(report),
      [
        '| load | figure | Nest | ours |',
        '| --- | --- | ---: | ---: |',
        '| a string, 200 B, shared connection, Bun | requests a second | 50,000 | 40,000 |',
        '| a string, 200 B, shared connection, Bun | latency p99 | 2.50 ms | 4.00 ms |'
      ].join('\n')
    )
  })

  it('use the terms of the mode', () => {
    const task = { mode: 'emit', batch: 1, busy: 0 } as const
    const report = measured({ ...text, task }, { task, p50: 2 }, { task, p50: 1 })
    assert.match(nestAhead(report), /\| `emit` settles p50 \| 1\.00 ms \| 2\.00 ms \|/)
  })

  it('report that there is no such figure', () => {
    assert.equal(nestAhead(measured(text, { rps: 2 }, { rps: 1 })), 'Nest is ahead in no figure of this run.')
  })
})
