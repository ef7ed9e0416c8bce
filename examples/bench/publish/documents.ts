/** The pages that have figures of the published report, between markers, and what belongs there. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import type { Comparison } from '../report/schema.ts'
import { readStored } from '../report/stored.ts'
import { FULL_FILE, publishedFile } from '../report/write.ts'
import { type SuiteName, suiteNames } from '../task/task.ts'
import {
  callersTable,
  crowdTable,
  dbSentence,
  httpHeadline,
  NOT_MEASURED,
  pairsTable,
  requestsTable,
  scaleTable,
  suiteConditions,
  suiteSizes,
  workloadTable
} from './suite-tables.ts'
import {
  concurrencyTable,
  durableTable,
  eventsTable,
  handlersTable,
  headlineTable,
  natsTable,
  payloadTable,
  peersTable,
  sameClientTable,
  sizesTable,
  slowReaderTable,
  startsTable,
  streamsTable,
  typesTable,
  watchedTable
} from './tables.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')

export const DOCUMENTS = [
  'README.md',
  'docs/performance.md',
  'docs/databases.md',
  'docs/nats.md',
  'docs/observability.md'
] as const

/** The published reports: of peers, and of the suites that have been measured. */
export interface Published {
  readonly peers: Comparison
  readonly suites: Readonly<Partial<Record<SuiteName, Comparison>>>
}

type Block = (comparison: Comparison) => string

const BLOCKS: Readonly<Record<string, Block>> = {
  headline: headlineTable,
  'peers bun': (comparison) => peersTable(comparison, 'bun'),
  'peers node': (comparison) => peersTable(comparison, 'node'),
  'concurrency bun': (comparison) => concurrencyTable(comparison, 'bun'),
  'concurrency node': (comparison) => concurrencyTable(comparison, 'node'),
  'payloads bun shared': (comparison) => payloadTable(comparison, 'bun', 'shared'),
  'payloads bun per-client': (comparison) => payloadTable(comparison, 'bun', 'per-client'),
  'payloads node shared': (comparison) => payloadTable(comparison, 'node', 'shared'),
  'same client': sameClientTable,
  'handlers bun': (comparison) => handlersTable(comparison, 'bun'),
  'handlers node': (comparison) => handlersTable(comparison, 'node'),
  'streams bun': (comparison) => streamsTable(comparison, 'bun'),
  'streams node': (comparison) => streamsTable(comparison, 'node'),
  'slow reader': slowReaderTable,
  events: eventsTable,
  durable: durableTable,
  'starts bun': (comparison) => startsTable(comparison, 'bun'),
  'starts node': (comparison) => startsTable(comparison, 'node'),
  'nats bun': (comparison) => natsTable(comparison, 'bun'),
  'nats node': (comparison) => natsTable(comparison, 'node'),
  'watched bun': (comparison) => watchedTable(comparison, 'bun'),
  'watched node': (comparison) => watchedTable(comparison, 'node'),
  types: typesTable,
  sizes: sizesTable
}

const SUITE_BLOCKS: Readonly<Record<SuiteName, Readonly<Record<string, Block>>>> = {
  http: {
    'http headline': httpHeadline,
    'http conditions': (comparison) => suiteConditions(comparison, 'http'),
    'http requests': requestsTable,
    'http health': (comparison) => workloadTable(comparison, 'health'),
    'http router': (comparison) => workloadTable(comparison, 'router'),
    'http sizes': suiteSizes
  },
  pairs: {
    'pairs conditions': (comparison) => suiteConditions(comparison, 'pairs'),
    pairs: pairsTable
  },
  db: {
    'db sentence': dbSentence,
    'db conditions': (comparison) => suiteConditions(comparison, 'db'),
    'db callers list': (comparison) => callersTable(comparison, 'list'),
    'db callers slow': (comparison) => callersTable(comparison, 'slow'),
    'db crowd': (comparison) => crowdTable(comparison, 'slow')
  },
  scale: {
    'scale conditions': (comparison) => suiteConditions(comparison, 'scale'),
    scale: scaleTable
  }
}

/** What belongs between the markers of that name; `undefined`: there is no such thing. */
function contentOf(name: string, { peers, suites }: Published): string | undefined {
  const block = BLOCKS[name]
  if (block !== undefined) return block(peers)
  const suite = suiteNames.find((one) => Object.hasOwn(SUITE_BLOCKS[one], name))
  if (suite === undefined) return undefined
  const comparison = suites[suite]
  return comparison === undefined ? NOT_MEASURED : SUITE_BLOCKS[suite][name]!(comparison)
}

const NAMES = [...Object.keys(BLOCKS), ...suiteNames.flatMap((suite) => Object.keys(SUITE_BLOCKS[suite]))]

const MARKED = /(<!-- bench: (.+?) -->\n)[\s\S]*?(<!-- \/bench -->)/g

/**
 * A page with what the report says between its markers.
 *
 * @throws BenchError if a marker asks for something that there is not
 */
export function fillIn(page: string, text: string, published: Published): string {
  return text.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    const made = contentOf(name, published)
    if (made === undefined) {
      throw new BenchError(`${page}: no table '${name}', expected ${NAMES.join(' or ')}`)
    }
    // From the root; the page may be elsewhere.
    const content = made.replaceAll(
      /\((docs\/[\w./-]+)\)/g,
      (_, path: string) => `(${relative(dirname(page), path)})`
    )
    return `${begin}\n${content}\n\n${end}`
  })
}

/** Names of the tables that a page asks for. */
export const tablesIn = (text: string): string[] => [...text.matchAll(MARKED)].map((match) => match[2]!)

export async function readPublished(): Promise<Published> {
  const read = async (file: string) => readStored(file, await readFile(file, 'utf8')).comparison
  const measured = suiteNames.filter((suite) => existsSync(publishedFile(suite)))
  const suites = await Promise.all(
    measured.map(async (suite) => [suite, await read(publishedFile(suite))] as const)
  )
  return { peers: await read(FULL_FILE), suites: Object.fromEntries(suites) }
}

export interface Document {
  readonly page: string
  readonly text: string
  /** What it should be. */
  readonly filled: string
}

export function readDocuments(published: Published): Promise<Document[]> {
  return Promise.all(
    DOCUMENTS.map(async (page) => {
      const text = await readFile(join(ROOT, page), 'utf8')
      return { page, text, filled: fillIn(page, text, published) }
    })
  )
}

/** @returns the files that have changed */
export async function writeDocuments(): Promise<string[]> {
  const changed = (await readDocuments(await readPublished())).filter(({ text, filled }) => text !== filled)
  for (const { page, filled } of changed) await writeFile(join(ROOT, page), filled)
  return changed.map(({ page }) => join(ROOT, page))
}
