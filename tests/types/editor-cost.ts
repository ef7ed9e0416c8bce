/**
 * Measures how long an editor waits for the completion of a pattern and for the types of a call, in a project with
 * 400 patterns, by the compiler's language server, in comparison with tRPC. Before each sample the file is changed,
 * so that nothing is cached; the samples of both libraries alternate. `bun tests/types/editor-cost.ts [samples]`
 * prints elapsed milliseconds, and processor milliseconds, which depend less on other work of the machine.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testsFolder } from '../workspace.ts'
import { COMPILER_OPTIONS, SHAPES } from './cost.ts'
import { LanguageServer } from './language-server.ts'
import { installPeers, PEERS } from './peers.ts'

const PATTERNS = 400
const folder = join(testsFolder, 'dist', `editor-cost-${process.pid}`)

/** A program, a call in it whose types are shown, and a call that is being written. */
interface Project {
  readonly program: string
  readonly hover: string
  readonly hoverAt: number
  readonly begun: string
  readonly rest: string
}

const PROJECTS: Readonly<Record<string, Project>> = {
  ours: {
    program: `${SHAPES['a chain and a call of each'](PATTERNS)}\nvoid c.request('')\n`,
    hover: "c.request('p200'",
    hoverAt: 'c.'.length + 1,
    begun: "void c.request('",
    rest: "')"
  },
  'ours, composed': {
    program: `${SHAPES['services that are used, and a call of each pattern'](PATTERNS)}\nvoid c.request('')\n`,
    hover: "c.request('s10.p7'",
    hoverAt: 'c.'.length + 1,
    begun: "void c.request('",
    rest: "')"
  },
  tRPC: {
    program: `${PEERS.tRPC(PATTERNS)}\nvoid c.p\n`,
    hover: 'c.p200.query(',
    hoverAt: 'c.p200.'.length + 1,
    begun: 'void c.p',
    rest: '\n'
  }
}

async function measured(work: Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work
  return performance.now() - start
}

const at = (share: number, times: readonly number[]) =>
  Math.round(times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? Number.NaN)

async function run(samples: number): Promise<void> {
  const servers = new Map<string, LanguageServer>()
  const times = new Map<string, number[]>()
  const processor = new Map<string, number>()
  try {
    await installPeers(folder)
    for (const [name, { program }] of Object.entries(PROJECTS)) {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'program.ts'), program)
      writeFileSync(
        join(folder, name, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['program.ts'] })
      )
      servers.set(name, await LanguageServer.open(join(folder, name, 'program.ts')))
    }
    for (let sample = -1; sample < samples; sample++)
      for (const [name, { program, hover, hoverAt, begun, rest }] of Object.entries(PROJECTS)) {
        const server = servers.get(name)
        if (server === undefined) continue
        const works = {
          hover: () => server.hover(hover, hoverAt),
          completion: () => server.completion(begun, rest)
        }
        for (const [what, work] of Object.entries(works)) {
          const label = `${name} ${what}`
          const before = server.processorTime()
          server.change(`${program}// ${sample} ${what}\n`)
          const time = await measured(work())
          // The first sample is skipped, because it reads the libraries.
          if (sample < 0) continue
          times.set(label, [...(times.get(label) ?? []), time])
          processor.set(label, (processor.get(label) ?? 0) + server.processorTime() - before)
        }
      }
    for (const [what, all] of times) {
      const each = Math.round((processor.get(what) ?? 0) / all.length)
      console.log(what, 'p50', at(0.5, all), 'p95', at(0.95, all), 'max', at(1, all), 'processor', each)
    }
  } finally {
    for (const server of servers.values()) await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

await run(Number(process.argv[2] ?? 40))
