/**
 * The parts of the documentation that are generated from the list of engines and from the tables of options. A test compares them; `bun
 * tests/engines/docs.ts --write` writes them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { has, NEEDS, type Need } from '@elysia-microservices/engine-tests'
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
  const columns = [
    { title: 'TCP', ...overTcp },
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
