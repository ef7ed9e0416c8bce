/** Prints the schema of reports as JSON Schema: what docs/benchmarks/report.schema.json is made with. */
import { comparisonSchema } from './schema.ts'

console.log(JSON.stringify(comparisonSchema, null, 1))
