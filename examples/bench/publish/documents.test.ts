/** The figures in the documentation are those of the published report. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { renderHtml } from '../html/page.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { renderMarkdown } from '../report/markdown.ts'
import type { ContestResult } from '../report/schema.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { CHARTS, drawChart } from './charts.ts'
import { find, isObject, isText, isWaiting, resultOf } from './contests.ts'
import { DOCUMENTS, fillIn, readDocuments, tablesIn } from './documents.ts'
import { asText, chartFile, compact, MEDIANS, PUBLISHED, type Published, readPublished } from './published.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')
/** The first lines that differ: whole pages would be unreadable. */
function differences(text: string, expected: string): string[] {
  const lines = text.split('\n')
  const wrong = expected.split('\n').filter((line, index) => line !== lines[index])
  return text === expected ? [] : ['expected:', ...wrong.slice(0, 3)]
}

let published: Published
before(async () => {
  published = await readPublished()
})

describe('the documentation', () => {
  for (const [index, page] of DOCUMENTS.entries()) {
    it(`has the figures of the published report in ${page}`, async () => {
      const { text, filled } = (await readDocuments(published))[index]!
      assert.ok(tablesIn(text).length > 0)
      assert.deepEqual(differences(text, filled), [], 'run `npm run bench:tables`')
    })
  }

  it('shows one chart first', async () => {
    const tables = tablesIn(await readFile(join(ROOT, 'README.md'), 'utf8'))
    assert.deepEqual(tables, ['chart requests', 'summary'])
  })

  it('states nothing that was not measured', async () => {
    const contestsOf = (layout: 'shared' | 'per-client', runtime: 'bun' | 'node') =>
      [isText, isObject, isWaiting].map((is) => find(published.report!, { is, layout, runtime })!)
    /** The lowest and the highest ratio to NestJS. */
    const span = (round: (ratio: number) => number, ...contests: ContestResult[]) => {
      const all = contests.map((contest) => resultOf(contest, 'elysia').ratio?.rps?.median ?? 0)
      return [round(Math.min(...all)), round(Math.max(...all))]
    }
    const landing = await readFile(join(ROOT, 'tools/site/index.md'), 'utf8')
    assert.match(landing, /^## On Bun, with its own client: 2 to 10 times as many requests as NestJS$/m)
    assert.match(
      landing,
      /^4 to 10 times as many on one shared connection, about twice as many with a connection/m
    )
    assert.deepEqual(span(Math.floor, ...contestsOf('shared', 'bun')), [4, 10])
    assert.deepEqual(span(Math.round, ...contestsOf('per-client', 'bun')), [2, 2])
    assert.match(
      landing,
      /On Node it is about 2 to 6 times as many\. .* no clear winner between this project and rsocket-js[,.]/
    )
    const onNode = [...contestsOf('shared', 'node'), ...contestsOf('per-client', 'node')]
    assert.deepEqual(span(Math.round, ...onNode), [2, 6])
    const [verdict] = find(published.report!, { is: isText, layout: 'per-client', runtime: 'node' })!.verdicts
    assert.equal(verdict?.winner, null)
    assert.match(verdict.reason, /rsocket-js/)
  })

  it('says with whose client it is how many times as fast as NestJS', async () => {
    const [readme, landing, performance] = await Promise.all(
      ['README.md', 'tools/site/index.md', 'docs/performance.md'].map((page) =>
        readFile(join(ROOT, page), 'utf8')
      )
    )
    const ratioOf = (contest: ContestResult) => resultOf(contest, 'elysia').ratio?.rps?.median ?? 0
    const own = find(published.report!, { is: isText, layout: 'shared' })!
    assert.equal(Math.floor(ratioOf(own)), 10)
    assert.match(readme!, / up to ten times .* with its own client \(Bun, short texts, one connection\)/)
    assert.match(landing!, / on Bun, with its own client, answers up to ten times as many requests/)
    const nests = published.report!.contests.filter(
      (contest) => contest.client === 'nest' && contest.runtime === 'bun' && isText(contest)
    )
    assert.deepEqual(
      nests.map((contest) => ratioOf(contest).toFixed(1)),
      ['1.2', '1.2']
    )
    assert.match(readme!, /, 1\.2 times with Nest's\. /)
    assert.match(landing!, /On Bun with Nest's client it is 1\.2 times as many\.$/m)
    assert.match(performance!, /with Nest's own client \(1\.2 times\)/)
  })

  it('has other texts with other figures', async () => {
    const text = await readFile(join(ROOT, 'docs/performance.md'), 'utf8')
    const faster: Published = {
      ...published,
      report: {
        ...published.report!,
        contests: published.report!.contests.map((contest) => ({
          ...contest,
          results: contest.results.map((result) => ({
            ...result,
            figures: { ...result.figures, rps: { median: 1_234_567, min: 1, max: 2_000_000 } }
          }))
        }))
      }
    }
    const filled = fillIn('docs/performance.md', text, faster)
    assert.notEqual(filled, text)
    assert.match(filled, /\| \*\*shared connection\*\*: ours, RSocket \| 1,234,567 \| /)
    assert.equal(fillIn('docs/performance.md', filled, published), text)
  })

  it('cannot use an unknown table', () => {
    const text = '<!-- bench: all we want -->\n<!-- /bench -->'
    assert.throws(
      () => fillIn('a.md', text, published),
      /^BenchError: a\.md: no table 'all we want', expected/
    )
  })

  it('links to the report relative to each page', async () => {
    const text = '<!-- bench: conditions -->\n<!-- /bench -->'
    assert.match(fillIn('README.md', text, published), /\(docs\/benchmarks\/report\.md\)/)
    assert.match(fillIn('docs/performance.md', text, published), /\(benchmarks\/report\.md\)/)
  })
})

describe('the published reports', () => {
  it('are the same after reading and writing', async () => {
    assert.equal(await readFile(MEDIANS, 'utf8'), asText(published))
  })

  it('as Markdown and HTML have the medians', async () => {
    for (const [name, of] of Object.entries(published)) {
      const file = join(PUBLISHED, name)
      assert.deepEqual(differences(await readFile(`${file}.md`, 'utf8'), renderMarkdown(of)), [])
      assert.deepEqual(differences(await readFile(`${file}.html`, 'utf8'), renderHtml(of, true)), [])
    }
  })

  it('have the charts that are generated from them', async () => {
    for (const name of Object.keys(CHARTS)) {
      assert.equal(await readFile(chartFile(name), 'utf8'), drawChart(name, published.report!))
    }
  })

  it('name no folder and no machine, and are small', async () => {
    let bytes = 0
    for (const file of await readdir(PUBLISHED)) {
      const text = await readFile(join(PUBLISHED, file), 'utf8')
      bytes += text.length
      assert.ok(!text.includes(ROOT), file)
      assert.doesNotMatch(text, /\/(home|root|Users|work)\//)
      assert.ok(hostname() === 'localhost' || !text.split(/[^\w.-]/).includes(hostname()), file)
    }
    assert.ok(bytes < 1_700_000, `${bytes} bytes`)
  })

  it('are those that the command creates', () => {
    for (const { command } of Object.values(published)) assert.match(command, /^bun run compare .*--full/)
  })

  it('have the contents of the whole report, without its runs', () => {
    const whole = comparison([[{}, [[measurement({ rps: 3 }), measurement({ target: 'nest', rps: 1 })]]]])
    const small = compact(whole)
    assert.deepEqual(small.contests[0]!.rounds, [])
    assert.equal(renderMarkdown(small), renderMarkdown(whole))
    assert.deepEqual(JSON.parse(asText({ report: small })).reports.report, JSON.parse(JSON.stringify(small)))
  })
})
