/** The flags for a service of the user, which both commands share. */
import { readFileSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import type { Pattern } from '../peers/echo-client.ts'
import { text, toggle } from './flags.ts'

export const customFlags = {
  pattern: text('a pattern, objects as JSON', 'with the target custom: what is asked, such as orders.get'),
  data: text(
    'JSON, or @ and the path of a file with JSON',
    'with the target custom: what is sent; default nothing'
  ),
  headers: text('a JSON object of strings', 'with the target custom: headers of every request'),
  tls: {
    ...toggle('with the target custom: speak TLS; the flags below imply it'),
    negatable: false
  },
  ca: text('the path of a PEM file', 'with the target custom: who vouches for its certificate'),
  cert: text('the path of a PEM file', 'with the target custom: the certificate it is shown, with --key'),
  key: text('the path of a PEM file', 'with the target custom: the private key of --cert'),
  servername: text('a host name', 'with the target custom: whose certificate it must have; default --host')
}

export interface Custom {
  readonly pattern: Pattern
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly tls: Tls | undefined
}

/** The TLS options of `connect()`; if empty, the certificate authorities of the runtime are trusted. */
export type Tls = Readonly<Partial<Record<'ca' | 'cert' | 'key' | 'servername', string>>>

type Given = Readonly<Record<Exclude<keyof typeof customFlags, 'tls'>, string | undefined>> & {
  readonly tls: boolean | undefined
}

/**
 * @returns `null` for a target of the bench
 * @throws UsageError
 */
export function readCustom(isCustom: boolean, given: Given): Custom | null {
  if (!isCustom) {
    for (const name of Object.keys(customFlags) as (keyof Given)[]) {
      if (given[name] === undefined) continue
      throw new UsageError(`--${name}: got '${given[name]}', expected only with the target custom`)
    }
    return null
  }
  if (given.pattern === undefined) throw new UsageError('--pattern: missing, the target custom needs one')
  return {
    pattern: given.pattern.startsWith('{') ? (parse('pattern', given.pattern) as Pattern) : given.pattern,
    data:
      given.data === undefined
        ? undefined
        : parse('data', given.data.startsWith('@') ? contentOf('data', given.data.slice(1)) : given.data),
    headers: given.headers === undefined ? undefined : readHeaders(given.headers),
    tls: readTls(given)
  }
}

function readTls({ tls, ca, cert, key, servername }: Given): Tls | undefined {
  if (tls === undefined && [ca, cert, key, servername].every((one) => one === undefined)) return undefined
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError('--cert and --key: given one without the other, expected both')
  }
  return {
    ...(ca !== undefined && { ca: contentOf('ca', ca) }),
    ...(cert !== undefined && { cert: contentOf('cert', cert) }),
    ...(key !== undefined && { key: contentOf('key', key) }),
    ...(servername !== undefined && { servername })
  }
}

/** A pattern as text. */
export const nameOfPattern = (pattern: Pattern): string =>
  typeof pattern === 'string' ? pattern : JSON.stringify(pattern)

function readHeaders(given: string): Record<string, string> {
  const value = parse('headers', given)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || Object.values(value).some((header) => typeof header !== 'string')) {
    throw new UsageError(`--headers: got '${given}', expected ${customFlags.headers.allowed}`)
  }
  return value as Record<string, string>
}

function contentOf(flag: keyof Given, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--${flag}: cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

function parse(name: keyof Given, given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw new UsageError(`--${name}: got '${given}', expected ${customFlags[name].allowed}`)
  }
}
