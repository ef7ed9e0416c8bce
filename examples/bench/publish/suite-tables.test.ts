/** The tables of the documentation with results of the suites. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome } from '../report/comparison.ts'
import type { Comparison, Measurement } from '../report/schema.ts'
import type { SuiteName } from '../task/task.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { fillIn } from './documents.ts'
import type { Published } from './published.ts'
import { NOT_MEASURED } from './suite-tables.ts'

type Given = readonly (Partial<Measurement> & { readonly target: string })[]

function suite(name: SuiteName, contests: Readonly<Record<string, Given>>, concurrency = 100): Comparison {
  return comparison(
    Object.entries(contests).map(([workload, given]) => {
      const task = { mode: 'suite', suite: name, workload } as const
      const round = given.map((figures): Outcome => measurement({ task, successRate: 100, ...figures }))
      return [{ task, concurrency }, [round]]
    }),
    { targets: Object.values(contests).flatMap((given) => given.map(({ target }) => target)), duration: 2 }
  )
}

const http = suite('http', {
  health: [
    { target: 'elysia', rps: 100_000, client: 'wrk' },
    { target: 'elysia-service', rps: 99_000, client: 'wrk' },
    { target: 'hono @ node', rps: 40_000, client: 'wrk' },
    { target: 'elysia-gateway', rps: 30_000, p99: 2, client: 'wrk' },
    { target: 'nest-gateway', rps: 6_000, p99: 9, client: 'wrk' }
  ]
})

const db = suite(
  'db',
  {
    slow: [
      { target: 'service', rps: 940, successRate: 31, refused: 9000, refusedP50: 0.4, refusedP99: 7 },
      { target: 'service-leases', rps: 930, successRate: 100 },
      { target: 'nest-service', rps: 700, successRate: 75.3, failedP50: 2010, firstError: 'timeout' },
      { target: 'express', rps: 600, successRate: 61.4, failedP50: 2790 }
    ]
  },
  2000
)

function filled(name: string, published: Published): string {
  return fillIn('docs/databases.md', `<!-- bench: ${name} -->\n<!-- /bench -->`, published)
}

describe('tables of a suite', () => {
  it('say so while there is no report', () => {
    for (const name of ['http', 'db sentence', 'db crowd']) {
      assert.ok(filled(name, {}).includes(NOT_MEASURED), name)
    }
  })

  it('have our figure divided by the one it is compared with', () => {
    const text = filled('http', { http })
    assert.match(text, /^\| \*Elysia with one of our services in it ÷ Elysia\* \| \*\*0\.99x\*\* \|/m)
    assert.match(text, /^\| \*our gateway .* ÷ Nest as a gateway .*\* \| \*\*5\.00x\*\* \| 0\.22x \|/m)
    assert.match(text, /, Nest .*\[The whole report\]\(benchmarks\/http\.md\)/)
    assert.doesNotMatch(text, /Hono/)
  })

  it('explain the effect of a limit in two sentences', () => {
    const text = filled('db sentence', { db })
    assert.match(
      text,
      /pool of 20 connections and 2,000 callers, .*answers 940 requests a second and refuses the rest within 7\.00 ms/
    )
    assert.match(
      text,
      /With leases, 100\.0 % of all requests are answered; the other servers answer 61 to 75 %:/
    )
  })

  it('show what happens to callers without an answer', () => {
    const crowd = filled('db crowd', { db })
    assert.match(
      crowd,
      /^\| our service, by messages \| 940 \| 31\.0 \| .* \| 9,000 \| 0\.400 \| 7\.00 \| – \|$/m
    )
    assert.match(crowd, /^\| Nest service, by messages \| 700 \| 75\.3 \| .* \| 2010 \|$/m)
    assert.match(filled('db callers', { db }), /^\| Express \| 600, 61\.4 % \|$/m)
  })
})
