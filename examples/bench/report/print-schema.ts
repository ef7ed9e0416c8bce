/** Prints the JSON Schema of reports, from which docs/benchmarks/report.schema.json is made. */
import { comparisonSchema } from './schema.ts'

console.log(JSON.stringify(comparisonSchema, null, 1))
