/** Writes a comparison: `x.json`, and beside it `x.md` and `x.html`. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { renderHtml } from '../html/page.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { renderMarkdown } from './markdown.ts'
import type { Comparison } from './schema.ts'

const DEFAULT = join(BENCH_FOLDER, 'results', 'latest.json')

export async function writeJson(comparison: Comparison, file = DEFAULT): Promise<string> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(comparison, null, 2)}\n`)
  return file
}

/** @returns the files, the JSON first */
export async function writeReports(comparison: Comparison, file = DEFAULT): Promise<string[]> {
  const json = await writeJson(comparison, file)
  const name = file.slice(0, file.length - extname(file).length)
  await writeFile(`${name}.md`, renderMarkdown(comparison))
  await writeFile(`${name}.html`, await renderHtml(comparison))
  return [json, `${name}.md`, `${name}.html`]
}
