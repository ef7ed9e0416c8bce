/** `proto`: writes the `.proto` of a service, with the numbers of its fields in a file beside it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { serviceProto } from '@elysia-microservices/protobuf'
import { OptionError } from '@elysia-microservices/transport/kit'
import { EXIT } from '../exit-codes.ts'
import { type Output, plainText } from '../output.ts'
import { type Exported, servicesIn } from './services-in.ts'

/** A file as it should be. */
interface Wanted {
  readonly path: string
  readonly text: string
  readonly isJson: boolean
}

/**
 * Runs the command.
 * @throws {OptionError} the command line is wrong, or a service cannot be written as a `.proto`
 */
export async function proto(line: readonly string[], output: Output): Promise<number> {
  const { file, out, check, ...names } = argumentsOf(line)
  const services = await servicesIn(file)
  if (out !== undefined && services.length > 1)
    throw new OptionError('--out', `--out names one file, but ${file} exports ${services.length} services`)
  const wanted = services.flatMap((service) => {
    const path =
      out ?? join(dirname(file), `${services.length === 1 ? bareName(file) : nameOf(service)}.proto`)
    return filesOf(service, path, names)
  })
  const stale = wanted.filter((one) => !isThere(one))
  if (!check) for (const { path, text } of stale) writeFileSync(path, text)
  for (const { path } of check ? stale : wanted)
    if (check || path.endsWith('.proto'))
      output.out(plainText(check ? `${path} is not what ${file} says` : path))
  if (check && stale.length > 0)
    output.error(
      plainText(`Run: npx elysia-microservices proto ${line.filter((one) => one !== '--check').join(' ')}`)
    )
  return check && stale.length > 0 ? EXIT.answer : EXIT.ok
}

function argumentsOf(line: readonly string[]) {
  const options = {
    out: { type: 'string' },
    check: { type: 'boolean', default: false },
    package: { type: 'string' },
    service: { type: 'string' },
    json: { type: 'boolean' }
  } as const
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...line], options, allowPositionals: true })
  )
  const [file, surplus] = positionals
  if (file === undefined)
    throw new OptionError('file', 'proto needs the file of a service: elysia-microservices proto orders.ts')
  if (surplus !== undefined) throw new OptionError('arguments', `proto does not take the argument ${surplus}`)
  const { json: _json, ...own } = values
  return { file, ...own }
}

function parsed<Result>(parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    throw new OptionError('arguments', `${(error as Error).message}; see --help`)
  }
}

function filesOf(
  { described }: Exported,
  path: string,
  names: { package?: string; service?: string }
): Wanted[] {
  const kept = `${path}.json`
  const { text, numbers } = serviceProto(described, { ...names, numbers: numbersIn(kept) })
  return [
    { path, text, isJson: false },
    { path: kept, text: `${JSON.stringify(numbers, undefined, 2)}\n`, isJson: true }
  ]
}

function numbersIn(path: string): unknown {
  if (!existsSync(path)) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new OptionError(path, `${path} is not JSON: ${(error as Error).message}`, error)
  }
}

/** Whether a file is as it should be. JSON may be formatted otherwise. */
function isThere({ path, text, isJson }: Wanted): boolean {
  if (!existsSync(path)) return false
  const found = readFileSync(path, 'utf8')
  return isJson
    ? JSON.stringify(numbersIn(path)) === JSON.stringify(JSON.parse(text))
    : found.replaceAll('\r\n', '\n') === text
}

function bareName(file: string): string {
  return basename(file).replace(/\.[cm]?[jt]s$|\.json$/, '')
}

function nameOf({ name, described }: Exported): string {
  return described.name ?? name
}
