import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { findPlan } from './find.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'find-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function plan(entries: readonly string[] = []) {
  return findPlan({ folder, entries, config: undefined })
}

describe('findPlan', () => {
  for (const [style, yaml] of [
    [
      'a block',
      "catalog:\n  a: 1\npackages:\n  # the services\n  - 'apps/*' # all\n\n  - tools\n  - '!apps/old'\nhoist: true\n"
    ],
    ['a block without indentation', 'packages:\n- apps/*\n- "tools"\nhoist: true\n'],
    ['one line', "packages: ['apps/*', tools]\nhoist: true\n"]
  ] as const)
    it(`finds the services of a workspace of pnpm, whose packages are listed in ${style}`, async () => {
      write('pnpm-workspace.yaml', yaml)
      write('pnpm-lock.yaml', '')
      for (const path of ['apps/orders', 'apps/users', 'tools'])
        write(
          `${path}/package.json`,
          `{ "name": "@shop/${path.split('/').at(-1)}", "scripts": { "dev": "node ." } }`
        )
      const { services } = await plan()
      assert.deepEqual(services.map(({ name, command }) => `${name}: ${command}`).sort(), [
        'orders: pnpm run dev',
        'tools: pnpm run dev',
        'users: pnpm run dev'
      ])
    })

  it('needs the engines of its services, which may be packages of their own', async () => {
    write('package.json', '{}')
    write('apps/orders/package.json', '{ "dependencies": { "@elysia-microservices/nats": "*" } }')
    write('apps/orders/src/main.ts', '')
    const fromArguments = await plan(['apps/orders/src/main.ts'])
    assert.deepEqual([...fromArguments.engines.keys()], ['nats'])
    write('microservices.config.mjs', "export default { services: { orders: 'apps/orders/src/main.ts' } }")
    const fromConfig = await plan()
    assert.deepEqual([...fromConfig.engines.keys()], ['nats'])
  })
})
