/** `migrate`: shows how the servers and clients of a Nest application move to ours, and writes it when told to. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { OptionError } from '@elysia-microservices/transport/kit'
import { EXIT } from '../exit-codes.ts'
import { type Output, plainText } from '../output.ts'
import { compilerOf } from './compiler.ts'
import { type Edit, edited, unifiedDiff } from './edits.ts'
import { OURS } from './imports.ts'
import { moved } from './source.ts'

const CODE = /(?<!\.d)\.[cm]?[jt]s$/
const SKIPPED = new Set(['node_modules', 'dist', 'lib', 'build', 'coverage'])
/** Words without which a source has nothing to move. */
const RELEVANT = /(?:create|connect|createNest)Microservice|@nestjs\/microservices/
const CLIENTS = /ClientsModule|ClientProxyFactory|@Client\(/
/** The packages of transports, by Nest's names. TCP is part of the package for Nest. */
const ENGINES: ReadonlyMap<string, string> = new Map([
  ['REDIS', '@elysia-microservices/redis'],
  ['NATS', '@elysia-microservices/nats'],
  ['MQTT', '@elysia-microservices/mqtt'],
  ['RMQ', '@elysia-microservices/rabbitmq'],
  ['GRPC', '@elysia-microservices/grpc'],
  ['KAFKA', '@elysia-microservices/kafka']
])

interface Change {
  readonly path: string
  readonly name: string
  readonly text: string
  readonly edits: readonly Edit[]
  /** Whether clients in it may be clients over TCP: it names no other transport, or names TCP. */
  readonly hasTcpClients: boolean
}

/**
 * Runs the command.
 * @throws {OptionError} the command line is wrong, the folder does not exist, or the project has no compiler
 */
export function migrate(line: readonly string[], output: Output): number {
  const { folder, write } = argumentsOf(line)
  const compiler = compilerOf(folder)
  const changes: Change[] = []
  const remarks: string[] = []
  const uses = new Map<string, Set<string>>()
  for (const path of sourcesIn(folder)) {
    const text = readFileSync(path, 'utf8')
    if (!RELEVANT.test(text) && !/\bTransport\./.test(text)) continue
    const name = relative(folder, path).replaceAll(sep, '/')
    const result = moved(compiler, name, text)
    remarks.push(...result.remarks.map((one) => `${name}:${one.line}  ${one.text}`))
    const { edits, transports } = result
    const hasTcpClients = CLIENTS.test(text) && (transports.length === 0 || transports.includes('TCP'))
    if (edits.length > 0) changes.push({ path, name, text, edits, hasTcpClients })
    const manifest = manifestAbove(path, folder)
    if (manifest === undefined || result.edits.length + result.transports.length === 0) continue
    const known = uses.get(manifest) ?? new Set()
    uses.set(manifest, known)
    for (const one of result.transports) {
      const engine = ENGINES.get(one)
      if (engine !== undefined) known.add(engine)
    }
    if (result.edits.length > 0) known.add(OURS)
  }
  for (const { name, text, edits } of changes) output.out(plainLines(unifiedDiff(name, text, edits)))
  if (write) for (const { path, text, edits } of changes) writeFileSync(path, edited(text, edits))
  for (const [manifest, packages] of uses)
    if (packages.has(OURS)) tellPackages(output, relative(folder, manifest), manifest, packages)
  if (changes.some(({ hasTcpClients }) => hasTcpClients))
    output.error(
      "Over TCP, start moved services before moved clients, or give clients protocol: 'nest' beside host and port"
    )
  if (remarks.length > 0)
    output.error(`For you to look at:\n${remarks.map((one) => `  ${plainText(one)}`).join('\n')}`)
  const files = `${changes.length} file${changes.length === 1 ? '' : 's'}`
  output.error(
    changes.length === 0
      ? 'There is nothing to move'
      : write
        ? `${files} written`
        : `${files} would change; --write writes them`
  )
  return EXIT.ok
}

function argumentsOf(line: readonly string[]): { readonly folder: string; readonly write: boolean } {
  const { values, positionals } = parsed(line)
  const [given = '.', surplus] = positionals
  if (surplus !== undefined)
    throw new OptionError('arguments', `migrate takes one folder, and not also ${surplus}`)
  const folder = resolve(given)
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new OptionError('folder', `There is no folder ${given}`)
  return { folder, write: values.write }
}

function parsed(line: readonly string[]) {
  try {
    const options = { write: { type: 'boolean', default: false } } as const
    return parseArgs({ args: [...line], options, allowPositionals: true })
  } catch (error) {
    throw new OptionError('arguments', `${(error as Error).message}; see --help`)
  }
}

/** The sources of a folder, in order. Links are not followed, because they may lead out of it. */
function sourcesIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory())
        return entry.name.startsWith('.') || SKIPPED.has(entry.name) ? [] : sourcesIn(path)
      return entry.isFile() && CODE.test(entry.name) ? [path] : []
    })
}

/** The package to which a source belongs: its package.json, or one above it. */
function manifestAbove(path: string, folder: string): string | undefined {
  for (let place = dirname(path); ; place = dirname(place)) {
    const manifest = join(place, 'package.json')
    if (existsSync(manifest)) return manifest
    if (place === folder || place === dirname(place)) break
  }
  const above = join(dirname(folder), 'package.json')
  return existsSync(above) ? above : undefined
}

function tellPackages(output: Output, name: string, manifest: string, packages: ReadonlySet<string>): void {
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    readonly dependencies?: Readonly<Record<string, string>>
  }
  const missing = [...packages].filter((one) => dependencies?.[one] === undefined).sort()
  if (missing.length > 0) output.error(plainText(`${name} needs: npm install ${missing.join(' ')}`))
  const nest = dependencies?.['@nestjs/core']
  const major = /^[\^~>=v]*(\d+)/.exec(nest ?? '')?.[1]
  if (major !== undefined && Number(major) < 12)
    output.error(plainText(`${name} has Nest ${nest}; ${OURS} needs Nest 12: move to it first`))
}

/** The lines of a diff, with characters escaped that a terminal would obey, other than tabs. */
function plainLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\t').map(plainText).join('\t'))
    .join('\n')
}
