import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { renderMarkdown } from './markdown.ts'

describe('a comparison as Markdown', () => {
  const markdown = renderMarkdown(
    comparison([
      [
        {},
        [
          [measurement({ rps: 1234 }), measurement({ target: 'nest', rps: 617 })],
          [measurement({ rps: 1300 }), { target: 'nest', notMeasured: 'a|b\n<c>', failed: true }]
        ]
      ]
    ])
  )

  it('has the command, the machine, the winner, medians, ratios and ranges', () => {
    assert.match(markdown, /```sh\nbun run compare\n```/)
    assert.match(markdown, /^- a CPU, 2 CPUs · a kernel · Bun 1\.0\.0/m)
    assert.match(markdown, /^- No clear winner in req\/s: one run has no spread/m)
    assert.match(markdown, /^\| elysia \| 1,267 \| 1\.000 \|/m)
    assert.match(markdown, /^\| elysia ÷ nest \| 2\.00x \|/m)
    assert.match(markdown, /^\| elysia \| 1,234–1,300 \|/m)
  })

  it('cannot be broken by the text of a reason', () => {
    assert.match(markdown, /^- nest was not measured in 1 run: a\\\|b \\<c\\>$/m)
  })

  it('has as many cells in every row as in the head', () => {
    const rows = markdown.split('\n').filter((line) => line.startsWith('|'))
    const cells = new Set(rows.map((row) => row.split(/(?<!\\)\|/).length))
    assert.equal(cells.size, 1)
  })
})
