/** docs/limits.md names every limit of TCP with its default, and no other limit. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { rootFolder } from '../workspace.ts'

/** A row of the table. */
interface Row {
  readonly name: string
  /** Which side has the limit: service or client. */
  readonly of: string
  readonly byDefault: number | false
}

type Limits = Readonly<Record<string, number | false>>

/**
 * The tables of defaults, imported from the built files: the package does not export them, because users do not need
 * them.
 */
async function defaults(): Promise<{ readonly server: Limits; readonly client: Limits }> {
  const file = join(rootFolder, 'packages/tcp/dist/options/limits.js')
  const built = (await import(pathToFileURL(file).href)) as Record<string, Limits>
  return { server: built['SERVER_LIMITS'] as Limits, client: built['CLIENT_LIMITS'] as Limits }
}

/** The rows of the section "Limits" whose first cell is an option of `limits`. */
function rows(): Row[] {
  const page = readFileSync(join(rootFolder, 'docs/limits.md'), 'utf8')
  const section = /\n## Limits\n([\s\S]*?)\n## /.exec(page)?.[1] ?? ''
  return [...section.matchAll(/^\| `limits\.(\w+)` \| ([^|]+) \| ([\d,]+|none)[^|]*\|/gm)].map(
    ([, name = '', of = '', figure = '']) => ({
      name,
      of,
      byDefault: figure === 'none' ? false : Number(figure.replaceAll(',', ''))
    })
  )
}

describe('the table of options in docs/services.md', () => {
  it('has each option of a service, and the defaults that are numbers', async () => {
    const file = join(rootFolder, 'packages/elysia-microservices/dist/service/options.js')
    const { SERVICE_OPTIONS } = (await import(pathToFileURL(file).href)) as {
      SERVICE_OPTIONS: Readonly<Record<string, { readonly byDefault?: unknown }>>
    }
    const page = readFileSync(join(rootFolder, 'docs/services.md'), 'utf8')
    const table = /\n\| option \| default \| \|\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? ''
    const cells = [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)].slice(1)
    const documented = new Map(
      cells.flatMap(([, names = '', byDefault = '']) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, byDefault] as const)
      )
    )
    assert.deepEqual([...documented.keys()].sort(), [...Object.keys(SERVICE_OPTIONS), 'transport'].sort())
    for (const [name, { byDefault }] of Object.entries(SERVICE_OPTIONS))
      if (typeof byDefault === 'number')
        assert.equal(Number(documented.get(name)?.replaceAll(',', '')), byDefault, name)
  })
})

describe('the table of limits in docs/limits.md', () => {
  it('has each limit once, with its default', async () => {
    const all = Object.assign({}, ...Object.values(await defaults())) as Limits
    const table = rows()
    assert.deepEqual(Object.fromEntries(table.map(({ name, byDefault }) => [name, byDefault])), all)
    assert.equal(table.length, Object.keys(all).length)
  })

  it('says which of them a client has', async () => {
    const { client } = await defaults()
    const clients = rows().filter(({ of }) => of.endsWith('client'))
    assert.deepEqual(Object.fromEntries(clients.map(({ name, byDefault }) => [name, byDefault])), client)
    assert.ok(rows().every(({ of }) => ['service', 'client', 'service, client'].includes(of)))
  })
})
