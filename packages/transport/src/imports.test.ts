/** The architecture (docs/architecture.md) as a rule: imports point downwards, protocols are sans-I/O. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

/** From the top down: a file imports from its own layer or from one below. First match counts. */
const LAYERS: readonly [string, RegExp][] = [
  ['the public list', /^index\./],
  ['tcp', /^tcp\//],
  ['the session', /^(session|read-queue|flush-queue|progress-watch)\./],
  ['the protocols', /^protocol\/(nest|rsocket)\//],
  ['what protocols share', /^protocol\//],
  ['limits', /^limits\//],
  ['balancing', /^balance\//],
  ['the interfaces', /^(dispatch|call|client-event|result|failure|transport)\./],
  ['codecs', /^codec\//],
  ['bytes', /^bytes\//],
  ['sockets', /^socket\//],
  ['the ground', /^(errors|pattern|logger)\./]
]

const src = dirname(fileURLToPath(import.meta.url)).replace(/dist$/, 'src')
const files = (readdirSync(src, { recursive: true }) as string[])
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('testing/'))

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  return [...text.matchAll(/from '([^']+)'/g)].map((match) => match[1] as string)
}

function layerOf(file: string): number {
  const layer = LAYERS.findIndex(([, pattern]) => pattern.test(file))
  assert.notEqual(layer, -1, `${file} belongs to no layer`)
  return layer
}

const inside = (file: string, to: string) => posix.normalize(posix.join(posix.dirname(file), to))

describe('imports', () => {
  it('point downwards or sideways', () => {
    const upwards = files.flatMap((file) =>
      importsOf(file)
        .filter((to) => to.startsWith('.') && layerOf(inside(file, to)) < layerOf(file))
        .map((to) => `${relative('.', file)} imports ${to}`)
    )
    assert.deepEqual(upwards, [])
  })

  it('never lead from one protocol to the other', () => {
    const across = files
      .filter((file) => /^protocol\/(nest|rsocket)\//.test(file))
      .flatMap((file) =>
        importsOf(file)
          .map((to) => inside(file, to))
          .filter((to) => /^protocol\/(nest|rsocket)\//.test(to) && posix.dirname(to) !== posix.dirname(file))
          .map((to) => `${file} imports ${to}`)
      )
    assert.deepEqual(across, [])
  })

  it('bring no sockets, timers or processes into protocols, codecs and balancing', () => {
    const forbidden =
      /\b(setTimeout|setInterval|setImmediate|queueMicrotask|process|performance|Bun)\b[.(]|node:(net|tls|fs|timers)/
    const offenders = files
      .filter((file) => /^(protocol|codec|bytes|balance)\//.test(file))
      .filter((file) =>
        forbidden.test(readFileSync(join(src, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''))
      )
    assert.deepEqual(offenders, [])
  })

  it('of sockets know no protocol', () => {
    const offenders = files
      .filter((file) => file.startsWith('socket/'))
      .filter((file) =>
        importsOf(file).some((to) => !to.startsWith('./') && !to.startsWith('node:') && to !== 'bun')
      )
    assert.deepEqual(offenders, [])
  })
})
