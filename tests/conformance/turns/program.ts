/**
 * Runs the cases of one transport, one after the other, and prints a line of JSON for each: its name, and what was
 * wrong. Arguments: the name of the transport; a text that names of cases contain (default: all cases).
 */
import { TRANSPORTS } from '../../calls/transports.ts'
import { casesOf } from './cases.ts'

const unhandled: string[] = []
// Each app of a case listens for signals.
process.setMaxListeners(0)
process.on('uncaughtException', (error) => void unhandled.push(`uncaught exception: ${error.stack}`))
process.on('unhandledRejection', (error) => void unhandled.push(`unhandled rejection: ${error}`))

const [, , name, only = ''] = process.argv
const transport = TRANSPORTS.find((one) => one.name === name)
if (transport === undefined) throw new Error(`No such transport: ${name}`)
for (const { name, run } of casesOf(transport)) {
  if (!name.includes(only)) continue
  const problems = await run().then(
    () => [],
    ({ message }: Error) => [message]
  )
  console.log(JSON.stringify({ name, problems: [...problems, ...unhandled.splice(0)] }))
}
process.exit()
