/**
 * At night the tests that start PostgreSQL run over each supported major version, too. `tools/postgres` has the servers
 * beside the newest, which all other jobs start.
 */
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import type { Job } from './run-jobs.ts'
import { suitesOf } from './test-files.ts'

const FOLDER = 'tools/postgres'
const PACKAGES = ['outbox', 'postgres']

/** Installs the servers. */
export const SERVERS: Job = { name: 'servers', command: ['bun', 'tools/scripts/install.ts', FOLDER] }

/** One job for each major version. @param longest the time limit of one test in milliseconds */
export function postgresJobs(longest: number): Job[] {
  const files = suitesOf('test')
    .filter(({ kind, name }) => kind === 'unit' && PACKAGES.includes(name))
    .flatMap((suite) => suite.files)
    .filter((file) => file.endsWith('.slow.test.ts'))
    .map((file) => `./${relative('.', file)}`)
  return servers().map(({ version, bin }) => ({
    name: `postgres/${version}`,
    command: ['bun', 'test', `--timeout=${longest}`, ...files],
    env: { GATE: 'test', POSTGRES_BIN: bin },
    hasTests: true,
    after: [SERVERS.name]
  }))
}

/** The servers for this machine. */
function servers(): { readonly version: string; readonly bin: string }[] {
  const { optionalDependencies } = JSON.parse(readFileSync(`${FOLDER}/package.json`, 'utf8')) as {
    optionalDependencies: Readonly<Record<string, string>>
  }
  return Object.keys(optionalDependencies).flatMap((name) => {
    const [version, machine] = /^postgres-(\d+)-(.+)$/.exec(name)?.slice(1) ?? []
    if (version === undefined || machine !== `${process.platform}-${process.arch}`) return []
    return [{ version, bin: resolve(FOLDER, `node_modules/${name}/native/bin`) }]
  })
}
