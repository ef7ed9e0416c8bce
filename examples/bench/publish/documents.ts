/** The pages with figures of the published report between markers, and the texts for these places. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { suiteNames } from '../task/task.ts'
import { type Published, readPublished, writePublished } from './published.ts'
import { NOT_MEASURED, SUITE_BLOCKS } from './suite-tables.ts'
import { BLOCKS } from './tables.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')

export const DOCUMENTS = [
  'README.md',
  'docs/performance.md',
  'docs/databases.md',
  'docs/mqtt.md',
  'docs/nats.md',
  'docs/observability.md',
  'docs/rabbitmq.md',
  'docs/redis.md',
  'docs/websocket.md'
] as const

/** The text between the markers with a name; `undefined`: the name is unknown. */
function contentOf(name: string, published: Published): string | undefined {
  const suite = suiteNames.find((one) => Object.hasOwn(SUITE_BLOCKS[one], name))
  const block = suite === undefined ? BLOCKS[name] : SUITE_BLOCKS[suite][name]
  const comparison = published[suite ?? 'report']
  return block === undefined || comparison !== undefined ? block?.(comparison!) : NOT_MEASURED
}

const NAMES = [...Object.keys(BLOCKS), ...suiteNames.flatMap((suite) => Object.keys(SUITE_BLOCKS[suite]))]

const MARKED = /(<!-- bench: (.+?) -->\n)[\s\S]*?(<!-- \/bench -->)/g

/**
 * Fills in the figures of the report between the markers of a page.
 *
 * @throws BenchError a marker has an unknown name
 */
export function fillIn(page: string, text: string, published: Published): string {
  return text.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    const made = contentOf(name, published)
    if (made === undefined) {
      throw new BenchError(`${page}: no table '${name}', expected ${NAMES.join(' or ')}`)
    }
    // Links are relative to the root here, and then made relative to the page.
    const content = made.replaceAll(
      /\((docs\/[\w./-]+)\)/g,
      (_, path: string) => `(${relative(dirname(page), path)})`
    )
    return `${begin}\n${content}\n\n${end}`
  })
}

/** The names of the tables that a page uses. */
export const tablesIn = (text: string): string[] => [...text.matchAll(MARKED)].map((match) => match[2]!)

export interface Document {
  readonly page: string
  readonly text: string
  /** The text of the page with current figures. */
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

/**
 * Writes the published reports and the tables of the pages, from the medians.
 *
 * @returns the pages that have changed
 */
export async function writeDocuments(): Promise<string[]> {
  const published = await readPublished()
  await writePublished(published)
  const changed = (await readDocuments(published)).filter(({ text, filled }) => text !== filled)
  for (const { page, filled } of changed) await writeFile(join(ROOT, page), filled)
  return changed.map(({ page }) => join(ROOT, page))
}
