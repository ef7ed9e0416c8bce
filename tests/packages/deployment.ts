/** Checks the compose file, the images and the workflow of a created project. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bun, rootFolder } from '../workspace.ts'
import { Dockerfile } from './dockerfile.ts'
import { type Manifest, type Runtime, succeeds } from './made-for.ts'

/** Reads a YAML file. */
async function yaml(folder: string, file: string): Promise<unknown> {
  const program = `console.log(JSON.stringify(Bun.YAML.parse(await Bun.file('${file}').text())))`
  return JSON.parse((await succeeds(folder, [bun, '-e', program])).stdout)
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: { readonly target: string }
        readonly environment?: Readonly<Record<string, string>>
        readonly depends_on?: object
      }
    >
  >
}

interface Workflow {
  readonly jobs: {
    readonly test: {
      readonly steps: readonly { readonly run?: string; readonly with?: Readonly<Record<string, string>> }[]
    }
  }
}

/** Checks that the compose file and the workflow only use names that exist, and the same versions. */
export async function fits(runtime: Runtime, folder: string): Promise<void> {
  const dockerfile = new Dockerfile(folder)
  const sources = readdirSync(join(folder, 'src')).map((name) =>
    readFileSync(join(folder, 'src', name), 'utf8')
  )
  const { services } = (await yaml(folder, 'compose.yaml')) as Compose
  for (const name of ['stock', 'orders', 'gateway']) assert.ok(name in services, name)
  for (const { build, environment = {}, depends_on: needed = {} } of Object.values(services)) {
    if (build !== undefined) assert.ok(dockerfile.stages.includes(build.target), build.target)
    for (const name of build === undefined ? [] : Object.keys(environment))
      assert.ok(
        sources.some((text) => text.includes(name)),
        `a program reads ${name}`
      )
    for (const name of Object.keys(needed)) assert.ok(name in services, name)
  }

  const { steps } = ((await yaml(folder, '.github/workflows/ci.yml')) as Workflow).jobs.test
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const used = steps.flatMap(
    ({ run: command = '' }) => /^(?:npm|bun|deno)(?: run| task)? (test|typecheck)$/.exec(command)?.[1] ?? []
  )
  assert.ok(used.includes('test'))
  for (const name of used) assert.ok(name in scripts, name)
  const version = steps.map((step) => step.with?.[`${runtime}-version`]).find((each) => each !== undefined)
  assert.equal(version, pinned(runtime), 'the runtime that this workspace is tested with')
  // Deno's image without a suffix is the slim one.
  const tag = runtime === 'deno' ? version : `${version}-slim`
  for (const base of dockerfile.bases) assert.equal(base.split(':')[1], tag)
}

/** The version of Bun, Node LTS or Deno in this workspace. Node is a package for each platform, of one version. */
function pinned(runtime: Runtime): string | undefined {
  const file = join(rootFolder, runtime === 'bun' ? 'package.json' : 'tools/runtimes/package.json')
  const { devDependencies, optionalDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  return runtime === 'node'
    ? optionalDependencies['node-lts-linux-x64']?.split('@')[1]
    : devDependencies[runtime]
}
