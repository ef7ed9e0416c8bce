/**
 * `npm run rehearse`: a release of the commit that is checked out, with a registry on this machine, and what users do
 * with it. It fails if any step fails.
 *
 * --write          writes docs/compatibility.md   --folder=<path>  works in this folder, and keeps runtimes and
 * third-party packages for the next time   --only=<words>   only trials whose names contain one of these words,
 * comma-separated: `yarn,compilers`
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CLIENTS, type Client, clientOf, npm, writeSettings } from './clients.ts'
import { type Place, run } from './commands.ts'
import { footprintOf } from './footprint.ts'
import { type Findings, failuresOf, type Outcome, pageOf, type Row } from './page.ts'
import { startRegistry } from './registry.ts'
import { release } from './release-steps.ts'
import { COMPILERS, install, NODE, RUNTIMES, type Runtime } from './runtimes.ts'
import {
  addCompilers,
  addTwentyLines,
  compile,
  makeProject,
  RESOLUTIONS,
  runTwentyLines,
  testProject,
  twentyLines,
  useProject
} from './trials.ts'

const root = resolve(import.meta.dir, '../../..')
const NAMES = { node: 'Node', bun: 'Bun', deno: 'Deno' }
/** The most seconds that a new user may need from an empty folder to the first answer. */
const FIRST_ANSWER = 90
const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    folder: { type: 'string' },
    only: { type: 'string' }
  }
})
const words = values.only?.toLowerCase().split(',')
const folder = resolve(values.folder ?? mkdtempSync(join(tmpdir(), 'rehearsal-')))
/** Folders of a previous rehearsal that are deleted; runtimes and third-party packages are kept. */
const LEFT = ['home', 'logs', 'release', 'trials']
for (const name of LEFT) rmSync(join(folder, name), { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
// `bun create` keeps its installation in this folder, with addresses of an earlier registry.
rmSync(`/tmp/bunx-${process.getuid?.()}-create-elysia-microservices@latest`, { recursive: true, force: true })

/** The environment without npm's settings, which npm passes to the scripts that it runs. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$|^NODE_OPTIONS$/i.test(name))
) as Record<string, string>
const home = join(folder, 'home')
const tools = join(folder, 'tools')
const env = {
  ...inherited,
  HOME: home,
  CI: '1',
  NO_COLOR: '1',
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost'
}

/** A folder with a log, and programs that come before those of the machine in the PATH. */
function placeOf(name: string, programs: readonly string[] = []): Place {
  const path = [...programs, join(tools, 'node_modules/.bin'), inherited['PATH']].join(':')
  return {
    folder: join(folder, name),
    env: { ...env, PATH: path },
    log: join(folder, 'logs', `${name.replaceAll('/', '-')}.log`)
  }
}

/** The folders of the runtimes' programs, by kind and version. */
const programs = new Map<Runtime, string>()
const asUser: Place = { ...placeOf('runtimes'), env: { ...inherited, PATH: inherited['PATH'] as string } }
const uplink = (await run(['npm', 'config', 'get', 'registry'], { ...asUser, folder })).trim()
await step('runtimes and tools are installed', async () => {
  for (const runtime of RUNTIMES) programs.set(runtime, await install(runtime, asUser))
  if (existsSync(join(tools, 'node_modules'))) return
  cpSync(join(root, 'tools/scripts/rehearsal/tools'), tools, { recursive: true })
  // Not `npm ci`, which refuses the lockfile: it lacks some of pnpm's programs, which only npm's own registry may
  // have.
  await run(['npm', 'install', '--no-save', '--ignore-scripts', '--loglevel=error'], {
    ...asUser,
    folder: tools
  })
  // The only install script that is needed: it puts pnpm's program in place.
  await run(['node', 'install.js'], { ...asUser, folder: join(tools, 'node_modules/pnpm') })
})
const node = programs.get(NODE) as string
const registry = await startRegistry(
  placeOf('registry'),
  join(node, 'node'),
  join(tools, 'node_modules/verdaccio/bin/verdaccio'),
  uplink
)
writeSettings(home, registry.url, registry.npmrc)

let failed = true
try {
  const findings = await rehearse()
  const failures = failuresOf(findings)
  for (const failure of failures) console.log(`FAILED ${failure}`)
  failed = failures.length > 0
  const page = pageOf(findings)
  if (values.write) writeFileSync(join(root, 'docs/compatibility.md'), page)
  console.log(page)
} finally {
  await registry.stop()
  if (values.folder === undefined && !failed) rmSync(folder, { recursive: true, force: true })
  else console.log(`Logs: ${join(folder, 'logs')}`)
}
process.exit(failed ? 1 : 0)

async function rehearse(): Promise<Findings> {
  const lines = twentyLines(root)
  // The lockfile tells npm which third-party packages are in its cache.
  const cache = (await run(['npm', 'config', 'get', 'cache'], { ...asUser, folder })).trim()
  const copy = placeOf('release', [node])
  const settings = {
    npm_config_cache: cache,
    npm_config_prefer_offline: 'true',
    // Changesets reads this variable, and uses npm's own registry without it.
    npm_config_registry: registry.url
  }
  const released = await step('versions are written, everything is built and published', () =>
    release({ ...asUser, folder: root }, { ...copy, env: { ...copy.env, ...settings } })
  )

  const clients: Row[] = []
  for (const client of CLIENTS.filter(({ name }) => isAsked(name))) clients.push(await rowOf(client, lines))
  const runtimes: Row[] = []
  for (const runtime of RUNTIMES.filter(({ kind, version }) => isAsked(`${kind} ${version}`)))
    runtimes.push(await rowOfRuntime(runtime, lines))
  const compilers = isAsked('compilers') ? await rowsOfCompilers(lines) : []
  const place = placeOf('trials/footprint', [node])
  await addTwentyLines(npm, lines, place)
  return {
    version: released.version,
    packages: released.packages.length,
    clients,
    runtimes,
    compilers,
    footprint: footprintOf(place.folder),
    firstAnswer: isAsked('first answer') ? await firstAnswer() : undefined
  }
}

/** The row of a package manager: the trials on its own runtime. */
async function rowOf(client: Client, lines: ReturnType<typeof twentyLines>): Promise<Row> {
  const place = placeFor('clients', client, client.runtime)
  const [version = ''] = (await run(client.version, { ...place, folder })).trim().split('\n')
  const outcomes = [
    await tried(`${client.name}: 20 lines`, async () => {
      const own = below(place, 'lines')
      await addTwentyLines(client, lines, own)
      await runTwentyLines(client.execute(), lines, own)
    }),
    client.makesProjects
      ? await tried(`${client.name}: project`, () => tryProject(client, below(place, 'made')))
      : undefined
  ]
  return { name: client.name, version: version.replace(/^deno ([\d.]+).*/, '$1'), outcomes }
}

/** The row of a runtime: the trials with the package manager that most of its users have. */
async function rowOfRuntime(runtime: Runtime, lines: ReturnType<typeof twentyLines>): Promise<Row> {
  const client = clientOf(runtime)
  const place = placeFor('runtimes', client, runtime)
  const name = `${NAMES[runtime.kind]} ${runtime.version}`
  const outcomes = [
    await tried(`${name}: 20 lines`, async () => {
      const own = below(place, 'lines')
      await addTwentyLines(client, lines, own)
      // Some versions of Node cannot run TypeScript without tsx.
      if (runtime.kind === 'node') await run(npm.add('tsx'), own)
      await runTwentyLines(runtime.kind === 'node' ? ['npx', 'tsx'] : client.execute(), lines, own)
    }),
    runtime.runsProjects === false
      ? undefined
      : await tried(`${name}: project`, () => tryProject(client, below(place, 'made')))
  ]
  return { name: NAMES[runtime.kind], version: runtime.version, outcomes }
}

async function tryProject(client: Client, place: Place): Promise<void> {
  const own = { ...place, folder: await makeProject(client, place) }
  await testProject(client, own)
  await useProject(client, own)
}

async function rowsOfCompilers(lines: ReturnType<typeof twentyLines>): Promise<Row[]> {
  const place = placeOf('trials/compilers', [node])
  const project = await makeProject(npm, below(place, 'made'))
  const own = below(place, 'compiled')
  await addCompilers(COMPILERS, lines, project, own)
  const rows: Row[] = []
  for (const version of COMPILERS) {
    const outcomes: Outcome[] = []
    for (const resolution of Object.keys(RESOLUTIONS) as (keyof typeof RESOLUTIONS)[])
      outcomes.push(
        await tried(`TypeScript ${version}, ${resolution}`, () => compile(version, resolution, own))
      )
    rows.push({ name: 'TypeScript', version, outcomes })
  }
  return rows
}

/** Seconds from an empty folder to the first answer, with npm's cache filled. @throws {Error} above `FIRST_ANSWER` */
async function firstAnswer(): Promise<number> {
  const place = placeFor('first-answer', npm, NODE)
  await makeProject(npm, below(place, 'warm'))
  const began = performance.now()
  const own = { ...place, folder: await makeProject(npm, below(place, 'first')) }
  await useProject(npm, own)
  const taken = (performance.now() - began) / 1_000
  if (taken > FIRST_ANSWER)
    throw new Error(
      `From an empty folder to the first answer: ${taken.toFixed(0)} s, above ${FIRST_ANSWER} s`
    )
  return taken
}

/** A folder for one row of a table. */
function placeFor(table: string, { name }: Client, runtime: Runtime): Place {
  const words = `${name} ${runtime.kind} ${runtime.version}`.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-')
  return placeOf(`trials/${table}/${words}`, [programs.get(runtime) as string, node])
}

function below(place: Place, name: string): Place {
  return { ...place, folder: join(place.folder, name) }
}

function isAsked(name: string): boolean {
  return words?.some((word) => name.toLowerCase().includes(word)) ?? true
}

/** Runs a step on which all later steps depend. */
async function step<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
  const began = performance.now()
  const result = await act()
  console.log(`ok     ${seconds(began)}  ${what}`)
  return result
}

/** Runs a trial, which may fail without effect on other trials. */
async function tried(what: string, act: () => Promise<unknown>): Promise<Outcome> {
  const began = performance.now()
  try {
    await act()
    console.log(`ok     ${seconds(began)}  ${what}`)
    return { ok: true }
  } catch (error) {
    const reason = (error as Error).message
    console.log(`FAILED ${seconds(began)}  ${what}\n${reason}`)
    return { ok: false, reason }
  }
}

function seconds(began: number): string {
  return `${((performance.now() - began) / 1_000).toFixed(1).padStart(6)} s`
}
