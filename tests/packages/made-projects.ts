/**
 * Projects that `create-elysia-microservices` creates, from tarballs, for each runtime. Packages are installed in one
 * project; the other needs no further packages and shares them.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { isMissing, isOnPush } from '@elysia-microservices/test-support'
import { chromiumMissing } from '../support/browser.ts'
import { bun } from '../workspace.ts'
import { fits } from './deployment.ts'
import {
  COMMANDS,
  engineOf,
  LOCKS,
  type Manifest,
  type Runtime,
  succeeds,
  TRANSPORTS,
  type Transport
} from './made-for.ts'
import { answers, develops, showsOrders } from './running.ts'

/** None on a push: `tests/types` compiles the sources of projects, and each installation takes half a minute. */
export const MADE_FOR: readonly Runtime[] = isOnPush ? [] : ['bun', 'node', 'deno']

/** The packed tarballs. */
export interface Packed {
  /** A folder for these tests. */
  readonly folder: string
  /** A project with all packages installed. */
  readonly project: string
  /** The tarballs of our packages, by package name. */
  readonly tarballs: ReadonlyMap<string, string>
}

/** Declares the tests. @param packed returns the tarballs, once they exist */
export function testMadeProjects(runtime: Runtime, packed: () => Packed): void {
  const forBun = runtime === 'bun'
  describe(`projects made by create-elysia-microservices for ${runtime}`, () => {
    const folderOf = (transport: string) => join(packed().folder, 'made', runtime, transport)

    before(async () => {
      const { folder, project, tarballs } = packed()
      mkdirSync(join(folder, 'made', runtime), { recursive: true })
      const options = (transport: string) => ['--runtime', runtime, '--transport', transport, '--web']
      const create = forBun
        ? [bun, 'create', 'elysia-microservices', folderOf('nats'), ...options('nats')]
        : ['npm', 'create', 'elysia-microservices', folderOf('nats'), '--', ...options('nats')]
      // An address without a registry, so that only the tarballs are used.
      await succeeds(project, create, { npm_config_registry: 'http://127.0.0.1:9' })
      const program = join(project, 'node_modules/create-elysia-microservices/lib/main.js')
      await install(runtime, folderOf('nats'), tarballs)
      // npm writes no lock file for Deno, but the images copy one.
      if (runtime === 'deno') writeFileSync(join(folderOf('nats'), LOCKS.deno), '{ "version": "5" }')
      for (const transport of TRANSPORTS) {
        if (transport === 'nats') continue
        const folder = folderOf(transport)
        await succeeds(project, [forBun ? bun : 'node', program, folder, ...options(transport)])
        for (const name of ['node_modules', LOCKS[runtime]])
          symlinkSync(join(folderOf('nats'), name), join(folder, name))
      }
    })

    it('type-check, and pass their own tests', async () => {
      // The tests of a project are the same for every transport. tests/types compiles the sources for each transport.
      const { run, check, test, passed } = COMMANDS[runtime]
      await succeeds(folderOf('tcp'), [...run, check])
      const { stdout, stderr } = await succeeds(folderOf('nats'), test)
      assert.match(stdout + stderr, passed)
    })

    it('have .proto files that say what their services are', async () => {
      const { run } = COMMANDS[runtime]
      await succeeds(folderOf('grpc'), [...run, 'proto', ...(runtime === 'node' ? ['--'] : []), '--check'])
    })

    for (const transport of TRANSPORTS) {
      it(`have a compose file and a workflow that fit the rest, over ${transport}`, async () => {
        await fits(runtime, folderOf(transport))
      })
    }

    it('run and end by their script dev, as at a terminal', async () => {
      await develops(runtime, folderOf('tcp'))
    })

    if (!isMissing('the page of a made project', chromiumMissing()))
      it('show a live stream on their page, in Chromium, and end with SIGTERM', () =>
        showsOrders(runtime, folderOf('tcp')))

    // Over an engine, runtimes differ in nothing else: one runtime is enough.
    const answering: readonly Transport[] = forBun ? TRANSPORTS : ['tcp']
    for (const transport of answering) {
      const engine = engineOf(transport)
      if (engine !== undefined && isMissing(`a made project over ${engine.title}`, engine.missing)) continue
      it(`answer HTTP by the service, as their images would, and end with SIGTERM, over ${transport}`, async () => {
        await answers(runtime, folderOf(transport), transport)
      })
    }
  })
}

/** Installs the packages of a project, with ours from tarballs, because their versions are not published yet. */
async function install(
  runtime: Runtime,
  folder: string,
  tarballs: ReadonlyMap<string, string>
): Promise<void> {
  const file = join(folder, 'package.json')
  const text = readFileSync(file, 'utf8')
  const made = JSON.parse(text) as Manifest
  for (const name of Object.keys({ ...made.dependencies, ...made.devDependencies }))
    if (name.includes('elysia-microservices')) assert.ok(tarballs.has(name), `${name} is packed`)
  const local = Object.fromEntries([...tarballs].map(([name, tarball]) => [name, `file:${tarball}`]))
  // Dependencies between our packages are also taken from tarballs.
  const devDependencies = Object.fromEntries(
    Object.entries(made.devDependencies).filter(([name]) => !tarballs.has(name))
  )
  const dependencies = { ...made.dependencies, ...local }
  const asked = { ...made, dependencies, devDependencies, overrides: local }
  writeFileSync(file, JSON.stringify(asked))
  const npm = ['npm', 'install', '--prefer-offline', '--fetch-timeout=20000', '--no-audit', '--no-fund']
  await succeeds(folder, runtime === 'bun' ? [bun, 'install'] : npm)
  writeFileSync(file, text)
}
