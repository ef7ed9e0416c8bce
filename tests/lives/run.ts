/**
 * Lives from seeds: `--seed=7` lives one and says what happened, `--lives=1000 --from=1` lives many, `--minutes=5` goes on
 * for so long, `--first` ends at the first life that breaks a promise, `--kept` lives those that once broke a promise, and
 * then, with `--minutes`, new ones. A life that breaks one is made as small as possible. `--carriers=nats,kafka` chooses
 * carriers, `--stores=sqlite` what may stand beside them, and `--beside=postgres` what always does.
 */
import { parseArgs } from 'node:util'
import { openDatabase } from './database.ts'
import { World } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    lives: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    carriers: { type: 'string' },
    stores: { type: 'string' },
    beside: { type: 'string' },
    worst: { type: 'string' },
    kept: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    hashes: { type: 'boolean', default: false }
  }
})

const clock = performance.now.bind(performance)
// It takes seconds.
const wanted = `${values.carriers ?? 'postgres'},${values.stores ?? 'postgres'},${values.beside}`
const hasDatabase = wanted.includes('postgres')
if (hasDatabase) await openDatabase()
const world = World.enter()
const { hunt, relive, replay } = await import('./hunt.ts')
const wishes = {
  carriers: values.carriers?.split(',') as never,
  stores: values.stores?.split(',') as never,
  beside: values.beside as never,
  worst: values.worst as never
}
const print = (line: string) => void process.stdout.write(`${line}\n`)

async function run(): Promise<number> {
  if (values.seed !== undefined) return replay(world, Number(values.seed), { ...wishes, print })
  const broken = values.kept ? await relive(world, hasDatabase, wishes, print) : 0
  if (values.kept && values.minutes === undefined) return broken
  const found = await hunt(world, {
    ...wishes,
    from: Number(values.from),
    lives: values.minutes === undefined ? Number(values.lives) : Infinity,
    most: values.minutes === undefined ? Infinity : Number(values.minutes) * 60_000,
    clock,
    hashes: values.hashes,
    isFirstEnough: values.first,
    print
  })
  return broken + found
}

run().then(
  (found) => process.exit(found === 0 ? 0 : 1),
  (error) => {
    print(error.stack)
    process.exit(2)
  }
)
