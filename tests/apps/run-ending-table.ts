/** Measures how long processes take to end, and writes the table in docs/stopping.md. Run by `bun`, after a build. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Endings, PROCESSES, type Runtime, rowOf, stoppingPage } from './ending.ts'

const RUNTIMES: readonly Runtime[] = ['Bun', 'Node', 'Deno']
const endings = new Endings()
const rows: string[] = []
for (const parts of PROCESSES) {
  const times: string[] = []
  for (const runtime of RUNTIMES) {
    const { time, code } = await endings.measure(runtime, parts)
    console.log(runtime, parts.join(', '), Math.round(time), code)
    times.push(`${Math.round(time)} ms`)
  }
  rows.push(`${rowOf(parts)} ${times.join(' | ')} |`)
}
await endings.close()
const page = readFileSync(stoppingPage, 'utf8')
const head = '| in the process, beside a service | Bun | Node | Deno |\n| --- | --- | --- | --- |\n'
const begin = page.indexOf(head) + head.length
const end = page.indexOf('\n\n', begin)
writeFileSync(stoppingPage, `${page.slice(0, begin)}${rows.join('\n')}${page.slice(end)}`)
