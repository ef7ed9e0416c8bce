/** Endpoints as text: `tcp://host:port`, `host:port`, `host`, `[::1]:4000`. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The host and port of an endpoint, with its rank among other endpoints. */
export interface Address {
  readonly host: string
  readonly port: number
  /** Endpoints with a lower number are preferred as long as one of them is usable. Default: 0. */
  readonly priority?: number
  /** Share of the calls among endpoints of the same priority; above 0. Default: 1. */
  readonly weight?: number
}

const BRACKETED = /^(?:tcp:\/\/)?\[([^\]]+)\](?::(\d+))?$/
const PLAIN = /^(?:tcp:\/\/)?([^:[\]\s]+)(?::(\d+))?$/

/**
 * Reads an endpoint.
 * @param defaultPort the port of an endpoint that does not name a port
 * @throws {OptionError} the text is not `host:port`
 */
export function parseAddress(text: string, defaultPort: number): Address {
  const match = typeof text === 'string' ? (BRACKETED.exec(text) ?? PLAIN.exec(text)) : null
  const port = match?.[2] === undefined ? defaultPort : Number(match[2])
  if (match === null || port > 65535) {
    throw OptionError.expected(
      'options.url',
      "an address such as 'tcp://10.0.0.7:4000' or '[::1]:4000', or a list of such",
      text
    )
  }
  return { host: match[1] as string, port }
}

/** The name of an endpoint, in the form that `parseAddress` reads. */
export function addressName({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
