/**
 * The parts of the documentation that are generated from the list of engines and from the tables of options. A test
 * compares them; `bun tests/engines/docs.ts --write` writes them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { has, NEEDS, type Need } from '@elysia-microservices/engine-tests'
import { grpc } from '@elysia-microservices/grpc'
import { GRPC_NEST_OPTIONS } from '@elysia-microservices/grpc/testing'
import { KAFKA_NEST_OPTIONS } from '@elysia-microservices/kafka/testing'
import { MQTT_NEST_OPTIONS } from '@elysia-microservices/mqtt/testing'
import { NATS_NEST_OPTIONS } from '@elysia-microservices/nats/testing'
import { RABBITMQ_NEST_OPTIONS } from '@elysia-microservices/rabbitmq/testing'
import { REDIS_NEST_OPTIONS } from '@elysia-microservices/redis/testing'
import type { NestOption, NestTable } from '@elysia-microservices/transport/nest'
import { tcp } from 'elysia-microservices/tcp'
import { rootFolder } from '../workspace.ts'
import { ENGINES } from './engines.ts'
import { wordsTable } from './words.ts'

/**
 * The rows of the table: all needs except two that users know: that there is a server, and that strangers share it.
 */
const ROWS = (Object.keys(NEEDS) as Need[]).filter((need) => need !== 'server' && need !== 'strangers')

/** The table of transports and their properties. */
export function traitsTable(): string {
  const overTcp = { traits: tcp().traits, hasServer: true, hasNest: true, hasStrangers: true }
  const overGrpc = { ...overTcp, traits: grpc({ proto: { method: () => undefined } }).traits }
  const columns = [
    { title: 'TCP', ...overTcp },
    { title: 'gRPC', ...overGrpc },
    ...ENGINES.filter(({ isShipped }) => isShipped).map(
      ({ title, traits, hasServer, nest, hasNest, strangers }) => ({
        title,
        traits,
        hasServer,
        hasNest: hasNest ?? nest !== undefined,
        hasStrangers: strangers !== undefined
      })
    )
  ]
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    row(['', ...columns.map(({ title }) => title)]).replace('|  |', '| |'),
    row(['---', ...columns.map(() => '---')]),
    ...ROWS.map((need) => row([NEEDS[need], ...columns.map((one) => (has(one, need) ? 'yes' : 'no'))]))
  ].join('\n')
}

/** The lists of options of Nest's transports, by the page that has them. */
const NEST_TABLES: Readonly<Record<string, NestTable>> = {
  'docs/grpc.md': GRPC_NEST_OPTIONS,
  'docs/kafka.md': KAFKA_NEST_OPTIONS,
  'docs/mqtt.md': MQTT_NEST_OPTIONS,
  'docs/nats.md': NATS_NEST_OPTIONS,
  'docs/rabbitmq.md': RABBITMQ_NEST_OPTIONS,
  'docs/redis.md': REDIS_NEST_OPTIONS
}

/** The table of Nest's options of one transport. Options with the same answer share a row. */
function nestTable(table: NestTable): string {
  const byAnswer = new Map<string, string[]>()
  for (const [name, option] of Object.entries(table)) {
    const answer = inWords(name, option)
    byAnswer.set(answer, [...(byAnswer.get(answer) ?? []), `\`${name}\``])
  }
  const rows = [...byAnswer].map(([answer, names]) => `| ${names.join(', ')} | ${answer} |`)
  return ['| option of Nest | here |', '| --- | --- |', ...rows].join('\n')
}

/** The answer to an option of Nest. */
function inWords(name: string, { ours, needless, instead, convert, said }: NestOption): string {
  if (said !== undefined) return said
  if (instead !== undefined) return `refused: ${instead}`
  if (ours === undefined)
    return `${convert === undefined ? 'not needed' : 'only without an effect'}: ${needless}`
  if (ours === name) return 'the same'
  if (ours.endsWith(`.${name}`) && !ours.startsWith('client.'))
    return `the same, in \`${ours.slice(0, -name.length - 1)}\``
  const [end, inside] = ours.split('.')
  return end === 'service' || end === 'client' ? `\`${inside}\` of the ${end}` : `\`${ours}\``
}

interface Part {
  readonly page: string
  /** The name in the comments around the part. */
  readonly name: string
  readonly text: string
}

/** All generated parts. */
export async function partsOfPages(): Promise<readonly Part[]> {
  const example = (file: string) =>
    `\`\`\`ts\n// ${file}\n${readFileSync(join(rootFolder, 'tests/engines', file), 'utf8')}\`\`\``
  return [
    { page: 'docs/nats.md', name: 'traits', text: traitsTable() },
    ...Object.entries(NEST_TABLES).map(([page, table]) => ({
      page,
      name: 'nest options',
      text: nestTable(table)
    })),
    { page: 'docs/services.md', name: 'words', text: await wordsTable() },
    { page: 'docs/engines.md', name: 'example', text: example('hub-engine.ts') },
    { page: 'docs/engines.md', name: 'store', text: example('hub-store.ts') }
  ]
}

/** The text of a page with its generated part replaced. @throws {Error} the page has no comments for the part */
export function withPart({ page, name, text }: Part): { readonly is: string; readonly shouldBe: string } {
  const is = readFileSync(join(rootFolder, page), 'utf8')
  const [begin, end] = [`<!-- ${name}: written by tests/engines/docs.ts -->\n`, `\n<!-- /${name} -->`]
  const from = is.indexOf(begin)
  const to = is.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`${page} has no markers for '${name}'`)
  return { is, shouldBe: is.slice(0, from + begin.length) + text + is.slice(to) }
}

if (process.argv.includes('--write'))
  for (const part of await partsOfPages()) writeFileSync(join(rootFolder, part.page), withPart(part).shouldBe)
