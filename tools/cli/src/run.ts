/** Runs one command line, and determines the exit code of the process. */
import { ConnectionError, MicroserviceError } from '@elysia-microservices/transport/kit'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { isOverConnect } from './address.ts'
import { readArguments } from './arguments.ts'
import { RUN } from './commands.ts'
import { contractsOf } from './contract.ts'
import type { DevTerminal } from './dev/command.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { HELP } from './help.ts'
import { type Output, plainText, valueText } from './output.ts'
import { runOverConnect } from './rpc/connect-command.ts'

/** The environment of a command line. */
export interface Terminal extends Pick<Output, 'out' | 'error' | 'isTerminal'> {
  /** Reads the whole standard input. */
  stdin(): Promise<string>
  /** The output for the lines of services. */
  readonly stdout: DevTerminal['output']
  readonly version: string
}

const CUT = 'In a recursive type, the inner use of the type is written as unknown'

/** An argument that is a `.proto`, or has descriptors of one. */
const PROTO = /\.(?:proto|binpb|pb|desc|protoset)(?:\s|$)/

/** A logger that writes nothing, because the error that ends the command reports the failure. */
const QUIET = { error() {}, warn() {} }

/** Runs a command line, and returns the exit code. Never rejects. */
export async function run(line: readonly string[], terminal: Terminal): Promise<number> {
  const json = line.includes('--json')
  const output: Output = { ...terminal, json }
  try {
    if (line[0] === 'dev' && !line.includes('--help')) {
      const { dev } = await import('./dev/command.ts')
      return await dev(line.slice(1), { output: terminal.stdout, isTerminal: terminal.isTerminal })
    }
    if (line[0] === 'migrate' && !line.includes('--help')) {
      const { migrate } = await import('./migrate/command.ts')
      return migrate(line.slice(1), output)
    }
    if (line[0] === 'proto' && !line.includes('--help')) {
      const { proto } = await import('./proto/command.ts')
      return await proto(line.slice(1), output)
    }
    if (line[0] === 'types' && PROTO.test(line.join(' ')) && !line.includes('--help')) {
      const { protoContract } = await import('./proto/types.ts')
      return await protoContract(line.slice(1), output)
    }
    const args = await readArguments(line, () => terminal.stdin())
    if (args === 'help') {
      terminal.out(HELP)
      return line.length === 0 ? EXIT.usage : EXIT.ok
    }
    if (args === 'version') {
      terminal.out(terminal.version)
      return EXIT.ok
    }
    if ('file' in args) {
      const { text, isCut } = await contractsOf(args.file)
      terminal.out(text)
      if (isCut) output.error(CUT)
      return EXIT.ok
    }
    if (isOverConnect(args.url)) return await runOverConnect(args, output)
    const client = connect({ ...args.connect, timeout: args.timeout, logger: QUIET })
    try {
      return await RUN[args.command](client as UntypedStoringClient, args, output)
    } finally {
      await client.close()
    }
  } catch (error) {
    output.error(json ? valueText(errorOf(error), true) : errorText(error))
    return exitCodeOf(error)
  }
}

function errorOf(error: unknown) {
  const {
    code = 'UNKNOWN',
    message = String(error),
    details
  } = Object(error) as Partial<MicroserviceError> & {
    details?: unknown
  }
  return { code, message, ...(details !== undefined && { details }) }
}

/** Hints about command-line options, by the reason of a failed connection. */
const HINTS: Readonly<Record<string, string>> = {
  TLS_NEEDED: 'the url must begin with tls://',
  TLS_NOT_SPOKEN: 'the url must begin with tcp://',
  TLS_NOT_TRUSTED: 'give --ca',
  TLS_CLIENT_CERTIFICATE_MISSING: 'set --cert and --key'
}

function errorText(error: unknown): string {
  if (!(error instanceof MicroserviceError)) return plainText(error)
  const { code, message, details } = errorOf(error)
  const hint = HINTS[(error instanceof ConnectionError && error.reason) || '']
  const said = hint === undefined ? message : `${message}; ${hint}`
  const text = plainText(code === message ? code : `${code}: ${said}`)
  return details === undefined ? text : `${text}\n${valueText(details, false)}`
}
