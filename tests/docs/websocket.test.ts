/** docs/websocket.md names every limit of a WebSocket door with its default, and no other limit. */
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

  it('have each limit, with its default', async () => {
    const { WEBSOCKET_LIMITS: limits } = (await import(built)) as { WEBSOCKET_LIMITS: Table }
    const named = [...page.matchAll(/^\| `limits\.(\w+)` \| (`false`|[\d,]+) \|/gm)]
    assert.deepEqual(
      Object.fromEntries(
        named.map(([, name, figure = '']) => [
          name,
          figure === '`false`' ? false : Number(figure.replaceAll(',', ''))
        ])
      ),
      Object.fromEntries(Object.entries(limits).map(([name, { byDefault }]) => [name, byDefault]))
    )
  })
})
