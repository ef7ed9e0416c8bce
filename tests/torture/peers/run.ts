/** Runs scenarios of hostile peers by name: `bun torture/peers/run.ts [--long] [name...]`. One JSON row a line. */
import { SCENARIOS } from './index.ts'

const names = process.argv.slice(2).filter((arg) => !arg.startsWith('--'))
const length = process.argv.includes('--long') ? 'long' : 'short'
for (const scenario of SCENARIOS) {
  if (names.length > 0 && !names.includes(scenario.name)) continue
  const began = performance.now()
  const rows = await scenario.run({ length, progress: (text) => process.stderr.write(`\r${text}\x1b[K`) })
  process.stderr.write(`\r${scenario.name}: ${Math.round(performance.now() - began)} ms\x1b[K\n`)
  for (const row of rows) console.log(JSON.stringify(row))
}
process.exit()
