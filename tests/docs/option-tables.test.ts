/** Tables of options in the documentation name every existing option with its default, and no other. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { packageFolder, rootFolder } from '../workspace.ts'

type Table = Readonly<Record<string, { readonly byDefault?: unknown }>>

interface Documented {
  readonly page: string
  /** The first line of the table in the page. */
  readonly head: string
  /**
   * The built file with the tables of options, and their names. The options of a group (`retry.minDelay`) are in the
   * table after it.
   */
  readonly built: string
  readonly tables: readonly string[]
}

const ENGINES = ['kafka', 'mqtt', 'nats', 'rabbitmq', 'redis']

/** Options whose own options are in the table, too. */
const GROUPS = ['retry', 'nest']

const DOCUMENTED: readonly Documented[] = [
  ...ENGINES.map((name) => ({
    page: `docs/${name}.md`,
    head: '| option | of | default | |',
    built: `${packageFolder(name)}/dist/options/options.js`,
    tables: [`${name.toUpperCase()}_OPTIONS`, ...(name === 'rabbitmq' ? ['RABBITMQ_NEST'] : [])]
  })),
  {
    page: 'docs/redis.md',
    head: '| option of `redis({ durable })` | default | |',
    built: 'engines/redis/dist/options/durable-options.js',
    tables: ['REDIS_DURABLE']
  },
  {
    page: 'docs/postgres.md',
    head: '| option of `postgres()` | default | |',
    built: 'engines/postgres/dist/options/options.js',
    tables: ['POSTGRES_OPTIONS']
  },
  {
    page: 'docs/sqlite.md',
    head: '| option of `sqlite(file, options)` | default | |',
    built: 'engines/sqlite/dist/options/options.js',
    tables: ['SQLITE_OPTIONS']
  },
  {
    page: 'docs/durable-events.md',
    head: '| option of `nats({ durable })` | default | |',
    built: 'engines/nats/dist/options/durable-options.js',
    tables: ['NATS_DURABLE']
  },
  {
    page: 'docs/durable-events.md',
    head: '| option of `durable` | default | |',
    built: 'packages/transport/dist/durable/options.js',
    tables: ['DURABLE_OPTIONS', 'RETRY_OPTIONS']
  },
  {
    page: 'docs/websocket.md',
    head: '| option | default | |',
    built: 'packages/websocket/dist/options.js',
    tables: ['WEBSOCKET_OPTIONS']
  },
  {
    page: 'docs/other-languages.md',
    head: '| option of `connectRpc()` | default | |',
    built: 'packages/connect/dist/options.js',
    tables: ['CONNECT_OPTIONS']
  }
]

/** The cells of the rows below a line of a page. */
function rowsBelow(page: string, head: string): readonly (readonly string[])[] {
  const [, rest = ''] = readFileSync(join(rootFolder, page), 'utf8').split(`\n${head}\n`)
  const [table = ''] = rest.split('\n\n')
  const lines = table.split('\n').slice(1)
  return lines.map((line) => line.split(' | ').map((cell) => cell.replace(/^\| ?|\|$/g, '').trim()))
}

/** The names in a text that are written as code, without the group of an option: `minDelay` for `retry.minDelay`. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name.replace(/^.*\./, ''))
}

function isIn(cell: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => isIn(cell, one))
  if (value === false && cell === 'none') return true
  const DAY = 24 * 60 * 60 * 1_000
  const days = Number(value) / DAY
  const text = typeof value === 'number' ? value.toLocaleString('en') : String(value)
  return cell.includes(text) || (days >= 1 && cell.includes(`${days} days`))
}

describe('tables of options in the documentation', () => {
  for (const { page, head, built, tables } of DOCUMENTED)
    it(`have all of ${tables.join(' and ')}: ${page}`, async () => {
      const module = (await import(pathToFileURL(join(rootFolder, built)).href)) as Record<string, Table>
      const options: Table = Object.assign({}, ...tables.map((name) => module[name]))
      assert.ok(Object.keys(options).length > 2)
      const rows = rowsBelow(page, head)
      const column = head.includes('| of |') ? 2 : 1
      const named = rows.flatMap((cells) => namesIn(cells[0] ?? ''))
      assert.deepEqual(
        named.filter((name) => !Object.hasOwn(options, name)),
        [],
        'these are no options'
      )
      const mentioned = namesIn(rows.flat().join(' '))
      const absent = Object.keys(options).filter((name) => !mentioned.includes(name))
      assert.deepEqual(
        absent.filter((name) => !GROUPS.includes(name)),
        [],
        'these are not in the table'
      )
      for (const cells of rows)
        for (const name of namesIn(cells[0] ?? '')) {
          const value = options[name]?.byDefault
          if (value !== undefined)
            assert.ok(isIn(cells[column] ?? '', value), `the default of ${name} is ${value}`)
        }
    })
})
