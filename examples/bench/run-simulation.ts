/** Simulates many servers and clients, and writes what comes out into docs/scaling.md: `npm run bench:simulate`. */
import { print, runCommand } from './process/main.ts'
import { PAGE, publish } from './simulation/publish.ts'

await runCommand(
  async () => {
    await publish((what) => void process.stderr.write(`${what} …\n`))
    await print(`Written: ${PAGE}\n`)
    return 0
  },
  async () => {}
)
