/** A load process of a measurement that has several. Not for people: `run-bench.ts --processes=2` starts it. */
import { obey } from './load/worker.ts'

await obey()
process.exit(0)
