/**
 * IP addresses as 16 bytes. IPv4 addresses have their IPv6 form (`::ffff:10.0.0.1`), so that all addresses are compared
 * in the same way.
 */

/** Number of bits before the IPv4 address in its IPv6 form. */
export const IPV4_PREFIX = 96

const BYTES = 16

/** Returns the bytes of an address; `undefined` if the text is not an address. */
export function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIpv6(text) : mapped(parseIpv4(text))
}

function parseIpv4(text: string): number[] | undefined {
  const parts = text.split('.')
  // Leading zeros are refused, because some programs read such numbers as octal.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) return undefined
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

function mapped(bytes: number[] | undefined): Uint8Array | undefined {
  if (bytes === undefined) return undefined
  const address = new Uint8Array(BYTES)
  address.set([0xff, 0xff, ...bytes], BYTES - 6)
  return address
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half) => parseGroups(half))
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === BYTES ? Uint8Array.from(head) : undefined
  // `::` means one or more groups of zeros.
  if (tail === undefined || head.length + tail.length > BYTES - 2) return undefined
  // Only the end of an address may have the IPv4 form.
  if ((halves[0] as string).includes('.')) return undefined
  const address = new Uint8Array(BYTES)
  address.set(head)
  address.set(tail, BYTES - tail.length)
  return address
}

/** Reads groups between colons; the last group may have the IPv4 form. */
function parseGroups(text: string): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
      continue
    }
    const ipv4 = index === groups.length - 1 ? parseIpv4(group) : undefined
    if (ipv4 === undefined) return undefined
    bytes.push(...ipv4)
  }
  return bytes
}
