/** The certificates and the key of a command line, which are files. */
import { readFile } from 'node:fs/promises'
import { OptionError } from '@elysia-microservices/transport/kit'

/** Certificates and a key; on the command line these are file names. */
export interface Certificates {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** The option `tls` for a url. @param secure the scheme with TLS */
export async function tlsOf(
  url: URL,
  given: Certificates,
  secure: string
): Promise<true | Certificates | undefined> {
  const [first] = filesOf(given)
  if (url.protocol === secure) return (await tlsFiles(given)) ?? true
  if (first === undefined) return undefined
  throw new OptionError(
    `--${first[0]}`,
    `--${first[0]} is only for urls that begin with ${secure}//, but the url is ${url}`
  )
}

/**
 * The certificates for an app that speaks Connect.
 * @throws {OptionError} the text is not a URL, a file cannot be read, or TLS is not used
 */
export async function certificatesFor(url: string, given: Certificates): Promise<Certificates | undefined> {
  if (!URL.canParse(url)) throw new OptionError('url', `${url} is not a url, such as http://localhost:3000`)
  const tls = await tlsOf(new URL(url), given, 'https:')
  return tls === true ? undefined : tls
}

function filesOf({ ca, cert, key }: Certificates): [string, string][] {
  return Object.entries({ ca, cert, key }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined
  )
}

/** The files that were given, as texts; `undefined` if there are none. @throws {OptionError} one cannot be read */
export async function tlsFiles(given: Certificates): Promise<Certificates | undefined> {
  const files = filesOf(given)
  if (files.length === 0) return undefined
  return Object.fromEntries(
    await Promise.all(files.map(async ([name, file]) => [name, await textOf(name, file)]))
  ) as Certificates
}

/** Reads a file as text. @throws {OptionError} the file cannot be read */
export async function textOf(what: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new OptionError(what, `${file} cannot be read: ${(error as Error).message}`)
  }
}
