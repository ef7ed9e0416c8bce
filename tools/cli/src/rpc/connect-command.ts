/** `call` and `stream` over Connect: for URLs that begin with http:// or https://. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Arguments } from '../arguments.ts'
import { EXIT } from '../exit-codes.ts'
import { type Output, valueText } from '../output.ts'
import { askOverConnect, streamOverConnect } from './connect-call.ts'

/** Runs the command. @throws {MicroserviceError} the call has failed */
export async function runOverConnect(args: Arguments, output: Output): Promise<number> {
  const { command, url, pattern, data, headers, timeout, count, certificates } = args
  if (typeof pattern !== 'string' || !pattern.includes('/'))
    throw new OptionError('pattern', 'The pattern must be package.Service/Method over Connect')
  const call = { url, method: pattern.replace(/^\//, ''), data, headers, timeout, tls: certificates }
  if (command === 'call') {
    output.out(valueText(await askOverConnect(call), output.json))
    return EXIT.ok
  }
  let n = 0
  for await (const value of streamOverConnect(call)) {
    output.out(valueText(value, true))
    if (++n >= count) break
  }
  return EXIT.ok
}
