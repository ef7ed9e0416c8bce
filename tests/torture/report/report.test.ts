/** The report of a run: table, page, verdict, progress; and the suite's options. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Row } from '../scenario.ts'
import { readOptions } from './options.ts'
import { page } from './page.ts'
import { Progress } from './progress.ts'
import { COLUMNS, markdownTable, textTable, verdict } from './table.ts'

const GOOD: Row = {
  scenario: 'killed',
  server: 'ours',
  faults: 50,
  requests: 12_345,
  succeeded: 12_300,
  failed: 45,
  lost: 0,
  doubled: 0,
  hung: 0,
  worstRecoveryMs: 212.4,
  peakRssMb: 61.2,
  remark: '45 CONNECTION',
  broken: []
}
const BAD: Row = {
  ...GOOD,
  scenario: 'a much longer name | odd',
  lost: 1,
  doubled: 2,
  hung: 3,
  broken: ['Too slow.']
}
const NEST: Row = { ...BAD, server: 'nest', broken: [] }

describe('the table', () => {
  it('has a line for each row, with columns under their titles', () => {
    const lines = textTable([GOOD, BAD]).split('\n')
    assert.equal(lines.length, 3)
    const [titles = '', good = '', bad = ''] = lines
    assert.equal(good.indexOf('12,345') + '12,345'.length, titles.indexOf('requests') + 'requests'.length)
    assert.equal(good.indexOf('ours'), titles.indexOf('server'))
    assert.equal(bad.indexOf('ours'), titles.indexOf('server'))
    assert.match(good, /^killed +ours +50 +12,345 +12,300 +45 +0 +0 +0 +212 ms +61 MB +– +45 CONNECTION$/)
  })

  it('is also Markdown, in which the text of a cell cannot end the cell', () => {
    const lines = markdownTable([GOOD, BAD]).split('\n')
    assert.equal(lines.length, 4)
    for (const line of lines) assert.equal(line.split(/(?<!\\)\|/).length, COLUMNS.length + 2)
    assert.match(lines[1] ?? '', /^\| --- \| --- \| ---: /)
    assert.ok(lines[3]?.includes('a much longer name \\| odd'))
  })

  it("names faults of our servers, and none of Nest's", () => {
    assert.deepEqual(verdict([GOOD, NEST]), [])
    assert.deepEqual(verdict([GOOD, BAD]), [
      'a much longer name | odd: 1 lost',
      'a much longer name | odd: 2 doubled',
      'a much longer name | odd: 3 hung',
      'a much longer name | odd: Too slow.'
    ])
  })
})

describe('the page', () => {
  const run = {
    command: 'npm run torture -- --long',
    machine: '2 × a processor',
    versions: 'Bun 1.4.5'
  }
  const result = (day: string, row: Row) => ({ name: 'kill', date: `${day}T10:00:00.000Z`, rows: [row] })

  it('says how to repeat the run, when and on which machine it ran, and what each column means', () => {
    const text = page({ ...run, results: [result('2026-11-21', GOOD)] })
    assert.ok(text.includes('```sh\nnpm run torture -- --long\n```'))
    assert.ok(text.includes('Run on 2026-11-21: 2 × a processor; Bun 1.4.5.'))
    assert.ok(text.includes(markdownTable([GOOD])))
    assert.ok(text.includes('No promise was broken.'))
    for (const { title, meaning } of COLUMNS) assert.ok(text.includes(`**${title}**: ${meaning}`))
  })

  it('gives the first and last date, if it was made in several runs', () => {
    const text = page({ ...run, results: [result('2026-11-22', GOOD), result('2026-11-20', GOOD)] })
    assert.ok(text.includes('Run on 2026-11-20 to 2026-11-22: '))
  })

  it('names broken promises', () => {
    assert.ok(
      page({ ...run, results: [result('2026-11-21', BAD)] }).includes('- a much longer name | odd: Too slow.')
    )
  })
})

describe('progress', () => {
  const record = (isTTY: boolean) => {
    const written: string[] = []
    let now = 0
    const progress = new Progress({ isTTY, write: (text: string) => written.push(text) }, () => now)
    progress.begin('kill')
    for (let n = 1; n <= 30; n++) {
      now = n * 1_000
      progress.show(`${n} of 30`)
    }
    progress.end('passed')
    return written
  }

  it('is one line that changes on a terminal', () => {
    const written = record(true)
    assert.equal(written.length, 32)
    assert.ok(written.every((text) => text.startsWith('\r')))
    assert.equal(written.join('').split('\n').length, 2)
  })

  it('is a plain line now and then elsewhere', () => {
    assert.deepEqual(record(false), [
      'kill …\n',
      'kill: 10 of 30\n',
      'kill: 20 of 30\n',
      'kill: 30 of 30\n',
      'kill: passed\n'
    ])
  })
})

describe('the options', () => {
  const read = (...given: string[]) => readOptions(given, ['kill', 'soak'])

  it('are the short form of everything by default', () => {
    const { length, only, list, json, markdown, soakMinutes } = read()
    assert.deepEqual(
      [length, only, list, json, markdown, soakMinutes],
      ['short', undefined, false, undefined, undefined, undefined]
    )
  })

  it('are read from arguments', () => {
    const { length, only, json, markdown, soakMinutes } = read(
      '--long',
      '--only=soak,kill',
      '--json=a.json',
      '--markdown=b.md',
      '--soak-minutes=2'
    )
    assert.deepEqual(
      [length, only, json, markdown, soakMinutes],
      ['long', ['soak', 'kill'], 'a.json', 'b.md', 2]
    )
  })

  it('are refused with a reason', () => {
    assert.throws(() => read('--only=kil'), /There is no scenario 'kil'; there are kill, soak/)
    assert.throws(() => read('--short'), /'--short' is not an option/)
    assert.throws(() => read('kill'), /'kill' is not an option/)
    assert.throws(() => read('--long=yes'), /--long takes no value/)
    assert.throws(() => read('--json'), /--json needs a value/)
    assert.throws(() => read('--keep'), /--keep needs the file to keep: --json/)
    assert.throws(() => read('--soak-minutes=0'), /must be a number above 0/)
  })
})
