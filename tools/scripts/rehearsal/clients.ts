/** How each package manager adds packages, creates a project and runs its programs. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from './commands.ts'
import { BUN, DENO, type Kind, NODE, type Runtime } from './runtimes.ts'

export interface Client {
  readonly name: string
  /** The command that prints the version of the package manager. */
  readonly version: Command
  /** The runtime of the programs. */
  readonly runtime: Runtime
  /** The template from which a project is created. */
  readonly template: Kind
  readonly add: (...packages: readonly string[]) => Command
  readonly execute: (...program: readonly string[]) => Command
  readonly create: (...args: readonly string[]) => Command
  readonly install: Command
  readonly script: (name: string) => Command
  /** Whether creating a project is tested. */
  readonly makesProjects: boolean
  /** Files of a project by name: configuration that a user of this package manager has. */
  readonly files?: Readonly<Record<string, string>>
}

/**
 * A setting that allows packages of any age: the published packages are a minute old, and Yarn and Deno refuse
 * packages younger than a day by default.
 */
const ANY_AGE = '--minimum-dependency-age=0'
const CREATE = 'create-elysia-microservices'

export const npm: Client = {
  name: 'npm',
  makesProjects: true,
  version: ['npm', '--version'],
  runtime: NODE,
  template: 'node',
  add: (...packages) => ['npm', 'install', ...packages],
  execute: (...program) => ['node', ...program],
  create: (...args) => ['npm', 'create', 'elysia-microservices@latest', '--', ...args],
  install: ['npm', 'install'],
  script: (name) => ['npm', 'run', name]
}

const pnpm: Client = {
  ...npm,
  name: 'pnpm',
  version: ['pnpm', '--version'],
  add: (...packages) => ['pnpm', 'add', ...packages],
  create: (...args) => ['pnpm', 'create', 'elysia-microservices@latest', ...args],
  install: ['pnpm', 'install'],
  script: (name) => ['pnpm', 'run', name]
}

const yarn: Client = {
  ...npm,
  name: "Yarn, Plug'n'Play",
  // TypeScript 7 cannot read packages from archives, as this mode of Yarn keeps them.
  makesProjects: false,
  version: ['yarn', '--version'],
  add: (...packages) => ['yarn', 'add', ...packages],
  execute: (...program) => ['yarn', 'node', ...program],
  create: (...args) => ['yarn', 'create', 'elysia-microservices@latest', ...args],
  install: ['yarn', 'install'],
  script: (name) => ['yarn', 'run', name]
}

const yarnInModules: Client = {
  ...yarn,
  name: 'Yarn, `nodeLinker: node-modules`',
  makesProjects: true,
  files: { 'yarn.lock': '', '.yarnrc.yml': 'nodeLinker: node-modules\n' }
}

export const bun: Client = {
  name: 'Bun',
  makesProjects: true,
  version: ['bun', '--version'],
  runtime: BUN,
  template: 'bun',
  add: (...packages) => ['bun', 'add', ...packages],
  execute: (...program) => ['bun', ...program],
  create: (...args) => ['bun', 'create', 'elysia-microservices@latest', ...args],
  install: ['bun', 'install'],
  script: (name) => ['bun', 'run', name]
}

const deno: Client = {
  name: 'Deno',
  makesProjects: true,
  version: ['deno', '--version'],
  runtime: DENO,
  // The package.json of a project for Node runs its programs by Node, also with this package manager.
  template: 'node',
  add: (...packages) => ['deno', 'add', ANY_AGE, ...packages.map((name) => `npm:${name}`)],
  execute: (...program) => ['deno', 'run', '--allow-all', ...program],
  create: (...args) => ['deno', 'run', '--allow-all', ANY_AGE, `npm:${CREATE}@latest`, ...args],
  install: ['deno', 'install', ANY_AGE],
  script: (name) => ['deno', 'task', name]
}

export const CLIENTS: readonly Client[] = [npm, pnpm, yarn, yarnInModules, bun, deno]

/** The package manager that comes with a runtime. */
export function clientOf(runtime: Runtime): Client {
  return { ...{ node: npm, bun, deno }[runtime.kind], runtime }
}

/** Writes the settings of a user of this registry. @param home the home folder of the user */
export function writeSettings(home: string, registry: string, npmrc: string): void {
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, '.npmrc'), `${npmrc}audit=false\nfund=false\nupdate-notifier=false\nyes=true\n`)
  const yarnrc = [
    `npmRegistryServer: "${registry}"`,
    'unsafeHttpWhitelist: ["127.0.0.1"]',
    'npmMinimalAgeGate: 0',
    // In CI, Yarn would refuse to write a lockfile.
    'enableImmutableInstalls: false',
    'enableTelemetry: false'
  ]
  writeFileSync(join(home, '.yarnrc.yml'), `${yarnrc.join('\n')}\n`)
}
