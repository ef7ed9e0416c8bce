/** What the documentation says of figures is what the published report says. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { BENCH_FOLDER } from '../process/folder.ts'
import { renderMarkdown } from '../report/markdown.ts'
import { FULL_FILE, publishedFile } from '../report/write.ts'
import { suiteNames, taskOf } from '../task/task.ts'
import { DOCUMENTS, fillIn, type Published, readDocuments, readPublished, tablesIn } from './documents.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')
const suites = suiteNames.map(publishedFile).filter(existsSync)
const REPORTS = [FULL_FILE, ...suites].flatMap((file) =>
  ['json', 'md', 'html'].map((extension) => file.replace(/json$/, extension))
)

/** The first lines that are not as they should be: whole pages tell nobody anything. */
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
    it(`has in ${page} what the published report says`, async () => {
      const { text, filled } = (await readDocuments(published))[index]!
      assert.ok(tablesIn(text).length > 0)
      assert.deepEqual(differences(text, filled), [], 'run `npm run bench:tables`')
    })
  }

  it('shows the headline first, then HTTP and a sentence about databases', async () => {
    const tables = tablesIn(await readFile(join(ROOT, 'README.md'), 'utf8'))
    assert.deepEqual(tables, ['headline', 'http headline', 'db sentence'])
  })

  it('would say something else of other figures', async () => {
    const text = await readFile(join(ROOT, 'README.md'), 'utf8')
    const faster: Published = {
      ...published,
      peers: {
        ...published.peers,
        contests: published.peers.contests.map((contest) => ({
          ...contest,
          results: contest.results.map((result) => ({
            ...result,
            figures: { ...result.figures, rps: { median: 1_234_567, min: 1, max: 2_000_000 } }
          }))
        }))
      }
    }
    const filled = fillIn('README.md', text, faster)
    assert.notEqual(filled, text)
    assert.match(filled, /\| \*\*shared connection\*\*: ours, RSocket \| 1,234,567 \| /)
    assert.equal(fillIn('README.md', filled, published), text)
  })

  it('cannot ask for a table that there is not', () => {
    const text = '<!-- bench: all we want -->\n<!-- /bench -->'
    assert.throws(
      () => fillIn('a.md', text, published),
      /^BenchError: a\.md: no table 'all we want', expected/
    )
  })

  it('links the report from where it is', async () => {
    const text = '<!-- bench: headline -->\n<!-- /bench -->'
    assert.match(fillIn('README.md', text, published), /\(docs\/benchmarks\/report\.md\)/)
    assert.match(fillIn('docs/performance.md', text, published), /\(benchmarks\/report\.md\)/)
  })
})

describe('the published report', () => {
  it('as Markdown is what its JSON says', async () => {
    for (const comparison of [published.peers, ...Object.values(published.suites)]) {
      const { contests } = comparison
      const task = taskOf(contests[0] ?? {})
      const file = task.mode === 'suite' ? publishedFile(task.suite) : FULL_FILE
      const markdown = await readFile(file.replace(/json$/, 'md'), 'utf8')
      assert.deepEqual(differences(markdown, renderMarkdown(comparison)), [])
    }
  })

  for (const file of REPORTS) {
    it(`in ${file.slice(ROOT.length + 1)} names neither a folder nor the machine it was measured on`, async () => {
      // A histogram is base64, in which any letters may come together.
      const text = (await readFile(file, 'utf8')).replaceAll(/"latencyHistogram": "[^"]*"/g, '')
      assert.ok(!text.includes(ROOT))
      assert.doesNotMatch(text, /\/(home|root|Users|work)\//)
      assert.ok(hostname() === 'localhost' || !text.split(/[^\w.-]/).includes(hostname()))
    })
  }

  it('is the one that the command makes', () => {
    assert.match(published.peers.command, /^bun run compare --full/)
  })
})
