/**
 * Runs the cases of transports, one after the other, and prints a line of JSON for each: its transport, its name, and
 * what was wrong. Arguments: the names of the transports.
 */
import { TRANSPORTS } from '../../calls/transports.ts'
import { casesOf } from './cases.ts'

const unhandled: string[] = []
// Each app of a case listens for signals.
process.setMaxListeners(0)
process.on('uncaughtException', (error) => void unhandled.push(`uncaught exception: ${error.stack}`))
process.on('unhandledRejection', (error) => void unhandled.push(`unhandled rejection: ${error}`))

for (const on of process.argv.slice(2)) {
  const transport = TRANSPORTS.find(({ name }) => name === on)
  if (transport === undefined) throw new Error(`No such transport: ${on}`)
  for (const { name, run } of casesOf(transport)) {
    const problems = await run().then(
      () => [],
      ({ message }: Error) => [message]
    )
    console.log(JSON.stringify({ on, name, problems: [...problems, ...unhandled.splice(0)] }))
  }
}
process.exit()
