/** Measures everything that this project publishes, one report after the other: `npm run bench:publish`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { BenchError } from './errors.ts'
import { choices, describeFlags, helpFlag, parseFlags } from './options/flags.ts'
import { print, runCommand } from './process/main.ts'
import { commandFor } from './process/runtime.ts'
import { REPORTS, reportNames } from './publish/reports.ts'

const flags = {
  only: choices(
    reportNames,
    'which reports, each then as long as it needs; default all, in at most 56 minutes'
  ),
  help: helpFlag
}

let running: ChildProcess | undefined

await runCommand(
  async () => {
    const { only, help } = parseFlags(flags, process.argv.slice(2))
    if (help === true) {
      await print(
        `Measures what this project publishes, and writes the tables made of it.\n\n${describeFlags(flags)}\n`
      )
      return 0
    }
    let code = 0
    for (const name of only ?? reportNames) {
      const { flags: always, brief } = REPORTS[name]
      console.error(`\n${name}`)
      const ended = await run([...always, ...(only === undefined ? brief : [])])
      // An incomplete report does not stop the others.
      code = Math.max(code, ended)
    }
    return code
  },
  async () => {
    running?.kill('SIGTERM')
    if (running?.exitCode === null) await new Promise((resolve) => running?.once('exit', resolve))
  }
)

/** @returns the exit code */
function run(given: readonly string[]): Promise<number> {
  const [command, ...args] = commandFor('bun', 'run-comparison')
  return new Promise((resolve, reject) => {
    running = spawn(command!, [...args, ...given], { stdio: ['ignore', 'inherit', 'inherit'] })
    running.once('error', () => reject(new BenchError('Bun could not be started.')))
    running.once('exit', (code) => resolve(code ?? 1))
  })
}
