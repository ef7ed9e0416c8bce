/** Writes docs/compatibility.md from the results of a rehearsal. */
import type { Footprint } from './footprint.ts'

/** How a trial ended; `undefined`: it was not run. */
export type Outcome = { readonly ok: boolean; readonly reason?: string } | undefined

export interface Row {
  readonly name: string
  readonly version: string
  readonly outcomes: readonly Outcome[]
}

/** The results of a rehearsal. */
export interface Findings {
  readonly version: string
  readonly packages: number
  readonly clients: readonly Row[]
  readonly runtimes: readonly Row[]
  readonly compilers: readonly Row[]
  readonly footprint: Footprint | undefined
  /** Seconds from an empty folder to the first answer. */
  readonly firstAnswer: number | undefined
}

/** A sentence for each trial that failed. */
export function failuresOf({ clients, runtimes, compilers }: Findings): string[] {
  return [...clients, ...runtimes, ...compilers].flatMap(({ name, version, outcomes }) =>
    outcomes.flatMap((outcome) =>
      outcome === undefined || outcome.ok ? [] : [`${name} ${version}: ${outcome.reason}`]
    )
  )
}

/** Writes the page. */
export function pageOf(findings: Findings): string {
  const { version, packages, clients, runtimes, compilers, footprint, firstAnswer } = findings
  return `# Compatibility

Written by \`npm run rehearse -- --write\`: it publishes all ${packages} packages as ${version} to a registry on one machine, with the steps of the release workflow, and installs them from this registry, each time into an empty folder. "20 lines" are the two programs of the [README](../README.md). "Project" is a project made by \`create-elysia-microservices\`: its packages are installed, its tests pass, and its gateway answers a request through its service.

## Package managers

${table(['', 'version', '20 lines', 'project'], clients)}

A project made with npm, pnpm, Yarn or Deno runs on Node; a project made with Bun runs on Bun. With Plug'n'Play only the 20 lines are tried, because TypeScript 7 does not read Yarn's archives.

## Runtimes

${table(['', 'version', '20 lines', 'project'], runtimes)}

A project for Node needs Node 22.13, because it keeps its durable events in [a file](sqlite.md). A project for Bun needs Bun 1.2.23, because its tests use \`node:test\`, which Bun 1.2.0 does not have.

## TypeScript

The 20 lines, the README's controller and the sources of a project are compiled as strictly as each compiler can.

${table(['', 'version', '`nodenext`', '`bundler`'], compilers)}

## PostgreSQL

The outbox and [events in PostgreSQL](postgres.md) are tested over PostgreSQL 18 on each push, and over 14, 15, 16 and 17 each night (\`npm run test:nightly -- --only=postgres\`).
${footprint === undefined ? '' : weight(footprint)}${firstAnswer === undefined ? '' : first(firstAnswer)}`
}

function weight({ packages, bytes }: Footprint): string {
  return `
## What is installed

\`npm install elysia elysia-microservices\` installs ${packages} packages (${(bytes / 1_000_000).toFixed(1)} MB), including Elysia.
`
}

function first(seconds: number): string {
  return `
## From nothing to an answer

\`npm create\`, \`npm install\`, starting service and gateway, and the first order by HTTP take ${Math.ceil(seconds)} s, with npm's cache filled.
`
}

function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(head),
    line(head.map(() => '---')),
    ...rows.map(({ name, version, outcomes }) => line([name, version, ...outcomes.map(cell)]))
  ].join('\n')
}

function cell(outcome: Outcome): string {
  if (outcome === undefined) return ''
  return outcome.ok ? 'yes' : 'no'
}
