/** The addresses that may connect: single addresses, or networks in CIDR notation. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { IPV4_PREFIX, parseAddress } from './ip-address.ts'

interface Network {
  readonly address: Uint8Array
  /** Number of leading bits that must be equal. */
  readonly bits: number
}

/**
 * The addresses that may connect. `node:net` has a `BlockList` for this, but under Bun its use would load the whole
 * module (5 MB) for a few comparisons.
 */
export class AllowList {
  readonly #networks: readonly Network[]

  /**
   * @param entries such as `'10.0.0.0/8'`, `'::1'`; an IPv4 address and its IPv6 form (`::ffff:…`) are the same
   * @throws {OptionError} an entry is neither an address nor a network
   */
  constructor(entries: readonly string[]) {
    this.#networks = entries.map((entry, index) => parseNetwork(entry, `options.allow[${index}]`))
  }

  /** Whether a peer with this address may connect. */
  admits(remoteAddress: string | undefined): boolean {
    // A zone (`fe80::1%eth0`) names the interface, not the peer.
    const address = parseAddress(remoteAddress?.split('%')[0] ?? '')
    return address !== undefined && this.#networks.some((network) => contains(network, address))
  }
}

function contains({ address: network, bits }: Network, address: Uint8Array): boolean {
  const whole = bits >> 3
  for (let index = 0; index < whole; index++) if (network[index] !== address[index]) return false
  const rest = bits & 7
  return rest === 0 || ((network[whole] as number) ^ (address[whole] as number)) >> (8 - rest) === 0
}

function parseNetwork(entry: unknown, path: string): Network {
  const [text = '', prefix, ...others] = typeof entry === 'string' ? entry.split('/') : ['']
  const address = parseAddress(text)
  const offset = text.includes(':') ? 0 : IPV4_PREFIX
  const length = prefix === undefined ? 128 - offset : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  if (address === undefined || others.length > 0 || !(length <= 128 - offset))
    throw OptionError.expected(path, "an address or a network, such as '10.0.0.0/8' or '::1'", entry)
  return { address, bits: offset + length }
}
