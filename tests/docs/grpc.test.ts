/** docs/grpc.md: its tables have each option and limit, with the defaults. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { rootFolder } from '../workspace.ts'

const page = readFileSync(join(rootFolder, 'docs/grpc.md'), 'utf8')

/** The part of the built package that this test reads. */
interface Options {
  readonly GRPC_OPTION_NAMES: { readonly own: readonly string[] }
  grpcServerOptions(given: object): {
    readonly limits: Readonly<Record<string, number>>
    readonly pings: number
  }
}

/** The rows of the table below a line. */
function rows(head: string): string[][] {
  const [, rest = assert.fail(`docs/grpc.md has no table ${head}`)] = page.split(`\n${head}\n`)
  const lines = (rest.split('\n\n')[0] ?? '').split('\n').slice(1)
  return lines.map((line) => line.split(' | ').map((cell) => cell.replace(/^\| ?/, '')))
}

const names = (cell = '') => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name)

describe('docs/grpc.md', async () => {
  const built = pathToFileURL(join(rootFolder, 'packages/grpc/dist/options/options.js')).href
  const { GRPC_OPTION_NAMES, grpcServerOptions } = (await import(built)) as Options

  it('has each option', () => {
    const listed = rows('| option of `grpc()` | of | default | |').flatMap(([cell]) => names(cell))
    assert.deepEqual(listed.toSorted(), GRPC_OPTION_NAMES.own.toSorted())
  })

  it('has the limits that differ from those of TCP, with their defaults', () => {
    const { limits, pings } = grpcServerOptions({ proto: { method: () => undefined } })
    const head = '| option | of | default | counts | what happens beyond it |'
    for (const [cell, , figure] of rows(head)) {
      const name = names(cell)[0]?.replace('limits.', '') ?? ''
      const value = name === 'pings' ? pings : limits[name]
      assert.equal(figure, Number.isFinite(value) ? value?.toLocaleString('en') : 'none', name)
    }
  })
})
