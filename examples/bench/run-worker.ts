/** A load process of a measurement with several of them. Started by `run-bench.ts --processes=2`, not by users. */
import { obey } from './load/worker.ts'

await obey()
process.exit(0)
