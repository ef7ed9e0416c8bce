/** The base commit of a gate as a checkout: tested with a small repository and a builder of its own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { BaseCheckout, removeCheckouts } from './base.ts'

/** A builder that prints what it builds, and fails if it is told to. */
const BUILDER = `#!/usr/bin/env node
const { existsSync, writeFileSync } = require('node:fs')
if (existsSync('broken')) {
  console.error('src/server.ts(1,1): error')
  process.exit(1)
}
writeFileSync('built', process.argv.slice(2).join(' '))
`

const PACKAGE = {
  name: 'small',
  version: '1.0.0',
  private: true,
  dependencies: { turbo: 'file:builder' }
}

describe('the base of a gate', () => {
  let root = ''
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'gate-base-'))
    git('init', '--quiet', '--initial-branch=main')
    await write('package.json', JSON.stringify(PACKAGE))
    await write('builder/package.json', JSON.stringify({ name: 'turbo', version: '1.0.0', bin: 'turbo.cjs' }))
    await write('builder/turbo.cjs', BUILDER)
    await chmod(join(root, 'builder', 'turbo.cjs'), 0o755)
    await write('examples/bench/package.json', '{ "name": "bench-of-the-base" }')
    await write('examples/bench/old.ts', 'export const old = true\n')
    await write('.gitignore', 'node_modules\nbuilt\n')
    const { status, stderr } = spawnSync('npm', ['install', '--package-lock-only', '--offline'], {
      cwd: root,
      encoding: 'utf8'
    })
    assert.equal(status, 0, stderr)
    commit('base')
    git('tag', 'base')
    await write('broken', '')
    commit('broken')
    git('rm', '--quiet', 'broken')
    await write('examples/bench/old.ts', 'export const old = false\n')
    commit('head')
  })
  afterEach(() => removeCheckouts())
  after(() => rm(root, { recursive: true }))

  async function write(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), text)
  }

  function git(...args: string[]): string {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    return stdout
  }

  function commit(message: string): void {
    git('add', '--all')
    git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '--quiet', `--message=${message}`)
  }

  const worktrees = () => git('worktree', 'list', '--porcelain').match(/^worktree /gm)?.length

  it('is checked out, installed and built in a folder outside of the clone', async () => {
    const said: string[] = []
    const { bench } = await BaseCheckout.create('base', (what) => said.push(what), root)
    const folder = join(bench, '..', '..')
    assert.equal(await readFile(join(bench, 'old.ts'), 'utf8'), 'export const old = true\n')
    assert.equal(await readFile(join(folder, 'built'), 'utf8'), 'run build --filter=elysia-microservices')
    assert.deepEqual(said, [
      `checking out ${git('rev-parse', '--short=10', 'base').trim()}`,
      'installing its packages',
      'building it'
    ])
    assert.equal(git('status', '--porcelain'), '')
    assert.equal(await readFile(join(root, 'examples/bench/old.ts'), 'utf8'), 'export const old = false\n')
  })

  it('gets the bench of this checkout, and then its own bench back', async () => {
    const base = await BaseCheckout.create('base', () => {}, root)
    await base.takeBench()
    assert.ok(existsSync(join(base.bench, 'run-bench.ts')))
    assert.ok(!existsSync(join(base.bench, 'old.ts')))
    assert.ok(!existsSync(join(base.bench, 'node_modules')) && !existsSync(join(base.bench, 'dist')))
    await base.restoreBench()
    assert.equal(await readFile(join(base.bench, 'old.ts'), 'utf8'), 'export const old = true\n')
    assert.ok(!existsSync(join(base.bench, 'run-bench.ts')))
  })

  it('is removed at the end, also from the list of worktrees of the clone', async () => {
    const { bench } = await BaseCheckout.create('base', () => {}, root)
    assert.equal(worktrees(), 2)
    await removeCheckouts()
    assert.equal(worktrees(), 1)
    assert.ok(!existsSync(join(bench, '..', '..', '..')))
  })

  it('that is not a commit is an error', async () => {
    await assert.rejects(
      BaseCheckout.create('no-such-branch', () => {}, root),
      /^BenchError: git rev-parse .*no-such-branch.* failed: fatal: /
    )
    assert.equal(worktrees(), 1)
  })

  it('that cannot be built is an error with the output of the builder, and is removed, too', async () => {
    await assert.rejects(
      BaseCheckout.create('main~1', () => {}, root),
      /^BenchError: turbo run build .* failed: src\/server\.ts\(1,1\): error$/
    )
    await removeCheckouts()
    assert.equal(worktrees(), 1)
  })
})
