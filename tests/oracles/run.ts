/**
 * Oracles from seeds: `--seed=7` tries one and says what is different, `--cases=1000 --from=1` tries many, `--minutes=5`
 * goes on for so long, `--first` ends at the first difference, `--kept` tries those that once were different;
 * `--only=beside,elysia` chooses. A case that is different is made as small as possible.
 */
import { parseArgs } from 'node:util'
import { KEPT } from './kept.ts'
import { type AnyOracle, hunt, replay } from './oracle.ts'
import { ORACLES } from './oracles.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    cases: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    only: { type: 'string' },
    kept: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false }
  }
})

const print = (line: string) => void process.stdout.write(`${line}\n`)
const wanted = ORACLES.filter(({ name }) => values.only?.split(',').includes(name) ?? true)
/** Milliseconds for each oracle. */
const time = values.minutes === undefined ? Infinity : (Number(values.minutes) * 60_000) / wanted.length

async function tryAll(oracle: AnyOracle): Promise<number> {
  if (values.seed !== undefined) return await replay(oracle, Number(values.seed), print)
  let found = 0
  if (values.kept) {
    for (const { of, fault, given } of KEPT) {
      if (of !== oracle.name) continue
      const wrong = await replay(oracle, given, print)
      if (wrong > 0) print(`  ${fault}`)
      found += wrong
    }
    return found
  }
  const began = performance.now()
  const elapsed = () => performance.now() - began
  return await hunt(oracle, {
    from: Number(values.from),
    cases: Number(values.cases ?? (values.minutes === undefined ? 200 : Infinity)),
    isOver: () => elapsed() > time,
    elapsed,
    isFirstEnough: values.first,
    print
  })
}

let found = 0
for (const oracle of wanted) {
  found += await tryAll(oracle)
  await oracle.close?.()
}
process.exit(found === 0 ? 0 : 1)
