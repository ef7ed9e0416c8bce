/** Writes a comparison: `x.json`, and beside it `x.md` and `x.html`. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { renderHtml } from '../html/page.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { renderMarkdown } from './markdown.ts'
import type { Comparison } from './schema.ts'

/** The default file of a report. */
export const resultFile = (name: string): string => join(BENCH_FOLDER, 'results', `${name}.json`)

/** Writes the file in one step: an interrupted run leaves the old file or the complete new one. */
export async function writeJson(comparison: Comparison, file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.part`, `${JSON.stringify(comparison, null, 2)}\n`)
  await rename(`${file}.part`, file)
  return file
}

/** @returns the files; the JSON file first */
export async function writeReports(comparison: Comparison, file: string): Promise<string[]> {
  const json = await writeJson(comparison, file)
  const name = file.slice(0, file.length - extname(file).length)
  await writeFile(`${name}.md`, renderMarkdown(comparison))
  await writeFile(`${name}.html`, renderHtml(comparison))
  return [json, `${name}.md`, `${name}.html`]
}
