/** Imports go one way: no file reaches itself again, and the client knows nothing of how services work. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const src = dirname(fileURLToPath(import.meta.url)).replace(/dist$/, 'src')
const files = (readdirSync(src, { recursive: true }) as string[])
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))

/** The files of this package that a file imports; with `valuesOnly`, those it needs at run time. */
function importsOf(file: string, valuesOnly = false): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  return [...text.matchAll(/^(?:import|export)( type)? [^;]*? from '(\.[^']+)'/gm)]
    .filter(([, type]) => !(valuesOnly && type !== undefined))
    .map(([, , to]) => posix.normalize(posix.join(posix.dirname(file), to as string)))
}

/** All files that can be reached from one. */
function reachable(from: string, valuesOnly = false, found = new Set<string>()): Set<string> {
  for (const file of importsOf(from, valuesOnly)) {
    if (found.has(file)) continue
    found.add(file)
    reachable(file, valuesOnly, found)
  }
  return found
}

describe('imports', () => {
  it('are found', () => {
    assert.ok(reachable('index.ts').has('router/segment-trie.ts'))
  })

  it('make no circle', () => {
    assert.deepEqual(
      files.filter((file) => reachable(file).has(file)),
      []
    )
  })

  it('bring nothing of a service into the client', () => {
    const needed = [...reachable('client/index.ts', true)]
    assert.deepEqual(
      needed.filter((file) => !file.startsWith('client/')),
      []
    )
  })

  it('load nothing of workers but their option into a service that has none', () => {
    const needed = [...reachable('index.ts', true)].filter((file) => file.startsWith('workers/'))
    assert.deepEqual(needed.sort(), ['workers/option.ts', 'workers/role.ts'])
    const outside = needed.flatMap(
      (file) => readFileSync(join(src, file), 'utf8').match(/from 'node:[^']+'/g) ?? []
    )
    assert.deepEqual(outside, [])
  })
})
