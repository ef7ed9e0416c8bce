/** What the documentation makes of the reports of the suites. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome } from '../report/comparison.ts'
import type { Comparison, Measurement } from '../report/schema.ts'
import type { SuiteName } from '../task/task.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { fillIn, type Published, readPublished } from './documents.ts'
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

async function filled(name: string, suites: Published['suites']): Promise<string> {
  const published = { ...(await readPublished()), suites }
  return fillIn('docs/databases.md', `<!-- bench: ${name} -->\n<!-- /bench -->`, published)
}

describe('tables of a suite', () => {
  it('say that there is no report while there is none', async () => {
    for (const name of ['http headline', 'pairs', 'db sentence', 'db crowd', 'scale']) {
      assert.ok((await filled(name, {})).includes(NOT_MEASURED), name)
    }
  })

  it('have ours divided by what it is compared with', async () => {
    const text = await filled('http headline', { http })
    assert.match(text, /^\| \*Elysia with a service of ours in it ÷ Elysia\* \| \*\*0\.99x\*\* \|/m)
    assert.match(text, /^\| \*our gateway .* ÷ Nest as a gateway .*\* \| \*\*5\.00x\*\* \| 0\.22x \|/m)
    assert.match(text, /load by wrk, .*\[The whole report\]\(benchmarks\/http\.md\)/)
    assert.doesNotMatch(text, /Hono/)
  })

  it('have each pair in every workload, with the spread of its runs', async () => {
    const pairs = await filled('pairs', {
      pairs: { ...http, contests: [...http.contests, ...http.contests] }
    })
    const rows = pairs.split('\n').filter((line) => line.includes('health'))
    assert.deepEqual(
      rows.map((line) => line.split(' | ').slice(0, 2)),
      [
        ['| **Elysia with a service of ours in it ÷ Elysia**: health', '**0.99x** (0.99–0.99)'],
        ['| health', '**0.99x** (0.99–0.99)'],
        [
          '| **our gateway and a service behind it ÷ Nest as a gateway and a service behind it**: health',
          '**5.00x** (5.00–5.00)'
        ],
        ['| health', '**5.00x** (5.00–5.00)']
      ]
    )
  })

  it('have everybody in every workload', async () => {
    const text = await filled('http requests', { http })
    assert.match(text, /^\| req\/s \| health \|$/m)
    assert.match(text, /^\| Hono, on Node \| 40,000 \|$/m)
  })

  it('say in a sentence what a limit is good for', async () => {
    const text = await filled('db sentence', { db })
    assert.match(
      text,
      /pool of 20 and 2,000 callers, .*answers 940 requests a second and tells the rest within 7\.00 ms/
    )
    assert.match(
      text,
      /with leases 100\.0 % are answered, of those of others 61 to 75 %: \[what to set\]\(databases\.md\)/
    )
  })

  it('show what becomes of those who are not answered', async () => {
    const crowd = await filled('db crowd', { db })
    assert.match(
      crowd,
      /^\| our service, by messages \| 940 \| 31\.0 \| .* \| 9,000 \| 0\.400 \| 7\.00 \| – \|$/m
    )
    assert.match(crowd, /^\| Nest service, by messages \| 700 \| 75\.3 \| .* \| 2010 \|$/m)
    assert.match(await filled('db callers slow', { db }), /^\| Express \| 600, 61\.4 % \|$/m)
  })

  it('show what a second process brings', async () => {
    const scale = suite('scale', {
      service: [
        { target: 'service @ 1 worker', rps: 90_000, perWorker: 90_000, workers: 1 },
        { target: 'service @ 2 workers', rps: 170_000, perWorker: 85_000, workers: 2 }
      ]
    })
    assert.match(await filled('scale', { scale }), /^\| 2 workers \| 170,000 \| 85,000 \|/m)
  })
})
