/** The trials of each package manager, runtime and compiler: the README's twenty lines, and a new project. */
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../test-support/src/free-port.ts'
import type { Client } from './clients.ts'
import { type Command, type Place, run, type Started, start, until } from './commands.ts'

/** The README's code blocks that are programs, by their file names, and what the second program prints. */
export interface TwentyLines {
  readonly programs: ReadonlyMap<string, string>
  readonly prints: string
}

export function twentyLines(root: string): TwentyLines {
  const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  const programs = blocks.flatMap(([, , code = '']) => {
    const name = /^\/\/ (\w+\.ts)\n/.exec(code)?.[1]
    return name === undefined ? [] : [[name, code] as const]
  })
  const [, , prints = ''] = blocks.find(([, language]) => language === 'text') ?? []
  return { programs: new Map(programs), prints }
}

/** An empty folder for a user's project. */
function emptyFolder(folder: string, { files = {} }: Client): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

/** Installs the packages as "Getting started" says, and writes the programs. */
export async function addTwentyLines(client: Client, lines: TwentyLines, place: Place): Promise<void> {
  const { folder } = place
  emptyFolder(folder, client)
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'lines', private: true, type: 'module' })
  )
  for (const [name, code] of lines.programs) writeFileSync(join(folder, name), code)
  await run(client.add('elysia', 'elysia-microservices'), place)
}

/** Runs both programs. @param through the command that runs a program */
export async function runTwentyLines(through: Command, lines: TwentyLines, place: Place): Promise<void> {
  const port = await freePort('localhost')
  const own = { ...place, env: { ...place.env, PORT: String(port) } }
  const server = start([...through, 'math.ts'], own)
  try {
    await until('service', () => listens(port), server)
    const said = await run([...through, 'caller.ts'], own)
    if (said !== lines.prints) throw new Error(`caller.ts printed ${JSON.stringify(said)}`)
    await until('event', async () => server.stdout().trim() === 'order 7 placed', server)
  } finally {
    server.kill('SIGKILL')
    await server.ended
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = createConnection({ port, host: 'localhost' })
  try {
    await once(socket, 'connect')
    return true
  } finally {
    socket.destroy()
  }
}

/** Creates a project, and installs its packages. @returns its folder */
export async function makeProject(client: Client, place: Place): Promise<string> {
  mkdirSync(place.folder, { recursive: true })
  await run(client.create('shop', '--runtime', client.template, '--transport', 'tcp'), place)
  const folder = join(place.folder, 'shop')
  emptyFolder(folder, client)
  await run(client.install, { ...place, folder })
  return folder
}

/** Runs the tests of a project. */
export async function testProject(client: Client, place: Place): Promise<void> {
  await run(client.script('test'), place)
}

/** Starts the services and the gateway of a project as its README says, and places an order by HTTP. */
export async function useProject(client: Client, place: Place): Promise<void> {
  const ports = {
    STOCK_PORT: await freePort(),
    STOCK_HEALTH_PORT: await freePort(),
    ORDERS_PORT: await freePort(),
    HEALTH_PORT: await freePort(),
    PORT: await freePort()
  }
  const env = { ...place.env, ...Object.fromEntries(Object.entries(ports).map(([k, v]) => [k, String(v)])) }
  const own = { ...place, env }
  const started: Started[] = []
  try {
    for (const [script, port] of [
      ['stock', ports.STOCK_HEALTH_PORT],
      ['service', ports.HEALTH_PORT],
      ['gateway', ports.PORT]
    ] as const) {
      const program = start(client.script(script), own)
      started.push(program)
      const ready = async () => (await fetch(`http://localhost:${port}/readyz`)).ok
      await until(`${script} that is ready`, ready, program)
    }
    const placed = await fetch(`http://localhost:${ports.PORT}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ item: 'tea', quantity: 2 })
    })
    const answer = await placed.text()
    if (placed.status !== 201) throw new Error(`The order was answered by ${placed.status}: ${answer}`)
  } finally {
    for (const program of started.reverse()) {
      program.kill('SIGTERM')
      await Promise.race([program.ended, Bun.sleep(10_000)])
      program.kill('SIGKILL')
      await program.ended
    }
  }
}

/** The settings of the compiler by which imports are resolved. */
export const RESOLUTIONS = {
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' }
} as const

/** Compiles the README's twenty lines and the sources of a project, with the strictest settings. */
export async function compile(
  version: string,
  resolution: keyof typeof RESOLUTIONS,
  place: Place
): Promise<void> {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    isolatedModules: true,
    experimentalDecorators: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    ...RESOLUTIONS[resolution]
  }
  const config = `${version}-${resolution}.json`
  writeFileSync(
    join(place.folder, config),
    JSON.stringify({ compilerOptions, include: ['*.ts', 'src/*.ts'] })
  )
  await run([`node_modules/typescript-${version}/bin/tsc`, '-p', config, '--pretty', 'false'], place)
}

/** Adds the README's twenty lines and the compilers to the folder of a project. */
export async function addCompilers(
  versions: readonly string[],
  lines: TwentyLines,
  project: string,
  place: Place
): Promise<void> {
  cpSync(project, place.folder, { recursive: true, verbatimSymlinks: true })
  for (const [name, code] of lines.programs) writeFileSync(join(place.folder, name), code)
  const packages = versions.map((version) => `typescript-${version}@npm:typescript@${version}`)
  if (!existsSync(join(place.folder, 'node_modules'))) throw new Error(`${project} is not installed`)
  await run(['npm', 'install', '--save-dev', '--loglevel=error', ...packages], place)
}
