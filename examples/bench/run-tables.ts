/** Writes the tables of the documentation, from the published report: `npm run bench:tables`. */
import { relative } from 'node:path'
import { print, runCommand } from './process/main.ts'
import { writeDocuments } from './publish/documents.ts'

await runCommand(
  async () => {
    const changed = await writeDocuments()
    await print(
      changed.length === 0
        ? 'The documentation is as the report.\n'
        : `Written: ${changed.map((file) => relative('.', file)).join(', ')}\n`
    )
    return 0
  },
  async () => {}
)
