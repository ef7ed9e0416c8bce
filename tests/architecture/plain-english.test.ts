/**
 * Texts are understood at the first reading: documentation, comments, errors and logs have none of the phrases of
 * `plain-english.ts`.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { rootFolder } from '../workspace.ts'
import { PHRASES } from './plain-english.ts'

/** All sources, and all prose except changelogs and published reports. */
const WANTED = [
  ...[
    '*.md',
    'docs/*.md',
    'tools/site/*.md',
    ...['packages', 'engines', 'tools', 'examples'].map((row) => `${row}/*/README.md`),
    '.changeset/*.md'
  ],
  ...[
    'packages/*.ts',
    'packages/*.tsx',
    'engines/*.ts',
    'tools/*.ts',
    'tools/*.tsx',
    'tests/*.ts',
    'tests/*.tsx',
    'examples/*.ts',
    // These files have the phrases as examples.
    ':!tests/architecture/plain-english*.ts',
    ':!*CHANGELOG.md',
    ':!docs/benchmarks'
  ]
]

function files(): string[] {
  const listed = execFileSync('git', ['ls-files', '--', ...WANTED], { cwd: rootFolder, encoding: 'utf8' })
  return listed.split('\n').filter((file) => file !== '')
}

/** The text without the parts that are generated from the benchmark's report. */
const proseOf = (text: string): string =>
  text.replace(/<!-- bench: [\s\S]*?<!-- \/bench -->/g, (block) => block.replaceAll(/[^\n]/g, ''))

/**
 * A line of a comment in a normal form: the first line with the mark that opens the comment, further lines without a
 * mark.
 */
function unmarked(line: string, before: string): string {
  if (/^\s*\* /.test(line)) return line.replace(/^\s*\* /, /^\s*\/\*\*$/.test(before) ? '/** ' : '')
  return /^\s*\/\//.test(line) && /^\s*\/\//.test(before) ? line.replace(/^\s*\/\/ ?/, '') : line
}

/** All phrases at once, because hardly any line has one. */
const ANY = new RegExp(PHRASES.map(({ pattern }) => pattern.source).join('|'), 'im')

function findings(text: string): string[] {
  const lines = proseOf(text).split('\n')
  const plain = lines.map((line, index) => unmarked(line, lines[index - 1] ?? ''))
  if (!ANY.test(plain.join('\n'))) return []
  return plain.flatMap((line, index) =>
    PHRASES.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(line)?.[0]
      return found === undefined ? [] : [`${index + 1}: '${found}': write ${instead}`]
    })
  )
}

describe('plain English', () => {
  it('is in documentation, comments, errors and lines of the log', () => {
    const all = files()
    assert.ok(all.length > 400, `${all.length} files`)
    const found = all.flatMap((file) =>
      findings(readFileSync(join(rootFolder, file), 'utf8')).map((finding) => `${file}:${finding}`)
    )
    assert.deepEqual(found, [])
  })

  for (const { pattern, example } of PHRASES) {
    it(`is not '${example}'`, () => assert.match(example, pattern))
  }

  it('is looked for in each line', () => {
    assert.deepEqual(findings('Good.\nWhoever asks'), [
      "2: 'Whoever': write anyone who; the name of who it is"
    ])
    assert.deepEqual(findings('<!-- bench: a -->\nWhoever\n<!-- /bench -->'), [])
  })

  it('is looked for at the beginning of a comment', () => {
    const comments = [
      '/**',
      ' * What is sent.',
      ' * What follows is fine.',
      ' */',
      '// Who waits',
      '// Who comes later'
    ]
    assert.deepEqual(
      findings(comments.join('\n')).map((found) => found.split("'")[1]),
      ['/** What', '// Who']
    )
  })
})
