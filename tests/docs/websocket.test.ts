/** docs/websocket.md names every option of a door with its default, and no other. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { rootFolder } from '../workspace.ts'

type Table = Readonly<Record<string, { readonly byDefault?: unknown }>>

describe('the tables of docs/websocket.md', () => {
  const page = readFileSync(join(rootFolder, 'docs/websocket.md'), 'utf8')
  const built = pathToFileURL(join(rootFolder, 'packages/websocket/dist/options.js')).href

  it('have each option', async () => {
    const { WEBSOCKET_OPTIONS: options } = (await import(built)) as { WEBSOCKET_OPTIONS: Table }
    const table = /\n\| option \| default \| \|\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? ''
    const named = [...table.matchAll(/^\| `(\w+)` \|([^|]*)\|/gm)]
    assert.deepEqual(named.map(([, name]) => name).sort(), Object.keys(options).sort())
    for (const [, name = '', byDefault = ''] of named) {
      const value = options[name]?.byDefault
      if (value !== undefined) assert.ok(byDefault.includes(String(value)), name)
    }
  })

  it('have each limit, with its default', async () => {
    const { WEBSOCKET_LIMITS: limits } = (await import(built)) as { WEBSOCKET_LIMITS: Table }
    const named = [...page.matchAll(/^\| `limits\.(\w+)` \| ([\d,]+) \|/gm)]
    assert.deepEqual(
      Object.fromEntries(named.map(([, name, figure = '']) => [name, Number(figure.replaceAll(',', ''))])),
      Object.fromEntries(Object.entries(limits).map(([name, { byDefault }]) => [name, byDefault]))
    )
  })
})
