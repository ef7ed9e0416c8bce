/** The pages that have figures of the published report, between markers, and what belongs there. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import type { Comparison } from '../report/schema.ts'
import { readStored } from '../report/stored.ts'
import { FULL_FILE } from '../report/write.ts'
import {
  concurrencyTable,
  durableTable,
  eventsTable,
  handlersTable,
  headlineTable,
  payloadTable,
  peersTable,
  REPORT,
  sameClientTable,
  sizesTable,
  slowReaderTable,
  startsTable,
  streamsTable
} from './tables.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')

export const DOCUMENTS = ['README.md', 'docs/performance.md'] as const

const BLOCKS: Readonly<Record<string, (comparison: Comparison) => string>> = {
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
  sizes: sizesTable
}

const MARKED = /(<!-- bench: (.+?) -->\n)[\s\S]*?(<!-- \/bench -->)/g

/**
 * A page with what the report says between its markers.
 *
 * @throws BenchError if a marker asks for something that there is not
 */
export function fillIn(page: string, text: string, comparison: Comparison): string {
  return text.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    const block = BLOCKS[name]
    if (block === undefined) {
      throw new BenchError(`${page}: no table '${name}', expected ${Object.keys(BLOCKS).join(' or ')}`)
    }
    const content = block(comparison).replaceAll(`(${REPORT})`, `(${relative(dirname(page), REPORT)})`)
    return `${begin}\n${content}\n\n${end}`
  })
}

/** Names of the tables that a page asks for. */
export const tablesIn = (text: string): string[] => [...text.matchAll(MARKED)].map((match) => match[2]!)

export async function readPublished(file = FULL_FILE): Promise<Comparison> {
  return readStored(file, await readFile(file, 'utf8')).comparison
}

export interface Document {
  readonly page: string
  readonly text: string
  /** What it should be. */
  readonly filled: string
}

export function readDocuments(comparison: Comparison): Promise<Document[]> {
  return Promise.all(
    DOCUMENTS.map(async (page) => {
      const text = await readFile(join(ROOT, page), 'utf8')
      return { page, text, filled: fillIn(page, text, comparison) }
    })
  )
}

/** @returns the files that have changed */
export async function writeDocuments(comparison: Comparison): Promise<string[]> {
  const changed = (await readDocuments(comparison)).filter(({ text, filled }) => text !== filled)
  for (const { page, filled } of changed) await writeFile(join(ROOT, page), filled)
  return changed.map(({ page }) => join(ROOT, page))
}
