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

  const wrong: readonly (readonly [service: string, path: string])[] = [
    ["{ entry: 7, command: 'x' }", 'config.services.a.entry'],
    ["{ entry: 'a.js\\0' }", 'config.services.a.entry'],
    ["{ command: 'a\\0' }", 'config.services.a.command'],
    ["{ entry: 'a.js', cwd: 7 }", 'config.services.a.cwd'],
    ["{ entry: 'a.js', runtime: 'java' }", 'config.services.a.runtime'],
    ["{ entry: 'a.js', flags: '--inspect' }", 'config.services.a.flags'],
    ["{ entry: 'a.js', args: 'x' }", 'config.services.a.args'],
    ["{ entry: 'a.js', args: ['x', 7] }", 'config.services.a.args[1]'],
    ["{ entry: 'a.js', args: ['\\0'] }", 'config.services.a.args[0]'],
    ["{ entry: 'a.js', env: 'x' }", 'config.services.a.env'],
    ["{ entry: 'a.js', env: ['x'] }", 'config.services.a.env'],
    ["{ entry: 'a.js', env: { A: 7 } }", 'config.services.a.env.A'],
    ["{ entry: 'a.js', env: { A: '\\0' } }", 'config.services.a.env.A'],
    ["{ entry: 'a.js', env: { 'A=B': '' } }", 'config.services.a.env'],
    ["{ entry: 'a.js', after: 'a' }", 'config.services.a.after'],
    ["{ entry: 'a.js', after: [7] }", 'config.services.a.after[0]'],
    ["{ entry: 'a.js', ready: true }", 'config.services.a.ready'],
    ["{ entry: 'a.js', watch: 'src' }", 'config.services.a.watch'],
    ["{ entry: 'a.js', watch: [null] }", 'config.services.a.watch[0]'],
    ['7', 'config.services.a']
  ]
  for (const [index, [service, path]] of wrong.entries())
    it(`refuses the service ${service} by the name of the wrong option`, async () => {
      write(`wrong${index}.mjs`, `export default { services: { a: ${service} } }`)
      const config = `wrong${index}.mjs`
      await assert.rejects(findPlan({ folder, entries: [], config }), { name: 'OptionError', path })
    })

  for (const [index, [text, message]] of (
    [
      ['throw null', /cannot be read: null/],
      ['throw undefined', /cannot be read: undefined/],
      ["throw { get message() { throw 'x' } }", /cannot be read: an object/],
      ["export default { get services() { throw new Error('a getter') } }", /cannot be read: a getter/],
      ['export default { get services() { throw null } }', /cannot be read: null/],
      [
        "export default { services: { a: { get entry() { throw new Error('deep') } } } }",
        /cannot be read: deep/
      ],
      ["export default { services: { dev: 'a.js' } }", /No service can be called dev/]
    ] as const
  ).entries())
    it(`says what is wrong with a configuration that is ${text}`, async () => {
      write(`odd${index}.mjs`, text)
      const config = `odd${index}.mjs`
      await assert.rejects(findPlan({ folder, entries: [], config }), { name: 'OptionError', message })
    })
})
